//! Simulated blocking as a user runs it: `scanbox bench --blocking` and `scanbox verify --blocking`, on the replay
//! device and on the software device of Mesa.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;

use crate::machines::{Machine, run};
use crate::sweeps::{Ended, Place, ended};
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use serde_json::Value;

const FALLBACK: &str = "b1.vec4.fallback.sub.early.wg64";
const PATIENT: &str = "b1.vec4.fallback.sub.early.spins64.wg64";
const PLAIN: &str = "b1.vec4.par.sub.early.wg64";
/// Launch shapes of the copy on a device with workgroups of 1024.
const COPIES: usize = 5;

#[track_caller]
fn bench(place: &Place, args: &[&str], code: i32) -> Ended {
    let on_replay = ["bench", "--device", "replay:replay.toml", "--out", "bench.csv", "--rounds", "1"];
    let mut command = place.scanbox(&on_replay);
    command.args(args).env("COLUMNS", "120");
    let ended = ended(command.output().unwrap());
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    ended
}

fn rows(place: &Place) -> Vec<Record> {
    csv_file::read(&place.folder().join("bench.csv")).unwrap().records
}

/// What a config was blocked with, by its rows.
fn rates(rows: &[Record], config: &str) -> BTreeSet<Option<u32>> {
    rows.iter().filter(|row| row.config_id == config).map(|row| row.blocking).collect()
}

#[test]
fn every_rate_has_a_row_with_times_and_counts() {
    let place = Place::new("noise_ratio = 0.01\n");
    let ended =
        bench(&place, &[FALLBACK, PATIENT, PLAIN, "--blocking", "--sizes", "65536", "--plots", "plots"], 0);
    let rows = rows(&place);
    assert_eq!(rows.len(), 10 + 10 + 1 + COPIES);
    assert!(rows.iter().all(|row| row.status == Status::Ok && row.mismatches == Some(0)));
    let all: BTreeSet<Option<u32>> = std::iter::once(None).chain((1..=9).map(Some)).collect();
    assert_eq!((rates(&rows, FALLBACK), rates(&rows, PATIENT)), (all.clone(), all));
    assert_eq!(rates(&rows, PLAIN), [None].into(), "what would hang is a reference");
    for row in rows.iter().filter(|row| row.config_id == PATIENT) {
        assert_eq!((row.parameters.max_spins, row.parameters.workgroups), (Some(64), Some(256)));
        // What the replay device says: each blocked tile is added up once, after 65 looks.
        let blocked = row.blocking.map_or(0, |k| 256u64.div_ceil(1 << k));
        assert_eq!((row.fallbacks_sum, row.spins_sum), (Some(blocked), Some(65 * blocked)), "{row:?}");
        assert_eq!(row.insertions_sum, row.fallbacks_sum);
    }
    for part in ["none", "1 in 512", "1 in 2", "fallbacks", "x free", PATIENT] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    for (name, part) in [
        ("fallbacks", "fallbacks per workgroup"),
        ("insertions", "insertions per workgroup"),
        ("spins", "spins per workgroup"),
        ("lookback_length", "tiles per lookback"),
        ("throughput", "GB/s"),
    ] {
        let read =
            |ending| fs::read_to_string(place.folder().join(format!("plots/{name}.{ending}"))).unwrap();
        // Every second place has a label.
        for part in ["<svg", "</svg>", "none", "1/256", "1/2", "blocked tiles", FALLBACK, part] {
            assert!(read("svg").contains(part), "no `{part}` in {name}.svg");
        }
        let csv = read("csv");
        assert!(csv.starts_with(&format!("blocked,series,{part}\nnone,")), "{csv}");
        assert!(csv.contains(&format!("\nnone,{FALLBACK},")), "{csv}");
        assert!(csv.contains(&format!("1/2,{PATIENT},")), "{csv}");
        assert_eq!(csv.contains(PLAIN), name == "throughput", "{csv}");
    }
    let metadata = Metadata::read(&place.folder().join("bench.meta.json")).unwrap();
    assert_eq!(metadata.runs[0].settings["blocking"], serde_json::json!([9, 8, 7, 6, 5, 4, 3, 2, 1]));

    // The rows are of another experiment than those of an ordinary benchmark.
    fs::rename(place.folder().join("bench.csv"), place.folder().join("blocked.csv")).unwrap();
    let with = bench(&place, &[PLAIN, "--sizes", "65536", "--with", "blocked.csv"], 0);
    assert!(with.stdout.contains(FALLBACK) && !with.stdout.contains("blocked"), "{}", with.stdout);
}

#[test]
fn blocking_is_shown_to_block() {
    let place = Place::new("");
    let args = [FALLBACK, PLAIN, "--blocking=1", "--sizes", "4096,65536", "--prove", "--timeout", "2s"];
    let ended = bench(&place, &[&args[..], &["--format", "json"]].concat(), 0);
    let rows = rows(&place);
    let hung: Vec<&Record> = rows.iter().filter(|row| row.status != Status::Ok).collect();
    assert_eq!(hung.len(), 1);
    assert_eq!((hung[0].config_id.as_str(), hung[0].n_elements), (PLAIN, 4096), "at the smallest size");
    assert_eq!((hung[0].status, hung[0].blocking), (Status::Timeout, Some(1)));
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["proof"].as_array().unwrap().len(), 1);
    assert_eq!((&json["proof"][0]["status"], &json["proof"][0]["blocking"]), (&"timeout".into(), &1.into()));
    let of_json = json["rows"].as_array().unwrap();
    assert_eq!(of_json.len(), 2 * (2 + 1));
    assert!(
        of_json.iter().all(|row| row["status"] == "ok" && row["lookback_length_mean"].as_f64() > Some(0.0))
    );
    assert!(
        json["copies"].as_array().unwrap().iter().all(|copy| copy["throughput_gbps"].as_f64() > Some(0.0))
    );

    // One tile waits for nobody: the proof fails, and that is said.
    let refuted = bench(&place, &[PLAIN, "--blocking=1", "--sizes", "100", "--prove"], 1);
    assert!(refuted.stderr.contains("does not block it"), "{}", refuted.stderr);
}

#[test]
fn what_cannot_be_asked_for_is_said() {
    let place = Place::new("");
    for (args, part) in [
        (&["--blocking=0"][..], "not an exponent from 1 to 31"),
        (&["--blocking=3,32"], "not an exponent from 1 to 31"),
        (&["--blocking", "--with", "x.csv"], "--with"),
        (&[PLAIN, "--prove"], "--blocking"),
        (&[PLAIN, "--plots", "x"], "--blocking"),
    ] {
        let ended = bench(&place, args, 2);
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    // What cannot be blocked has its rule.
    bench(&place, &["one.b1.vec4.none.sub.wg64", "--blocking=1", "--sizes", "4096", "--prove"], 0);
    assert!(rows(&place).iter().all(|row| row.blocking.is_none() && row.status == Status::Ok));
}

#[test]
fn a_verification_with_blocked_tiles() {
    let place = Place::new("");
    let verify = |args: &[&str]| {
        let on_replay = ["verify", "--device", "replay:replay.toml", "--inputs", "ones", "--timeout", "1s"];
        ended(place.scanbox(&on_replay).args(args).output().unwrap())
    };
    let fallback = verify(&[FALLBACK, "--blocking", "1", "--sizes", "1,1000"]);
    assert_eq!(fallback.code, Some(0), "{}{}", fallback.stdout, fallback.stderr);
    assert!(fallback.stdout.contains("blocked    1 in 2 tiles"), "{}", fallback.stdout);
    assert!(fallback.stderr.contains("1 in 2 tiles never publishes its total"), "{}", fallback.stderr);
    let plain = verify(&[PLAIN, "--blocking", "3", "--sizes", "1000"]);
    assert_eq!(plain.code, Some(1), "{}{}", plain.stdout, plain.stderr);
    assert!(
        plain.stdout.contains("1: 1 timeout") && plain.stdout.contains("--blocking 3"),
        "{}",
        plain.stdout
    );
    let other = verify(&["one.b1.vec4.none.sub.wg64", "--blocking", "1", "--sizes", "1000"]);
    assert_eq!(other.code, Some(2), "{}{}", other.stdout, other.stderr);
    assert!(other.stderr.contains("blocking-needs-chained-scan"), "{}", other.stderr);
}

#[test]
fn on_a_software_device_fallback_is_right_and_plain_lookback_is_not() {
    let Some(machine) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let small = ["--sizes", "10001", "--blocking=1", "--rounds", "1", "--warm-up", "1ms", "--samples", "3"];
    let args =
        ["bench", FALLBACK, PLAIN, "--prove", "--out", "rows.csv", "--plots", "plots", "--timeout", "20s"];
    let answer = run(folder.path(), machine.clone(), &[&args[..], &small].concat());
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let rows = csv_file::read(&folder.path().join("rows.csv")).unwrap().records;
    let of = |config: &str, blocking| {
        rows.iter().find(|row| row.config_id == config && row.blocking == blocking).unwrap()
    };
    assert_eq!(of(FALLBACK, None).status, Status::Ok);
    assert_eq!(of(FALLBACK, Some(1)).status, Status::Ok);
    assert!(of(FALLBACK, Some(1)).insertions_sum.unwrap() > 0);
    assert!(of(FALLBACK, Some(1)).insertions_sum <= of(FALLBACK, Some(1)).fallbacks_sum);
    assert_eq!((of(PLAIN, None).status, of(PLAIN, None).fallbacks_sum), (Status::Ok, Some(0)));
    // lavapipe ends loops silently after 65,535 rounds.
    assert!(matches!(of(PLAIN, Some(1)).status, Status::WrongResult | Status::Timeout));
    assert!(folder.path().join("plots/throughput.svg").exists());

    let args = ["verify", FALLBACK, "--blocking", "1", "--sizes", "1,700,10001", "--inputs", "random,spike"];
    let answer = run(folder.path(), machine.clone(), &args);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let args = ["verify", PLAIN, "--blocking", "1", "--sizes", "700", "--inputs", "ones", "--timeout", "20s"];
    let answer = run(folder.path(), machine, &args);
    assert!([1, 5].contains(&answer.code), "{}{}", answer.out, answer.err);
}
