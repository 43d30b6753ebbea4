//! What stands in the folders of attempts, and folders that are none.

use std::fs;
use std::path::Path;

use super::Fleet;
use crate::sweeps::{ALL, all_ok, ended};

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
    let ended = fleet.run("a", &[], 0);
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
            let records = scanbox_model::csv_file::read(&path).unwrap().records;
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
