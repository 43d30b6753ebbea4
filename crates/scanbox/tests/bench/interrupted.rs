//! A benchmark that ends early, or beside another one, and what of its rows stays.

use std::process::Stdio;

use rustix::process::Signal;
use scanbox_model::csv_file;

use super::{bench, command, rows};
use crate::sweeps::{CONFIG, Held, Place, signal, slow, wait, wait_for_rows};

#[test]
fn an_interrupted_run_keeps_its_rows_beside_those_before() {
    let place = Place::new("");
    bench(&place, &[CONFIG, "--sizes", "4096", "--rounds", "1"], 0);
    let before = rows(&place);
    place.script(&slow(100));
    let mut command = command(&place, &[CONFIG, "--sizes", "2^10..2^16"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let partial = place.folder().join("bench.csv.partial");
    wait_for_rows(&partial, 1);
    assert!(signal(child.id(), Signal::INT));
    let ended = wait(child);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("bench.csv.partial, for `scanbox export`; the same"), "{}", ended.stderr);
    assert_eq!(rows(&place), before);
    let found = csv_file::read(&partial).unwrap();
    assert!(found.torn_line.is_none() && !found.records.is_empty());
    let shown = place.run(&["bench", "--show", "bench.csv.partial"], 2);
    assert!(shown.stderr.contains("cut short, which `scanbox export` reads"), "{}", shown.stderr);
    place.run(&["export", "bench.csv.partial", "--format", "csv", "-o", "rows.csv"], 0);
}

#[test]
fn a_run_that_finishes_no_size_leaves_nothing() {
    let place = Place::new(&slow(3000));
    let ended = bench(&place, &[CONFIG, "--sizes", "2^10", "--budget", "1s"], 4);
    assert!(ended.stderr.contains("the budget is spent; no size was finished"), "{}", ended.stderr);
    assert!(!place.folder().join("bench.csv.partial").exists());
}

/// The second one would begin by removing the rows of the first.
#[test]
fn another_run_on_the_same_file_leaves_it_alone() {
    let place = Place::new(&slow(100));
    let mut first = command(&place, &[CONFIG, "--sizes", "2^10,2^12", "--rounds", "3", "--share-device"]);
    let child = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let partial = place.folder().join("bench.csv.partial");
    wait_for_rows(&partial, 1);
    let held = Held::new(&child);
    let second = bench(&place, &[CONFIG, "--sizes", "2^10", "--rounds", "1", "--share-device"], 4);
    for part in ["bench.csv is being written by another run", "--wait", "--out"] {
        assert!(second.stderr.contains(part), "no `{part}` in {}", second.stderr);
    }
    drop(held);
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(rows(&place).iter().any(|row| row.n_elements == 4096));
}
