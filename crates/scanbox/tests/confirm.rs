//! `scanbox sweep --confirm`: the leaders of each size once more, against each other.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::sweeps::{ALL, Place, signal, slow, wait};
use rustix::process::Signal;
use scanbox_model::record::{Record, Status};

const NOISY: &str = "noise_ratio = 0.05\n";

/// The confirmed rows by size.
fn confirmed(place: &Place) -> BTreeMap<u64, Vec<Record>> {
    let mut sizes: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    for record in place.records() {
        if record.confirmed_ns.is_some() {
            sizes.entry(record.n_elements).or_default().push(record);
        }
    }
    sizes
}

#[track_caller]
fn sweep(place: &Place, args: &[&str], code: i32) -> String {
    let ended = place.sweep(args);
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    ended.stdout + &ended.stderr
}

fn answers(place: &Place, args: &[&str]) -> serde_json::Value {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"));
    let command = command.args(["analyze", "out/test.csv", "--format", "json"]).args(args);
    let output = command.current_dir(place.folder()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The leaders of every size are confirmed, and whatever the answers name; every time of a size is of the same rounds.
#[track_caller]
fn assert_confirmed(place: &Place, count: usize) {
    let records = place.records();
    assert_eq!(records.len(), ALL);
    let confirmed = confirmed(place);
    assert_eq!(confirmed.len(), 7);
    for (n, rows) in &confirmed {
        assert!(rows.len() >= count);
        let mut all: Vec<&Record> = records.iter().filter(|row| row.n_elements == *n).collect();
        all.sort_by_key(|row| (row.steady.unwrap().median_ns, row.config_id.clone()));
        assert!(all[..count].iter().all(|row| row.confirmed_ns.is_some()));
        assert!(rows.iter().all(|row| row.rounds == rows[0].rounds));
    }
    let json = answers(place, &["--portfolio", "6"]);
    let device = &json["devices"][0];
    let mut named = Vec::new();
    for point in device["ideal"]["points"].as_array().unwrap() {
        named.extend([(&point["n"], &point["config"]), (&point["n"], &point["runner_up"])]);
    }
    for point in device["best_kernel"]["line"].as_array().unwrap() {
        named.push((&point["n"], &point["config"]));
    }
    assert!(named.len() > 14, "{device}");
    for (n, config) in named {
        let rows = &confirmed[&n.as_u64().unwrap()];
        let config = config.as_str().unwrap();
        assert!(
            rows.iter().any(|row| row.config_id == config),
            "{config} at {n} is named, and not confirmed"
        );
    }
}

#[test]
fn the_leaders_of_each_size_are_confirmed() {
    let place = Place::new(NOISY);
    let said = sweep(&place, &["--confirm", "2"], 0);
    assert!(said.contains(" rows of 7 sizes; at "), "{said}");
    assert_confirmed(&place, 2);
    assert!(!place.file("journal").exists());
    // Nothing is left to do.
    let before = fs::read(place.file("csv")).unwrap();
    let said = sweep(&place, &["--confirm", "2"], 0);
    assert!(!said.contains("confirming"), "{said}");
    assert_eq!(fs::read(place.file("csv")).unwrap(), before);
    // More of them can be asked for later.
    sweep(&place, &["--confirm", "3"], 0);
    assert_confirmed(&place, 3);
    let runs: Vec<u64> = place.metadata().runs.iter().map(|run| run.rows).collect();
    assert!(runs.len() >= 2 && runs[0] == ALL as u64 && runs[1..].iter().all(|&rows| rows == 0), "{runs:?}");
}

/// A later pass sets those that are new against the fastest that is confirmed: a device that has become slower in
/// between changes no time.
#[test]
fn times_of_later_passes_are_on_the_scale_of_the_first() {
    let place = Place::new("");
    sweep(&place, &["--confirm", "2"], 0);
    let first = confirmed(&place);
    let waiting: usize = first.values().map(|rows| 4 - rows.len()).sum();
    assert!(waiting > 0, "a pass is left to do");
    place.script("[[slow]]\nfactor = 1.5\n");
    sweep(&place, &["--confirm", "4"], 0);
    let all = confirmed(&place);
    for (n, rows) in &all {
        assert_eq!(rows.len(), 4);
        for row in rows {
            // Without noise a config takes as long each time.
            let (swept, confirmed) = (row.steady.unwrap().median_ns as f64, row.confirmed_ns.unwrap() as f64);
            assert!((confirmed / swept - 1.0).abs() < 0.01, "{} at {n}: {swept}, {confirmed}", row.config_id);
            let before = first[n].iter().find(|before| before.config_id == row.config_id);
            assert!(before.is_none_or(|before| before == row), "a time that was confirmed stays");
        }
    }
}

#[test]
fn the_analysis_takes_the_winner_of_the_confirmation() {
    let place = Place::new(NOISY);
    sweep(&place, &["--confirm", "3"], 0);
    let json = answers(&place, &[]);
    let points = json["devices"][0]["ideal"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 7);
    for point in points {
        let rows = &confirmed(&place)[&point["n"].as_u64().unwrap()];
        let best = rows.iter().map(|row| row.confirmed_ns.unwrap()).min().unwrap();
        assert_eq!(point["confirmed_ns_median"].as_u64(), Some(best));
        assert!(point["margin_pct"].as_f64().unwrap() >= 0.0);
        assert_eq!(point["time_ns"].as_f64(), Some(best as f64));
        assert!(point["runner_up_gbps"].as_f64().unwrap() <= point["gbps"].as_f64().unwrap());
    }
}

#[test]
fn an_interrupted_confirmation_goes_on() {
    let place = Place::new(NOISY);
    sweep(&place, &[], 0);
    place.script(&(NOISY.to_owned() + &slow(150)));
    let mut codes = Vec::new();
    // On a machine that does other things an attempt may not get far.
    for _ in 0..100 {
        let ended = place.sweep(&["--confirm", "3", "--budget", "1500ms"]);
        codes.push(ended.code.unwrap());
        assert!(place.records().len() == ALL && !ended.stderr.contains("panicked"));
        if ended.code == Some(0) {
            break;
        }
        // The budget may be spent before the device is open.
        let told = ended.stdout + &ended.stderr;
        assert!(told.contains("to continue, run"), "{told}");
    }
    assert!(codes.len() > 1 && codes.ends_with(&[0]), "{codes:?}");
    assert!(codes[..codes.len() - 1].iter().all(|&code| code == 4), "{codes:?}");
    assert_confirmed(&place, 3);
}

/// Between the sweep and the confirmation there is a moment without a worker.
#[test]
fn a_stop_before_the_confirmation_ends_as_any_other() {
    for _ in 0..5 {
        let place = Place::new(NOISY);
        let child = place.start_with_rows(&["--confirm", "3"], ALL);
        signal(child.id(), Signal::TERM);
        let ended = wait(child);
        if ended.code == Some(0) {
            continue;
        }
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.stdout.contains("to continue, run") && !ended.stderr.contains("error"), "{ended:?}");
    }
}

#[test]
fn a_leader_that_fails_when_it_runs_again_is_none() {
    for (kind, status, code) in [
        ("wrong_element", Status::WrongResult, 5),
        ("hang", Status::Timeout, 0),
        ("crash", Status::RuntimeError, 0),
    ] {
        let place = Place::new("");
        sweep(&place, &[], 0);
        let records = place.records();
        let at = records.iter().filter(|row| row.n_elements == 4096);
        let leader = at.min_by_key(|row| row.steady.unwrap().median_ns).unwrap().config_id.clone();
        place.script(&format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{leader}\"\nn = 4096\n"));
        // The next one takes its place.
        sweep(&place, &["--confirm", "2", "--timeout", "1s"], code);
        let failed: Vec<Record> =
            place.records().into_iter().filter(|row| row.status != Status::Ok).collect();
        assert_eq!(failed.len(), 1, "{kind}");
        assert_eq!((failed[0].config_id.as_str(), failed[0].status), (leader.as_str(), status));
        assert!(failed[0].reason.starts_with("in the confirmation: "), "{}", failed[0].reason);
        assert!(failed[0].run_id.ends_with("-confirm"), "the run that it failed in: {}", failed[0].run_id);
        assert!(confirmed(&place)[&4096].len() >= 2);
    }
}

/// The fastest config at 4096 elements of a sweep without faults, and the fault of this kind that hits it.
fn leader_and_fault(kind: &str) -> (String, String) {
    let place = Place::in_memory("");
    sweep(&place, &[], 0);
    let at = place.records().into_iter().filter(|row| row.n_elements == 4096);
    let leader = at.min_by_key(|row| row.steady.unwrap().median_ns).unwrap().config_id;
    let fault = format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{leader}\"\nn = 4096\n");
    (leader, fault)
}

/// A leader that was wrong, was `ok` without proof and then with it has three rows: it takes part once, the latest
/// gets the time, and the file can be read.
#[test]
fn a_leader_that_was_retried_and_proved_is_confirmed_once() {
    let (leader, fault) = leader_and_fault("wrong_last");
    for at_once in [false, true] {
        let place = Place::in_memory(&fault);
        sweep(&place, &[], 5);
        place.script("");
        sweep(&place, &["--retry-failed"], 5);
        if at_once {
            sweep(&place, &["--retry-failed", "--prove", "--confirm", "3"], 0);
        } else {
            sweep(&place, &["--retry-failed", "--prove"], 0);
            sweep(&place, &["--confirm", "3"], 0);
        }
        let is_of_leader = |row: &Record| row.config_id == leader && row.n_elements == 4096;
        let rows: Vec<Record> = place.records().into_iter().filter(is_of_leader).collect();
        let statuses: Vec<Status> = rows.iter().map(|row| row.status).collect();
        assert_eq!(statuses, [Status::WrongResult, Status::Ok, Status::Ok], "the old rows stay");
        assert!(!rows[0].reason.contains("in the confirmation"), "{}", rows[0].reason);
        let confirmed: Vec<bool> = rows.iter().map(|row| row.confirmed_ns.is_some()).collect();
        assert_eq!(confirmed, [false, false, true]);
        let at = &self::confirmed(&place)[&4096];
        assert!(at.len() >= 3, "none of the places is taken twice: {at:?}");
        // Every command reads it.
        sweep(&place, &["--confirm", "3"], 0);
        assert_eq!(answers(&place, &[])["devices"][0]["ideal"]["points"].as_array().unwrap().len(), 7);
    }
}

/// What fails in a confirmation fails when that runs, whenever it was measured before: an older proof takes nothing
/// back.
#[test]
fn a_proof_does_not_outweigh_a_later_failure() {
    let (leader, fault) = leader_and_fault("wrong_last");
    let second = Duration::from_millis(1100);
    let place = Place::in_memory("");
    sweep(&place, &[], 0);
    std::thread::sleep(second);
    let other = Place::in_memory(&fault);
    sweep(&other, &[], 5);
    other.script("");
    sweep(&other, &["--retry-failed", "--prove"], 0);
    std::thread::sleep(second);
    place.script(&fault);
    sweep(&place, &["--confirm", "2"], 5);
    for ending in ["csv", "meta.json"] {
        let name = format!("other.{ending}");
        fs::copy(other.file(ending), place.folder().join(name)).unwrap();
    }
    let json = answers(&place, &["other.csv"]);
    let points = json["devices"][0]["ideal"]["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["n"] == 4096).unwrap();
    assert_ne!(point["config"], leader.as_str(), "{point}");
}
