//! `--shard`: what the shards of the spaces hold, what a sweep of one writes, and what does not belong together.

mod drift;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::sweeps::{ALL, Place, SPACE, ended, fault, rows, slow, wait, wait_until};
use scanbox_kernels::legal;
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Record, Selection, Status};
use scanbox_model::shard::{Shard, ShardBy, places};
use scanbox_model::space::{Point, Space};
use scanbox_testing::device::{example, with_subgroups};

/// So many times the mean is what the most expensive shard may cost.
const MOST: f64 = 1.25;

const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];

/// Every space that is shipped.
fn spaces() -> Vec<Space> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.map(|file| (fs::read_to_string(&file).unwrap(), file.display().to_string()));
    let spaces = texts.filter(|(text, _)| text.contains("[[block]]"));
    spaces.map(|(text, file)| Space::from_toml(&text, &file).unwrap()).collect()
}

/// What the cost of a shard is judged by here: as the shards are made.
fn cost(point: &Point) -> f64 {
    (1u64 << 30) as f64 + Problem::default().bytes_moved(point.n) as f64
}

/// Whatever goes where, the most expensive of `count` shards costs at least this: of the `k * count + 1` most expensive
/// things some `k + 1` are in one.
fn least(costs: &[f64], count: usize) -> f64 {
    let forced = (0..).take_while(|k| k * count < costs.len());
    let forced = forced.map(|k| costs[k * count - k..=k * count].iter().sum::<f64>());
    forced.fold(costs.iter().sum::<f64>() / count as f64, f64::max)
}

#[test]
fn the_shards_of_every_space_are_the_space() {
    let devices: [DeviceProfile; 4] = [
        example("NVIDIA H200", 0x10de, "NVIDIA 580.1"),
        with_subgroups(4, true),
        with_subgroups(8, false),
        with_subgroups(64, true),
    ];
    let mut checked = 0;
    for space in spaces() {
        let space = space.for_elements(4).unwrap();
        for device in &devices {
            let legal = |config: &_, n, device: &_| legal(config, &Problem::default(), n, device);
            let whole = space.enumerate(device, legal).points;
            for by in ShardBy::ALL {
                for count in 1..=64 {
                    checked += usize::from(check(&whole, by, count, &space.name));
                }
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

/// Whether there are so many shards; each of them has something, and whatever belongs together.
fn check(whole: &[Point], by: ShardBy, count: u32, space: &str) -> bool {
    let thing = |point: &Point| match by {
        ShardBy::Size => (point.n, None),
        ShardBy::Pipeline => (0, Some((point.config.kernel, point.config.workgroup_size))),
    };
    let mut things: BTreeMap<_, f64> = BTreeMap::new();
    for point in whole {
        *things.entry(thing(point)).or_default() += cost(point);
    }
    let bytes = |n| Problem::default().bytes_moved(n);
    let places = match places(count, by, whole, bytes) {
        Ok(places) => places,
        Err(error) => {
            assert_eq!((error.things, count as usize > things.len()), (things.len(), true), "{space}");
            return false;
        }
    };
    // One shard per point: disjoint, and nothing left out.
    assert_eq!(places.len(), whole.len());
    let mut shards = vec![0.0; count as usize];
    let mut place_of = BTreeMap::new();
    for (point, &place) in whole.iter().zip(&places) {
        shards[place as usize] += cost(point);
        assert_eq!(*place_of.entry(thing(point)).or_insert(place), place, "{space} {count}: one was split");
    }
    // And a shard has what it is said to have.
    let last = Shard::new(count - 1, count).unwrap().of(by, whole, bytes).unwrap();
    let own = whole.iter().zip(&places).filter(|(_, place)| **place == count - 1).map(|(point, _)| *point);
    assert_eq!((own.collect::<Vec<_>>(), whole.len() as u64), (last.points, last.told.of_points));
    assert!(shards.iter().all(|&cost| cost > 0.0), "{space} {count}");
    let most = shards.iter().copied().fold(0.0, f64::max);
    let mut costs: Vec<f64> = things.into_values().collect();
    costs.sort_by(|a, b| b.total_cmp(a));
    let (mean, least) = (costs.iter().sum::<f64>() / f64::from(count), least(&costs, count as usize));
    assert!(most <= MOST * least, "{space} {by:?} {count}: {most} {least}");
    // Unless one size costs too much by itself, or two that have to share a shard.
    let is_forced = by == ShardBy::Pipeline || least > MOST * mean;
    assert!(most <= MOST * mean || is_forced, "{space} {by:?} {count}: {most} of {mean} ({least})");
    true
}

/// The words that a command gets before it is sharded.
fn sweep<'a>(out: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", "--space", "space.toml", "--out", out][..], &DEVICE, args].concat()
}

fn shard_file(index: u32, ending: &str) -> PathBuf {
    PathBuf::from(format!("out/replay.test.shard-{index}-of-3.{ending}"))
}

#[test]
fn shards_that_are_swept_one_by_one_are_the_sweep() {
    let place = Place::in_memory("");
    let mut records = Vec::new();
    let mut hashes = BTreeSet::new();
    // In any order; each has a file of its own.
    for index in [2, 0, 1] {
        let shard = format!("{index}/3");
        let dry = place.run(&sweep("out", &["--shard", &shard, "--dry-run"]), 0);
        assert!(dry.stdout.contains(&format!("shard      {index} of 3 by size, of 28 configs in all")));
        let ended = place.run(&sweep("out", &["--shard", &shard]), 0);
        assert!(ended.stderr.contains(&format!("shard {index} of 3 by size")), "{}", ended.stderr);
        let found = csv_file::read(&place.folder().join(shard_file(index, "csv"))).unwrap().records;
        let metadata = Metadata::read(&place.folder().join(shard_file(index, "meta.json"))).unwrap();
        let told = metadata.shard.unwrap();
        assert_eq!((told.index, told.count, told.of_points), (index, 3, ALL as u64));
        assert_eq!((metadata.points, found.len() % 4), (found.len() as u64, 0));
        // What is asked for, not what this part of it has: inputs follow from the largest size.
        assert_eq!(metadata.space.sizes.to_string(), "2^10..2^16");
        hashes.insert(told.points);
        records.extend(found);
    }
    assert_eq!(hashes.len(), 1);
    // Once all are there, the next thing is to merge them.
    let again = place.run(&sweep("out", &["--shard", "1/3"]), 0).stdout;
    let merge = "merge out/replay.test.shard-*-of-3.csv --out replay.test.csv\n";
    assert!(again.ends_with(merge), "{again}");
    let whole = place.run(&sweep("out/test.csv", &[]), 0);
    assert_eq!(rows(&records), place.rows(), "{}", whole.stderr);
    assert_eq!(place.metadata().shard, None);
}

#[test]
fn a_shard_that_ended_early_goes_on() {
    let place = Place::in_memory("wall_ms_per_config = 100\n");
    let args = ["--shard", "1/3"];
    let first = place.run(&sweep("out/test.csv", &[&args[..], &["--budget", "2s"]].concat()), 4);
    assert!(first.stdout.contains("to continue, run:"), "{}", first.stdout);
    place.script("");
    place.run(&sweep("out/test.csv", &args), 0);
    let all = place.rows().len();
    let again = place.run(&sweep("out/test.csv", &args), 0);
    assert!(again.stderr.contains(&format!("{all} of them done before")), "{}", again.stderr);
}

#[test]
fn what_is_no_shard_is_refused() {
    let place = Place::in_memory("");
    for (args, parts) in [
        (&["--shard", "0/0"][..], &["--shard", "0 shards", "0/1"][..]),
        (&["--shard", "3/3"], &["--shard", "counted from 0", "the last one of 3 is 2/3"]),
        (&["--shard", "a/3"], &["--shard", "`a/3` is not a shard", "I/N", "0/16"]),
        (&["--shard", "3"], &["--shard", "I/N"]),
        (&["--shard=-1/3"], &["`-1/3` is not a shard"]),
        (&["--shard", "0/8"], &["--shard 0/8", "8 shards of 7 sizes", "never split", "at most 7"]),
        (&["--shard", "1/2", "--sizes", "4096"], &["2 shards of 1 size:", "at most 1"]),
        (&["--shard", "0/2", "--filter", "lookback=fallback"], &["--filter accepts none"]),
        (&["--shard", "4/5", "--shard-by", "pipeline"], &["5 shards of 4 pipelines", "at most 4"]),
        (&["--shard", "0/8"], &["--shard-by pipeline"]),
        (&["--shard", "0/2", "--shard-by", "unit"], &["`unit`", "size or pipeline"]),
        (&["--shard-by", "pipeline"], &["--shard"]),
        (&["--shard", "0/2", "--shard-by", "pipeline", "--confirm", "2"], &["--confirm", "merge"]),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            let refused = place.run(&sweep("out/test.csv", &[args, dry].concat()), 2);
            parts
                .iter()
                .for_each(|part| assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr));
        }
        assert!(!place.folder().join("out").exists(), "{args:?}");
    }
}

#[test]
fn a_file_holds_one_shard() {
    let whole = &[][..];
    let first = &["--shard", "0/3"][..];
    let fewer = ["--sizes", "2^10..2^15"];
    let (elsewhere, arguments) = ("--out", "the arguments of before");
    let rows: [(&[&str], Vec<&str>, &[&str]); 10] = [
        (first, vec!["--shard", "1/3"], &["`--shard 0/3`", "`--shard 1/3`", elsewhere, arguments]),
        (first, vec!["--shard", "1/3", "--retry-failed"], &["`--shard 0/3`", "`--shard 1/3`", elsewhere]),
        (first, vec!["--shard", "1/3", "--accept-space"], &["`--shard 0/3`", "`--shard 1/3`"]),
        (first, vec!["--shard", "0/2"], &["`--shard 0/3`", "`--shard 0/2`"]),
        (first, [first, &BY_PIPELINE].concat(), &["`--shard 0/3`", "`--shard 0/3 --shard-by pipeline`"]),
        (first, vec![], &["`--shard 0/3`", "the whole space", elsewhere]),
        (first, vec!["--retry-failed"], &["`--shard 0/3`", "the whole space"]),
        (whole, vec!["--shard", "0/3"], &["of the whole space", "`--shard 0/3`", elsewhere]),
        (first, [first, &fewer].concat(), &["28 points (hash ", "24 points (hash ", "--sizes", elsewhere]),
        (
            first,
            [first, &["--filter", "lookback=parallel"]].concat(),
            &["28 points", "14 points", "--filter"],
        ),
    ];
    for (before, now, parts) in rows {
        let place = Place::in_memory("");
        place.run(&sweep("out/test.csv", before), 0);
        refuses(&place, &now, parts);
    }
    // The space has changed, and is welcome; the points have changed with it, and are not.
    let place = Place::in_memory("");
    place.run(&sweep("out/test.csv", first), 0);
    fs::write(place.folder().join("space.toml"), SPACE.replace("[1, 4]", "[1, 2]")).unwrap();
    refuses(&place, first, &["space `test` (definition "]);
    refuses(&place, &[first, &["--accept-space"]].concat(), &["28 points (hash ", "another space"]);
    // Nothing beside the rows says which shard they are of: they do.
    fs::write(place.folder().join("space.toml"), SPACE).unwrap();
    fs::remove_file(place.file("meta.json")).unwrap();
    refuses(&place, &["--shard", "1/3"], &["its row of b", "is not in `--shard 1/3`", elsewhere]);
    place.run(&sweep("out/test.csv", first), 0);
    assert_eq!(place.metadata().shard.unwrap().index, 0);
}

/// The sweep ends with these words, also as a dry run, and changes no file.
#[track_caller]
fn refuses(place: &Place, args: &[&str], parts: &[&str]) {
    let files = || ["csv", "meta.json"].map(|ending| fs::read(place.file(ending)).ok());
    let before = files();
    for dry in [&[][..], &["--dry-run"]] {
        let refused = place.run(&sweep("out/test.csv", &[args, dry].concat()), 1);
        for part in parts {
            assert!(refused.stderr.contains(part), "no `{part}` in {}", refused.stderr);
        }
        assert_eq!(files(), before, "{args:?}");
    }
}

#[test]
fn a_space_shows_what_a_shard_holds() {
    let place = Place::in_memory("");
    let count = |args: &[&str]| {
        let space = ["space", "--space", "space.toml", "--format", "json"];
        let answer = place.run(&[&space[..], &DEVICE, args].concat(), 0).stdout;
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()
    };
    let whole = count(&[]);
    assert_eq!((&whole["configs"], whole.get("shard")), (&28.into(), None));
    let shards = ["0/3", "1/3", "2/3"].map(|shard| count(&["--shard", shard]));
    let configs = shards.iter().map(|shard| shard["configs"].as_u64().unwrap());
    assert_eq!(configs.sum::<u64>(), 28);
    for shard in &shards {
        assert_eq!((&shard["raw_points"], &shard["shard"]["of_points"]), (&whole["raw_points"], &28.into()));
    }
    let table = place.run(&[&["space", "--space", "space.toml", "--shard", "1/3"][..], &DEVICE].concat(), 0);
    for part in ["--shard 1/3", "shard: 1 of 3 by size, 8 of 28 configs (hash "] {
        assert!(table.stdout.contains(part), "no `{part}` in {}", table.stdout);
    }
}

const BY_PIPELINE: [&str; 2] = ["--shard-by", "pipeline"];

fn by_pipeline<'a>(shard: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["--shard", shard][..], &BY_PIPELINE, args].concat()
}

/// Anchors by stage.
type Stages = BTreeMap<Selection, BTreeSet<(String, u64)>>;

/// The rows of points, and those of anchors.
fn parted(records: Vec<Record>) -> (Vec<Record>, Stages) {
    let (anchors, points): (Vec<Record>, Vec<Record>) = records.into_iter().partition(Record::is_anchor);
    let mut stages = Stages::new();
    for row in anchors {
        assert!(row.is_of_benchmark() && row.status == Status::Ok, "{row:?}");
        let stage = *row.selection.last().unwrap();
        assert!(stages.entry(stage).or_default().insert((row.config_id, row.n_elements)), "twice");
    }
    (points, stages)
}

#[test]
fn shards_that_split_sizes_have_anchors_that_are_no_points() {
    let place = Place::in_memory("");
    let mut points = Vec::new();
    let mut anchors = BTreeSet::new();
    for shard in ["0/2", "1/2"] {
        let ended = place.run(&sweep("out", &by_pipeline(shard, &[])), 0);
        assert!(ended.stdout.contains("rows       14 of 14: 14 ok"), "{}", ended.stdout);
        let path = format!("out/replay.test.shard-{}-of-2-by-pipeline", &shard[..1]);
        let (csv, meta) = (format!("{path}.csv"), format!("{path}.meta.json"));
        let (own, stages) = parted(csv_file::read(&place.folder().join(&csv)).unwrap().records);
        let metadata = Metadata::read(&place.folder().join(&meta)).unwrap();
        let told = metadata.shard.unwrap();
        assert_eq!((metadata.points, told.by, told.anchor_drift_pct), (14, ShardBy::Pipeline, Some(0.0)));
        assert_eq!(metadata.counts[&Status::Ok], 14);
        assert_eq!(stages.keys().copied().collect::<Vec<_>>(), Selection::ANCHORS);
        // The copy, and every config there is of a size: there are four.
        let of_start = &stages[&Selection::AnchorStart];
        assert!(of_start.iter().any(|(config, _)| config.starts_with("copy")), "{of_start:?}");
        let configs = of_start.iter().filter(|(config, _)| config.starts_with('b')).count();
        assert_eq!(configs, ALL, "{of_start:?}");
        anchors.extend(stages.into_values());
        points.extend(own);
        // Nothing is left to do, and nothing is done.
        let before = fs::read(place.folder().join(&csv)).unwrap();
        place.run(&sweep("out", &by_pipeline(shard, &[])), 0);
        assert_eq!(fs::read(place.folder().join(&csv)).unwrap(), before);
        // No answer and no comparison takes an anchor for a point.
        let answer = place.run(&["analyze", "--include-software", "--format", "json", &csv], 0);
        let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(answer["other_subjects"], serde_json::json!({}), "{answer}");
        place.run(&["compare", &csv, &csv], 0);
    }
    assert_eq!(anchors.len(), 1, "all shards, and all stages, have the same ones");
    place.run(&sweep("out/test.csv", &[]), 0);
    assert_eq!(rows(&points), place.rows());
    // Merged, they are the sweep.
    let parts = [0, 1].map(|part| format!("out/replay.test.shard-{part}-of-2-by-pipeline.csv"));
    place.run(&["merge", &parts[0], &parts[1], "--out", "merged.csv"], 0);
    let (merged, stages) = parted_units(csv_file::read(&place.folder().join("merged.csv")).unwrap().records);
    assert_eq!((rows(&merged), stages), (place.rows(), 3));
    let answer = |file: &str| {
        let args = ["analyze", "--include-software", "--format", "csv", file];
        place.run(&args, 0).stdout.replace("merged.csv", "out/test.csv")
    };
    assert_eq!(answer("merged.csv"), answer("out/test.csv"));
}

/// The rows of points, and how many stages of anchors there are.
fn parted_units(records: Vec<Record>) -> (Vec<Record>, usize) {
    let (anchors, points): (Vec<Record>, Vec<Record>) = records.into_iter().partition(Record::is_anchor);
    let stages: BTreeSet<Selection> =
        anchors.iter().filter_map(|row| row.selection.last().copied()).collect();
    (points, stages.len())
}

#[test]
fn a_shard_with_anchors_goes_on_wherever_it_was_stopped() {
    let place = Place::in_memory("wall_ms_per_config = 60\n");
    let mut runs = 0;
    loop {
        let args = by_pipeline("1/2", &["--budget", "3s"]);
        let ended = place.sweep(&args);
        runs += 1;
        match ended.code {
            Some(0) => break,
            Some(4) if runs < 60 => {}
            _ => panic!("{}{}", ended.stdout, ended.stderr),
        }
    }
    assert!(runs > 1);
    let (points, stages) = parted(place.records());
    assert_eq!((rows(&points).len(), stages.len()), (14, 3));
    let sizes = |stage| stages[&stage].iter().map(|(_, n)| *n).collect::<BTreeSet<_>>().len();
    assert_eq!(Selection::ANCHORS.map(sizes), [7, 7, 7]);
    assert_eq!(place.metadata().shard.unwrap().anchor_drift_pct, Some(0.0));
    // What failed is measured again without a word about anchors, which are measured at the end once more.
    place.script("");
    let before = place.records().len();
    place.run(&sweep("out/test.csv", &by_pipeline("1/2", &["--retry-failed"])), 0);
    assert_eq!(place.records().len(), before);
}

#[test]
fn an_anchor_that_is_wrong_is_wrong() {
    // It hits one config at one size, of one shard; the other one has it as an anchor alone.
    let place = Place::in_memory(&fault("wrong_last"));
    let out = |shard: &str| format!("out/{}.csv", &shard[..1]);
    for shard in ["0/2", "1/2"] {
        place.run(&sweep(&out(shard), &by_pipeline(shard, &[])), 5);
    }
    place.script("");
    let retried = ["0/2", "1/2"].map(|shard| {
        let (out, args) = (out(shard), by_pipeline(shard, &["--retry-failed", "--prove"]));
        let args = sweep(&out, &args);
        ended(place.scanbox(&args).output().unwrap()).code
    });
    // Who has it as a point has proved it; an anchor is not retried.
    assert_eq!(BTreeSet::from(retried), BTreeSet::from([Some(0), Some(5)]), "{retried:?}");
    // Together they say that it is right.
    place.run(&["merge", "out/0.csv", "out/1.csv", "--out", "merged.csv"], 0);
}

#[test]
fn a_verification_can_be_split() {
    let place = Place::in_memory("");
    let verify = |args: &[&str], code| {
        let args =
            [&["verify", "--space", "space.toml", "--sizes", "1000", "--format", "json"][..], &DEVICE, args];
        place.run(&args.concat(), code)
    };
    let configs = |args: &[&str]| {
        let answer: serde_json::Value = serde_json::from_str(&verify(args, 0).stdout).unwrap();
        (answer["configs"].as_u64().unwrap(), answer["cases_planned"].as_u64().unwrap())
    };
    let (all, cases) = configs(&[]);
    let parts = ["0/3", "1/3", "2/3"].map(|shard| configs(&["--shard", shard]));
    assert_eq!((all, parts.map(|(configs, _)| configs)), (4, [2, 1, 1]));
    assert_eq!(parts.iter().map(|(_, cases)| cases).sum::<u64>(), cases);
    for (shard, part) in [
        ("0/0", "0 shards"),
        ("4/4", "the last one of 4 is 3/4"),
        ("x/4", "I/N"),
        ("0/5", "of 4 configs some shards would have none; make at most 4"),
    ] {
        let refused = verify(&["--shard", shard], 2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}
