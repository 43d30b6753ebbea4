//! Everything that goes wrong on a device becomes a row with a status and a reason, and the sweep goes on.
#![allow(clippy::print_stdout, reason = "figures for whoever asks for them")]

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sweeps::{
    ALL, Place, Rows, all_ok, assert_soon, children, fault, faulty, signal, wait, wait_until,
};
use rustix::process::Signal;
use scanbox_model::csv_file;
use scanbox_model::filter::Filter;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::space::{Point, Space};
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};

/// A device with one fault: the row of the config that it hits, and how the sweep ends. All others stay `ok`.
fn check(kind: &str, status: Status, reason: &str, code: i32) {
    check_fault(kind, "", status, reason, code);
}

fn check_fault(kind: &str, further: &str, status: Status, reason: &str, code: i32) {
    let place = Place::in_memory(&(fault(kind) + further));
    let ended = place.sweep(&["--timeout", "1s"]);
    assert_eq!(ended.code, Some(code), "{kind}: {}{}", ended.stdout, ended.stderr);
    let records = place.records();
    let row =
        records.iter().find(|record| (record.config_id.clone(), record.n_elements) == faulty()).unwrap();
    assert_eq!(row.status, status, "{kind}");
    assert!(row.reason.contains(reason), "{kind}: {}", row.reason);
    assert_eq!(row.steady.is_some(), status == Status::Ok, "{kind}: only a right answer has a time");
    let mut expected = all_ok();
    expected.insert(faulty(), status);
    assert_eq!(place.rows(), expected, "{kind}");
    let order: Vec<u64> = records.iter().map(|record| record.order_index).collect();
    assert_eq!(order, (0..ALL as u64).collect::<Vec<_>>(), "{kind}: the order counts on across workers");
    for record in records.iter().filter(|record| record.status == Status::Ok) {
        assert!(record.drift_pct.is_some(), "{kind}: each worker times the canary before its first row");
    }
    if status != Status::Ok {
        assert!(ended.stdout.contains(&format!("1 {status}")), "{kind}: {}", ended.stdout);
    }
    assert_eq!(place.sweep(&[]).code, Some(code), "{kind}: a row that failed is a row");
    assert_eq!(place.rows(), expected, "{kind}");
}

#[test]
fn wrong_answers_are_never_ok() {
    check("wrong_element", Status::WrongResult, "the first is element 0", 5);
    check("wrong_last", Status::WrongResult, "the first is element 4095", 5);
    check("write_behind", Status::WrongResult, "behind the output", 5);
}

/// Where nobody can choose, a kernel is built for a size of subgroups that the driver need not take.
#[test]
fn a_wrong_answer_says_where_the_driver_chooses_the_subgroup_size() {
    let reason = |script: &str| {
        let place = Place::in_memory(&(script.to_owned() + &fault("wrong_element")));
        assert_eq!(place.sweep(&[]).code, Some(5));
        let rows = place.records();
        rows.into_iter().find(|row| row.status == Status::WrongResult).unwrap().reason
    };
    let said = "built for subgroups of 32, and the driver chooses among 4 to 32 itself";
    assert!(reason("subgroup_sizes = [4, 32]\n").contains(said));
    assert!(!reason("").contains("chooses"));
    assert!(!reason("subgroup_sizes = [4, 32]\npinned_subgroups = 32\n").contains("chooses"));
}

/// Kernels for each size that a device offers are rows of their own, which say what they ran with.
#[test]
fn subgroup_sizes_are_swept_and_analysed_like_any_parameter() {
    let place = Place::in_memory("subgroup_sizes = [8, 32]\npinned_subgroups = 128\n");
    let space =
        crate::sweeps::SPACE.replacen("workgroup_size", "subgroup_size = [\"all\"]\nworkgroup_size", 1);
    fs::write(place.folder().join("sizes.toml"), space).unwrap();
    let sweep = ["sweep", "--device", "replay:replay.toml", "--space", "./sizes.toml", "--out", "sizes.csv"];
    let rows = |file: &str| csv_file::read(&place.folder().join(file)).unwrap().records;
    place.run(&sweep, 0);
    let records = rows("sizes.csv");
    for (tag, size) in [("", 32), (".sg8.", 8), (".sg16.", 16)] {
        let of_size: Vec<_> =
            records
                .iter()
                .filter(|row| {
                    if tag.is_empty() { !row.config_id.contains(".sg") } else { row.config_id.contains(tag) }
                })
                .collect();
        assert!(!of_size.is_empty() && of_size.len() * 3 == records.len(), "{tag}: {}", of_size.len());
        assert!(
            of_size.iter().all(|row| row.subgroup_size == Some(size) && row.status == Status::Ok),
            "{tag}"
        );
    }
    // The same command has nothing left to do, and a filter takes one of them.
    place.run(&sweep, 0);
    let again = rows("sizes.csv");
    assert_eq!(again.len(), records.len());
    let only = [&sweep[..5], &["--filter", "subgroup_size=16", "--out", "one.csv"]].concat();
    place.run(&only, 0);
    let one = rows("one.csv");
    assert!(one.len() * 3 == records.len() && one.iter().all(|row| row.config_id.contains(".sg16.")));
    place.run(&["analyze", "sizes.csv", "--include-software"], 0);
}

#[test]
fn failures_of_the_device_are_rows() {
    check("out_of_memory", Status::OutOfMemory, "scripted", 0);
    check("pipeline_error", Status::PipelineError, "scripted", 0);
    check("device_lost", Status::DeviceLost, "scripted", 0);
}

#[test]
fn impossible_times_are_rows() {
    check("zero_timestamps", Status::RuntimeError, "timestamps", 0);
    check("backward_timestamps", Status::RuntimeError, "timestamps", 0);
    check_fault("zero_timestamp_once", "times = 1", Status::Ok, "", 0);
    check("throttle", Status::Ok, "", 0);
}

#[test]
fn a_worker_that_crashes_is_replaced() {
    check("crash", Status::RuntimeError, "its worker process ended: killed by signal 6", 0);
}

#[test]
fn a_worker_that_hangs_is_replaced() {
    let start = Instant::now();
    check("hang", Status::Timeout, "did not finish within 1 s (--timeout sets the limit)", 0);
    assert_soon(start, "the end of a config that hangs");
}

/// A worker that is killed from outside while the config that hangs is in flight.
fn kill_in_flight(place: &Place, pid: u32, times: usize) {
    let (config, n) = faulty();
    let line = format!("start {config} {n}\n");
    for killed in 1..=times {
        wait_until("the config that hangs", || {
            let journal = fs::read_to_string(place.file("journal")).unwrap_or_default();
            journal.ends_with(&line) && journal.matches(&line).count() == killed
        });
        let worker = *children(pid).first().unwrap();
        assert!(signal(worker, Signal::KILL));
    }
}

#[test]
fn a_config_that_ended_two_workers_is_quarantined() {
    let place = Place::new(&fault("hang"));
    let child = place.start(&["--timeout", "60s"]);
    kill_in_flight(&place, child.id(), 2);
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut expected = all_ok();
    expected.insert(faulty(), Status::Quarantined);
    assert_eq!(place.rows(), expected);
    let journal = fs::read_to_string(place.file("journal")).unwrap();
    assert_eq!(journal.matches("killed by signal 9").count(), 2, "{journal}");
    // It stays out of the way until somebody asks for it.
    place.script("");
    assert_eq!(place.sweep(&[]).code, Some(0));
    assert_eq!(place.rows(), expected);
    assert_eq!(place.sweep(&["--retry-failed"]).code, Some(0));
    assert_eq!(place.rows(), all_ok());
}

#[test]
fn deaths_count_from_run_to_run() {
    let place = Place::new(&fault("hang"));
    for _ in 0..2 {
        let child = place.start(&["--timeout", "60s"]);
        let before = fs::read_to_string(place.file("journal")).unwrap_or_default().matches("ended").count();
        let (config, n) = faulty();
        let line = format!("start {config} {n}\n");
        wait_until("the config that hangs", || {
            let journal = fs::read_to_string(place.file("journal")).unwrap_or_default();
            journal.matches("run ").count() == before + 1 && journal.ends_with(&line)
        });
        assert!(signal(*children(child.id()).first().unwrap(), Signal::KILL));
        wait_until("the note in the journal", || {
            let journal = fs::read_to_string(place.file("journal")).unwrap_or_default();
            journal.matches("ended").count() == before + 1
        });
        // The supervisor goes, too, before it can try the config once more.
        assert!(signal(child.id(), Signal::KILL));
        wait(child);
    }
    let ended = place.sweep(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(place.rows()[&faulty()], Status::Quarantined);
}

#[test]
fn a_script_that_cannot_be_read_ends_the_sweep_before_it_begins() {
    let place = Place::new("nonsense = 1");
    let ended = place.sweep(&[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("replay script") && ended.stderr.contains("nonsense"), "{}", ended.stderr);
    assert!(!place.folder().join("out").exists());
}

/// Every kind of fault, and what becomes of it.
const STORM: &[(&str, Status)] = &[
    ("wrong_element", Status::WrongResult),
    ("hang", Status::Timeout),
    ("wrong_last", Status::WrongResult),
    ("crash", Status::RuntimeError),
    ("write_behind", Status::WrongResult),
    ("device_lost", Status::DeviceLost),
    ("out_of_memory", Status::OutOfMemory),
    ("pipeline_error", Status::PipelineError),
    ("zero_timestamps", Status::RuntimeError),
    ("backward_timestamps", Status::RuntimeError),
];

/// The points of a part of the thesis space, one in ten with a fault: each kind in turn.
fn storm_points(sizes: &str, filter: &str) -> Vec<(Point, Option<(&'static str, Status)>)> {
    let text = include_str!("../../../configs/thesis.toml");
    let space = Space::from_toml(text, "thesis").unwrap().with_sizes(sizes.parse().unwrap());
    let filter: Filter = filter.parse().unwrap();
    let u32_sum = |config: &_, n, device: &_| scanbox_kernels::legal(config, &Problem::default(), n, device);
    let mut points = space.enumerate(Replay::new(Script::default()).profile(), u32_sum).points;
    points.retain(|point| filter.accepts(&point.config));
    let fault = |index: usize| (index % 10 == 7).then(|| STORM[index / 10 % STORM.len()]);
    points.into_iter().enumerate().map(|(index, point)| (point, fault(index))).collect()
}

/// A sweep in a storm: every config has its row, and its status is the one that the script has for it.
fn storm(sizes: &str, filter: &str, configs: usize) {
    let points = storm_points(sizes, filter);
    assert_eq!(points.len(), configs);
    let faults = points.iter().filter_map(|(point, fault)| Some((point, fault.as_ref()?)));
    let script = faults.map(|(point, (kind, _))| {
        format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{}\"\nn = {}\n", point.config, point.n)
    });
    let place = Place::in_memory(&script.collect::<String>());
    let start = Instant::now();
    let space = ["--space", "thesis", "--sizes", sizes, "--filter", filter];
    let mut command = place.command_for(&space, &["--timeout", "2s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let memory = peak_memory(child.id());
    let ended = wait(child);
    let time = start.elapsed();
    assert_eq!(ended.code, Some(5), "{}{}", ended.stdout, ended.stderr);
    let expected: Rows = points
        .iter()
        .map(|(point, fault)| {
            ((point.config.to_string(), point.n), fault.map_or(Status::Ok, |(_, status)| status))
        })
        .collect();
    let rows = place.rows();
    for (key, status) in &expected {
        assert_eq!(rows.get(key), Some(status), "{key:?}");
    }
    assert_eq!(rows.len(), configs);
    let peak_mib = memory.join().unwrap() / 1024;
    println!("a storm over {configs} configs took {time:.1?} and {peak_mib} MiB: {}", ended.stdout);
    assert!(peak_mib < 50, "the supervisor took {peak_mib} MiB");
}

/// Watches the peak memory of a process until it ends, in KiB.
fn peak_memory(pid: u32) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
            let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) else { break };
            peak = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        peak
    })
}

#[test]
fn a_storm_of_faults_leaves_every_config_accounted_for() {
    storm("2^12..2^16", "block_scan=raking,workgroup_size=64|128", 118);
}

/// Takes minutes: `SCANBOX_STORM=1` runs it.
#[test]
fn a_storm_over_the_thesis_space_leaves_every_config_accounted_for() {
    if std::env::var_os("SCANBOX_STORM").is_some() {
        storm("2^10..2^29", "family=chained-scan", 3600);
    }
}
