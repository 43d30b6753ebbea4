//! `scanbox rerun` on the replay device.

use crate::sweeps::Place;
use scanbox_model::pair_file;
use scanbox_model::record::Status;

fn rerun(place: &Place, code: i32) -> Vec<pair_file::PairRow> {
    let program = env!("CARGO_BIN_EXE_scanbox");
    let device = ["--program", program, "--device", "replay:replay.toml", "--out", "pairs.csv"];
    let _ = std::fs::remove_file(place.folder().join("pairs.csv"));
    place.run(&[&["rerun", "out/test.csv", "out/test.csv"], &device[..]].concat(), code);
    pair_file::read(&place.folder().join("pairs.csv")).unwrap()
}

/// Every row is paired, of scans and of reductions, whose output has one element.
#[test]
fn every_row_is_paired() {
    for problem in [&[][..], &["--mode", "reduce"]] {
        let place = Place::in_memory("");
        let arguments = [&["--sizes", "4096,65536", "--filter", "lookback=parallel"], problem].concat();
        let swept = place.sweep(&arguments);
        assert_eq!(swept.code, Some(0), "{}", swept.stderr);
        let rows = rerun(&place, 0);
        assert!(rows.len() >= place.records().len(), "{problem:?}: {rows:?}");
        assert!(rows.iter().all(|row| row.status == Status::Ok), "{problem:?}: {rows:?}");
    }
}

/// What a file of pairs lacks is told as that: the new sweep has a time of it.
#[test]
fn a_file_of_pairs_that_is_bad_or_short() {
    let place = Place::in_memory("");
    let swept = place.sweep(&["--sizes", "4096,65536", "--filter", "lookback=parallel"]);
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    let rows = rerun(&place, 0);
    let mut text = Vec::new();
    pair_file::write(&mut text, &rows).unwrap();
    let text = String::from_utf8(text).unwrap();
    let header = text.lines().next().unwrap();
    let of_size = |n: &str| text.lines().filter(|line| !line.starts_with(n)).collect::<Vec<_>>().join("\n");
    let cut = &text[..text.len() - 40];
    for (content, code, says) in [
        ("", 1, "pairs.csv: line 1: the file is empty"),
        ("a,b\n1,2\n", 1, "pairs.csv: line 1: the header of a file of pairs has a column `n_elements`"),
        (header, 1, "pairs.csv: line 2: no pair follows the header"),
        (cut, 1, &format!("pairs.csv: line {}: ", text.lines().count())),
        (&of_size("4096,"), 7, "UNMEASURED: what led the base at 2^12 was not measured again; let"),
        (&of_size("65536,"), 7, "Not measured again tonight: "),
    ] {
        std::fs::write(place.folder().join("pairs.csv"), content).unwrap();
        let compared = place.run(&["compare", "out/test.csv", "out/test.csv", "--pairs", "pairs.csv"], code);
        let all = format!("{}{}", compared.stdout, compared.stderr);
        assert!(all.replace("\n  ", " ").contains(says), "{content}: {all}");
        assert!(!all.contains("MISSING"), "{content}: {all}");
    }
    // A night that measured nothing is no reference, and leaves no file.
    std::fs::write(place.folder().join("pairs.csv"), &text).unwrap();
    std::fs::write(place.folder().join("earlier.csv"), "").unwrap();
    let judged =
        ["compare", "out/test.csv", "out/test.csv", "--pairs", "pairs.csv", "--earlier", "earlier.csv"];
    // Two rows tell no noise; that they were measured again is not in doubt.
    let compared = place.run(&judged, 7);
    assert!(compared.stdout.starts_with("UNCLEAR: too noisy"), "{}", compared.stdout);
    let device = ["--program", "/bin/false", "--device", "replay:replay.toml", "--out", "none.csv"];
    let failed = place.run(&[&["rerun", "out/test.csv", "out/test.csv"], &device[..]].concat(), 1);
    assert_eq!(failed.stderr.matches("cannot be measured in turns").count(), 1, "{}", failed.stderr);
    assert!(!place.folder().join("none.csv").exists());
}
