//! `sweep --split`: one space shared by equal devices, in so much less time, and one file of it.

use std::fs;
use std::time::Instant;

use crate::sweeps::{ALL, Place, rows};
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;

/// A place with two scripts: `a.toml` as this, and `b.toml` with this more.
fn place(script: &str, other: &str) -> Place {
    let place = Place::in_memory("");
    let unit = |name: &str, more: &str| {
        let text = format!("uuid = \"unit {name}\"\npci_address = \"0000:0{name}:00.0\"\n{script}{more}");
        fs::write(place.folder().join(format!("{name}.toml")), text).unwrap();
    };
    unit("a", "");
    unit("b", other);
    place
}

const SPLIT: [&str; 8] =
    ["sweep", "--space", "space.toml", "--split", "--device", "replay:a.toml", "--device", "replay:b.toml"];

#[test]
fn equal_devices_share_a_space() {
    // Far more than starting takes, on a busy machine too.
    let place = place("wall_ms_per_config = 400\n", "");
    let one = ["sweep", "--space", "space.toml", "--device", "replay:a.toml", "--out", "one.csv"];
    let began = Instant::now();
    place.run(&one, 0);
    let alone = began.elapsed();
    let dry = place.run(&[&SPLIT[..], &["--dry-run", "--out", "out"]].concat(), 0);
    assert!(dry.stdout.contains("shard      1 of 2 by size") && !place.folder().join("out").exists());
    let began = Instant::now();
    let ended = place.run(&[&SPLIT[..], &["--out", "out"]].concat(), 0);
    let both = began.elapsed();
    // Four sizes and three: 57 %, and what it takes to start.
    assert!(both.as_secs_f64() < 0.8 * alone.as_secs_f64(), "{both:?} of {alone:?}");
    for part in ["== device replay:a.toml", "== device replay:b.toml", "== merged"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let read = |file: &str| csv_file::read(&place.folder().join(file)).unwrap().records;
    let merged = read("out/replay.test.merged.csv");
    assert_eq!((rows(&merged), merged.len()), (rows(&read("one.csv")), ALL));
    for (shard, unit) in [(0, "unit a"), (1, "unit b")] {
        let path = format!("out/replay.test.shard-{shard}-of-2");
        let own = read(&format!("{path}.csv"));
        assert!(own.iter().all(|row| row.device_uuid == unit), "each size is of one unit");
        let told = Metadata::read(&place.folder().join(format!("{path}.meta.json"))).unwrap().shard.unwrap();
        assert_eq!((told.index, told.count, told.of_points), (shard, 2, ALL as u64));
    }
    // Once more: nothing is left, and the merged file stays.
    let before = fs::read(place.folder().join("out/replay.test.merged.csv")).unwrap();
    let again = place.run(&[&SPLIT[..], &["--out", "out", "--format", "json"]].concat(), 0);
    let told: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&told["exit_code"], told["sweeps"].as_array().unwrap().len()), (&0.into(), 2));
    assert!(told["merge"].is_object(), "{told}");
    assert_eq!(fs::read(place.folder().join("out/replay.test.merged.csv")).unwrap(), before);
}

#[test]
fn a_split_sweep_goes_on_and_is_merged_then() {
    let place = place("wall_ms_per_config = 60\n", "");
    let args = [&SPLIT[..], &["--out", "all.csv"]].concat();
    let first = place.run(&[&args[..], &["--budget", "600ms"]].concat(), 4);
    assert!(first.stdout.contains("== merged") || first.stderr.contains("not merged"), "{}", first.stdout);
    place.run(&args, 0);
    let merged = csv_file::read(&place.folder().join("all.csv")).unwrap().records;
    assert_eq!(rows(&merged).len(), ALL);
    assert!(place.folder().join("all.shard-1-of-2.csv").exists());
}

/// Whoever kills the parent alone has killed the sweeps, too: what they have stays, and nobody holds it.
#[test]
#[cfg(target_os = "linux")]
fn sweeps_end_with_the_process_that_started_them() {
    use crate::sweeps::{children, is_alive, signal, wait, wait_until};
    let place = place("wall_ms_per_config = 300\n", "");
    let mut command = place.scanbox(&[&SPLIT[..], &["--out", "all.csv"]].concat());
    let piped = std::process::Stdio::piped;
    let parent = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    let shards = [0, 1].map(|shard| place.folder().join(format!("all.shard-{shard}-of-2.csv")));
    let lines = |path| fs::read_to_string(path).map_or(0, |text| text.lines().count());
    wait_until("rows of both", || shards.iter().all(|path| lines(path) > 1));
    let sweeps = children(parent.id());
    assert_eq!(sweeps.len(), 2);
    assert!(signal(parent.id(), rustix::process::Signal::KILL));
    wait(parent);
    wait_until("the end of the sweeps", || !sweeps.iter().any(|&sweep| is_alive(sweep)));
    assert!(shards.iter().map(lines).sum::<usize>() < ALL, "before they were done");
    place.run(&[&SPLIT[..], &["--out", "all.csv"]].concat(), 0);
}

#[test]
fn one_device_has_nothing_to_split() {
    let place = place("", "");
    let ended = place.run(&[&SPLIT[..6], &["--out", "one.csv"]].concat(), 0);
    assert!(ended.stderr.contains("--split: there is one device"), "{}", ended.stderr);
    assert_eq!(rows(&csv_file::read(&place.folder().join("one.csv")).unwrap().records).len(), ALL);
}

#[test]
fn what_is_not_equal_shares_nothing() {
    let check = |other: &str, args: &[&str], code, parts: &[&str]| {
        let place = place("", other);
        let refused = place.run(&[&SPLIT[..], &["--out", "out"], args].concat(), code);
        for part in parts {
            assert!(refused.stderr.contains(part), "no `{part}` in {}", refused.stderr);
        }
        assert!(!place.folder().join("out/replay.test.merged.csv").exists());
    };
    let both = ["replay:a.toml", "replay:b.toml", "not equal", "--device"];
    check("name = \"Other\"\n", &[], 2, &[&both[..], &["name is `Replay` and `Other`"]].concat());
    check("driver = \"replay 2\"\n", &[], 2, &[&both[..], &["driver is `replay 1` and `replay 2`"]].concat());
    check("", &["--device", "replay:a.toml"], 2, &["named twice", "unit a"]);
    check("", &["--shard", "0/2"], 2, &["--split", "--shard"]);
    // The devices say it, and nothing is merged.
    check("", &["--sizes", "4096"], 2, &["2 shards of 1 size", "not merged"]);
    // What one device has swept is no merged file, and stays.
    let place = place("", "");
    place.run(&["sweep", "--space", "space.toml", "--device", "replay:a.toml", "--out", "one.csv"], 0);
    let before = fs::read(place.folder().join("one.csv")).unwrap();
    place.run(&[&SPLIT[..], &["--out", "one.csv"]].concat(), 1);
    assert_eq!(fs::read(place.folder().join("one.csv")).unwrap(), before);
    assert!(!place.folder().join("one.shard-0-of-2.csv").exists(), "before anything was measured");
}
