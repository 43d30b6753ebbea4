//! Attempts at one sweep on nodes that come and go: what one has published the next one begins with, whatever ended it.
#![cfg(target_os = "linux")]

mod agreed;
mod folders;
mod given;
mod share;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::sweeps::{
    ALL, Ended, Held, Place, Rows, all_ok, children, ended, fault, faulty, signal, slow, wait, wait_until,
};
use rustix::process::Signal;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};

/// A share, and nodes that see it.
struct Fleet {
    place: Place,
}

impl Fleet {
    fn new(script: &str) -> Self {
        let place = Place::in_memory(script);
        fs::create_dir(place.folder().join("share")).unwrap();
        Self { place }
    }

    fn share(&self) -> PathBuf {
        self.place.folder().join("share")
    }

    fn scratch(&self, node: &str) -> PathBuf {
        self.place.folder().join(node)
    }

    /// An attempt on a node, which publishes often.
    fn command(&self, node: &str, args: &[&str]) -> Command {
        fs::create_dir_all(self.scratch(node)).unwrap();
        let mut command = self.place.scanbox(&["sweep", "--device", "replay:replay.toml"]);
        command.args(["--space", "./space.toml", "--scratch", node, "--publish", "share"]).args(args);
        if !args.contains(&"--publish-every") {
            command.args(["--publish-every", "20ms"]);
        }
        // A node has its own locks.
        command.env("SCANBOX_LOCKS", self.scratch(node));
        command
    }

    fn start(&self, node: &str, args: &[&str]) -> Child {
        self.command(node, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    fn run(&self, node: &str, args: &[&str], code: i32) -> Ended {
        let ended = ended(self.command(node, args).output().unwrap());
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        ended
    }

    /// Starts an attempt and waits until it has published so many rows beyond those that are there.
    fn start_with_rows(&self, node: &str, args: &[&str], more: usize) -> Child {
        let before = self.points().len();
        let child = self.start(node, args);
        wait_until("published rows", || self.points().len() >= before + more);
        child
    }

    /// Waits until the attempt of a node has written some rows there: the folder that it works in.
    fn rows_on_node(&self, node: &str) -> PathBuf {
        let folders = || fs::read_dir(self.scratch(node)).into_iter().flatten().flatten();
        let has_rows = |folder: &PathBuf| {
            let text = fs::read_to_string(folder.join("replay.test.csv"));
            text.is_ok_and(|text| text.lines().count() > 3)
        };
        let mut found = None;
        wait_until("rows on the node", || {
            found = folders().map(|entry| entry.path()).find(has_rows);
            found.is_some()
        });
        found.unwrap()
    }

    /// The published files of this ending.
    fn published(&self, ending: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.share()).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut found: Vec<PathBuf> = files
            .filter(|path| !name(path).starts_with('.') && name(path).contains(".attempt-"))
            .filter(|path| name(path).ends_with(ending))
            .collect();
        found.sort();
        found
    }

    fn records(&self) -> Vec<Record> {
        let read = |path: &PathBuf| csv_file::read(path).map(|found| found.records).unwrap_or_default();
        self.published(".csv").iter().flat_map(read).collect()
    }

    /// Every point that is published, with its status; a row that is there twice is the same row.
    fn points(&self) -> Rows {
        let mut points = BTreeMap::new();
        for record in self.records() {
            points.insert((record.config_id.clone(), record.n_elements), record.status);
        }
        points
    }

    /// How often points were measured: rows of different runs.
    fn measured(&self) -> usize {
        let own = |record: &Record| (record.config_id.clone(), record.n_elements, record.run_id.clone());
        self.records().iter().map(own).collect::<BTreeSet<_>>().len()
    }

    /// The node goes down, and nobody sees its disk any more.
    fn lose(&self, node: &str) {
        fs::remove_dir_all(self.scratch(node)).unwrap();
    }
}

fn kill(child: Child) {
    let workers = children(child.id());
    assert!(signal(child.id(), Signal::KILL));
    for worker in workers {
        signal(worker, Signal::KILL);
    }
    wait(child);
}

#[test]
fn the_next_attempt_goes_on_with_what_the_last_one_published() {
    let fleet = Fleet::new(&slow(100));
    // The limit of the first one, on one node.
    let child = fleet.start_with_rows("a", &[], 3);
    signal(child.id(), Signal::TERM);
    let first = wait(child);
    assert_eq!(first.code, Some(4), "{first:?}");
    let rows = fleet.points().len();
    assert!((3..ALL).contains(&rows) && fleet.published(".csv").len() == 1);
    assert!(first.stdout.contains("share/replay.test.attempt-"), "{first:?}");
    // What is on the node is gone with the attempt, but for its locks.
    let left = |node| {
        let names = fs::read_dir(fleet.scratch(node)).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.is_dir()).count()
    };
    assert_eq!(left("a"), 0);
    let dry = fleet.run("b", &["--dry-run"], 0);
    assert!(dry.stdout.contains(&format!("to do      {}", ALL - rows)) && left("b") == 0, "{dry:?}");
    // The next one, elsewhere, measures the rest.
    fleet.place.script("uuid = \"11111111-0000-0000-0000-00000000feed\"\n");
    let second = fleet.run("b", &[], 0);
    assert!(second.stderr.contains(&format!("{rows} rows of 1 earlier attempt in ")), "{second:?}");
    assert_eq!((fleet.points(), fleet.measured()), (all_ok(), ALL));
    assert_eq!(fleet.published(".csv").len(), 2);
    let last = Metadata::read(&fleet.published(".meta.json")[1]).unwrap();
    assert_eq!(last.runs.iter().map(|run| run.rows).sum::<u64>(), ALL as u64);
    assert_eq!((last.runs.len(), last.ceiling_gbps.len()), (2, 7));
    // Nothing is left to do, and nothing is published for that.
    let third = fleet.run("c", &["--format", "json"], 0);
    assert_eq!(fleet.published(".csv").len(), 2);
    let answer: serde_json::Value = serde_json::from_str(&third.stdout).unwrap();
    for file in answer["files"].as_array().unwrap() {
        assert!(fleet.place.folder().join(file.as_str().unwrap()).is_file(), "{file}");
    }
}

/// Whatever kills an attempt, nothing is lost but what was in flight, and, with its node, what was not published yet.
#[test]
fn attempts_that_are_killed_lose_what_was_in_flight() {
    // The node lives: its disk has what was not published yet.
    let fleet = Fleet::new(&slow(100));
    let child = fleet.start("a", &["--publish-every", "1h"]);
    let folders =
        || fs::read_dir(fleet.scratch("a")).into_iter().flatten().flatten().map(|entry| entry.path());
    let rows = || -> usize {
        let files = folders().filter(|path| path.is_dir()).map(|path| path.join("replay.test.csv"));
        files.map(|csv| fs::read_to_string(csv).unwrap_or_default().lines().count()).sum()
    };
    // A busy machine has published some when it told that the run had begun.
    wait_until("rows that are not published", || rows() > fleet.points().len() + 5);
    kill(child);
    fleet.place.script("");
    let next = fleet.run("a", &[], 0);
    assert!(next.stderr.contains("an attempt died here; its rows are published now"), "{next:?}");
    assert_eq!((fleet.points(), fleet.measured()), (all_ok(), ALL));
    assert_eq!(fleet.published(".csv").len(), 2);
    assert_eq!(folders().filter(|path| path.is_dir()).count(), 0);
    // The node is lost, at several moments.
    let fleet = Fleet::new(&slow(100));
    for node in ["a", "b", "c", "d"] {
        let child = fleet.start_with_rows(node, &[], 2);
        kill(child);
        fleet.lose(node);
    }
    let before = fleet.points().len();
    assert_eq!(fleet.measured(), before, "nothing is measured twice");
    fleet.place.script("");
    fleet.run("e", &[], 0);
    assert_eq!((fleet.points(), fleet.measured()), (all_ok(), ALL));
}

/// A network that was cut: both go on, and whoever comes first, nobody fails and nothing is lost.
#[test]
fn two_attempts_may_be_alive() {
    let fleet = Fleet::new(&slow(40));
    let zombie = fleet.start_with_rows("a", &[], 2);
    let held = Held::new(&zombie);
    let second = fleet.start_with_rows("b", &[], 2);
    let held = [held, Held::new(&second)];
    let third = fleet.run("b2", &[], 0);
    drop(held);
    for child in [zombie, second] {
        let ended = wait(child);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.stderr.contains("warning"), "{ended:?}");
    }
    assert!(!third.stderr.contains("warning"), "{third:?}");
    assert_eq!((fleet.points(), fleet.published(".csv").len()), (all_ok(), 3));
    // All together are one sweep, in which every point is once.
    let dry = fleet.run("c", &["--dry-run"], 0);
    assert!(dry.stdout.contains("to do      0"), "{dry:?}");
    let ended = fleet.run("c", &["--confirm", "2", "--rounds", "1"], 0);
    assert!(ended.stderr.contains(&format!("{ALL} rows of 3 earlier attempts")), "{ended:?}");
    let confirmed = |records: Vec<Record>| -> usize {
        let rows = records.into_iter().filter(|row| row.confirmed_ns.is_some());
        rows.map(|row| (row.config_id, row.n_elements)).collect::<BTreeSet<_>>().len()
    };
    let once = confirmed(fleet.records());
    assert!(once >= 14);
    // What is confirmed stays so, whichever file is read first.
    let again = fleet.run("d", &["--confirm", "2", "--rounds", "1"], 0);
    assert!(!again.stderr.contains("confirming") && confirmed(fleet.records()) == once, "{again:?}");
}

/// What a config did to workers is known to attempts on other nodes; a node that is lost is held against nobody.
#[test]
fn blame_outlives_nodes() {
    let (config, n) = faulty();
    let journal = |fleet: &Fleet, node: &str| -> String {
        let folders = fs::read_dir(fleet.scratch(node)).into_iter().flatten().flatten();
        let text = |path: PathBuf| fs::read_to_string(path.join("replay.test.journal")).unwrap_or_default();
        folders.map(|entry| text(entry.path())).collect()
    };
    // What the attempt begins with has the runs before it, and what they died of.
    let in_flight = |fleet: &Fleet, node: &str, run: usize| {
        let child = fleet.start(node, &["--timeout", "60s"]);
        wait_until("the config that hangs", || {
            let journal = journal(fleet, node);
            journal.matches("run ").count() == run && journal.ends_with(&format!("start {config} {n}\n"))
        });
        child
    };
    // It ends a worker on one node, which is lost, and one on another node.
    let fleet = Fleet::new(&fault("hang"));
    for (run, node) in (1..).zip(["a", "b"]) {
        let child = in_flight(&fleet, node, run);
        assert!(signal(*children(child.id()).first().unwrap(), Signal::KILL));
        wait_until("what is published of that", || {
            let texts = fleet.published(".journal").into_iter().map(|path| fs::read_to_string(path).unwrap());
            texts.filter(|text| text.contains("killed by signal 9")).count() > usize::from(node == "b")
                || fleet.points().get(&faulty()) == Some(&Status::Quarantined)
        });
        kill(child);
        fleet.lose(node);
    }
    fleet.place.script("");
    fleet.run("c", &[], 0);
    let mut expected = all_ok();
    expected.insert(faulty(), Status::Quarantined);
    assert_eq!(fleet.points(), expected);
    // The same config, in flight on five nodes that are lost: each has another host and another boot.
    let fleet = Fleet::new(&fault("hang"));
    for (run, node) in (1..).zip(["a", "b", "c", "d", "e"]) {
        let child = in_flight(&fleet, node, run);
        wait_until("the journal", || {
            let texts = fleet.published(".journal").into_iter().map(|path| fs::read_to_string(path).unwrap());
            texts.filter(|text| text.ends_with(&format!("start {config} {n}\n"))).count() == run
        });
        kill(child);
        fleet.lose(node);
        for path in fleet.published(".journal") {
            elsewhere(&path, node);
        }
        // Killed while it published for the first time: the journal goes first.
        if node == "c" {
            let last = fleet.published(".journal").into_iter().find(|path| is_of(path, node)).unwrap();
            for ending in ["csv", "meta.json"] {
                fs::remove_file(last.with_extension(ending)).unwrap();
            }
        }
    }
    fleet.place.script("");
    fleet.run("f", &[], 0);
    assert_eq!(fleet.points(), all_ok());
}

/// Whether a journal says that it is of this node.
fn is_of(journal: &Path, node: &str) -> bool {
    fs::read_to_string(journal).unwrap().contains(&format!(" node-{node} "))
}

/// Has a journal of this host say that it is of another one, where it does not yet.
fn elsewhere(journal: &Path, node: &str) {
    let text = fs::read_to_string(journal).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["run", _, host, up, now] if !host.starts_with("node-") => {
                format!("run 00000000-0000-0000-0000-00000000000{node} node-{node} {up} {now}\n")
            }
            _ => format!("{line}\n"),
        }
    };
    fs::write(journal, text.lines().map(line).collect::<String>()).unwrap();
}

/// Set-up that takes longer than a job has: after three attempts somebody has to look.
#[test]
fn attempts_without_progress_end() {
    let stuck = "[[fault]]\nkind = \"hang\"\nconfig = \"load\"\n";
    let budget = ["--budget", "2s"];
    let check_last = |ended: &Ended| {
        assert!(ended.stderr.contains("3 runs in a row have ended before their first row"), "{ended:?}");
        assert!(ended.stderr.contains("--cache"), "{ended:?}");
    };
    let fleet = Fleet::new(stuck);
    fleet.run("a", &budget, 4);
    fleet.run("b", &budget, 4);
    // Whatever the clocks of their nodes said.
    for path in fleet.published(".meta.json") {
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"started_utc\": \"20", "\"started_utc\": \"90")).unwrap();
    }
    check_last(&fleet.run("c", &budget, 1));
    // More time, or less to set up: it goes on, and what was before does not count any more.
    fleet.place.script(&slow(100));
    let child = fleet.start_with_rows("d", &[], 2);
    signal(child.id(), Signal::TERM);
    assert_eq!(wait(child).code, Some(4));
    fleet.place.script(stuck);
    for node in ["e", "f"] {
        fleet.run(node, &budget, 4);
    }
    check_last(&fleet.run("g", &budget, 1));
    // A sweep that has one file for all runs is no different.
    let place = Place::in_memory(stuck);
    let run = || place.sweep(&budget);
    let codes = [run().code, run().code];
    assert_eq!(codes, [Some(4), Some(4)]);
    let last = run();
    assert_eq!(last.code, Some(1));
    check_last(&last);
    let outcome = place.metadata().runs.last().unwrap().outcome.clone().unwrap();
    assert!(outcome.exit_code == 1 && outcome.trouble.unwrap().contains("in a row"));
}

/// A config that takes its worker with it, on every node: its row is there, and the sweep goes on.
#[test]
fn faults_have_rows_in_attempts_too() {
    let fleet = Fleet::new(&fault("crash"));
    fleet.run("a", &[], 0);
    let mut expected = all_ok();
    expected.insert(faulty(), Status::RuntimeError);
    assert_eq!(fleet.points(), expected);
    assert_eq!(fleet.published(".journal").len(), 1);
    fleet.run("b", &[], 0);
    assert_eq!((fleet.points(), fleet.published(".csv").len()), (expected, 1));
}

/// The metadata of a run that was killed say of no row that it is of that run.
#[test]
fn rows_of_a_killed_attempt_have_its_seed() {
    let fleet = Fleet::new(&slow(30));
    let seed = |seed: &'static str| ["--seed", seed];
    kill(fleet.start_with_rows("a", &seed("7"), 3));
    fleet.lose("a");
    let there = fleet.points();
    let ended = fleet.run("b", &seed("8"), 1);
    assert!(ended.stderr.contains("its rows are of seed 7"), "{ended:?}");
    assert_eq!(fleet.points(), there);
    let merge =
        |files: &[&str], code| fleet.place.run(&[&["merge"], files, &["-o", "all.csv"]].concat(), code);
    let killed = fleet.published(".csv").remove(0);
    let killed = killed.to_str().unwrap();
    let next = merge(&[killed], 4).stdout;
    assert!(next.contains("--seed 7"), "{next}");
    fleet.place.script("");
    let other = ["sweep", "--device", "replay:replay.toml", "--space", "./space.toml", "--seed", "8"];
    fleet.place.run(&[&other[..], &["--out", "other.csv"]].concat(), 0);
    let refused = merge(&[killed, "other.csv"], 1).stderr;
    assert!(refused.contains("the seed: `7`"), "{refused}");
    fleet.run("b", &seed("7"), 0);
    assert_eq!(fleet.points(), all_ok());
}

/// Containers of one machine: every process has the same number, and each has another host name.
#[test]
fn rows_name_the_machine_that_they_are_told() {
    let fleet = Fleet::new("");
    let mut command = fleet.command("a", &[]);
    let ended = ended(command.env("SCANBOX_NODE", " rack 7\n").output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(fleet.records().iter().all(|row| row.host == "rack 7"));
}
