//! Whatever the last run left, the next one completes it, as a process. (Every single byte is cut beside the code that
//! reads the files; here, each file is cut where something begins or ends and at steps between.)

use std::collections::BTreeSet;
use std::fs;

use crate::sweeps::{ALL, Place, Rows, fault, slow, wait};
use scanbox_model::record::Status;

const ENDINGS: [&str; 3] = ["csv", "meta.json", "journal"];

/// A complete sweep with rows that are not `ok`, so that its journal is kept.
fn complete() -> (Place, [Vec<u8>; 3], Rows) {
    let place =
        Place::in_memory(&format!("{}{}", fault("crash"), fault("wrong_last").replace("4096", "1024")));
    assert_eq!(place.sweep(&[]).code, Some(5));
    let rows = place.rows();
    assert_eq!(rows.len(), ALL);
    assert_eq!(rows.values().filter(|&&status| status != Status::Ok).count(), 2);
    let bytes = ENDINGS.map(|ending| fs::read(place.file(ending)).unwrap());
    (place, bytes, rows)
}

fn check(place: &Place, files: [Option<&[u8]>; 3], rows: &Rows, what: &str) {
    for (ending, bytes) in ENDINGS.iter().zip(files) {
        match bytes {
            Some(bytes) => fs::write(place.file(ending), bytes).unwrap(),
            None => drop(fs::remove_file(place.file(ending))),
        }
    }
    let ended = place.sweep(&[]);
    assert_eq!(ended.code, Some(5), "{what}: {}", ended.stderr);
    assert_eq!(&place.rows(), rows, "{what}");
    let metadata = place.metadata();
    assert_eq!(metadata.counts.values().sum::<u64>(), ALL as u64, "{what}");
}

/// What a sweep is measured against is as safe as its rows: a run that is killed has written the copies before its
/// first row, and those that a file lacks are measured by the next run, whatever else is left.
#[test]
fn copies_that_are_missing_are_measured() {
    let complete = Place::in_memory("");
    assert_eq!(complete.sweep(&[]).code, Some(0));
    let copies = complete.metadata().ceiling_gbps;
    assert_eq!(copies.len(), 7);
    let files = ENDINGS.map(|ending| fs::read(complete.file(ending)).unwrap_or_default());
    let lines: Vec<&[u8]> = files[0].split_inclusive(|&byte| byte == b'\n').collect();
    // Rows that are there, of 28; and the sizes whose copies are.
    for (rows, kept) in [(ALL, 0), (ALL, 1), (ALL, 6), (ALL - 1, 1), (1, 2)] {
        fs::write(complete.file("csv"), lines[..=rows].concat()).unwrap();
        let mut metadata = complete.metadata();
        metadata.ceiling_gbps = copies.iter().take(kept).map(|(&n, &gbps)| (n, gbps)).collect();
        metadata.write(&complete.file("meta.json")).unwrap();
        let dry = complete.sweep(&["--dry-run"]);
        let told = format!("to do      0, and the copy of {} size", 7 - kept);
        assert_eq!(dry.stdout.contains(&told), rows == ALL, "{dry:?}");
        let ended = complete.sweep(&[]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stderr.contains("copies not measured yet: "), rows == ALL, "{ended:?}");
        assert_eq!(complete.rows().len(), ALL);
        let sizes: Vec<u64> = complete.metadata().ceiling_gbps.into_keys().collect();
        assert_eq!(sizes, copies.keys().copied().collect::<Vec<_>>(), "{rows} rows, {kept} copies");
        let runs = complete.metadata().runs.len();
        assert_eq!(complete.sweep(&[]).code, Some(0));
        assert_eq!(complete.metadata().runs.len(), runs, "nothing is left to do");
    }
    let killed = Place::in_memory(&slow(100));
    let mut child = killed.start_with_rows(&[], 1);
    child.kill().unwrap();
    wait(child);
    assert_eq!(killed.metadata().ceiling_gbps.len(), 7);
}

/// Where to cut: around each end of a line in the last part of the file, and at steps. `SCANBOX_TRUNCATIONS=all`
/// takes every byte.
fn cuts(bytes: &[u8], from: usize, step: usize) -> BTreeSet<usize> {
    if std::env::var("SCANBOX_TRUNCATIONS").is_ok_and(|all| all == "all") {
        return (from..bytes.len()).collect();
    }
    let ends = (from..bytes.len()).filter(|&at| bytes[at] == b'\n').collect::<Vec<_>>();
    let around = ends.iter().rev().take(4).flat_map(|&at| [at, at + 1]).filter(|&at| at < bytes.len());
    (from..bytes.len()).step_by(step).chain(around).chain([0, 1]).collect()
}

#[test]
fn a_cut_file_of_rows_is_completed() {
    let (place, [csv, metadata, journal], rows) = complete();
    let ends: Vec<usize> = (0..csv.len()).filter(|&at| csv[at] == b'\n').collect();
    let last_three = ends[ends.len() - 4] + 1;
    for cut in cuts(&csv, last_three, 97) {
        check(
            &place,
            [Some(&csv[..cut]), Some(&metadata), Some(&journal)],
            &rows,
            &format!("rows cut at {cut}"),
        );
    }
    check(&place, [None, Some(&metadata), Some(&journal)], &rows, "no rows");
}

#[test]
fn cut_metadata_is_made_anew() {
    let (place, [csv, metadata, journal], rows) = complete();
    // One row has to be measured, so that there is a run.
    let open = &csv[..csv.len() - 10];
    for cut in cuts(&metadata, 0, 401) {
        check(
            &place,
            [Some(open), Some(&metadata[..cut]), Some(&journal)],
            &rows,
            &format!("metadata cut at {cut}"),
        );
        check(&place, [Some(&csv), Some(&metadata[..cut]), Some(&journal)], &rows, "nothing to do");
    }
    check(&place, [Some(open), None, Some(&journal)], &rows, "no metadata");
    fs::write(place.file("meta.json"), b"\xff\0garbage").unwrap();
    assert!(place.sweep(&[]).stderr.contains("it is made anew"));
}

#[test]
fn a_cut_journal_is_no_obstacle() {
    let (place, [csv, metadata, journal], rows) = complete();
    let open = &csv[..csv.len() - 10];
    for cut in cuts(&journal, 0, 151) {
        check(
            &place,
            [Some(open), Some(&metadata), Some(&journal[..cut])],
            &rows,
            &format!("journal cut at {cut}"),
        );
    }
    check(&place, [Some(open), Some(&metadata), None], &rows, "no journal");
    check(&place, [Some(open), None, None], &rows, "rows alone");
    check(&place, [Some(open), Some(&metadata), Some(b"\xff\0\n\nstart\nended x\n")], &rows, "garbage");
}
