//! `auto` of arguments: what a probe found, kept, and written down; on a replay device whose script says what arguments
//! cost.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use scanbox_model::config::Arguments;
use scanbox_model::record::Status;

use crate::sweeps::{Ended, Place, ended, signal, wait, wait_until};

/// Where a block is best, as on NVIDIA.
const BLOCK: &str = "hardware = true\narguments_ns = [450.0, 190.0, 0.0]\n";
/// Where it is not.
const PUSH: &str = "hardware = true\narguments_ns = [10.0, 190.0, 0.0]\n";
/// What is said when something is measured.
const MEASURING: &str = "measuring how kernels best get their arguments";

/// One kernel at seven sizes, and others beside it.
fn space(arguments: &str) -> String {
    crate::sweeps::SPACE.replace("batch_size = [1, 4]", &format!("batch_size = [4]\narguments = {arguments}"))
}

fn place(script: &str) -> Place {
    let place = Place::in_memory(script);
    fs::write(place.folder().join("space.toml"), space("[\"auto\"]")).unwrap();
    place
}

/// The command in a cache folder of the place's own.
fn own_cache(place: &Place, mut command: Command) -> Ended {
    command.env("SCANBOX_CACHE", place.folder().join("cache"));
    ended(command.output().unwrap())
}

fn sweep(place: &Place, args: &[&str]) -> Ended {
    own_cache(place, place.command(args))
}

/// The files that probes have left.
fn kept(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.folder().join("cache/probes")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The arguments that labels name.
fn tags(place: &Place) -> BTreeSet<String> {
    let tag = |config: &str| {
        ["block", "baked", "auto"].into_iter().find(|tag| config.contains(tag)).unwrap_or("push")
    };
    place.records().iter().map(|record| tag(&record.config_id).to_owned()).collect()
}

#[test]
fn a_sweep_measures_what_auto_stands_for_once() {
    for (script, expected, found) in [(BLOCK, "block", Arguments::Block), (PUSH, "push", Arguments::Push)] {
        let place = place(script);
        let dry = sweep(&place, &["--dry-run"]);
        assert_eq!(dry.code, Some(0), "{dry:?}");
        assert!(!dry.stderr.contains(MEASURING), "{}", dry.stderr);
        assert!(dry.stderr.contains("is push, since nothing is known of this device yet"), "{}", dry.stderr);
        assert_eq!(kept(&place), Vec::<PathBuf>::new());
        let first = sweep(&place, &[]);
        assert_eq!(first.code, Some(0), "{first:?}");
        assert!(first.stderr.contains(MEASURING), "{}", first.stderr);
        assert_eq!(kept(&place).len(), 1);
        let told = format!("auto of arguments is {expected}, as measured on this device");
        assert!(first.stderr.contains(&told), "{}", first.stderr);
        assert_eq!(tags(&place), BTreeSet::from([expected.to_owned()]));
        assert!(place.records().iter().all(|record| record.status == Status::Ok));
        assert_eq!(place.records().len(), 2 * 7);
        let metadata = place.metadata();
        let probe = metadata.device.arguments_probe.expect("the metadata has what was found");
        assert_eq!((probe.arguments, probe.sizes.len()), (found, 3));
        assert!(metadata.space.asks_device(), "the space is what was asked for");
        // A count of the space names the same; so does that of its metadata, wherever it is read.
        for device in [["--device", "replay:replay.toml"], ["--profile", "out/test.meta.json"]] {
            let mut command =
                place.scanbox(&["space", "--space", "space.toml", "--filter", "arguments=block"]);
            command.args(device).args(["--format", "json"]);
            let counted = own_cache(&place, command);
            let counts: serde_json::Value = serde_json::from_str(&counted.stdout).unwrap();
            assert_eq!(counts["configs"], if expected == "block" { 14 } else { 0 }, "{counted:?}");
        }
    }
}

/// A device that nothing is known of is also asked what it guarantees, by a worker that takes the place of the one that
/// was told about arguments.
#[test]
fn what_was_found_outlives_the_probe_of_guarantees() {
    let asking = "asking it what it keeps beyond what Vulkan promises";
    let told = "auto of arguments is block, as measured on this device";
    for command in ["sweep", "verify"] {
        let place = place(&format!("{BLOCK}[probe]\n"));
        // By workgroup id: a promise that only the device can give.
        let by_id = space("[\"auto\"]") + "tile_order = [\"workgroup-id\"]\n";
        fs::write(place.folder().join("space.toml"), by_id).unwrap();
        let mut first = place.scanbox(&[command, "--device", "replay:replay.toml", "--space", "space.toml"]);
        if command == "sweep" {
            first.args(["--out", "out/test.csv"]);
        }
        let first = own_cache(&place, first);
        assert_eq!(first.code, Some(0), "{command}: {first:?}");
        for said in [MEASURING, asking, told] {
            assert!(first.stderr.contains(said), "{command}: {said}: {first:?}");
        }
        if command == "sweep" {
            assert_eq!(tags(&place), BTreeSet::from(["block".to_owned()]));
        }
    }
}

/// The file of the run decides, whatever is found meanwhile: its points keep their names.
#[test]
fn a_sweep_goes_on_with_what_it_began_with() {
    let place = place(BLOCK);
    assert_eq!(sweep(&place, &["--sizes", "2^10..2^12"]).code, Some(0));
    place.script(PUSH);
    fs::remove_dir_all(place.folder().join("cache/probes")).unwrap();
    let resumed = sweep(&place, &[]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(tags(&place), BTreeSet::from(["block".to_owned()]));
    assert_eq!(place.records().len(), 2 * 7);
    assert_eq!(kept(&place), Vec::<PathBuf>::new(), "nothing was measured");
    let found = place.metadata().device.arguments_probe.map(|probe| probe.arguments);
    assert_eq!(found, Some(Arguments::Block));
    let again = sweep(&place, &["--filter", "arguments=auto", "--dry-run"]);
    assert!(again.stdout.contains("to do      0"), "{again:?}");
    // One that began without goes on without.
    let place = self::place("");
    assert_eq!(sweep(&place, &["--sizes", "2^10..2^12"]).code, Some(0));
    place.script(BLOCK);
    assert_eq!(sweep(&place, &[]).code, Some(0));
    assert_eq!(tags(&place), BTreeSet::from(["push".to_owned()]));
    assert_eq!(place.metadata().device.arguments_probe, None);
}

#[test]
fn a_probe_that_fails_is_not_kept() {
    for (kind, config, reason) in [
        ("wrong_element", "copy.b1.block", "is wrong"),
        ("device_lost", "copy.b1.block", "scripted"),
        ("crash", "copy.b1.block", "the worker ended: killed by signal"),
    ] {
        let fault = format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{config}\"\n");
        let place = place(&format!("{BLOCK}{fault}"));
        let ended = sweep(&place, &[]);
        assert_eq!(ended.code, Some(0), "{kind}: {ended:?}");
        assert!(
            ended.stderr.contains("that came to nothing") && ended.stderr.contains(reason),
            "{}",
            ended.stderr
        );
        assert!(
            ended.stderr.contains("auto of arguments is push, since nothing is known of"),
            "{}",
            ended.stderr
        );
        assert_eq!(tags(&place), BTreeSet::from(["push".to_owned()]));
        assert_eq!(kept(&place), Vec::<PathBuf>::new());
        assert_eq!(place.metadata().device.arguments_probe, None);
        // Another file asks again.
        place.script(BLOCK);
        let mut command =
            place.scanbox(&["sweep", "--device", "replay:replay.toml", "--space", "space.toml"]);
        command.args(["--out", "out/other.csv"]);
        assert!(own_cache(&place, command).stderr.contains("auto of arguments is block"));
        assert_eq!(kept(&place).len(), 1);
    }
}

#[test]
fn a_damaged_file_is_measured_again() {
    let place = place(BLOCK);
    let count = || {
        own_cache(
            &place,
            place.scanbox(&["space", "--device", "replay:replay.toml", "--space", "space.toml"]),
        )
    };
    assert_eq!(count().code, Some(0));
    let [file] = &kept(&place)[..] else { panic!("one file") };
    let whole = fs::read(file).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let without_times = text.split_once("\"sizes\": [").unwrap().0.to_owned() + "\"sizes\": [] } }";
    for damaged in [&whole[..whole.len() / 2], b"", b"{}", without_times.as_bytes()] {
        fs::write(file, damaged).unwrap();
        assert!(count().stderr.contains(MEASURING));
        assert_eq!(fs::read(file).unwrap(), whole);
        assert!(!count().stderr.contains(MEASURING));
    }
}

/// Beside another run nobody knows what was measured.
#[test]
fn what_was_measured_on_a_shared_device_is_not_kept() {
    let place = place(BLOCK);
    let shared = sweep(&place, &["--share-device"]);
    assert_eq!(shared.code, Some(0), "{shared:?}");
    assert!(shared.stderr.contains(MEASURING) && shared.stderr.contains("it is not kept"), "{shared:?}");
    assert_eq!((tags(&place), kept(&place)), (BTreeSet::from(["block".to_owned()]), Vec::new()));
}

/// Nothing says what `auto` stood for in the rows that are there.
#[test]
fn rows_without_their_metadata_are_not_continued_by_another_finding() {
    for damage in [None, Some("{")] {
        let place = place(BLOCK);
        assert_eq!(sweep(&place, &["--sizes", "2^10..2^12"]).code, Some(0));
        let metadata = place.file("meta.json");
        match damage {
            None => fs::remove_file(&metadata).unwrap(),
            Some(text) => fs::write(&metadata, text).unwrap(),
        }
        let rows = fs::read(place.file("csv")).unwrap();
        let refused = sweep(&place, &[]);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(
            refused.stderr.contains("what `auto` of arguments stands for in its rows is in"),
            "{refused:?}"
        );
        assert_eq!(fs::read(place.file("csv")).unwrap(), rows);
    }
}

/// Nobody who did not ask waits for it, and no software device is asked.
#[test]
fn nothing_is_measured_that_nobody_asks_for() {
    let software = place("arguments_ns = [450.0, 190.0, 0.0]");
    let ended = sweep(&software, &[]);
    assert!(ended.stderr.contains("auto of arguments is push, as on every software device"), "{ended:?}");
    assert_eq!((tags(&software), kept(&software)), (BTreeSet::from(["push".to_owned()]), Vec::new()));

    let unasked = place(BLOCK);
    fs::write(unasked.folder().join("space.toml"), space("[\"push\", \"block\"]")).unwrap();
    let ended = sweep(&unasked, &[]);
    assert!(!ended.stderr.contains("auto of arguments"), "{ended:?}");
    assert_eq!(tags(&unasked), BTreeSet::from(["block".to_owned(), "push".to_owned()]));
    assert_eq!(kept(&unasked), Vec::<PathBuf>::new());
    assert_eq!(unasked.metadata().device.arguments_probe, None);
    // Verifications choose by it too.
    let mut command = unasked.scanbox(&["verify", "--device", "replay:replay.toml", "--space", "space.toml"]);
    command.args(["--filter", "arguments=auto", "--sizes", "100", "--format", "json"]);
    let verified = own_cache(&unasked, command);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.stderr.contains("auto of arguments is block"), "{}", verified.stderr);
    let answer: serde_json::Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(answer["configs"], 2, "{answer}");
}

/// A device that is in use is left alone: whoever would measure on it is refused, whoever only counts goes on.
#[test]
fn a_device_in_use_is_not_measured() {
    // It has the device until it is ended, however long the others take.
    let place = place(&format!("{BLOCK}[[fault]]\nkind = \"hang\"\nconfig = \"b4\"\nn = 4096\n"));
    fs::write(place.folder().join("other.toml"), space("[\"auto\"]")).unwrap();
    fs::write(place.folder().join("space.toml"), space("[\"push\", \"block\"]")).unwrap();
    let child = place.start_with_rows(&["--timeout", "3600s"], 1);
    let device = ["--device", "replay:replay.toml", "--space", "other.toml"];
    let own = |words: &[&str]| own_cache(&place, place.scanbox(&[words, &device].concat()));
    let refused = own(&["sweep", "--out", "other.csv"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("is in use by another run"), "{refused:?}");
    for counting in [&["space"][..], &["sweep", "--out", "other.csv", "--dry-run"]] {
        let counted = own(counting);
        assert_eq!(counted.code, Some(0), "{counted:?}");
        let says = counted.stderr.contains("nothing is measured there now");
        assert_eq!(says, counting[0] == "space", "{counted:?}");
        let told = "auto of arguments is push, since nothing is known of this device yet";
        assert!(counted.stderr.contains(told), "{counted:?}");
    }
    assert_eq!(kept(&place), Vec::<PathBuf>::new());
    place.script(BLOCK);
    let (said, said_in) =
        (place.folder().join("said"), fs::File::create(place.folder().join("said")).unwrap());
    let mut command = place.scanbox(&[&["sweep", "--out", "other.csv", "--wait"], &device[..]].concat());
    command.env("SCANBOX_CACHE", place.folder().join("cache")).stdout(Stdio::null()).stderr(said_in);
    let waiting = command.spawn().unwrap();
    let says = |part: &str| fs::read_to_string(&said).unwrap().contains(part);
    wait_until("a run that waits", || says("waiting for it"));
    assert!(signal(child.id(), Signal::TERM) && !says(MEASURING));
    wait(child);
    assert_eq!(wait(waiting).code, Some(0), "{:?}", fs::read_to_string(&said));
    assert!(says(MEASURING));
    assert_eq!(kept(&place).len(), 1);
}
