//! `scanbox merge`: shards and attempts become the sweep that they are parts of.

mod bad_input;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use serde_json::Value;

use crate::sweeps::{ALL, CONFIG, Ended, Place};

const REPLAY: [&str; 4] = ["--device", "replay:replay.toml", "--space", "./space.toml"];

/// A folder with one complete sweep, `whole/x.csv`, and what tests make of it.
struct Fleet {
    place: Place,
}

impl Fleet {
    fn new() -> Self {
        let place = Place::in_memory("");
        let fleet = Self { place };
        fleet.sweep(&[], "whole/x.csv");
        fleet
    }

    /// Sweeps at a moment that is the same for all of a test.
    fn sweep(&self, args: &[&str], name: &str) {
        self.place.run(&[&["sweep"], &REPLAY[..], args, &["--out", name]].concat(), 0);
        let (mut records, metadata) = (self.records(name), self.metadata(name));
        records.iter_mut().for_each(|row| row.timestamp_utc = "2026-05-05T00:00:00Z".into());
        self.write(name, &records, &metadata);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.folder().join(name)
    }

    fn records(&self, name: &str) -> Vec<Record> {
        csv_file::read(&self.path(name)).unwrap().records
    }

    fn metadata(&self, name: &str) -> Metadata {
        Metadata::read(&Metadata::path_beside(&self.path(name))).unwrap()
    }

    /// A file made of the whole one: these rows, with this metadata.
    fn write(&self, name: &str, records: &[Record], metadata: &Metadata) {
        let mut metadata = metadata.clone();
        metadata.counts.clear();
        for record in records {
            *metadata.counts.entry(record.status).or_insert(0) += 1;
        }
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        csv_file::replace(&self.path(name), records).unwrap();
        metadata.write(&Metadata::path_beside(&self.path(name))).unwrap();
    }

    /// The same with changes.
    fn change(&self, name: &str, change: impl Fn(&mut Vec<Record>, &mut Metadata)) {
        let (mut records, mut metadata) = (self.records("whole/x.csv"), self.metadata("whole/x.csv"));
        change(&mut records, &mut metadata);
        self.write(name, &records, &metadata);
    }

    /// The rows of the whole for which this holds.
    fn part(&self, name: &str, holds: impl Fn(usize, &Record) -> bool) {
        self.change(name, |records, _| {
            let mut index = 0..;
            records.retain(|record| holds(index.next().unwrap(), record));
        });
    }

    #[track_caller]
    fn merge(&self, args: &[&str], code: i32) -> Ended {
        self.place.run(&[&["merge"], args].concat(), code)
    }

    /// What a merge says as JSON.
    #[track_caller]
    fn told(&self, args: &[&str], code: i32) -> Value {
        let ended = self.merge(&[args, &["--format", "json"]].concat(), code);
        let told: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(told["exit_code"], code);
        told
    }

    /// Rows and metadata, as they are on the disk.
    fn bytes(&self, name: &str) -> [Vec<u8>; 2] {
        [self.path(name), Metadata::path_beside(&self.path(name))].map(|path| fs::read(path).unwrap())
    }

    /// What a command says in the folder of a file that is called `x.csv`, in every form.
    fn answers(&self, folder: &str) -> Vec<String> {
        answers(&self.place, &self.path(folder))
    }
}

/// What `analyze` says of `x.csv` in a folder, in every form that it has.
fn answers(place: &Place, folder: &Path) -> Vec<String> {
    let ask = |args: &[&str]| {
        let output = place.scanbox(args).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let forms = ["json", "csv", "table", "md"].map(|form| ask(&["analyze", "x.csv", "--format", form]));
    forms.into_iter().chain([ask(&["analyze", "x.csv", "--explain", "--portfolio", "3"])]).collect()
}

#[test]
fn shards_of_a_sweep_become_the_sweep_in_any_order() {
    let fleet = Fleet::new();
    for (index, shard) in ["0/3", "1/3", "2/3"].into_iter().enumerate() {
        let file = format!("s{index}.csv");
        fleet.sweep(&["--shard", shard], &file);
    }
    let told = fleet.told(&["s0.csv", "s2.csv", "-o", "some.csv"], 4);
    assert_eq!(told["missing"].as_array().unwrap().len(), 1);
    assert_eq!(told["missing"][0]["arguments"], serde_json::json!(["--shard", "1/3"]));
    let left = told["points_left"].as_u64().unwrap();
    assert_eq!(told["missing"][0]["points"], left);
    assert_eq!(left as usize, fleet.records("s1.csv").len());
    assert_eq!(told["copies_left"], serde_json::json!([]));

    fleet.merge(&["s0.csv", "s1.csv", "s2.csv", "-o", "merged/x.csv"], 0);
    assert_eq!(fleet.answers("merged"), fleet.answers("whole"));
    let metadata = fleet.metadata("merged/x.csv");
    assert_eq!((metadata.points, metadata.runs.len(), &metadata.shard), (ALL as u64, 3, &None));
    assert_eq!(metadata.ceiling_gbps, fleet.metadata("whole/x.csv").ceiling_gbps);
    assert_eq!(metadata.runs.iter().map(|run| run.rows).sum::<u64>(), ALL as u64);
    let inputs = metadata.merged.unwrap().inputs;
    let shards: Vec<u32> = inputs.iter().map(|input| input.shard.as_ref().unwrap().index).collect();
    assert_eq!((inputs.len(), shards), (3, vec![0, 1, 2]));
    for (input, file) in inputs.iter().zip(["s0.csv", "s1.csv", "s2.csv"]) {
        let rows = fleet.records(file);
        assert_eq!((input.name.as_str(), input.rows), (file, rows.len() as u64));
        assert_eq!(input.run_ids, rows.iter().map(|row| row.run_id.clone()).collect::<BTreeSet<_>>());
        assert!(input.units.iter().map(|unit| &unit.host).eq([&rows[0].host]), "{:?}", input.units);
    }

    // Again, in another order, from what was merged, and over what was merged.
    let expected = fleet.bytes("merged/x.csv");
    for (files, out) in [
        (&["s2.csv", "s1.csv", "s0.csv"][..], "a.csv"),
        (&["some.csv", "s1.csv"], "b.csv"),
        (&["s0.csv", "merged/x.csv", "some.csv", "s1.csv"], "c.csv"),
        (&["merged/x.csv"], "d.csv"),
        (&["s2.csv", "s0.csv", "s1.csv"], "merged/x.csv"),
    ] {
        fleet.merge(&[files, &["-o", out]].concat(), 0);
        assert!(fleet.bytes(out) == expected, "{files:?}");
    }
    // With a shard's files once more under another name, the rows are the same.
    for ending in ["csv", "meta.json"] {
        fs::copy(fleet.path(&format!("s1.{ending}")), fleet.path(&format!("again.{ending}"))).unwrap();
    }
    let told = fleet.told(&["s0.csv", "again.csv", "s1.csv", "s2.csv", "-o", "e.csv"], 0);
    assert_eq!(told["repeated"], fleet.records("s1.csv").len());
    assert!(fleet.bytes("e.csv")[0] == expected[0]);
    // The whole has its rows in another order, and nothing but that is another.
    fleet.merge(&["whole/x.csv", "-o", "alone/x.csv"], 0);
    assert_eq!(fleet.answers("alone"), fleet.answers("whole"));
}

/// The published sweeps, split by chance into files.
#[test]
fn a_published_sweep_that_is_split_and_merged_has_the_same_answers() {
    for (sweep, parts) in [("published.nvidia-h200.thesis", 3), ("published.nvidia-h200.full", 8)] {
        let place = Place::in_memory("");
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        for folder in ["whole", "merged", "alone"] {
            fs::create_dir(place.folder().join(folder)).unwrap();
        }
        let whole = place.folder().join("whole/x.csv");
        for ending in ["csv", "meta.json"] {
            let from = results.join(format!("{sweep}.{ending}"));
            fs::copy(from, whole.with_extension(ending)).unwrap();
        }
        let text = fs::read_to_string(&whole).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let mut files = vec![format!("{header}\n"); parts];
        let mut state = 7u64;
        for row in rows.split_inclusive('\n') {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            files[(state >> 33) as usize % parts].push_str(row);
        }
        let mut names: Vec<String> = Vec::new();
        for (index, text) in files.iter().enumerate().rev() {
            names.push(format!("part{index}.csv"));
            let path = place.folder().join(names.last().unwrap());
            fs::write(&path, text).unwrap();
            fs::copy(Metadata::path_beside(&whole), Metadata::path_beside(&path)).unwrap();
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        place.run(&[&["merge"], &names[..], &["-o", "merged/x.csv"]].concat(), 0);
        place.run(&["merge", "whole/x.csv", "-o", "alone/x.csv"], 0);
        let of = |folder: &str| fs::read(place.folder().join(folder).join("x.csv")).unwrap();
        assert!(of("merged") == of("alone"), "{sweep}: the rows are others");
        let answers = |folder: &str| answers(&place, &place.folder().join(folder));
        assert!(answers("merged") == answers("whole"), "{sweep}");
        let metadata = Metadata::read(&Metadata::path_beside(&place.folder().join("merged/x.csv"))).unwrap();
        let before = Metadata::read(&Metadata::path_beside(&whole)).unwrap();
        assert_eq!((metadata.points, metadata.counts), (before.points, before.counts));
        assert_eq!((metadata.ceiling_gbps, metadata.runs), (before.ceiling_gbps, before.runs));
    }
}

/// What is missing is told as arguments, and with those it is there.
#[test]
fn what_is_missing_is_measured_by_the_arguments_that_are_told() {
    let fleet = Fleet::new();
    let check = |name: &str, holds: &dyn Fn(usize, &Record) -> bool, expected: &[(&[&str], u64)]| {
        let (part, more, out) = (format!("{name}.csv"), format!("{name}-more"), format!("{name}-all.csv"));
        fleet.part(&part, holds);
        let told = fleet.told(&[&part, "-o", &out], 4);
        let missing = told["missing"].as_array().unwrap();
        assert_eq!(missing.len(), expected.len(), "{told}");
        let mut files = vec![part.clone()];
        for (index, (found, (arguments, points))) in missing.iter().zip(expected).enumerate() {
            assert_eq!(
                (&found["arguments"], &found["points"]),
                (&serde_json::json!(arguments), &(*points).into())
            );
            files.push(format!("{more}{index}.csv"));
            let sweep = [&["sweep"], &REPLAY[..], arguments, &["--out", &files[index + 1]]].concat();
            fleet.place.run(&sweep, 0);
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let told = fleet.told(&[&files[..], &["-o", &out]].concat(), 0);
        assert_eq!((&told["points_left"], &told["rows"]), (&0.into(), &ALL.into()), "{told}");
    };
    let of_size = |n: u64| move |_: usize, row: &Record| row.n_elements != n;
    check("size", &of_size(4096), &[(&["--sizes", "2^12"], 4)]);
    check(
        "sizes",
        &|_, row| row.n_elements < 4096 || row.n_elements == 65536,
        &[(&["--sizes", "2^12..2^15"], 16)],
    );
    let label = "config=b1.vec4.par.rake.wg64|b4.vec4.par.rake.wg64";
    check(
        "configs",
        &|_, row| !row.config_id.contains("par"),
        &[(&["--sizes", "2^10..2^16", "--filter", label], 14)],
    );
    check(
        "both",
        &|_, row| row.n_elements != 1024 && (row.n_elements != 2048 || row.config_id != CONFIG),
        &[(&["--sizes", "2^10"], 4), (&["--sizes", "2^11", "--filter", &format!("config={CONFIG}")], 1)],
    );
    check("nothing", &|_, _| false, &[(&["--sizes", "2^10..2^16"], 28)]);
}

#[test]
fn the_exit_code_says_what_is_left_and_what_is_wrong() {
    let fleet = Fleet::new();
    let fail = |status: Status, all: bool| {
        move |records: &mut Vec<Record>, _: &mut Metadata| {
            for row in
                records.iter_mut().filter(|row| all || (row.config_id == CONFIG && row.n_elements == 4096))
            {
                (row.status, row.reason) = (status, "3 of 4096 elements are wrong".into());
                row.order_index += 1000;
                (row.steady, row.span, row.samples) = (None, None, 0);
                row.mismatches = (status == Status::WrongResult).then_some(3);
                row.first_mismatch = row.mismatches.map(|_| 1);
            }
        }
    };
    fleet.change("wrong.csv", fail(Status::WrongResult, false));
    fleet.change("late.csv", fail(Status::Timeout, false));
    fleet.change("nothing.csv", fail(Status::Timeout, true));
    fleet.part("half.csv", |_, row| row.n_elements > 4096);
    let wrong = |told: &Value| told["wrong"].as_u64().unwrap();
    assert_eq!(wrong(&fleet.told(&["wrong.csv", "-o", "a.csv"], 5)), 1);
    // Another attempt that was right says nothing against it.
    assert_eq!(wrong(&fleet.told(&["wrong.csv", "whole/x.csv", "-o", "b.csv"], 5)), 1);
    assert_eq!(fleet.records("b.csv").len(), ALL + 1);
    // A failure is one as long as no other attempt has the row.
    let told = fleet.told(&["late.csv", "whole/x.csv", "-o", "c.csv"], 0);
    assert_eq!((&told["failed_elsewhere"], &told["rows"]), (&1.into(), &ALL.into()));
    assert_eq!(fleet.told(&["late.csv", "-o", "d.csv"], 0)["rows_by_status"]["timeout"], 1);
    fleet.told(&["nothing.csv", "-o", "e.csv"], 1);
    assert_eq!(wrong(&fleet.told(&["half.csv", "-o", "f.csv"], 4)), 0);
    fleet.change("half-wrong.csv", |records, metadata| {
        fail(Status::WrongResult, false)(records, metadata);
        records.retain(|row| row.n_elements <= 4096);
    });
    assert_eq!(wrong(&fleet.told(&["half-wrong.csv", "-o", "g.csv"], 4)), 1);
    // A copy that nobody has measured is left, too.
    fleet.change("no-copy.csv", |_, metadata| metadata.ceiling_gbps.retain(|n, _| *n != 4096));
    assert_eq!(fleet.told(&["no-copy.csv", "-o", "h.csv"], 4)["copies_left"], serde_json::json!([4096]));
}

/// Units of one model: all rows stay, the copies are the median of theirs, and who has which device is told.
#[test]
fn rows_of_several_units_stay_and_copies_are_their_median() {
    let fleet = Fleet::new();
    for (index, host) in ["a", "b", "c"].into_iter().enumerate() {
        fleet.change(&format!("{host}.csv"), |records, metadata| {
            for row in &mut *records {
                row.host = host.into();
                row.pci_address = format!("0000:0{index}:00.0");
                row.run_id = format!("{}{host}", row.run_id);
            }
            metadata.device.pci_address = Some(format!("0000:0{index}:00.0"));
            metadata.runs.iter_mut().for_each(|run| run.run_id.push_str(host));
            let times = [1.0, 1.5, 1.1][index];
            metadata.ceiling_gbps.values_mut().for_each(|gbps| *gbps = (*gbps * times * 10.0).round() / 10.0);
        });
    }
    let told = fleet.told(&["b.csv", "c.csv", "a.csv", "-o", "all.csv"], 0);
    assert_eq!((&told["rows"], &told["points"]), (&(3 * ALL).into(), &ALL.into()));
    assert_eq!(told["sizes_of_several_units"].as_array().unwrap().len(), 7);
    assert_eq!(told["units"].as_array().unwrap().len(), 3);
    let metadata = fleet.metadata("all.csv");
    assert_eq!(metadata.ceiling_gbps, fleet.metadata("c.csv").ceiling_gbps);
    let merged = metadata.merged.unwrap();
    assert!(merged.copies.values().all(|&count| count == 3), "{:?}", merged.copies);
    let devices = merged.inputs.iter().map(|input| input.device.as_ref().unwrap_or(&metadata.device));
    let addresses: Vec<&str> = devices.map(|device| device.pci_address.as_deref().unwrap()).collect();
    assert_eq!(addresses, ["0000:00:00.0", "0000:01:00.0", "0000:02:00.0"]);
    // In parts it is the same, and a file that repeats what was measured before counts once.
    let expected = fleet.bytes("all.csv");
    fleet.merge(&["c.csv", "b.csv", "-o", "bc.csv"], 0);
    fleet.merge(&["a.csv", "bc.csv", "b.csv", "-o", "again.csv"], 0);
    assert!(fleet.bytes("again.csv") == expected);
}

/// Shards that split sizes, on three units of which one is slow: it is named, and its points are missing.
#[test]
fn a_unit_that_is_off_at_the_anchors_is_named_and_left_out() {
    let fleet = Fleet::new();
    let split = ["--shard-by", "pipeline", "--shard"];
    for (index, (host, times)) in [("a", 100), ("b", 102), ("c", 120)].into_iter().enumerate() {
        let (file, shard) = (format!("{host}.csv"), format!("{index}/3"));
        fleet.sweep(&[&split[..], &[&shard]].concat(), &file);
        let (mut records, metadata) = (fleet.records(&file), fleet.metadata(&file));
        for row in &mut records {
            row.host = host.into();
            for time in row.steady.iter_mut().chain(&mut row.span) {
                for ns in [
                    &mut time.median_ns,
                    &mut time.min_ns,
                    &mut time.mean_ns,
                    &mut time.q1_ns,
                    &mut time.q3_ns,
                ] {
                    *ns = *ns * times / 100;
                }
            }
        }
        fleet.write(&file, &records, &metadata);
    }
    let files = ["a.csv", "b.csv", "c.csv"];
    let told = fleet.told(&[&files[..], &["-o", "all.csv"]].concat(), 4);
    assert_eq!(told["missing"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(
        told["missing"][0]["arguments"],
        serde_json::json!(["--shard", "2/3", "--shard-by", "pipeline"])
    );
    let off: Vec<(&str, bool)> = told["anchors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| (unit["unit"]["host"].as_str().unwrap(), unit["is_off"].as_bool().unwrap()))
        .collect();
    assert_eq!(off, [("a", false), ("b", false), ("c", true)], "{told}");
    assert!(told["left_out"][0].as_str().unwrap().starts_with("the unit on c is 1"), "{told}");
    let of_c =
        |name: &str| fleet.records(name).iter().filter(|row| row.host == "c" && !row.is_anchor()).count();
    assert_eq!(of_c("all.csv"), 0);
    // Merged again it is the same, also over itself.
    let expected = fleet.bytes("all.csv");
    fleet.merge(&["all.csv", "-o", "again.csv"], 4);
    fleet.merge(&["c.csv", "b.csv", "a.csv", "-o", "all.csv"], 4);
    assert!(fleet.bytes("again.csv") == expected && fleet.bytes("all.csv") == expected);
    let text = fleet.merge(&[&files[..], &["-o", "text.csv"]].concat(), 4);
    assert!(text.stderr.contains("--keep-units keeps them"), "{}", text.stderr);
    assert!(text.stdout.contains("anchors") && text.stdout.contains(" off"), "{}", text.stdout);
    // Who wants them keeps them.
    let kept = fleet.told(&[&files[..], &["--keep-units", "-o", "kept.csv"]].concat(), 0);
    assert_eq!((&kept["points_left"], &kept["left_out"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(of_c("kept.csv"), fleet.records("c.csv").iter().filter(|row| !row.is_anchor()).count());
    fleet.place.run(&["analyze", "kept.csv"], 0);
}

/// What a merge prints as the next commands can be run, and measures what is missing.
#[test]
fn the_next_commands_measure_what_is_missing() {
    let fleet = Fleet::new();
    let next = |files: &[&str]| -> usize {
        let ended = fleet.merge(&[files, &["-o", "all.csv"]].concat(), 4);
        let lines = ended.stdout.lines().skip_while(|line| !line.starts_with("next "));
        let lines: Vec<&str> = lines.map(|line| line.trim_start_matches("next").trim()).collect();
        for line in &lines {
            assert!(line.contains(" sweep ") && line.contains("--device replay:replay.toml"), "{line}");
            let mut command = std::process::Command::new("sh");
            let output = command.args(["-c", line]).current_dir(fleet.place.folder()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        }
        lines.len()
    };
    // Shards of two spaces, which are no split of what they come to together.
    fleet.sweep(&["--shard", "0/2"], "a.csv");
    fleet.sweep(&["--shard", "1/2", "--sizes", "2^10..2^15"], "d.csv");
    let files = ["a.csv", "d.csv", "--accept", "space"];
    assert_eq!(next(&files), 1);
    fleet.merge(&[&files[..], &["results/replay.test.csv", "-o", "all.csv"]].concat(), 0);
    // A command for each shard, with the sizes that were split.
    for name in ["all.csv", "all.meta.json", "results/replay.test.csv", "results/replay.test.meta.json"] {
        fs::remove_file(fleet.path(name)).unwrap();
    }
    let split = ["--sizes", "2^10..2^12", "--shard"];
    fleet.sweep(&[&split[..], &["1/3"]].concat(), "b.csv");
    assert_eq!(next(&["b.csv"]), 2);
    let rest = ["0", "2"].map(|index| format!("results/replay.test.shard-{index}-of-3.csv"));
    fleet.merge(&["b.csv", &rest[0], &rest[1], "-o", "all.csv"], 0);
    // A copy alone.
    for name in ["all.csv", "all.meta.json"] {
        fs::remove_file(fleet.path(name)).unwrap();
    }
    fleet.change("c.csv", |_, metadata| {
        metadata.ceiling_gbps.remove(&4096);
    });
    assert_eq!(next(&["c.csv"]), 1);
    assert_eq!(fleet.metadata("all.csv").ceiling_gbps.len(), 7);
    fleet.merge(&["all.csv", "-o", "again.csv"], 0);
}

#[test]
fn a_merged_file_is_a_sweep_to_every_command() {
    let fleet = Fleet::new();
    fleet.part("a.csv", |index, _| index % 2 == 0);
    fleet.part("b.csv", |index, row| index % 2 == 1 && row.n_elements != 4096);
    fleet.merge(&["a.csv", "b.csv", "-o", "all.csv"], 4);
    let run = |args: &[&str], code| fleet.place.run(args, code);
    // It goes on where the files ended, and what it says of them stays.
    let sweep =
        |args: &[&str], code| run(&[&["sweep"], &REPLAY[..], &["--out", "all.csv"], args].concat(), code);
    let refused = sweep(&["--shard", "0/3"], 1);
    assert!(refused.stderr.contains("its rows are of the whole space"), "{}", refused.stderr);
    let more = sweep(&[], 0);
    assert!(more.stdout.contains("rows       28 of 28"), "{}", more.stdout);
    assert_eq!(fleet.metadata("all.csv").merged.unwrap().inputs.len(), 2);
    // Merged again, it is one of the files that rows are of.
    fleet.merge(&["all.csv", "a.csv", "-o", "more.csv"], 0);
    let inputs = fleet.metadata("more.csv").merged.unwrap().inputs;
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["a.csv", "all.csv", "b.csv"]);
    assert!(inputs.iter().any(|input| input.name == "all.csv" && input.rows < 4));
    // Attempts at one shard are that shard, and go on as it.
    fleet.place.run(&[&["sweep"], &REPLAY[..], &["--shard", "1/3", "--out", "s1.csv"]].concat(), 0);
    let (rows, metadata) = (fleet.records("s1.csv"), fleet.metadata("s1.csv"));
    fleet.write("try0.csv", &rows[..2], &metadata);
    fleet.write("try1.csv", &rows[1..4], &metadata);
    fleet.merge(&["try1.csv", "try0.csv", "-o", "shard.csv"], 4);
    assert_eq!(fleet.metadata("shard.csv").shard, metadata.shard);
    run(&[&["sweep"], &REPLAY[..], &["--shard", "1/3", "--out", "shard.csv"]].concat(), 0);
    assert_eq!(fleet.records("shard.csv").len(), rows.len());
    run(&["analyze", "more.csv"], 0);
    run(&["report", "more.csv", "-o", "page.html"], 0);
    run(&["compare", "whole/x.csv", "more.csv"], 0);
    run(&["export", "more.csv", "--format", "t4", "-o", "rows.json"], 0);
    run(&["pack", "more.csv", "--uses", "pushed", "--portable", "none", "-o", "x.scanpack"], 0);
}

/// What nobody has asked for is not missing, and what is missing is measured as the rest was.
#[test]
fn what_is_missing_is_what_was_asked_for() {
    let fleet = Fleet::new();
    let filter = ["--filter", "batch_size=4"];
    fleet.sweep(&filter, "some.csv");
    assert!(fleet.merge(&["some.csv", "-o", "all.csv"], 0).stdout.contains("14 of 14"));
    // Half of it is lost.
    let (mut records, metadata) = (fleet.records("some.csv"), fleet.metadata("some.csv"));
    records.retain(|row| row.n_elements < 4096);
    fleet.write("half.csv", &records, &metadata);
    let [whole, half] = ["some.csv", "half.csv"].map(|file| fleet.place.run(&["analyze", file], 0));
    assert!(whole.stdout.contains("; 14 of 14 points of the space"), "{}", whole.stdout);
    assert!(!whole.stderr.contains("not complete"), "{}", whole.stderr);
    assert!(half.stderr.contains(" of 14 points have no row"), "{}", half.stderr);
    let next = fleet.merge(&["half.csv", "-o", "half-all.csv"], 4).stdout;
    assert!(next.contains("6 of 14") || next.contains("4 of 14"), "{next}");
    assert!(next.contains("--filter 'batch_size=4'") || next.contains("--filter batch_size=4"), "{next}");
    // Another run had none: the whole space was asked for.
    assert!(fleet.merge(&["some.csv", "whole/x.csv", "-o", "both.csv"], 0).stdout.contains("28 of 28"));
    let options = ["--assume", "progress", "--assume", "co-residency"];
    fleet.sweep(&[&options[..], &["--shard", "0/2"]].concat(), "assumed.csv");
    let next = fleet.merge(&["assumed.csv", "-o", "assumed-all.csv"], 4).stdout;
    for part in ["--assume progress", "--assume co-residency", "--shard 1/2"] {
        assert!(next.contains(part), "{part}: {next}");
    }
}
