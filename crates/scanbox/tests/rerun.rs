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
