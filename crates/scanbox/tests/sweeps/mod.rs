//! Sweeps on the replay device, each in a folder of its own, run as a user runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use tempfile::TempDir;

/// 4 kernels at 7 sizes.
pub const SPACE: &str = r#"
name = "test"
sizes = "2^10..2^16"
[[block]]
family = ["chained-scan"]
batch_size = [1, 4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["sequential", "parallel"]
block_scan = ["raking"]
"#;
/// Rows of a complete sweep of it.
pub const ALL: usize = 4 * 7;
/// One config of it.
pub const CONFIG: &str = "b4.vec4.par.rake.wg64";

/// What a sweep is compared by: one status per config and size.
pub type Rows = BTreeMap<(String, u64), Status>;

/// A folder with a script, a space, and the files of a sweep.
pub struct Place {
    folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    /// A folder with this replay script and [`SPACE`].
    pub fn new(script: &str) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), script)
    }

    /// The same in memory, where the system has a place for that: no wait for a disk.
    pub fn in_memory(script: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self::in_folder(folder.unwrap(), script)
    }

    fn in_folder(folder: TempDir, script: &str) -> Self {
        let place = Self { folder };
        place.script(script);
        fs::write(place.folder().join("space.toml"), SPACE).unwrap();
        place
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces the script.
    pub fn script(&self, script: &str) {
        fs::write(self.folder().join("replay.toml"), script).unwrap();
    }

    /// One of the files: `csv`, `meta.json`, `journal`, `lock`.
    pub fn file(&self, ending: &str) -> PathBuf {
        self.folder().join("out").join(format!("test.{ending}"))
    }

    /// The command, with further arguments; later ones may not repeat those that are here.
    pub fn command(&self, args: &[&str]) -> Command {
        let space = self.folder().join("space.toml");
        self.command_for(&["--space", space.to_str().unwrap()], args)
    }

    /// The command on another space.
    pub fn command_for(&self, space: &[&str], args: &[&str]) -> Command {
        let mut command = self.scanbox(&["sweep", "--device", "replay:replay.toml", "--out", "out/test.csv"]);
        command.args(space).args(args);
        command
    }

    /// Any command in the folder, with one cache for all tests: no shader is compiled twice.
    pub fn scanbox(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("scanbox"));
        command.args(args).current_dir(self.folder());
        command.env("SCANBOX_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        let locks = Path::new(env!("CARGO_TARGET_TMPDIR")).join("locks");
        fs::create_dir_all(&locks).unwrap();
        command.env("SCANBOX_LOCKS", locks);
        command
    }

    /// Runs a sweep to its end.
    pub fn sweep(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().unwrap())
    }

    /// Runs any command, which has to end with this exit code.
    #[track_caller]
    pub fn run(&self, args: &[&str], code: i32) -> Ended {
        let ended = ended(self.scanbox(args).output().unwrap());
        assert_eq!(ended.code, Some(code), "{args:?}: {}{}", ended.stdout, ended.stderr);
        ended
    }

    /// Starts a sweep whose output is read later.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts a sweep and waits until it has written so many rows.
    pub fn start_with_rows(&self, args: &[&str], rows: usize) -> Child {
        let child = self.start(args);
        wait_for_rows(&self.file("csv"), rows);
        child
    }

    pub fn records(&self) -> Vec<Record> {
        let found = csv_file::read(&self.file("csv")).unwrap();
        assert_eq!(found.torn_line, None);
        found.records
    }

    /// The rows of the file; none of them stands there twice.
    pub fn rows(&self) -> Rows {
        rows(&self.records())
    }

    pub fn metadata(&self) -> Metadata {
        Metadata::read(&self.file("meta.json")).unwrap()
    }
}

pub fn rows(records: &[Record]) -> Rows {
    let rows: Rows =
        records.iter().map(|record| ((record.config_id.clone(), record.n_elements), record.status)).collect();
    assert_eq!(rows.len(), records.len(), "a row stands there twice");
    rows
}

/// What a complete sweep without faults has.
pub fn all_ok() -> Rows {
    let place = Place::in_memory("");
    let ended = place.sweep(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rows = place.rows();
    assert_eq!(rows.len(), ALL);
    assert!(rows.values().all(|&status| status == Status::Ok));
    rows
}

/// A script in which each config takes so long that a sweep can be hit in the middle.
pub fn slow(ms: u64) -> String {
    format!("wall_ms_per_config = {ms}\n")
}

/// A fault that hits one config at one size.
pub fn fault(kind: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{CONFIG}\"\nn = 4096\n")
}

/// The key of the config that [`fault`] hits.
pub fn faulty() -> (String, u64) {
    (CONFIG.to_owned(), 4096)
}

pub fn ended(output: Output) -> Ended {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let ended =
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    ended
}

/// Waits for a child and its output.
pub fn wait(child: Child) -> Ended {
    ended(child.wait_with_output().unwrap())
}

/// Waits for something that has to happen soon.
#[track_caller]
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !happened() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a file of rows has so many of them.
#[track_caller]
pub fn wait_for_rows(path: &Path, rows: usize) {
    wait_until("rows", || fs::read_to_string(path).is_ok_and(|csv| csv.lines().count() > rows));
}

/// Sees that something happened at once. A busy machine takes its time, too: what nothing ends takes three times as
/// long.
#[track_caller]
pub fn assert_soon(since: Instant, what: impl std::fmt::Debug) {
    let time = since.elapsed();
    assert!(time < Duration::from_secs(20), "{what:?}: {time:?}");
}

/// Sends a signal to a process; whether it was there.
pub fn signal(pid: u32, signal: rustix::process::Signal) -> bool {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).is_ok()
}

/// A process that stands still until this is dropped: what has to come while it runs does, however busy the machine is.
#[must_use]
pub struct Held(u32);

impl Held {
    #[track_caller]
    pub fn new(child: &Child) -> Self {
        let pid = child.id();
        assert!(signal(pid, rustix::process::Signal::STOP) && is_alive(pid), "it has ended");
        Self(pid)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        signal(self.0, rustix::process::Signal::CONT);
    }
}

/// The processes that a process has started and that have not ended.
pub fn children(pid: u32) -> BTreeSet<u32> {
    processes().into_iter().filter(|process| process.parent == pid).map(|process| process.pid).collect()
}

/// Whether a process is there and has not ended.
pub fn is_alive(pid: u32) -> bool {
    processes().iter().any(|process| process.pid == pid)
}

struct Process {
    pid: u32,
    parent: u32,
}

/// All processes but those that have ended and are only waited for.
fn processes() -> Vec<Process> {
    let numbers =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |pid: u32| {
        // pid (name) state parent: the name may hold anything.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut words = stat[stat.rfind(')')? + 1..].split_whitespace();
        let state = words.next()?;
        let parent = words.next()?.parse().ok()?;
        (state != "Z" && state != "X").then_some(Process { pid, parent })
    };
    numbers.filter_map(process).collect()
}
