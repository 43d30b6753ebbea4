//! The exit code says what a script has to do next, and nobody has to parse text to know why.

use std::process::Stdio;

use crate::sweeps::{ALL, CONFIG, Place, fault, signal, slow, wait};
use serde_json::Value;

/// A sweep with this fault of some configs: exit code, what stderr says of it, JSON and metadata.
fn check(script: &str, args: &[&str], code: i32, told: &str) {
    let place = Place::in_memory(script);
    let ended = place.sweep(&[args, &["--timeout", "1s", "--format", "json"]].concat());
    assert_eq!(ended.code, Some(code), "{script}: {ended:?}");
    assert!(ended.stderr.contains(told), "{script}: {ended:?}");
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(answer["exit_code"], code);
    let rows: u64 =
        answer["rows_by_status"].as_object().unwrap().values().map(|rows| rows.as_u64().unwrap()).sum();
    assert_eq!(rows + answer["points_left"].as_u64().unwrap(), ALL as u64, "{answer}");
    assert_eq!(
        answer["wrong"],
        *answer["rows_by_status"].get("wrong_result").unwrap_or(&Value::from(0)),
        "{answer}"
    );
    for file in answer["files"].as_array().unwrap() {
        assert!(place.folder().join(file.as_str().unwrap()).is_file(), "{file}");
    }
    let outcome = place.metadata().runs.last().unwrap().outcome.clone().unwrap();
    for field in ["exit_code", "rows_by_status", "points_left", "wrong"] {
        assert_eq!(serde_json::to_value(&outcome).unwrap()[field], answer[field], "{field}");
    }
    // Once more, with nothing left, it is the same.
    if answer["points_left"] == 0 {
        assert_eq!(place.sweep(&["--timeout", "1s"]).code, Some(code), "{script}");
    }
}

#[test]
fn a_sweep_without_any_ok_row_is_no_success() {
    let every = |kind: &str| format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"b\"\n");
    check("", &[], 0, "");
    check(
        &every("out_of_memory"),
        &[],
        1,
        "no config became ok; the most frequent outcome, 28 of 28: out_of_memory: scripted",
    );
    check(&every("pipeline_error"), &[], 1, "28 of 28: pipeline_error: scripted");
    check(&every("zero_timestamps"), &[], 1, "no config became ok");
    check(&every("wrong_last"), &[], 5, "no config became ok");
    check(&fault("wrong_last"), &[], 5, "");
    check(&fault("crash"), &[], 0, "");
}

/// A device that copies wrongly is not to be trusted, whatever its kernels say: one rule for every command that copies,
/// and for the same command once more.
#[test]
fn a_wrong_copy_is_a_wrong_result() {
    let check = |config: &str, n: &str, sizes: &[u64], told: &str| {
        let script = format!("[[fault]]\nkind = \"wrong_last\"\nconfig = \"{config}\"\n{n}");
        let place = Place::in_memory(&script);
        for _ in 0..2 {
            let ended = place.sweep(&["--format", "json"]);
            assert_eq!(ended.code, Some(5), "{script}: {ended:?}");
            let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(answer["rows_by_status"], serde_json::json!({ "ok": ALL }));
            assert_eq!(answer["wrong_copies"], serde_json::json!(sizes));
            let metadata = place.metadata();
            assert!(sizes.iter().all(|n| !metadata.ceiling_gbps.contains_key(n)), "{script}");
            assert_eq!(metadata.ceiling_gbps.len(), 7 - sizes.len(), "{script}");
        }
        let ended = place.sweep(&[]);
        assert!(ended.stdout.contains(told), "{script}: {ended:?}");
        let sizes = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let bench = ["bench", "--device", "replay:replay.toml", CONFIG, "--sizes", &sizes, "--rounds", "1"];
        place.run(&[&bench[..], &["--out", "bench.csv"]].concat(), 5);
        // A device that is mended is right again.
        place.script("");
        assert_eq!(place.sweep(&[]).code, Some(0), "{script}");
        assert_eq!(place.metadata().ceiling_gbps.len(), 7);
    };
    let all: Vec<u64> = (10..=16).map(|log| 1 << log).collect();
    let wrong = "wrong      wrong copies, with which nothing is compared: ";
    check("copy", "", &all, &format!("{wrong}2^10, 2^11, 2^12, 2^13, 2^14, 2^15, 2^16\n"));
    check("copy", "n = 4096\n", &[4096], &format!("{wrong}2^12\n"));
    check("copy", "n = 65536\n", &[65536], &format!("{wrong}2^16\n"));
}

/// Points left and wrong rows: both are told.
#[test]
fn wrong_rows_do_not_hide_that_points_are_left() {
    let place = Place::in_memory(&format!("{}[[fault]]\nkind = \"wrong_last\"\nconfig = \"b\"\n", slow(60)));
    let child = place.start_with_rows(&["--format", "json"], 3);
    signal(child.id(), rustix::process::Signal::TERM);
    let ended = wait(child);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(
        answer["wrong"].as_u64().unwrap() >= 3 && answer["points_left"].as_u64().unwrap() > 0,
        "{answer}"
    );
    let outcome = place.metadata().runs[0].outcome.clone().unwrap();
    assert_eq!((outcome.exit_code, outcome.wrong), (4, answer["wrong"].as_u64().unwrap()));
    let child = place.start_with_rows(&[], 5);
    signal(child.id(), rustix::process::Signal::TERM);
    let ended = wait(child);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("of the rows that are there are wrong"), "{ended:?}");
    place.script("");
    assert_eq!(place.sweep(&[]).code, Some(5), "now that it is complete");
}

#[test]
fn other_commands_without_any_ok_are_no_success() {
    let script = "[[fault]]\nkind = \"out_of_memory\"\nconfig = \"b\"\n";
    let place = Place::in_memory(script);
    let device = ["--device", "replay:replay.toml"];
    let ended = place.run(&[&["verify", CONFIG, "--sizes", "4096"], &device[..]].concat(), 1);
    assert!(
        ended.stderr.contains("no config became ok; the most frequent outcome, 1 of 1: out_of_memory"),
        "{ended:?}"
    );
    let bench = ["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"];
    let ended = place.run(&[&bench, &device[..]].concat(), 1);
    assert!(
        ended
            .stderr
            .contains("no config could be measured; the most frequent outcome, 1 of 1: out_of_memory"),
        "{ended:?}"
    );
}

/// Each device has its own answer within one JSON object.
#[test]
fn several_devices_are_one_object() {
    let place = Place::in_memory("");
    std::fs::write(
        place.folder().join("other.toml"),
        "name = \"Other\"\n[[fault]]\nkind = \"wrong_last\"\nconfig = \"b4\"\n",
    )
    .unwrap();
    let space = place.folder().join("space.toml");
    let mut command =
        place.scanbox(&["sweep", "--format", "json", "--out", "out", "--space", space.to_str().unwrap()]);
    command.args(["--device", "replay:replay.toml", "--device", "replay:other.toml"]);
    let ended = crate::sweeps::ended(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    let codes: Vec<u64> = answer["sweeps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sweep| sweep["sweep"]["exit_code"].as_u64().unwrap())
        .collect();
    assert_eq!((answer["exit_code"].as_u64(), codes), (Some(5), vec![0, 5]));
}

/// A file beside itself, or beside its copy, is as fast as ever.
#[test]
fn a_run_is_not_compared_with_itself_unnoticed() {
    let place = Place::in_memory("");
    place.sweep(&[]);
    let other = ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--out", "other.csv"];
    crate::sweeps::ended(place.scanbox(&other).output().unwrap());
    for (new, is_same) in [("out/test.csv", true), ("other.csv", false)] {
        let ended = crate::sweeps::ended(place.scanbox(&["compare", "out/test.csv", new]).output().unwrap());
        assert_eq!(
            ended.stderr.contains("nothing was measured a second time"),
            is_same,
            "{new}: {}",
            ended.stderr
        );
    }
}

/// A name in a file is what somebody else has written there: the terminal takes no orders from it.
#[test]
fn names_in_files_do_not_speak_to_the_terminal() {
    let place = Place::in_memory("name = \"GPU\\u001B[2J\\u0007 X\"\n");
    let swept = place.sweep(&[]);
    let dry = place.sweep(&["--dry-run"]);
    let commands: [&[&str]; 4] = [
        &["analyze", "out/test.csv", "--explain"],
        &["compare", "out/test.csv", "out/test.csv"],
        &["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--out", "other.csv"],
        &["verify", CONFIG, "--device", "replay:replay.toml", "--sizes", "4096"],
    ];
    let ended = commands.map(|args| crate::sweeps::ended(place.scanbox(args).output().unwrap()));
    for ended in ended.into_iter().chain([swept, dry]) {
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{all:?}");
        assert!(all.contains("GPU\u{fffd}[2J\u{fffd} X"), "{all:?}");
    }
}

#[test]
fn help_has_the_table() {
    let ended = Place::in_memory("").run(&["--help"], 0);
    for line in ["0  done:", "1  failed:", "4  incomplete:", "5  wrong result:", "130  interrupted:"] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
}
