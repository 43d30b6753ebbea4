//! What stands in the folders of attempts, and folders that are none.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::csv_file;
use scanbox_model::record::Status;

use super::{Fleet, kill};
use crate::sweeps::{ALL, all_ok, ended, fault, faulty, slow, wait, wait_until};

#[test]
fn folders_that_cannot_be_used_are_refused_before_anything_happens() {
    let check = |args: &[&str], code: i32, told: &str| {
        let fleet = Fleet::new("");
        let folder = fleet.place.folder();
        fs::create_dir(folder.join("scratch")).unwrap();
        fs::write(folder.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink("scratch", folder.join("link")).unwrap();
        let sweep = ["sweep", "--device", "replay:replay.toml", "--space", "./space.toml"];
        let ended = ended(fleet.place.scanbox(&[&sweep, args].concat()).output().unwrap());
        assert!(ended.code == Some(code) && ended.stderr.contains(told), "{args:?}: {ended:?}");
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "mine");
        for name in ["scratch", "share"] {
            assert_eq!(fs::read_dir(folder.join(name)).unwrap().count(), 0, "{args:?}: {name}");
        }
        assert!(!folder.join("results").exists(), "{args:?}");
    };
    let both = |scratch: &'static str, publish: &'static str| ["--scratch", scratch, "--publish", publish];
    check(&both("gone", "share"), 1, "--scratch gone: there is no such folder");
    check(&both("scratch", "gone/deeper"), 1, "--publish gone/deeper: there is no such folder");
    check(&both("file", "share"), 1, "--scratch file: that is not a folder");
    check(&both("scratch", "file"), 1, "--publish file: that is not a folder");
    check(&both("", "share"), 2, "--scratch");
    // Where nobody can write, not even root.
    check(&both("/proc", "share"), 1, "--scratch /proc: nothing can be written there");
    check(&both("scratch", "/proc"), 1, "--publish /proc: nothing can be written there");
    check(&both("scratch", "scratch"), 1, "--scratch and --publish are both");
    check(&both("scratch", "./scratch/."), 1, "--scratch and --publish are both");
    check(&both("scratch", "link"), 1, "--scratch and --publish are both");
    check(&["--scratch", "scratch"], 2, "--publish");
    check(&["--publish", "share"], 2, "--scratch");
    check(&["--publish-every", "1s"], 2, "--publish");
    let and = |more: &'static [&'static str]| [&both("scratch", "share")[..], more].concat();
    check(&and(&["--publish-every", "0s"]), 2, "a limit is above 0");
    check(&and(&["--out", "x.csv"]), 2, "--out");
    check(&and(&["--retry-failed"]), 2, "--retry-failed");
    check(&and(&["--accept-space"]), 2, "--accept-space");
    check(&and(&["--device", "replay:space.toml"]), 2, "an attempt has one device, and here are 2");
}

fn all_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn foreign_files_are_left_alone_and_named() {
    let fleet = Fleet::new("");
    let foreign = [
        ("notes.txt", "mine"),
        ("replay.test.csv", "schema,my own"),
        ("replay.test.attempt-mine.txt", "mine"),
        ("replay.test.attempt-mine.csv", "schema,a copy that somebody has made"),
        (".scanbox-x.partial", "of an attempt that died"),
        ("other.test.attempt-20990101T000000Z-n-1-x.csv", "of another sweep, broken"),
    ];
    for (name, text) in foreign {
        fs::write(fleet.share().join(name), text).unwrap();
    }
    // What has the name of an attempt and cannot be read.
    let name = |letter: char| format!("replay.test.attempt-20990101T000000Z-n-1-{letter}.csv");
    fs::create_dir(fleet.share().join(name('x'))).unwrap();
    std::os::unix::fs::symlink(name('y'), fleet.share().join(name('y'))).unwrap();
    std::os::unix::fs::symlink("nowhere", fleet.share().join(name('z'))).unwrap();
    let ended = fleet.run("a", &[], 0);
    for letter in ['x', 'y', 'z'] {
        let told = ended.stderr.lines().find(|line| line.contains(&name(letter)));
        assert!(told.is_some_and(|told| told.contains("it is left alone")), "{letter}: {ended:?}");
        let path = fleet.share().join(name(letter));
        if letter == 'x' { fs::remove_dir(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    let told = "left alone: notes.txt, replay.test.attempt-mine.csv, replay.test.attempt-mine.txt, \
                replay.test.csv\n";
    assert!(ended.stderr.contains(told), "{ended:?}");
    let files = all_files(&fleet.share());
    for (name, text) in foreign {
        assert!(files.contains(&(name.to_owned(), text.as_bytes().to_vec())), "{name}");
    }
    fs::remove_file(fleet.share().join("replay.test.attempt-mine.csv")).unwrap();
    assert_eq!(fleet.points(), all_ok());
}

/// A published attempt that was cut or spoilt, which renaming does not do: what it has lost is measured again.
#[test]
fn attempts_that_are_damaged_cost_what_they_have_lost() {
    let fleet = Fleet::new("");
    fleet.run("a", &[], 0);
    let csv = fleet.published(".csv").remove(0);
    let metadata = csv.with_extension("meta.json");
    let (whole, facts) = (fs::read(&csv).unwrap(), fs::read(&metadata).unwrap());
    let ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').collect();
    let check = |rows: &[u8], facts: Option<&[u8]>, kept: usize, told: &str| {
        for path in fleet.published("") {
            fs::remove_file(path).unwrap();
        }
        fs::write(&csv, rows).unwrap();
        if let Some(facts) = facts {
            fs::write(&metadata, facts).unwrap();
        }
        let ended = fleet.run("b", &[], 0);
        assert!(ended.stderr.contains(told), "{told}: {ended:?}");
        assert_eq!(fs::read(&csv).unwrap(), rows, "{told}: it stays as it is");
        let rest: usize = fleet.published(".csv").len() - 1;
        assert_eq!(rest, usize::from(kept < ALL), "{told}");
        let points = fleet.run("c", &["--dry-run"], 0);
        assert!(points.stdout.contains("to do      0"), "{told}: {points:?}");
        let own = fleet.published(".csv").into_iter().filter(|path| *path != csv);
        for path in own {
            let records = csv_file::read(&path).unwrap().records;
            assert_eq!(crate::sweeps::rows(&records), all_ok(), "{told}");
            let runs: std::collections::BTreeSet<_> = records.iter().map(|row| row.run_id.clone()).collect();
            let first = records.iter().filter(|row| row.run_id == records[0].run_id).count();
            assert_eq!((runs.len(), first), if kept == 0 { (1, ALL) } else { (2, kept) }, "{told}");
        }
    };
    let some = Some(&facts[..]);
    check(&whole, some, ALL, "28 rows of 1 earlier attempt");
    check(&whole[..ends[10] + 1], some, 10, "10 rows of 1 earlier attempt");
    check(&whole[..ends[10] + 1], some, 10, "its metadata names 28 rows, and the file has 10");
    check(&whole[..ends[10] + 40], some, 10, "line 12 is torn");
    check(&whole[..ends[11]], some, 10, "line 12 is torn");
    check(&whole[..ends[0] + 1], some, 0, "0 rows of 1 earlier attempt");
    check(&whole[..10], some, 0, "line 1 is torn");
    check(b"", some, 0, "its metadata names 28 rows, and the file has 0");
    check(b"", None, 0, "the file is empty");
    check(&whole[..ends[10] + 1], Some(&facts[..300]), 10, "what it says is made anew");
    check(&whole[..ends[10] + 1], None, 10, "10 rows of 1 earlier attempt");
    let spoilt = String::from_utf8(whole.clone()).unwrap().replacen(",ok,", ",perhaps,", 1);
    check(spoilt.as_bytes(), some, 0, "is left alone, and what only it has is measured again");
    check(b"my notes\n", some, 0, "is left alone");
    check(b"\xff\xfe\0\n", some, 0, "is left alone");
}

/// An attempt that works, or one that died, loses files on its node: what it has published stays, and is told.
#[test]
fn what_is_published_outlives_the_files_of_the_node() {
    let gone = |path: PathBuf| fs::remove_file(path).unwrap();
    let empty = |path: PathBuf| fs::write(path, "").unwrap();
    let check = |dies: bool, damage: &dyn Fn(&Path), told: &str| {
        // A config that ends its worker, so that there is a journal, and time enough for the damage.
        let fleet = Fleet::new(&format!("{}{}", slow(60), fault("crash")));
        let child = fleet.start("a", &["--publish-every", "20ms"]);
        wait_until("rows and blame", || {
            fleet.points().len() > 2
                && fleet
                    .published(".journal")
                    .iter()
                    .any(|path| fs::read_to_string(path).unwrap().contains("ended "))
        });
        let folders = fs::read_dir(fleet.scratch("a")).unwrap().map(|entry| entry.unwrap().path());
        let folder = { folders }.find(|path| path.is_dir()).unwrap();
        let ended = if dies {
            kill(child);
            damage(&folder);
            None
        } else {
            damage(&folder);
            Some(wait(child))
        };
        let of_first = |ending: &str| fs::read(&fleet.published(ending)[0]).unwrap();
        let before = fleet.points().len();
        assert!(before > 2, "{told}: what was published is there");
        let ended = ended.unwrap_or_else(|| fleet.run("a", &[], 0));
        assert!(ended.stderr.contains(told), "{told}: {ended:?}");
        assert!(dies || ended.code == Some(1), "{told}: {ended:?}");
        let records = csv_file::read(&fleet.published(".csv")[0]).unwrap().records;
        assert!(records.len() > 2 && !of_first(".meta.json").is_empty(), "{told}");
        assert!(String::from_utf8(of_first(".journal")).unwrap().contains("ended "), "{told}");
        fleet.run("b", &[], 0);
        let mut expected = all_ok();
        expected.insert(faulty(), Status::RuntimeError);
        assert_eq!(fleet.points(), expected, "{told}");
    };
    let of = |ending: &'static str| move |folder: &Path| folder.join(format!("replay.test.{ending}"));
    let (csv, facts, journal) = (of("csv"), of("meta.json"), of("journal"));
    check(false, &|folder| fs::remove_dir_all(folder).unwrap(), "what was published of them is ");
    check(false, &|folder| gone(csv(folder)), "what was published of them is ");
    let dead = "an attempt died here, and what it left cannot be published: ";
    check(true, &|folder| gone(csv(folder)), dead);
    check(true, &|folder| empty(csv(folder)), "has 0 complete lines, and its copy has ");
    check(true, &|folder| empty(facts(folder)), dead);
    check(true, &|folder| gone(facts(folder)), dead);
    check(true, &|folder| empty(journal(folder)), "its rows are published now");
    check(true, &|folder| gone(journal(folder)), "its rows are published now");
}

/// Rows of another driver or space are of another sweep, and are not mixed with these.
#[test]
fn attempts_of_something_else_are_refused() {
    let check = |change: &dyn Fn(&Fleet), args: &[&str], told: &str| {
        let fleet = Fleet::new("");
        fleet.run("a", &[], 0);
        change(&fleet);
        let files = all_files(&fleet.share());
        let csv = fleet.published(".csv").remove(0);
        let name = csv.file_name().unwrap().to_str().unwrap();
        for dry in [&[][..], &["--dry-run"]] {
            let ended = fleet.run("b", &[args, dry].concat(), 1);
            for part in [told, name, "what attempts have published in share", "publish to another folder"] {
                assert!(ended.stderr.contains(part), "{part}: {ended:?}");
            }
            // What helps a file that every run goes on with does not help here.
            for part in ["--out", "--accept", "b/scanbox-"] {
                assert!(!ended.stderr.contains(part), "{part}: {ended:?}");
            }
        }
        assert_eq!(all_files(&fleet.share()), files);
        assert!(fs::read_dir(fleet.scratch("b")).unwrap().all(|entry| !entry.unwrap().path().is_dir()));
    };
    check(
        &|fleet| fleet.place.script("driver = \"replay 2\"\n"),
        &[],
        "have driver `replay 1`, this run has `replay 2`",
    );
    check(
        &|fleet| {
            let space = crate::sweeps::SPACE.replace("[1, 4]", "[1, 2]");
            fs::write(fleet.place.folder().join("space.toml"), space).unwrap();
        },
        &[],
        "its rows are of the space `test`",
    );
    check(&|_| {}, &["--seed", "2"], "its rows are of seed 1, this run has 2");
}

/// A scratch folder such as `/tmp` is everybody's: what others put there is not published in this user's name.
#[test]
fn folders_of_others_are_not_taken_home() {
    let fleet = Fleet::new(&slow(100));
    let child = fleet.start("a", &["--publish-every", "1h"]);
    let left = fleet.rows_on_node("a");
    kill(child);
    let elsewhere = fleet.place.folder().join("elsewhere");
    fs::rename(&left, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &left).unwrap();
    fleet.place.script("");
    let check = || {
        let before = fleet.published("");
        let ended = fleet.run("a", &["--dry-run"], 0);
        assert!(!ended.stderr.contains("an attempt died here"), "{ended:?}");
        let ended = fleet.run("a", &[], 0);
        assert!(!ended.stderr.contains("an attempt died here"), "{ended:?}");
        assert!(left.join("publishes-to").exists(), "it is not this user's to remove");
        let more: Vec<_> =
            fleet.published(".csv").into_iter().filter(|path| !before.contains(path)).collect();
        assert!(more.len() <= 1, "its own alone: {more:?}");
    };
    check();
    // Only root can give a folder away.
    if rustix::process::geteuid().is_root() {
        fs::remove_file(&left).unwrap();
        fs::rename(&elsewhere, &left).unwrap();
        std::os::unix::fs::chown(&left, Some(65534), None).unwrap();
        check();
    }
}
