//! `scanbox bench --dispatch`: every kind of arguments at every size, and nothing else.

use std::collections::BTreeSet;
use std::fs;

use scanbox_model::config::Arguments;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use serde_json::Value;

use super::{command, rows};
use crate::machines::{Machine, run};
use crate::sweeps::{Ended, Place, ended};

/// What arguments cost on the device of these tests, which takes 2 us for a call that does nothing.
const SCRIPT: &str = "hardware = true\narguments_ns = [450.0, 190.0, 0.0]\n";

#[track_caller]
fn dispatch(place: &Place, args: &[&str], code: i32) -> Ended {
    let mut command = command(place, &[&["--dispatch"], args].concat());
    // What is found out about the device is no other test's.
    let ended = ended(command.env("SCANBOX_CACHE", place.folder().join("cache")).output().unwrap());
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    ended
}

#[test]
fn every_kind_of_arguments_is_shown_at_every_size() {
    let place = Place::in_memory(SCRIPT);
    let table = dispatch(&place, &["--rounds", "3"], 0);
    let rows = rows(&place);
    let sizes: BTreeSet<u64> = rows.iter().map(|row| row.n_elements).collect();
    assert_eq!(sizes, (10..=22).step_by(2).map(|exponent| 1 << exponent).collect());
    assert_eq!(rows.len(), 3 * sizes.len());
    for row in &rows {
        let row: &Record = row;
        assert_eq!((row.status, row.subject.as_str(), row.rounds), (Status::Ok, "copy", Some(3)));
        assert!(row.twin_calls > Some(0), "{}: verified as it is timed", row.config_id);
    }
    let labels: BTreeSet<&str> = rows.iter().map(|row| row.config_id.as_str()).collect();
    assert_eq!(labels, BTreeSet::from(["copy.b1.wg256", "copy.b1.block.wg256", "copy.b1.baked.wg256"]));
    let of_4096 = table.stdout.lines().find(|line| line.trim_start().starts_with("2^12 ")).unwrap();
    let cells: Vec<&str> = of_4096.split_whitespace().collect();
    // 32 KiB at 1000 GB/s.
    assert_eq!(cells, ["2^12", "2000", "2483", "2223", "2033", "-260", "-450", "0.0"], "{}", table.stdout);
    assert!(table.stdout.contains("auto of arguments is block: a copy takes"), "{}", table.stdout);
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 100), "{}", table.stdout);
    let metadata = Metadata::read(&place.folder().join("bench.meta.json")).unwrap();
    let probe = metadata.device.arguments_probe.map(|probe| probe.arguments);
    assert_eq!(probe, Some(Arguments::Block));

    // The same rows again, in every format.
    let show = |format: &str| {
        let command =
            place.scanbox(&["bench", "--show", "bench.csv", "--dispatch", "--format", format]).output();
        ended(command.unwrap()).stdout
    };
    let markdown = show("md");
    let line = "| 2^12 |  2000 |  2483 |  2223 |  2033 |         -260 |         -450 |      0.0 |\n";
    assert!(markdown.contains(line), "{markdown}");
    let csv = show("csv");
    assert_eq!(csv.lines().count(), 1 + 4 * sizes.len(), "{csv}");
    assert!(csv.contains("\n4096,empty,,2000,2000,2000,3,0,\n4096,copy,push,2483,2483,2483,3,0,\n"), "{csv}");
    assert!(csv.contains("\n4096,copy,block,2223,2223,2223,3,0,-260\n"), "{csv}");
    let json: Value = serde_json::from_str(&show("json")).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 4 * sizes.len());
    assert_eq!((&json["auto"]["arguments"], &json["end"]), (&Value::from("block"), &Value::from("Complete")));
    // It is a benchmark like others, too: of copies alone.
    let plain = ended(place.scanbox(&["bench", "--show", "bench.csv"]).output().unwrap());
    assert!(plain.code == Some(0) && plain.stdout.contains("copy"), "{plain:?}");
}

#[test]
fn rows_of_another_benchmark_are_no_dispatches() {
    let place = Place::in_memory("");
    super::bench(&place, &[crate::sweeps::CONFIG, "--sizes", "4096", "--rounds", "1"], 0);
    let shown = ended(place.scanbox(&["bench", "--show", "bench.csv", "--dispatch"]).output().unwrap());
    assert_eq!(shown.code, Some(2), "{shown:?}");
    assert!(shown.stderr.contains("no copies with each kind of arguments"), "{}", shown.stderr);
}

#[test]
fn what_has_no_meaning_here_is_refused() {
    let place = Place::in_memory(SCRIPT);
    fs::write(place.folder().join("a.csv"), "").unwrap();
    for other in [
        &["b4.vec4.par.rake.wg64"][..],
        &["--from", "a.csv"],
        &["--blocking"],
        &["--mode", "reduce"],
        &["--type", "f32"],
        &["--op", "max"],
        &["--in-place"],
        &["--input", "real"],
        &["--buffers", "cold"],
        &["--scratch", "stateless"],
        &["--baseline", "a.csv"],
        &["--with", "a.csv"],
        &["--plot", "a.svg"],
        &["--summary"],
        &["--prove"],
        &["--plots", "a"],
    ] {
        let refused = dispatch(&place, other, 2);
        let named = other.iter().find(|word| word.starts_with("--")).map_or("[CONFIG]", |word| word);
        assert!(refused.stderr.contains("cannot be used with"), "{other:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(named), "{other:?}: {}", refused.stderr);
    }
    let csv = ended(command(&place, &["b4.vec4.par.rake.wg64", "--format", "csv"]).output().unwrap());
    assert!(csv.stderr.contains("are of --summary and --dispatch"), "{csv:?}");
}

/// One that fails does not take the others with it.
#[test]
fn what_fails_is_named_and_the_rest_is_measured() {
    let fault = |kind: &str, config: &str| {
        let place = Place::in_memory(&format!(
            "arguments_ns = [450.0, 190.0, 0.0]\n[[fault]]\nkind = \"{kind}\"\nconfig = \"{config}\""
        ));
        let code = if kind == "wrong_last" { 5 } else { 0 };
        let ended = dispatch(&place, &["--sizes", "1024,4096", "--rounds", "2"], code);
        (rows(&place), ended)
    };
    let (rows, ended) = fault("wrong_last", "copy.b1.block");
    let ok = rows.iter().filter(|row| row.status == Status::Ok).count();
    assert_eq!((rows.len(), ok), (6, 4));
    assert!(ended.stdout.contains("wrong_result: copy.b1.block.wg256 at 2^12"), "{}", ended.stdout);
    assert!(ended.stdout.contains("-450"), "{}", ended.stdout);
    // A program is not probed.
    assert!(ended.stdout.contains("auto of arguments is push, as on every software"), "{}", ended.stdout);
    for kind in ["device_lost", "crash"] {
        let (rows, ended) = fault(kind, "empty");
        assert_eq!(
            (rows.len(), rows.iter().filter(|row| row.status == Status::Ok).count()),
            (6, 6),
            "{kind}"
        );
        assert!(!ended.stdout.contains(" empty  "), "{}", ended.stdout);
        assert!(ended.stderr.contains("an empty call"), "{}", ended.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn any_device_will_do() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "bench",
        "--dispatch",
        "--sizes",
        "1000,2^12",
        "--rounds",
        "2",
        "--warm-up",
        "1ms",
        "--format",
        "json",
    ];
    let answer = run(folder.path(), lavapipe, &args);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let json: Value = serde_json::from_str(&answer.out).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 4, "{json}");
    assert!(rows.iter().all(|row| row["dispatch_ns"].as_u64().unwrap() > 0), "{json}");
    assert_eq!(json["auto"], Value::Null);
    let written: Vec<_> = fs::read_dir(folder.path().join("results/bench")).unwrap().flatten().collect();
    assert!(written.iter().any(|file| file.file_name() == "llvmpipe.dispatch.csv"), "{written:?}");
}
