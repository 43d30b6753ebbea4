//! Devices by WebGPU as a user drives them, on the software device of Mesa: rows, resumption, verification, and what is
//! said where nothing can be done.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use scanbox_model::api::Api;
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};
use scanbox_model::timer::Timer;
use serde_json::Value;

use crate::machines::{Answer, Machine, run};
use crate::sweeps::{children, signal, wait, wait_until};

mod faults;

const SPACE: &str = r#"name = "tiny"
sizes = "2^10..2^12"

[[block]]
family = ["chained-scan"]
batch_size = [1, 2]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["fallback"]
block_scan = ["subgroup"]

[[block]]
family = ["one-workgroup"]
batch_size = [1]
vector_width = ["vec4"]
workgroup_size = [256]
lookback = ["none"]
block_scan = ["subgroup"]
"#;

const SWEEP: &[&str] = &[
    "sweep",
    "--api",
    "webgpu",
    "--device",
    "0",
    "--space",
    "space.toml",
    "--out",
    "out.csv",
    "--timeout",
    "120s",
];

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("space.toml"), SPACE).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    #[track_caller]
    fn check(&self, machine: &Machine, arguments: &[&str], code: i32, parts: &[&str]) -> Answer {
        let answer = run(self.path(), machine.clone(), arguments);
        let Answer { out, err, .. } = &answer;
        // A layer of Mesa says so of a machine without a display.
        assert!(!err.contains("XDG_RUNTIME_DIR"), "{arguments:?}: {err}");
        assert_eq!(answer.code, code, "{arguments:?}: {out}{err}");
        for part in parts {
            assert!(out.contains(part) || err.contains(part), "no `{part}` in:\n{out}{err}");
        }
        answer
    }

    fn rows(&self) -> Vec<Record> {
        csv_file::read(&self.path().join("out.csv")).unwrap().records
    }
}

#[test]
fn a_sweep_gives_rows_of_webgpu_and_goes_on() {
    let Some(machine) = Machine::lavapipe() else { return };
    let fixture = Fixture::new();
    fixture.check(&machine, SWEEP, 0, &[]);
    let rows = fixture.rows();
    let points: BTreeSet<(String, u64)> =
        rows.iter().map(|row| (row.config_id.clone(), row.n_elements)).collect();
    assert!(points.len() >= 9, "{points:?}");
    for row in &rows {
        assert_eq!((row.api, row.robustness, row.timer), (Api::WebGpu, Some(true), Some(Timer::Timestamps)));
        assert!(row.implementation.starts_with("wgpu "), "{}", row.implementation);
        assert_eq!(row.status, Status::Ok, "{}: {}", row.config_id, row.reason);
        assert!(row.steady.is_some() && row.twin_calls > Some(0), "{}", row.config_id);
    }
    // Nothing is measured twice; what is missing is measured.
    let text = fs::read_to_string(fixture.path().join("out.csv")).unwrap();
    fixture.check(&machine, SWEEP, 0, &[]);
    assert_eq!(fs::read_to_string(fixture.path().join("out.csv")).unwrap(), text);
    let cut: Vec<&str> = text.lines().collect();
    fs::write(fixture.path().join("out.csv"), cut[..cut.len() - 2].join("\n") + "\n").unwrap();
    fixture.check(&machine, SWEEP, 0, &[]);
    let again = fixture.rows().into_iter().map(|row| (row.config_id, row.n_elements)).collect();
    assert_eq!(points, again);
    // By Vulkan it is another device.
    let vulkan = ["sweep", "--device", "0", "--space", "space.toml", "--out", "out.csv"];
    fixture.check(&machine, &vulkan, 1, &["a file holds rows of one interface to a device"]);
}

/// Starts a sweep that something may befall.
fn start(fixture: &Fixture, driver: &Path) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"))
        .args(SWEEP)
        .current_dir(fixture.path())
        .env("VK_DRIVER_FILES", driver)
        .env("SCANBOX_CACHE", fixture.path().join("cache"))
        .env("SCANBOX_LOCKS", fixture.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn is_in_flight(fixture: &Fixture) -> bool {
    let journal = fs::read_to_string(fixture.path().join("out.journal"));
    journal.is_ok_and(|journal| journal.contains("start"))
}

#[test]
fn a_worker_that_was_killed_is_replaced() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let fixture = Fixture::new();
    let child = start(&fixture, &driver);
    wait_until("a config in flight", || is_in_flight(&fixture));
    assert!(children(child.id()).iter().filter(|&&worker| signal(worker, Signal::KILL)).count() > 0);
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(fixture.rows().iter().all(|row| row.status == Status::Ok));
}

#[test]
fn devices_and_verification_go_through_the_api_that_is_asked_for() {
    let Some(machine) = Machine::lavapipe() else { return };
    let fixture = Fixture::new();
    fixture.check(&machine, &["devices", "--api", "webgpu"], 0, &["llvmpipe", "WebGPU by wgpu ", "usable"]);
    let devices = fixture.check(&machine, &["devices", "--api", "webgpu", "--format", "json"], 0, &[]);
    let devices: Value = serde_json::from_str(&devices.out).unwrap();
    assert_eq!(devices[0]["profile"]["api"], "webgpu");
    fixture.check(
        &machine,
        &["doctor", "--api", "webgpu"],
        0,
        &["WebGPU by wgpu ", "it has what kernels need"],
    );
    // What only Vulkan tells or does is neither made up nor recommended.
    fixture.check(&machine, &["devices", "--api", "webgpu"], 0, &["assumed: WebGPU does not tell"]);
    let doctor = fixture.check(&machine, &["doctor", "--api", "webgpu"], 0, &["WebGPU does not report it"]);
    assert!(!doctor.out.contains("--probe"), "{}", doctor.out);
    let label = "b1.vec4.fallback.sub.wg64";
    let explained = ["explain", "--api", "webgpu", label, "--device", "0"];
    let parts =
        ["It runs, ", "source in kernels/wgsl", "stages/lookback/fallback.wgsl", "what WebGPU promises"];
    fixture.check(&machine, &explained, 0, &parts);
    let two_levels = ["explain", "--api", "webgpu", "b1.vec4.two.sub.wg64", "--device", "0"];
    fixture.check(&machine, &two_levels, 0, &["does not run", "not-in-wgsl"]);
    fixture.check(&machine, &["--api", "webgpu"], 0, &["sweep --api webgpu --device 0"]);
    let space = ["space", "--api", "webgpu", "--space", "space.toml"];
    fixture.check(&machine, &space, 0, &["tiny"]);
    let verify = ["verify", "--api", "webgpu", label, "--sizes", "100,5000"];
    fixture.check(&machine, &verify, 0, &["1 ok"]);
    let off = ["verify", "--api", "webgpu", "--robustness", "off", label, "--sizes", "5000"];
    fixture.check(&machine, &off, 0, &["1 ok"]);
    // What waits runs where it is known that workgroups go on.
    let waits = ["verify", "--api", "webgpu", "b1.vec4.par.sub.wg64", "--sizes", "5000"];
    fixture.check(&machine, &waits, 0, &["1 ok"]);
}

#[test]
fn what_cannot_be_done_by_webgpu_is_said() {
    let fixture = Fixture::new();
    let machine = Machine::WithoutDriver;
    let check = |arguments: &[&str], code, parts: &[&str]| fixture.check(&machine, arguments, code, parts);
    check(&["devices", "--api", "webgpu"], 3, &["wgpu finds no adapter", "scanbox doctor"]);
    check(SWEEP, 3, &["wgpu finds no adapter"]);
    check(&["devices", "--api", "metal"], 2, &["metal", "vulkan, webgpu"]);
    check(&["devices", "--api", "webgpu", "--probe"], 2, &["devices --probe asks through Vulkan alone"]);
    check(&["devices", "--robustness", "off"], 2, &["--robustness off is for --api webgpu"]);
    check(&["tune", "--api", "webgpu"], 2, &["tune makes a pack for Vulkan"]);
    let compile = ["space", "--api", "webgpu", "--space", "space.toml", "--compile", "x.csv"];
    check(&compile, 2, &["space --compile asks a driver of Vulkan"]);
}
