//! The GPU of a browser as a user drives it, in a Chromium of this system without a window. It takes minutes:
//! `SCANBOX_TEST_BROWSER=1`, which `scripts/test browser` sets.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scanbox_browser::{BrowserChoice, BrowserOptions, Connection};
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};
use scanbox_model::safe_devices::SafeDevices;

use crate::machines::{Answer, Machine, run};
use crate::sweeps::{children, is_alive, signal, wait, wait_until};

mod shaders;
mod session;

/// Two sizes of a kernel that gets along without its neighbours, and of one that has none.
const SPACE: &str = r#"name = "tiny"
sizes = "2^10,2^13"

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
/// Every family, with subgroups and without, at most 60 points together.
const SAMPLE: &str = r#"name = "sample"
sizes = "2^10,2^12,2^14"

[[block]]
family = ["chained-scan"]
batch_size = [1, 4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["fallback", "sequential", "gather"]
block_scan = ["subgroup", "raking"]

[[block]]
family = ["reduce-then-scan", "scan-then-propagate", "recompute", "one-workgroup"]
batch_size = [2]
vector_width = ["vec4"]
workgroup_size = [128]
lookback = ["none"]
block_scan = ["subgroup"]

[[block]]
family = ["persistent"]
batch_size = [2]
vector_width = ["vec4"]
workgroup_size = [64]
workgroups_per_unit = [4]
lookback = ["gather"]
block_scan = ["subgroup"]
publish = ["before-scan"]
"#;

/// The Chromium of this system, where these tests are wanted.
#[allow(clippy::print_stderr, reason = "whoever reads the output of a test that did nothing has to know")]
fn chromium() -> bool {
    if std::env::var_os("SCANBOX_TEST_BROWSER").is_none() {
        return false;
    }
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("chromium").is_file());
    if !found {
        eprintln!("not tested: no chromium in PATH");
    }
    found
}

/// A page in a Chromium, for what no command does.
fn connection() -> Connection {
    let options = BrowserOptions {
        choice: BrowserChoice::Chromium(None),
        address: None,
        guard: assert_cmd::cargo::cargo_bin("scanbox"),
        safe_devices: SafeDevices::default(),
        tell: |_| {},
    };
    Connection::begin(&options).unwrap()
}

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new(space: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("space.toml"), space).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs something with the GPU of the browser, which has to end so.
    #[track_caller]
    fn check(&self, arguments: &[&str], code: i32, parts: &[&str]) -> Answer {
        let arguments = [arguments, &["--api", "webgpu", "--browser", "chromium"]].concat();
        let answer = run(self.path(), Machine::WithoutDriver, &arguments);
        let Answer { out, err, .. } = &answer;
        assert_eq!(answer.code, code, "{arguments:?}: {out}{err}");
        for part in parts {
            assert!(out.contains(part) || err.contains(part), "no `{part}` in:\n{out}{err}");
        }
        answer
    }

    /// Starts a sweep that somebody may disturb.
    fn start(&self, browser: &str, more: &[&str]) -> Child {
        std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"))
            .process_group(0)
            .args(["sweep", "--api", "webgpu", "--browser", browser, "--device", "0"])
            .args(["--space", "space.toml", "--out", "out.csv"])
            .args(more)
            .current_dir(self.path())
            .env("SCANBOX_CACHE", self.path().join("cache"))
            .env("SCANBOX_LOCKS", self.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn is_in_flight(&self) -> bool {
        fs::read_to_string(self.path().join("out.journal")).is_ok_and(|journal| journal.contains("start"))
    }

    fn rows(&self) -> Vec<Record> {
        csv_file::read(&self.path().join("out.csv")).unwrap().records
    }

    /// The kernels of the repository, one of them changed.
    fn kernels(&self, file: &str, change: impl Fn(String) -> String) -> PathBuf {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/wgsl");
        let to = self.path().join("kernels");
        copy(&from, &to);
        let path = to.join(file);
        let text = change(fs::read_to_string(&path).unwrap());
        fs::write(path, text).unwrap();
        to
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

/// The processes below one, children of children too.
fn all_below(pid: u32) -> BTreeSet<u32> {
    let mut found = children(pid);
    for child in found.clone() {
        found.extend(all_below(child));
    }
    found
}

/// Those of them that have this in their command line.
fn below_with(pid: u32, word: &str) -> Vec<u32> {
    let says = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    all_below(pid).into_iter().filter(says).collect()
}

#[test]
fn a_browser_is_a_device() {
    if !chromium() {
        return;
    }
    let fixture = Fixture::new(SPACE);
    fixture.check(&["devices"], 0, &["SwiftShader", "Dawn (Chromium ", "usable"]);
    fixture.check(&["doctor"], 0, &["it has what kernels need"]);
    fixture.check(&["space", "--space", "space.toml"], 0, &["tiny"]);
    let label = "b1.vec4.fallback.sub.wg64";
    fixture.check(&["verify", label, "--sizes", "100,5000"], 0, &["1 ok"]);
    fixture.check(&["bench", "--device", "0", label, "--sizes", "2^12", "--rounds", "2"], 0, &[label]);
    // Where there is no browser, or another word for one, or what a browser has not.
    let check = |arguments: &[&str], code, parts: &[&str]| {
        let answer = run(fixture.path(), Machine::WithoutDriver, arguments);
        assert_eq!(answer.code, code, "{arguments:?}: {}", answer.err);
        assert!(parts.iter().all(|part| answer.err.contains(part)), "{parts:?}: {}", answer.err);
    };
    let missing = ["devices", "--api", "webgpu", "--browser", "/nonexistent/firefox"];
    check(&missing, 1, &["/nonexistent/firefox does not start"]);
    check(
        &["devices", "--api", "webgpu", "--browser", "/bin/false"],
        1,
        &["the browser ended before its page"],
    );
    check(&["devices", "--browser", "chromium"], 2, &["--browser is for --api webgpu"]);
    let off = ["devices", "--api", "webgpu", "--browser", "chromium", "--robustness", "off"];
    check(&off, 2, &["a browser keeps its checks"]);
    check(&["devices", "--api", "webgpu", "--browser", "wait", "-q"], 2, &["which address to open"]);
}

/// What rows say of verification, by config and size.
type Verdicts = BTreeMap<(String, u64), (Status, Option<u64>, Option<u64>, bool, String)>;

fn verdicts(rows: &[Record]) -> Verdicts {
    let verdict = |row: &Record| {
        let errors = format!("{:?} {:?}", row.max_error, row.error_bound);
        let value = (row.status, row.mismatches, row.first_mismatch, row.twin_calls > Some(0), errors);
        ((row.config_id.clone(), row.n_elements), value)
    };
    rows.iter().map(verdict).collect()
}

#[test]
fn a_browser_and_wgpu_give_the_same_rows_on_the_same_device() {
    if !chromium() {
        return;
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    let swiftshader = cache.join("scanbox/swiftshader/icd.json");
    let fixture = Fixture::new(SAMPLE);
    let sweep =
        ["sweep", "--device", "0", "--space", "space.toml", "--assume", "progress", "--timeout", "60s"];
    fixture.check(&[&sweep[..], &["--out", "out.csv"]].concat(), 0, &[]);
    let rows = fixture.rows();
    let in_browser = verdicts(&rows);
    assert!((40..=60).contains(&in_browser.len()), "{} points", in_browser.len());
    for row in &rows {
        assert_eq!(row.status, Status::Ok, "{}: {}", row.config_id, row.reason);
        assert!(row.implementation.starts_with("Dawn (Chromium "), "{}", row.implementation);
        assert!(row.timer_resolution_ns > Some(0.0) && row.robustness == Some(true));
        assert!(row.steady.as_ref().is_some_and(|steady| steady.median_ns > 0));
    }
    // Nothing is measured twice.
    let text = fs::read_to_string(fixture.path().join("out.csv")).unwrap();
    fixture.check(&[&sweep[..], &["--out", "out.csv"]].concat(), 0, &[]);
    assert_eq!(fs::read_to_string(fixture.path().join("out.csv")).unwrap(), text);
    if !swiftshader.is_file() {
        return;
    }
    let natively = [&sweep[..], &["--api", "webgpu", "--out", "wgpu.csv"]].concat();
    let answer = run(fixture.path(), Machine::With(swiftshader), &natively);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let natively = csv_file::read(&fixture.path().join("wgpu.csv")).unwrap().records;
    assert_eq!(verdicts(&natively), in_browser);
}

#[test]
fn a_browser_that_is_killed_is_replaced() {
    if !chromium() {
        return;
    }
    let fixture = Fixture::new(SPACE);
    let child = fixture.start("chromium", &[]);
    wait_until("a config in flight", || fixture.is_in_flight());
    let before = all_below(child.id());
    let browsers = below_with(child.id(), "--user-data-dir=");
    assert!(browsers.len() > 1, "{browsers:?}");
    // Some of them are gone by the time it is their turn.
    assert!(browsers.iter().filter(|&&pid| signal(pid, Signal::KILL)).count() > 0);
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let rows = fixture.rows();
    let points: BTreeSet<_> = rows.iter().map(|row| (row.config_id.clone(), row.n_elements)).collect();
    assert_eq!((points.len(), rows.len()), (6, 6));
    let lost: Vec<&Record> = rows.iter().filter(|row| row.status != Status::Ok).collect();
    assert!(lost.len() <= 1, "{lost:?}");
    for row in lost {
        assert_eq!(row.status, Status::DeviceLost);
        assert!(row.reason.contains("the page of the browser is gone"), "{}", row.reason);
    }
    // Nothing is left of it.
    wait_until("the end of all processes", || !before.iter().any(|&pid| is_alive(pid)));
}

/// As a shell, a test or a batch system does it.
#[test]
fn nothing_is_left_of_a_run_that_is_killed_with_its_group() {
    if !chromium() {
        return;
    }
    let fixture = Fixture::new(SPACE);
    let child = fixture.start("chromium", &[]);
    wait_until("a config in flight", || fixture.is_in_flight());
    let before = all_below(child.id());
    assert!(below_with(child.id(), "--user-data-dir=").len() > 1, "{before:?}");
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    assert_eq!(wait(child).code, None);
    wait_until("the end of all processes", || !before.iter().any(|&pid| is_alive(pid)));
}

#[test]
fn what_hangs_costs_its_row_and_a_browser() {
    if !chromium() {
        return;
    }
    let fixture = Fixture::new(SPACE);
    let kernels = fixture.kernels("chained_scan.wgsl", |text| {
        let load = "    load_tile(tile, &items);\n";
        let endless = "#if BATCH_SIZE == 2\n    loop { if (atomicLoad(&scratch[1]) == 0xfffffff1u) { break; } }\n#endif\n";
        replaced(&text, load, &format!("{load}{endless}"))
    });
    let begin = Instant::now();
    let child = fixture.start("chromium", &["--kernels", kernels.to_str().unwrap(), "--timeout", "4s"]);
    let id = child.id();
    wait_until("a config in flight", || fixture.is_in_flight());
    let before = all_below(id);
    let ended = wait(child);
    // Two points hang, and each may take its time-out and 20 s.
    assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    for row in fixture.rows() {
        let hangs = row.config_id.starts_with("b2.");
        let expected = if hangs { Status::Timeout } else { Status::Ok };
        assert_eq!(row.status, expected, "{}: {}", row.config_id, row.reason);
    }
    assert_eq!(fixture.rows().len(), 6);
    wait_until("the end of all processes", || !before.iter().any(|&pid| is_alive(pid)));
}

#[test]
fn states_of_an_older_call_are_found() {
    if !chromium() {
        return;
    }
    let label = "b4.vec4.fallback.sub.striped.split.wg64";
    let verify = ["verify", label, "--sizes", "70001"];
    let silent = |text: &str| {
        let publish = "fn publish(tile: u32, state: u32, value: Element) {";
        let (before, after) = text.rsplit_once(publish).unwrap();
        format!("{before}{publish}\n    if (tile % 2u == 1u) {{ return; }}{after}")
    };
    for ignored in [false, true] {
        let fixture = Fixture::new(SPACE);
        let kernels = fixture.kernels("stages/state/tile_state.wgsl", |text| match ignored {
            false => silent(&text),
            true => replaced(&silent(&text), "(tag >> 2u) != params.epoch", "(tag >> 2u) == 0u"),
        });
        let verify = [&verify[..], &["--kernels", kernels.to_str().unwrap()]].concat();
        let (code, part) = if ignored { (5, "1 wrong_result") } else { (0, "1 ok") };
        fixture.check(&verify, code, &[part]);
    }
}

#[test]
fn any_browser_may_open_the_address_and_comes_back_to_another_worker() {
    if !chromium() {
        return;
    }
    let fixture = Fixture::new(SPACE);
    let mut child = fixture.start("wait", &[]);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = |line: String| Some(line.split(' ').find(|word| word.starts_with("http://"))?.to_owned());
    let address = said.find_map(address).unwrap();
    let profile = format!("--user-data-dir={}", fixture.path().join("profile").display());
    let mut browser = std::process::Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--enable-unsafe-webgpu",
            "--no-first-run",
            "--disable-quic",
        ])
        .args(["--use-webgpu-adapter=swiftshader", &profile, &address])
        .env_remove("VK_DRIVER_FILES")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a config in flight", || fixture.is_in_flight());
    assert!(children(child.id()).iter().filter(|&&worker| signal(worker, Signal::KILL)).count() > 0);
    let rest: Vec<String> = said.collect();
    let ended = wait(child);
    browser.kill().unwrap();
    browser.wait().unwrap();
    assert_eq!(ended.code, Some(0), "{}{rest:#?}", ended.stdout);
    assert!(ended.stdout.contains("1 replaced"), "{}", ended.stdout);
    assert!(fixture.rows().iter().all(|row| row.status == Status::Ok));
    assert_eq!(fixture.rows().len(), 6);
}
