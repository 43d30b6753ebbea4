//! Shares that fill up, and shares without locks: a library between the program and the system plays them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::Fleet;
use crate::sweeps::{Ended, all_ok, ended, slow, wait, wait_until};

/// Below `SHARE`, every write fails for lack of room while `FULL` is there, and every lock fails with `LOCK_ERRNO`.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int on_share(int file) {
    char name[64], path[4096];
    const char *share = getenv("SHARE");
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0 || share == NULL) {
        return 0;
    }
    path[length] = 0;
    return strncmp(path, share, strlen(share)) == 0;
}

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) {
        real = dlsym(RTLD_NEXT, "write");
    }
    const char *full = getenv("FULL");
    if (full != NULL && on_share(file) && access(full, F_OK) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return real(file, bytes, count);
}

int flock(int file, int operation) {
    static int (*real)(int, int);
    if (real == NULL) {
        real = dlsym(RTLD_NEXT, "flock");
    }
    const char *number = getenv("LOCK_ERRNO");
    if (number != NULL && on_share(file)) {
        fprintf(stderr, "a lock on the share\n");
        errno = atoi(number);
        return -1;
    }
    return real(file, operation);
}
"#;

/// The library, in the folder of a fleet.
fn shim(fleet: &Fleet) -> PathBuf {
    let (source, library) = (fleet.place.folder().join("shim.c"), fleet.place.folder().join("shim.so"));
    fs::write(&source, SHIM).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let made = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    library
}

fn command(fleet: &Fleet, node: &str, args: &[&str]) -> Command {
    let mut command = fleet.command(node, args);
    command.env("LD_PRELOAD", fleet.place.folder().join("shim.so")).env("SHARE", fleet.share());
    command.env("FULL", fleet.place.folder().join("full"));
    command
}

#[test]
fn a_share_without_locks_needs_none() {
    let fleet = Fleet::new("");
    shim(&fleet);
    for errno in ["37", "38", "95"] {
        let run =
            |command: &mut Command| -> Ended { ended(command.env("LOCK_ERRNO", errno).output().unwrap()) };
        // With one file for all, the same library shows that it plays its part: locks are missed, and told.
        let plain =
            fleet.place.scanbox(&["sweep", "--device", "replay:replay.toml", "--space", "./space.toml"]);
        let mut plain = { plain };
        plain.args(["--out", "share/plain.csv"]).env("LD_PRELOAD", fleet.place.folder().join("shim.so"));
        let plain = run(plain.env("SHARE", fleet.share()));
        assert!(plain.code == Some(0) && plain.stderr.contains("a lock on the share"), "{plain:?}");
        assert!(plain.stderr.contains("nothing stops another run beside this one"), "{plain:?}");
        for path in fs::read_dir(fleet.share()).unwrap() {
            fs::remove_file(path.unwrap().path()).unwrap();
        }
        let attempt = run(&mut command(&fleet, "a", &[]));
        assert!(attempt.code == Some(0) && !attempt.stderr.contains("lock"), "{errno}: {attempt:?}");
        assert!(!attempt.stderr.contains("nothing stops"), "{errno}: {attempt:?}");
        assert_eq!(fleet.points(), all_ok(), "{errno}");
    }
}

#[test]
fn a_share_that_fills_up_is_told_and_tried_again() {
    let fleet = Fleet::new(&slow(150));
    shim(&fleet);
    let full = fleet.place.folder().join("full");
    let log = fleet.place.folder().join("log");
    let said = || fs::read_to_string(&log).unwrap();
    let mut started = command(&fleet, "a", &[]);
    let child = started.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    wait_until("published rows", || fleet.points().len() > 2);
    fs::write(&full, "").unwrap();
    wait_until("the trouble", || said().contains("No space left on device"));
    let before = fleet.points().len();
    fs::remove_file(&full).unwrap();
    wait_until("its end", || said().contains("rows are published again"));
    // What is published first need not have a row more: a file of facts may be all that was still to come.
    wait_until("more rows", || before < fleet.points().len());
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{}", said());
    assert_eq!(said().matches("rows cannot be published now").count(), 1, "{}", said());
    assert_eq!(fleet.points(), all_ok());
}

#[test]
fn a_share_that_stays_full_leaves_the_rows_on_the_node() {
    let fleet = Fleet::new("");
    shim(&fleet);
    let full = fleet.place.folder().join("full");
    fs::write(&full, "").unwrap();
    // From its first row to its last one.
    fs::write(fleet.share().join(".scanbox-old.partial"), "").unwrap();
    let check = |ended: &Ended| {
        assert_eq!(ended.code, Some(1), "{ended:?}");
        for part in
            ["the rows could not be published; they are in ", "/a/scanbox-", "No space left on device"]
        {
            assert!(ended.stderr.contains(part), "{part}: {ended:?}");
        }
    };
    let ended = ended(command(&fleet, "a", &["--format", "json"]).output().unwrap());
    check(&ended);
    let answer: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&answer["exit_code"], &answer["points_left"]), (&1.into(), &0.into()));
    for file in answer["files"].as_array().unwrap() {
        assert!(fleet.place.folder().join(file.as_str().unwrap()).is_file(), "{file}");
    }
    assert!(fleet.points().is_empty());
    let ended = crate::sweeps::ended(command(&fleet, "c", &[]).output().unwrap());
    assert!(ended.stdout.contains("to publish these rows"), "{ended:?}");
    fleet.lose("c");
    // With room, the next attempt on the node brings them home, and nothing is measured again.
    fs::remove_file(&full).unwrap();
    let next = fleet.run("a", &[], 0);
    assert!(next.stderr.contains("its rows are published now"), "{next:?}");
    assert_eq!((fleet.points(), fleet.measured(), fleet.published(".csv").len()), (all_ok(), 28, 1));
}

/// Without locks, the number of a process says whether its attempt is still there.
#[test]
fn a_node_without_locks_publishes_what_an_attempt_left_that_died() {
    for errno in ["37", "38", "95"] {
        let fleet = Fleet::new(&slow(60));
        shim(&fleet);
        let run = |args: &[&str]| {
            let mut command = command(&fleet, "a", args);
            command.env("SHARE", fleet.scratch("a")).env("LOCK_ERRNO", errno);
            command
        };
        let log = fleet.place.folder().join("log");
        let mut first = run(&["--publish-every", "1h"]);
        let child = first.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let folder = fleet.rows_on_node("a");
        super::kill(child);
        fleet.place.script("");
        let second = ended(run(&[]).output().unwrap());
        assert_eq!(second.code, Some(0), "{errno}: {second:?}");
        assert!(
            second.stderr.contains("an attempt died here; its rows are published now"),
            "{errno}: {second:?}"
        );
        assert!(!folder.exists(), "{errno}");
        assert_eq!(fleet.points(), all_ok(), "{errno}");
        assert_eq!(fleet.measured(), fleet.points().len(), "{errno}: no row is measured twice");
    }
}
