//! Shards whose anchors drift: their times do not count, and the same command measures them again.

use super::*;

#[test]
fn a_unit_that_does_not_keep_its_speed_is_told() {
    let place = Place::in_memory(&slow(60));
    let child = place.start(&by_pipeline("0/2", &[]));
    wait_until("the anchors of the middle", || {
        fs::read_to_string(place.file("csv")).is_ok_and(|csv| csv.contains(Selection::AnchorMiddle.word()))
    });
    place.script(&format!("slowdown_ratio = 0.05\n{}", slow(1)));
    let ended = wait(child);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    for part in ["anchors    +5.0 % from the start of the shard to the last one", "to measure again, run: "] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let drift = place.metadata().shard.unwrap().anchor_drift_pct.unwrap();
    assert!((4.5..5.5).contains(&drift), "{drift}");
    // Its times are in no merge, unless that is asked for, and what is missing is what the same command measures.
    let shard = ["--shard", "0/2", "--shard-by", "pipeline"];
    place.run(&sweep("other.csv", &by_pipeline("1/2", &[])), 0);
    let merge = |args: &[&str], code| {
        let args = [&["merge", "out/test.csv", "other.csv", "--format", "json"], args].concat();
        serde_json::from_str::<serde_json::Value>(&place.run(&args, code).stdout).unwrap()
    };
    let told = merge(&["--out", "without.csv"], 4);
    // Nor are its copies.
    let copies = |name: &str| {
        let metadata = Metadata::read(&place.folder().join(name)).unwrap();
        let merged = metadata.merged.unwrap();
        (metadata.ceiling_gbps, merged.copies.values().copied().collect::<BTreeSet<u64>>())
    };
    let other = Metadata::read(&place.folder().join("other.meta.json")).unwrap();
    assert_eq!(copies("without.meta.json"), (other.ceiling_gbps, [1].into()));
    assert_eq!(told["missing"][0]["arguments"], serde_json::json!(shard), "{told}");
    assert!(told["left_out"][0].as_str().unwrap().contains("14 rows left out"), "{told}");
    assert_eq!(merge(&["--out", "all.csv", "--keep-units"], 0)["points_left"], 0);
    assert_eq!(copies("all.meta.json").1, [2].into());
    let dry = place.sweep(&by_pipeline("0/2", &["--dry-run"]));
    assert!(dry.stdout.contains("to do      14, and anchors\n"), "{}", dry.stdout);
    let again = place.sweep(&by_pipeline("0/2", &["--format", "json"]));
    let told: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&told["exit_code"], &told["shard"]["anchor_drift_pct"]), (&0.into(), &0.0.into()), "{told}");
    assert!(again.stderr.contains("are measured again"), "{}", again.stderr);
    let (points, stages) = parted(place.records());
    assert_eq!((rows(&points).len(), stages.len()), (14, 3));
    assert_eq!(merge(&["--out", "without.csv"], 0)["left_out"], serde_json::json!([]));
}

/// As if the shard had been ended before its last anchors, and the device had been faster at its start.
fn spoil(csv: &Path) {
    spoil_by(csv, 90);
}

/// The same, with the time that the anchors took then, in percent.
fn spoil_by(csv: &Path, percent: u64) {
    let mut records = csv_file::read(csv).unwrap().records;
    records.retain(|row| !row.selection.contains(&Selection::AnchorEnd));
    for row in records.iter_mut().filter(|row| row.is_anchor()) {
        for time in row.steady.iter_mut().chain(&mut row.span) {
            for ns in
                [&mut time.median_ns, &mut time.min_ns, &mut time.mean_ns, &mut time.q1_ns, &mut time.q3_ns]
            {
                *ns = *ns * percent / 100;
            }
        }
    }
    csv_file::replace(csv, &records).unwrap();
}

#[test]
fn a_device_that_never_keeps_its_speed_ends_the_matter() {
    let place = Place::in_memory("");
    let run = |code: i32| {
        let ended = place.sweep(&by_pipeline("0/2", &[]));
        assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
        ended
    };
    run(0);
    for code in [4, 4, 1] {
        spoil(&place.file("csv"));
        let ended = run(code);
        let told = ended.stderr.contains("the anchors drifted 3 times in a row");
        assert_eq!(told, code == 1, "{}", ended.stderr);
    }
    // Whoever has looked starts it again, and it counts from the beginning.
    run(0);
    spoil(&place.file("csv"));
    run(4);
}

/// An attempt measures what drifted, publishes what it has measured, anchors too, and then nothing is left.
#[test]
fn attempts_measure_again_what_drifted() {
    let place = Place::in_memory("");
    for folder in ["share", "scratch"] {
        fs::create_dir(place.folder().join(folder)).unwrap();
    }
    let attempt = |shard: &'static str, code| {
        let places = ["--scratch", "scratch", "--publish", "share"];
        let space = ["sweep", "--space", "./space.toml"];
        place.run(&[&space[..], &DEVICE, &places, &by_pipeline(shard, &[])].concat(), code)
    };
    let published = || {
        let files = fs::read_dir(place.folder().join("share")).unwrap().map(|entry| entry.unwrap().path());
        let of =
            |path: &PathBuf| path.to_str().unwrap().contains("shard-0") && path.extension().unwrap() == "csv";
        files.filter(of).collect::<BTreeSet<_>>()
    };
    attempt("0/2", 0);
    let first = published().pop_first().unwrap();
    spoil(&first);
    // Points are there, and the anchors of the end are not.
    let ended = attempt("0/2", 4);
    let own = published().into_iter().find(|path| *path != first).unwrap();
    let name = own.file_name().unwrap().to_str().unwrap();
    assert!(ended.stdout.contains(name) && published().len() == 2, "{}", ended.stdout);
    let ended = attempt("0/2", 0);
    assert!(ended.stderr.contains("are measured again") && published().len() == 3, "{}", ended.stderr);
    for _ in 0..2 {
        attempt("0/2", 0);
        assert_eq!(published().len(), 3, "nothing was left");
    }
    let last = attempt("1/2", 0);
    let next = last.stdout.lines().find(|line| line.starts_with("next")).unwrap();
    assert!(next.contains(" merge "), "{next}");
    let output = std::process::Command::new("sh")
        .args(["-c", next.strip_prefix("next").unwrap().trim()])
        .current_dir(place.folder())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let merged = csv_file::read(&place.folder().join("replay.test.csv")).unwrap().records;
    let (points, _) = parted_units(merged);
    assert_eq!(rows(&points).len(), ALL);
}

/// Units that share a sweep, each with a UUID of its own; they publish in one folder.
struct Units {
    place: Place,
}

impl Units {
    fn new() -> Self {
        let place = Place::in_memory("");
        for folder in ["share", "scratch"] {
            fs::create_dir(place.folder().join(folder)).unwrap();
        }
        Self { place }
    }

    /// Sweeps a shard on a unit that takes so much longer; the files that it publishes.
    #[track_caller]
    fn attempt(&self, unit: u32, slower: f64, shard: &str, code: i32) -> (String, BTreeSet<PathBuf>) {
        self.place.script(&format!(
            "uuid = \"00000000-0000-0000-0000-0000000000{unit:02}\"\nslowdown_ratio = {slower:.2}\n"
        ));
        let before = self.files();
        let places = ["--scratch", "scratch", "--publish", "share"];
        let space = ["sweep", "--space", "./space.toml"];
        let ended = self.place.run(&[&space[..], &DEVICE, &places, &by_pipeline(shard, &[])].concat(), code);
        (ended.stderr, self.files().difference(&before).cloned().collect())
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        let files =
            fs::read_dir(self.place.folder().join("share")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|ending| ending == "csv")).collect()
    }

    #[track_caller]
    fn merge(&self, code: i32) -> serde_json::Value {
        let files = self.files();
        let files = files.iter().map(|path| path.to_str().unwrap());
        let args: Vec<&str> =
            ["merge"].into_iter().chain(files).chain(["--out", "all.csv", "--format", "json"]).collect();
        serde_json::from_str(&self.place.run(&args, code).stdout).unwrap()
    }
}

/// One of three units is slow, and its times do not count: the same command on another one measures its points again,
/// and on the slow one it ends with the code that sends it elsewhere. Whoever comes first does not know.
#[test]
fn points_of_a_unit_that_is_off_are_measured_on_another_one() {
    for slow in [0, 1, 2] {
        let units = Units::new();
        let own = format!("{slow}/3");
        for unit in 0..3 {
            let (slower, code) = if unit == slow { (0.1, if slow == 2 { 3 } else { 0 }) } else { (0.0, 0) };
            let (told, files) = units.attempt(unit, slower, &format!("{unit}/3"), code);
            assert_eq!(
                (files.len(), told.contains("slower than the others")),
                (1, code == 3),
                "{slow}: {told}"
            );
        }
        let told = units.merge(4);
        assert_eq!(
            told["missing"][0]["arguments"],
            serde_json::json!(["--shard", own, "--shard-by", "pipeline"])
        );
        let left_out = told["left_out"][0].as_str().unwrap();
        assert!(
            left_out.contains(&format!("shard-{slow}-of-3")) && left_out.contains("% slower than"),
            "{told}"
        );
        let (told, files) = units.attempt(slow, 0.1, &own, 3);
        assert!(files.is_empty() && told.contains("the same command measures it on another one"), "{told}");
        let (told, files) = units.attempt((slow + 1) % 3, 0.0, &own, 0);
        assert!(files.len() == 1 && told.contains("are measured again"), "{told}");
        assert_eq!(units.merge(0)["points_left"], 0);
        // Nothing is left, wherever it is asked.
        for unit in 0..3 {
            let (_, files) = units.attempt(unit, if unit == slow { 0.1 } else { 0.0 }, &own, 0);
            assert!(files.is_empty(), "{slow} {unit}");
        }
    }
}

/// Two of three units drift once, and their shards are measured again on the third one: what they said then judges
/// nobody, and nothing is said of them any more.
#[test]
fn anchors_that_drifted_judge_no_unit() {
    let units = Units::new();
    units.attempt(0, 0.0, "0/3", 0);
    for unit in [1, 2] {
        let shard = format!("{unit}/3");
        let (_, files) = units.attempt(unit, 0.0, &shard, 0);
        spoil_by(files.first().unwrap(), 70);
        units.attempt(unit, 0.0, &shard, 4);
    }
    let told = units.merge(4);
    assert_eq!(told["left_out"].as_array().unwrap().len(), 2, "{told}");
    for shard in ["1/3", "2/3"] {
        units.attempt(0, 0.0, shard, 0);
    }
    let told = units.merge(0);
    assert_eq!((&told["points_left"], &told["left_out"]), (&0.into(), &serde_json::json!([])), "{told}");
}
