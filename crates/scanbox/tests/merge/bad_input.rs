//! Files that do not belong together, or are no sweeps: each is named, and nothing is written.

use super::*;

/// Runs a merge that is refused: the words are told, and no output is there.
#[track_caller]
fn refuses(fleet: &Fleet, files: &[&str], code: i32, said: &[&str]) {
    let ended = fleet.merge(&[files, &["-o", "out.csv"]].concat(), code);
    for part in said {
        assert!(ended.stderr.contains(part), "no `{part}`: {}", ended.stderr);
    }
    for name in ["out.csv", "out.meta.json"] {
        assert!(!fleet.path(name).exists(), "{name}: {}", ended.stderr);
    }
}

#[test]
fn files_of_something_else_are_refused_unless_that_is_accepted() {
    /// What is done to a copy of the sweep, what it is accepted as, and what is told.
    struct Row {
        change: fn(&mut Record, &mut Metadata),
        accept: Option<&'static str>,
        said: &'static [&'static str],
    }
    let row = |change, accept, said| Row { change, accept, said };
    let rows = [
        row(
            |row, told| {
                row.kernel_hash = "feed".into();
                told.kernel_hash = "feed".into();
            },
            Some("kernels"),
            &["the kernel sources", "`feed` in other.csv", "in x.csv", "--accept kernels"],
        ),
        row(
            |row, told| {
                row.driver = "replay 2".into();
                told.device.driver = "replay 2".into();
            },
            Some("driver"),
            &["the driver", "`replay 2` in other.csv", "--accept driver"],
        ),
        row(
            |row, _| row.subject_version = "9.9.9".into(),
            Some("version"),
            &["the version of scanbox: `0.", "`9.9.9` in other.csv", "--accept version"],
        ),
        row(
            |_, told| told.device.maximal_reconvergence = true,
            Some("version"),
            &["kernels ask for maximal reconvergence: `no` in x.csv; `yes` in other.csv", "--accept version"],
        ),
        row(
            |_, told| told.space.name = "other".into(),
            Some("space"),
            &["the space: `other (", "in other.csv; `test (", "--accept space"],
        ),
        row(
            |_, told| {
                let product = told.space.products.swap_remove(0);
                told.space.products = vec![product.clone(), product];
            },
            Some("space"),
            &["the space: `test (", "--accept space"],
        ),
        row(
            |_, told| told.device.max_workgroup_size = 32,
            Some("space"),
            &["the points that the space comes to: ", "`0 points", "--accept space"],
        ),
        row(
            |_, told| told.runs[0].seed = 2,
            Some("seed"),
            &["the seed: `1` in x.csv; `2` in other.csv", "--accept seed"],
        ),
        row(
            |row, told| {
                row.device = "Other".into();
                told.device.name = "Other".into();
            },
            None,
            &["the device: `Other` in other.csv; `Replay` in x.csv", "cannot hold both"],
        ),
        row(
            |row, _| row.op = Some("max".parse().unwrap()),
            None,
            &["the problem: `u32-add-inclusive` in x.csv; `u32-max-inclusive` in other.csv"],
        ),
        row(
            |row, _| row.input = "real".into(),
            None,
            &["the input: `integers` in x.csv; `real` in other.csv"],
        ),
    ];
    let fleet = Fleet::new();
    for Row { change, accept, said } in rows {
        fleet.change("other.csv", |records, metadata| {
            records.iter_mut().for_each(|record| change(record, metadata));
        });
        refuses(&fleet, &["whole/x.csv", "other.csv"], 1, said);
        refuses(&fleet, &["other.csv", "whole/x.csv"], 1, said);
        // What is accepted is what was named, and nothing else.
        for word in ["kernels", "driver", "version", "space", "seed"] {
            let files = ["whole/x.csv", "other.csv", "--accept", word];
            if accept != Some(word) {
                refuses(&fleet, &files, 1, said);
                continue;
            }
            let ended = ended_well(&fleet, &[&files[..], &["-o", "accepted.csv"]].concat());
            assert!(ended.stderr.contains("merged all the same"), "{}", ended.stderr);
            // The order of files does not matter then either.
            fleet.merge(
                &["other.csv", "whole/x.csv", "--accept", word, "-o", "reversed.csv"],
                ended.code.unwrap(),
            );
            assert!(fleet.bytes("accepted.csv") == fleet.bytes("reversed.csv"), "{word}");
            for ending in ["csv", "meta.json"] {
                fs::remove_file(fleet.path(&format!("accepted.{ending}"))).unwrap();
                fs::remove_file(fleet.path(&format!("reversed.{ending}"))).unwrap();
            }
        }
    }
    let all = fleet.merge(&["whole/x.csv", "-o", "out.csv", "--accept", "everything"], 2);
    assert!(all.stderr.contains("kernels, driver, version, space, seed"), "{}", all.stderr);
}

/// Runs a merge that writes, whatever is missing then.
fn ended_well(fleet: &Fleet, args: &[&str]) -> Ended {
    let ended = crate::sweeps::ended(fleet.place.scanbox(&[&["merge"], args].concat()).output().unwrap());
    assert!([Some(0), Some(4)].contains(&ended.code), "{}", ended.stderr);
    ended
}

#[test]
fn what_is_no_sweep_is_named_and_nothing_is_written() {
    let fleet = Fleet::new();
    let text = |name: &str, text: &str| fs::write(fleet.path(name), text).unwrap();
    fs::create_dir(fleet.path("folder")).unwrap();
    text("table.csv", "n,time\n1,2\n");
    text("notes.txt", "fan loud\n");
    text("journal.journal", "run 1b4e28ba\nstart b4.vec4.par.rake.wg64 1024\nend\n");
    let csv = fs::read_to_string(fleet.path("whole/x.csv")).unwrap();
    text("broken.csv", &csv.replacen(",ok,", ",perhaps,", 1));
    let bench = ["bench", CONFIG, "--device", "replay:replay.toml", "--sizes", "4096", "--rounds", "1"];
    fleet.place.run(&[&bench[..], &["--out", "bench.csv"]].concat(), 0);
    fs::copy(fleet.path("whole/x.csv"), fleet.path("alone.csv")).unwrap();
    let x = "whole/x.csv";
    for (files, code, said) in [
        (&[x, "folder"][..], 2, &["folder is a folder; name the sweeps in it: folder/*.csv"][..]),
        (
            &[x, "table.csv", "notes.txt"],
            2,
            &["table.csv is a file that scanbox has not written", "notes.txt is"],
        ),
        (&["whole/x.meta.json", x], 2, &["the metadata of a sweep", "name the .csv"]),
        (&[x, "journal.journal"], 2, &["the journal of a sweep"]),
        (&["bench.csv", x], 2, &["a file with rows of a benchmark; `merge` unites sweeps"]),
        (&["broken.csv"], 1, &["broken.csv: line 2: column `status`"]),
        (&[x, "nowhere.csv"], 1, &["nowhere.csv"]),
        (&["alone.csv"], 1, &["no metadata stands beside any of the files", "x.meta.json"]),
        (&[], 2, &["<FILES>..."]),
    ] {
        refuses(&fleet, files, code, said);
    }
    // One of a fleet that is spoilt does not hold up the others, and is no success.
    let told = fleet.told(&[x, "broken.csv", "-o", "rest.csv"], 1);
    assert_eq!(
        (&told["points_left"], told["unreadable"].as_array().unwrap().len()),
        (&0.into(), 1),
        "{told}"
    );
    let ended = fleet.merge(&["broken.csv", x, "-o", "rest.csv"], 1);
    assert!(ended.stderr.contains("broken.csv: line 2: column `status`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("mend it, or move it away"), "{}", ended.stderr);
    fleet.part("some.csv", |index, _| index < 9);
    fleet.told(&["some.csv", "broken.csv", "-o", "some-rest.csv"], 4);
    let ended = fleet.merge(&[x, "-o", "out.txt"], 2);
    assert!(ended.stderr.contains("rows stand in a .csv"), "{}", ended.stderr);
}

/// Files that are what they are said to be, though not all of it is there.
#[test]
fn damaged_files_give_what_they_have_and_what_is_lost_is_told() {
    let fleet = Fleet::new();
    let whole = || (fs::read(fleet.path("whole/x.csv")).unwrap(), fleet.metadata("whole/x.csv"));
    let write = |name: &str, bytes: &[u8], metadata: Option<&Metadata>| {
        fs::write(fleet.path(name), bytes).unwrap();
        let beside = Metadata::path_beside(&fleet.path(name));
        match metadata {
            Some(metadata) => metadata.write(&beside).unwrap(),
            None => drop(fs::remove_file(beside)),
        }
    };
    let (bytes, metadata) = whole();
    let last = fleet.records("whole/x.csv").pop().unwrap();
    let lost = format!("was cut off, and is lost: the row of {} at 2^", last.config_id);
    let row_starts = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    fleet.part("rest.csv", |index, _| index >= 20);
    fleet.part("begin.csv", |index, _| index < 20);
    let mut other = metadata.clone();
    other.runs[0].run_id = "20200101T000000Z-1".into();
    let mut device = metadata.clone();
    device.device.name = "Other".into();
    // The file, its metadata, what else is merged, the rows that are there in the end, and what is told.
    type Row<'a> = (&'a [u8], Option<&'a Metadata>, &'a str, usize, i32, &'a [&'a str]);
    let rows: [Row<'_>; 8] = [
        (
            &bytes[..bytes.len() - 1],
            Some(&metadata),
            "begin.csv",
            ALL - 1,
            4,
            &[&lost, "names 28 rows, and the file has 27"],
        ),
        (&bytes[..bytes.len() - 90], Some(&metadata), "begin.csv", ALL - 1, 4, &[&lost]),
        // The label is not whole: nobody knows which row that was.
        (
            &bytes[..row_starts + 30],
            Some(&metadata),
            "begin.csv",
            ALL - 1,
            4,
            &["line 29 was cut off, and is lost\n"],
        ),
        (&bytes[..bytes.len() - 1], Some(&metadata), "rest.csv", ALL, 0, &[&lost]),
        (
            &bytes[..bytes.iter().position(|&byte| byte == b'\n').unwrap()],
            None,
            "begin.csv",
            20,
            4,
            &["line 1 was cut"],
        ),
        (&bytes, None, "begin.csv", ALL, 0, &["there is no metadata beside it"]),
        (
            &bytes,
            Some(&other),
            "begin.csv",
            ALL,
            0,
            &["about runs on Replay (software) that have no row in the file, and is not used"],
        ),
        (&bytes, Some(&device), "begin.csv", ALL, 0, &["about Other", "and is not used"]),
    ];
    for (index, (bytes, metadata, with, expected, code, said)) in rows.into_iter().enumerate() {
        write("damaged.csv", bytes, metadata);
        let out = format!("out{index}.csv");
        let ended = fleet.merge(&["damaged.csv", with, "-o", &out], code);
        assert_eq!(fleet.records(&out).len(), expected, "{said:?}");
        for part in said {
            assert!(ended.stderr.contains(part), "no `{part}`: {}", ended.stderr);
        }
    }
    // Metadata that was cut off.
    write("damaged.csv", &bytes, None);
    let text = fs::read(Metadata::path_beside(&fleet.path("whole/x.csv"))).unwrap();
    fs::write(fleet.path("damaged.meta.json"), &text[..300]).unwrap();
    let ended = fleet.merge(&["damaged.csv", "begin.csv", "-o", "torn.csv"], 0);
    assert!(ended.stderr.contains("damaged.meta.json: "), "{}", ended.stderr);
    // An attempt that had no time for a row, and one that had none for its header.
    for (index, (bytes, said)) in
        [(&b""[..], "the file is empty"), (b"sche", "line 1 was cut off")].iter().enumerate()
    {
        write("damaged.csv", bytes, Some(&metadata));
        let ended = fleet.merge(&["damaged.csv", "begin.csv", "-o", &format!("empty{index}.csv")], 4);
        assert!(ended.stderr.contains(&format!("damaged.csv: {said}")), "{}", ended.stderr);
    }
}

#[test]
fn two_living_attempts_and_clocks_that_disagree_change_nothing() {
    let fleet = Fleet::new();
    // The same points twice, on one unit, with overlapping rows; the clock of the second is a year behind.
    let attempt = |name: &str, year: &str, keep: fn(usize) -> bool, times: u64| {
        fleet.change(name, |records, metadata| {
            let mut index = 0..;
            records.retain(|_| keep(index.next().unwrap()));
            for row in &mut *records {
                row.run_id = format!("run-{year}");
                row.timestamp_utc = format!("{year}-05-05T00:00:00Z");
                let steady = row.steady.as_mut().unwrap();
                for ns in [&mut steady.median_ns, &mut steady.min_ns, &mut steady.mean_ns] {
                    *ns *= times;
                }
                (steady.q1_ns, steady.q3_ns) = (steady.median_ns, steady.median_ns);
            }
            metadata.runs[0].run_id = format!("run-{year}");
        });
    };
    attempt("first.csv", "2026", |index| index < 20, 1);
    attempt("second.csv", "2025", |index| index >= 10, 3);
    let told = fleet.told(&["first.csv", "second.csv", "-o", "all.csv"], 0);
    assert_eq!((&told["rows"], &told["replaced"]), (&ALL.into(), &10.into()));
    let reversed = fleet.told(&["second.csv", "first.csv", "-o", "reversed.csv"], 0);
    assert_eq!(reversed["replaced"], 10);
    assert!(fleet.bytes("all.csv") == fleet.bytes("reversed.csv"));
    // Of two that are ok the time stamps decide, which are of one clock where the unit is one.
    let of_run = |run: &str| fleet.records("all.csv").iter().filter(|row| row.run_id == run).count();
    assert_eq!((of_run("run-2026"), of_run("run-2025")), (20, 8));
    // On two hosts nothing is compared by clocks: all rows stay.
    for (name, host) in [("first.csv", "a"), ("second.csv", "b")] {
        let (mut records, metadata) = (fleet.records(name), fleet.metadata(name));
        records.iter_mut().for_each(|row| row.host = host.into());
        fleet.write(name, &records, &metadata);
    }
    let told = fleet.told(&["first.csv", "second.csv", "-o", "hosts.csv"], 0);
    assert_eq!((&told["rows"], &told["replaced"]), (&(20 + 18).into(), &0.into()));
}

#[test]
fn only_a_merged_file_is_replaced_and_only_by_one_that_has_all_its_rows() {
    let fleet = Fleet::new();
    fleet.part("a.csv", |index, _| index < 9);
    fleet.part("b.csv", |index, _| index >= 9);
    // The same file twice is one.
    let ended = fleet.merge(&["a.csv", "./a.csv", "b.csv", "-o", "all.csv"], 0);
    assert!(ended.stderr.contains("./a.csv: named twice"), "{}", ended.stderr);
    assert_eq!(fleet.metadata("all.csv").merged.unwrap().inputs.len(), 2);
    let before = fleet.bytes("all.csv");
    let refused = fleet.merge(&["a.csv", "-o", "all.csv"], 1);
    assert!(refused.stderr.contains("has 19 rows that these files do not have"), "{}", refused.stderr);
    for (files, out, said) in [
        (&["a.csv", "all.csv"][..], "all.csv", "an input of this command"),
        (&["a.csv"], "a.csv", "an input of this command"),
        (&["a.csv"], "a.meta.json", "the metadata of an input"),
        (&["a.csv", "b.csv"], "whole/x.csv", "a file with rows of a sweep, and stays as it is"),
    ] {
        let refused = fleet.merge(&[files, &["-o", out]].concat(), 1);
        assert!(refused.stderr.contains(said), "{out}: {}", refused.stderr);
    }
    assert!(fleet.bytes("all.csv") == before);
    fleet.merge(&["b.csv", "a.csv", "whole/x.csv", "-o", "all.csv"], 0);
    assert!(fleet.bytes("all.csv")[0] == before[0]);
    // Metadata without rows is what a merge has left that was cut off: it can be run again.
    fs::remove_file(fleet.path("all.csv")).unwrap();
    fleet.merge(&["b.csv", "a.csv", "-o", "all.csv"], 0);
    assert!(fleet.bytes("all.csv") == before);
}
