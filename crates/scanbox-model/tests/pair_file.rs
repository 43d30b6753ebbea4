//! Files of pairs: what is written is read again, and what cannot be is refused with its line.

use scanbox_model::pair_file::{PairRow, read, write};
use scanbox_model::record::Status;

fn rows() -> Vec<PairRow> {
    let ok = PairRow {
        n_elements: 4096,
        config_id: "b4.vec4.par.rake.wg64".into(),
        round: 1,
        base_1_ns: Some(100.5),
        new_1_ns: Some(101.0),
        base_2_ns: Some(99.0),
        new_2_ns: Some(102.25),
        status: Status::Ok,
        failed: String::new(),
        reason: String::new(),
        base_run: "run".into(),
        base_version: "0.1.0".into(),
        new_version: "0.2.0".into(),
        device: "Some, device".into(),
        device_uuid: "u1".into(),
        driver: "driver \"1\"".into(),
        timestamp_utc: "2026-01-01T00:00:00Z".into(),
        new_run: "new run".into(),
    };
    let failed = PairRow {
        base_1_ns: None,
        new_1_ns: None,
        base_2_ns: None,
        new_2_ns: None,
        status: Status::WrongResult,
        failed: "new".into(),
        reason: "3 words are wrong".into(),
        ..ok.clone()
    };
    vec![ok, failed]
}

#[test]
fn files_of_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.csv");
    let mut text = Vec::new();
    write(&mut text, &rows()).unwrap();
    std::fs::write(&path, &text).unwrap();
    assert_eq!(read(&path).unwrap(), rows());

    let text = String::from_utf8(text).unwrap();
    for (from, to, says) in [
        ("100.5", "0", "line 2"),
        ("100.5", "-1", "line 2"),
        ("100.5", "NaN", "line 2"),
        ("100.5", "inf", "line 2"),
        ("100.5", "", "a time is missing"),
        ("100.5", "fast", "line 2"),
        (",wrong_result,new,", ",wrong_result,both,", "line 3"),
        (",wrong_result,", ",perhaps,", "line 3"),
        ("4096,b4", "0,b4", "n_elements is 0"),
        ("n_elements", "size", "line 1: the header of a file of pairs has a column `n_elements`"),
        ("base_run", "", "line 1: the header of a file of pairs has a column `base_run`"),
        ("new_run", "other", "line 1: a file of pairs has no column `other`"),
    ] {
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("pairs.csv"), "{from} -> {to}: {error}");
    }
    // A file of an older version.
    std::fs::write(&path, text.replace(",new_run", "").replace(",new run", "")).unwrap();
    assert_eq!(read(&path).unwrap().iter().map(|row| row.new_run.as_str()).collect::<Vec<_>>(), ["", ""]);
    // Cut off anywhere, it says where; what is left of a whole line is a file.
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let (header, first) = (lines[0], lines[1]);
    for (end, says) in [
        (0, "line 1: the file is empty"),
        (header - 20, "line 1: "),
        (header - 1, "line 2: no pair follows"),
        (header, "line 2: no pair follows"),
        (header + 9, "line 2"),
        (first - 20, "line 2"),
        (first + 9, "line 3"),
        (text.len() - 20, "line 3"),
    ] {
        std::fs::write(&path, &text[..end]).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{end} of {} bytes: {error}", text.len());
    }
    std::fs::write(&path, &text[..first]).unwrap();
    assert_eq!(read(&path).unwrap(), rows()[..1]);
    assert!(read(&folder.path().join("none.csv")).is_err());
}
