//! One run at a time on a device: the second one says who has it and ends with 4, waits, or shares it on purpose.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::sweeps::{
    ALL, CONFIG, Held, Place, children, ended, fault, faulty, is_alive, signal, slow, wait, wait_for_rows,
    wait_until,
};
use rustix::process::Signal;
use scanbox_model::csv_file;
use scanbox_model::record::Record;

const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];

/// Every command that uses a device, on another file than the sweep of the place.
const COMMANDS: [&[&str]; 4] = [
    &["sweep", "--space", "space.toml", "--out", "other.csv"],
    &["sweep", "--space", "space.toml", "--out", "other.csv", "--confirm", "2"],
    &["verify", CONFIG, "--sizes", "4096"],
    &["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"],
];

fn start(place: &Place, args: &[&str]) -> Child {
    let args = [args, &DEVICE].concat();
    place.scanbox(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn records(place: &Place, file: &str) -> Vec<Record> {
    csv_file::read(&place.folder().join(file)).unwrap().records
}

#[test]
fn a_second_run_says_who_has_the_device() {
    // Slow enough for all of them to come while it runs, however busy the machine is.
    let place = Place::in_memory(&slow(10_000));
    let child = place.start(&[]);
    wait_until("the run", || place.file("csv").exists());
    let holder = format!("process {} on ", child.id());
    for command in COMMANDS {
        let ended = place.run(&[command, &DEVICE].concat(), 4);
        assert!(is_alive(child.id()), "{command:?} waited");
        for part in [
            "Replay (software) is in use by another run",
            &holder,
            "since",
            "sweep --device",
            "--wait",
            "--share-device",
        ] {
            assert!(ended.stderr.contains(part), "{command:?}: {part}: {ended:?}");
        }
        assert!(!place.folder().join("other.csv").exists() && !place.folder().join("bench.csv").exists());
    }
    // What does not use the device does not ask.
    place.run(
        &[&["sweep", "--space", "space.toml", "--out", "other.csv", "--dry-run"], &DEVICE[..]].concat(),
        0,
    );
    // Another device is another device.
    fs::write(place.folder().join("second.toml"), "").unwrap();
    place.run(&["verify", CONFIG, "--sizes", "4096", "--device", "replay:second.toml"], 0);
    assert!(signal(child.id(), Signal::TERM));
    assert_eq!(wait(child).code, Some(4));
    assert!(place.records().iter().all(|row| !row.shared_device.0));
    place.script("");
    place.run(&[COMMANDS[0], &DEVICE].concat(), 0);
}

/// Of a batch system also the job is told: whoever wants the device knows whom to cancel.
#[test]
fn the_job_of_the_holder_is_told() {
    let place = Place::in_memory(&slow(10_000));
    let mut holder = place.command(&[]);
    let child =
        holder.env("SLURM_JOB_ID", "77").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the run", || place.file("csv").exists());
    let ended = place.run(&[COMMANDS[0], &DEVICE].concat(), 4);
    assert!(ended.stderr.contains(", job 77"), "{ended:?}");
    assert!(signal(child.id(), Signal::TERM));
    wait(child);
}

#[test]
fn a_second_run_waits_on_request() {
    let place = Place::in_memory(&slow(40));
    let child = place.start_with_rows(&[], 1);
    let held = Held::new(&child);
    let waiting = start(&place, &["verify", CONFIG, "--sizes", "4096", "--wait"]);
    let impatient = start(&place, &["verify", CONFIG, "--sizes", "4096", "--wait", "1s"]);
    assert_eq!(wait(impatient).code, Some(4));
    drop(held);
    assert_eq!(wait(child).code, Some(0));
    let waited = wait(waiting);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert!(waited.stderr.contains("waiting for it"), "{waited:?}");
    // The file of a sweep is waited for too.
    fs::remove_file(place.file("csv")).unwrap();
    let child = place.start_with_rows(&[], 1);
    let second = place.sweep(&["--wait", "60s"]);
    assert_eq!((wait(child).code, second.code), (Some(0), Some(0)), "{second:?}");
    assert_eq!(place.rows().len(), ALL);
}

#[test]
fn a_wait_can_be_ended() {
    let place = Place::in_memory(&fault("hang"));
    let child = place.start_with_rows(&["--timeout", "60s"], 1);
    let said = place.folder().join("said");
    let mut waiting = place.scanbox(&[&["verify", CONFIG, "--sizes", "64", "--wait"], &DEVICE[..]].concat());
    let waiting = waiting.stdout(Stdio::null()).stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
    wait_until("a run that waits", || fs::read_to_string(&said).unwrap().contains("waiting for it"));
    // The one that told which device it is ends.
    wait_until("that who waits has no worker", || children(waiting.id()).is_empty());
    signal(waiting.id(), Signal::TERM);
    assert_eq!(wait(waiting).code, Some(4));
    let budget = start(&place, &["verify", CONFIG, "--sizes", "64", "--wait", "--budget", "1s"]);
    assert_eq!(wait(budget).code, Some(4));
    signal(child.id(), Signal::KILL);
    wait(child);
}

#[test]
fn rows_say_that_a_device_is_shared() {
    let place = Place::in_memory(&slow(60));
    let child = place.start_with_rows(&[], 2);
    let held = Held::new(&child);
    let other = start(&place, &[COMMANDS[0], &["--share-device"]].concat());
    wait_for_rows(&place.folder().join("other.csv"), 1);
    drop(held);
    assert_eq!(wait(other).code, Some(0));
    place.run(&[COMMANDS[3], &DEVICE, &["--share-device"]].concat(), 0);
    for file in ["other.csv", "bench.csv"] {
        assert!(records(&place, file).iter().all(|row| row.shared_device.0), "{file}");
    }
    assert_eq!(wait(child).code, Some(0));
    let shared = place.records().iter().filter(|row| row.shared_device.0).count();
    assert!((1..ALL).contains(&shared), "who is disturbed says so, as long as it is: {shared} of {ALL}");
    // Who comes while it is shared, and does not want that, is refused.
    fs::remove_file(place.folder().join("other.csv")).unwrap();
    let child = start(&place, &[COMMANDS[0], &["--share-device"]].concat());
    wait_for_rows(&place.folder().join("other.csv"), 1);
    let held = Held::new(&child);
    place.run(&[COMMANDS[2], &DEVICE].concat(), 4);
    drop(held);
    assert_eq!(wait(child).code, Some(0));
}

/// However a run ends, the next one has the device: at once, or when its worker is gone.
#[test]
fn a_run_that_was_killed_leaves_the_device_to_the_next() {
    for with_worker in [false, true] {
        let place = Place::in_memory(&fault("hang"));
        let child = place.start_with_rows(&["--timeout", "60s"], 1);
        let workers = children(child.id());
        if with_worker {
            for &worker in &workers {
                signal(worker, Signal::KILL);
            }
        }
        signal(child.id(), Signal::KILL);
        wait(child);
        place.script("");
        assert_eq!(place.sweep(&[]).code, Some(0));
    }
}

/// What the workers of a place hold.
fn lock_of_workers(place: &Place) -> PathBuf {
    let locks = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("locks");
    let script = fs::canonicalize(place.folder().join("replay.toml")).unwrap();
    let part: String = script
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    let mut files = fs::read_dir(locks).unwrap().flatten().map(|file| file.path());
    let of_workers = |path: &PathBuf| {
        let path = path.display().to_string();
        path.contains(&part) && path.ends_with(".workers.lock")
    };
    files.find(of_workers).unwrap()
}

/// A worker that goes on without its supervisor still uses the device.
#[test]
fn a_worker_that_is_left_keeps_the_device() {
    let place = Place::in_memory(&fault("hang"));
    let child = place.start_with_rows(&["--timeout", "60s"], 1);
    // Somebody holds what workers hold, as one does that nothing can end.
    let file = fs::File::open(lock_of_workers(&place)).unwrap();
    file.lock_shared().unwrap();
    signal(child.id(), Signal::KILL);
    wait(child);
    place.script("");
    let refused = ended(place.command(&[]).output().unwrap());
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("still in use by a worker of a run that has ended"), "{refused:?}");
    assert!(
        refused.stderr.contains("that process is gone"),
        "nobody is there who could be ended: {refused:?}"
    );
    drop(file);
    assert_eq!(place.sweep(&[]).code, Some(0));
}

/// A stuck worker is followed by others: it is the one that is named, not the one that came last.
#[test]
fn the_worker_that_is_stuck_is_named() {
    let place = Place::in_memory(&format!("{}{}", slow(50), fault("hang")));
    let child = place.start(&["--timeout", "2s"]);
    let (config, n) = faulty();
    wait_until("the config that hangs", || {
        let journal = fs::read_to_string(place.file("journal")).unwrap_or_default();
        journal.ends_with(&format!("start {config} {n}\n"))
    });
    // This process stands for the worker that does not end: it has said so, and holds what workers hold.
    let path = lock_of_workers(&place);
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.lock_shared().unwrap();
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let stuck =
        format!("process {} is a worker on {host}, since 2026-01-01T00:00:00Z: stuck", std::process::id());
    writeln!(file, "{stuck}").unwrap();
    wait_until("rows of the next worker", || {
        let journal = fs::read_to_string(place.file("journal")).unwrap_or_default();
        journal.lines().skip_while(|line| !line.starts_with("ended")).count() > 2
    });
    let last = *children(child.id()).first().unwrap();
    signal(child.id(), Signal::KILL);
    wait(child);
    place.script("");
    let refused = ended(place.command(&[]).output().unwrap());
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains(&format!("({stuck}); end that worker")), "{refused:?}");
    // The last one was on its way out when the run began to wait.
    let error = refused.stderr.lines().last().unwrap();
    assert!(error.starts_with("error: ") && !error.contains(&format!("process {last} ")), "{refused:?}");
    drop(file);
    assert_eq!(place.sweep(&[]).code, Some(0));
}

/// Whoever answers requests beside a run says so, and so do the rows of that; under `rerun`, which has the device for
/// both programs, nobody says anything.
#[test]
fn requests_beside_a_run_are_told() {
    // Long enough for the server to start on a busy machine before the run ends.
    let place = Place::in_memory(&slow(300));
    let child = place.start_with_rows(&[], 2);
    let serve = |place: &Place| {
        let mut command = place.scanbox(&["serve", "--device", "replay:replay.toml"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let server = serve(&place);
    wait(child);
    let shared = place.records().iter().filter(|row| row.shared_device.0).count();
    assert!((1..ALL).contains(&shared), "{shared} of {ALL}");
    let told = wait(server);
    assert!(told.stderr.contains("is in use by another run (process "), "{told:?}");
    let alone = wait(serve(&place));
    assert_eq!((alone.code, alone.stderr.as_str()), (Some(0), ""), "{alone:?}");
    place.script("");
    fs::copy(place.file("csv"), place.folder().join("base.csv")).unwrap();
    fs::copy(place.file("meta.json"), place.folder().join("base.meta.json")).unwrap();
    let program = assert_cmd::cargo::cargo_bin("scanbox");
    let rerun =
        ["rerun", "base.csv", "out/test.csv", "--program", program.to_str().unwrap(), "--out", "pairs.csv"];
    let ended = place.run(&[&rerun, &DEVICE[..]].concat(), 0);
    assert!(!ended.stderr.contains("is in use"), "{ended:?}");
}

/// Two names of one file are one file.
#[test]
fn a_link_to_rows_that_are_written_is_in_use() {
    let place = Place::in_memory(&slow(30));
    let link = place.folder().join("link.csv");
    let child = place.start_with_rows(&[], 1);
    let held = Held::new(&child);
    std::os::unix::fs::symlink("out/test.csv", &link).unwrap();
    fs::copy(place.file("meta.json"), place.folder().join("link.meta.json")).unwrap();
    for dry in [&[][..], &["--dry-run"]] {
        let second = ["sweep", "--space", "space.toml", "--out", "link.csv", "--share-device"];
        let ended = place.run(&[&second, &DEVICE[..], dry].concat(), 4);
        assert!(ended.stderr.contains("is being written by another run"), "{dry:?}: {ended:?}");
    }
    drop(held);
    assert_eq!(wait(child).code, Some(0));
    assert_eq!(place.rows().len(), ALL);
}
