//! What does not belong together is refused before anything runs, by a dry run as by a run; what is printed can be
//! pasted.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sweeps::{ALL, CONFIG, Ended, Held, Place, SPACE, ended, signal, slow, wait, wait_for_rows};
use rustix::process::Signal;
use scanbox_model::csv_file;

const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];

/// Every file below a folder, but locks.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(found.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    found.retain(|path, _| path.extension().is_none_or(|ending| ending != "lock"));
    found
}

#[test]
fn a_dry_run_refuses_what_the_run_refuses_and_writes_nothing() {
    /// What is done to a complete sweep, the arguments of the next run, and the exit code and words of its refusal.
    struct Row {
        change: fn(&Place),
        args: &'static [&'static str],
        code: i32,
        said: &'static [&'static str],
    }
    let row = |change: fn(&Place), args, code, said| Row { change, args, code, said };
    fn edit(place: &Place, ending: &str, from: &str, to: &str) {
        let text = fs::read_to_string(place.file(ending)).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(place.file(ending), text.replace(from, to)).unwrap();
    }
    fn write(place: &Place, name: &str, text: &str) {
        fs::write(place.folder().join(name), text).unwrap();
    }
    let nothing: fn(&Place) = |_| {};
    let rows = [
        row(nothing, &["--op", "max"], 1, &["op `add`", "`max`", "--out"]),
        row(nothing, &["--type", "i32"], 1, &["element `u32`", "`i32`"]),
        row(nothing, &["--mode", "exclusive"], 1, &["mode `inclusive`"]),
        row(|place| place.script("name = \"Other\""), &[], 1, &["device `Replay`", "`Other`"]),
        row(|place| place.script("driver = \"replay 2\""), &[], 1, &["driver"]),
        row(|place| place.script("uuid = \"beef\""), &[], 1, &["device_uuid", "--accept-device"]),
        row(|place| edit(place, "csv", "\n1,", "\n2,"), &[], 1, &["schema"]),
        row(|place| edit(place, "csv", ",ok,", ",fine,"), &[], 1, &["`status`", "`fine`"]),
        row(|place| edit(place, "meta.json", "\"schema\": 1", "\"schema\": 2"), &[], 1, &["schema 2"]),
        row(|place| fs::write(place.file("csv"), "mine").unwrap(), &[], 1, &["scanbox has not written"]),
        row(|place| fs::write(place.file("meta.json"), "mine").unwrap(), &[], 1, &["test.meta.json"]),
        row(|place| fs::write(place.file("journal"), "mine").unwrap(), &[], 1, &["test.journal"]),
        row(|place| fs::write(place.file("lock"), "mine").unwrap(), &[], 1, &["test.lock"]),
        row(
            |place| {
                fs::remove_dir_all(place.folder().join("out")).unwrap();
                write(place, "out", "a file");
            },
            &[],
            1,
            &["out", "--out"],
        ),
        row(
            |place| write(place, "space.toml", &SPACE.replace("[1, 4]", "[1, 2]")),
            &[],
            1,
            &["space `test` (definition ", "give the space another name", "--accept-space", "--out"],
        ),
        row(
            |place| write(place, "space.toml", &SPACE.replace("\"test\"", "\"other\"")),
            &[],
            1,
            &["space `test`", "sweeps `other`", "--accept-space"],
        ),
        row(nothing, &["--filter", "lookback=fallback"], 2, &["--filter accepts none of its 28"]),
        row(nothing, &["--filter", "lookback=foo"], 2, &["`foo` is not a value of lookback"]),
        row(nothing, &["--input", "real"], 2, &["--input real"]),
        row(
            |place| fs::create_dir(place.folder().join("empty")).unwrap(),
            &["--kernels", "empty"],
            1,
            &["kernel sources empty", "no shader", "--kernels"],
        ),
        row(nothing, &["--kernels", "nowhere"], 1, &["kernel sources nowhere"]),
        row(
            |place| {
                write(place, "shader.wgsl", "");
            },
            &["--kernels", "."],
            1,
            &["kernel sources .", "no shader in GLSL (.comp)", "nor in glsl/ in it", "like kernels/glsl"],
        ),
        row(nothing, &["--operator", "nowhere.glsl"], 1, &["nowhere.glsl"]),
    ];
    let complete = Place::in_memory("");
    assert_eq!(complete.sweep(&[]).code, Some(0));
    for Row { change, args, code, said } in rows {
        let place = Place::in_memory("");
        for (path, bytes) in contents(complete.folder()) {
            let to = place.folder().join(path.strip_prefix(complete.folder()).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, bytes).unwrap();
        }
        change(&place);
        let before = contents(place.folder());
        let dry = place.sweep(&[args, &["--dry-run"]].concat());
        assert_eq!(contents(place.folder()), before, "{args:?}");
        let real = place.sweep(args);
        let other = "write to another file: ";
        if let Some((_, command)) = real.stderr.split_once(other) {
            let words = shlex::split(command.lines().next().unwrap()).unwrap();
            let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
            assert!(words.join(" ").ends_with("--out out/test.2.csv"), "{words:?}");
            place.run(&words, 0);
            assert!(place.folder().join("out/test.2.csv").exists());
            for ending in ["csv", "meta.json"] {
                fs::remove_file(place.folder().join("out/test.2").with_extension(format!("2.{ending}")))
                    .unwrap();
            }
        }
        let told = |ended: &Ended| {
            ended.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default().to_owned()
        };
        for ended in [&dry, &real] {
            assert_eq!(ended.code, Some(code), "{args:?} {said:?}: {}", ended.stderr);
            said.iter()
                .for_each(|part| assert!(ended.stderr.contains(part), "no `{part}`: {}", ended.stderr));
        }
        assert_eq!(told(&dry), told(&real), "{args:?}");
        assert_eq!(contents(place.folder()), before, "{args:?}: a refused file stays as it is");
    }
    // A folder in which nobody can make a file, though it looks so.
    let place = Place::in_memory("");
    for dry in [&[][..], &["--dry-run"]] {
        let sweep = ["sweep", "--space", "space.toml", "--out", "/proc/x.csv"];
        let ended = place.run(&[&sweep, &DEVICE[..], dry].concat(), 1);
        assert!(ended.stderr.contains("/proc") && ended.stderr.contains("--out"), "{dry:?}: {ended:?}");
    }
    // A file that another run writes to.
    let place = Place::new(&slow(30));
    let child = place.start_with_rows(&[], 1);
    let held = Held::new(&child);
    let dry = place.sweep(&["--dry-run"]);
    drop(held);
    assert!(signal(child.id(), Signal::INT));
    wait(child);
    assert_ne!(dry.code, Some(0), "{}", dry.stdout);
    assert!(dry.stderr.contains("is being written by another run (process "), "{}", dry.stderr);
}

#[test]
fn a_dry_run_says_how_long_and_why() {
    let said = |place: &Place, args: &[&str]| {
        let dry = place.sweep(&[args, &["--dry-run"]].concat());
        assert_eq!(dry.code, Some(0), "{}", dry.stderr);
        dry.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let check = |text: &str, parts: &[&str]| {
        parts.iter().for_each(|part| assert!(text.contains(part), "no `{part}` in {text}"));
    };
    let place = Place::new("");
    check(
        &said(&place, &[]),
        &["to do 28 time about", "no rows of this device yet", "published sweep", " ms each"],
    );
    assert!(!place.folder().join("out").exists());
    assert_eq!(place.sweep(&["--sizes", "1024"]).code, Some(0));
    // About a second, or less than that.
    check(&said(&place, &[]), &["to do 24 time ", "(the 4 rows of this file took"]);
    check(&said(&place, &["--confirm", "2"]), &["then the confirmation, which is not in this"]);
    let beside = place.run(
        &[&["sweep", "--space", "space.toml", "--out", "out/more.csv", "--dry-run"][..], &DEVICE].concat(),
        0,
    );
    check(
        &beside.stdout.split_whitespace().collect::<Vec<_>>().join(" "),
        &["on this device, 4 rows of out/test.meta.json"],
    );
}

#[test]
fn another_space_joins_a_file_on_request() {
    let place = Place::in_memory("");
    assert_eq!(place.sweep(&["--sizes", "1024"]).code, Some(0));
    // The same space under its name, with another text: comments and order of keys are no definition.
    fs::write(place.folder().join("space.toml"), format!("# A thought.\n{SPACE}")).unwrap();
    assert_eq!(place.sweep(&["--sizes", "2048"]).code, Some(0));
    // A space of the user's with the name of a built-in one does not go into its file.
    let built_in = ["sweep", "--space", "quick", "--sizes", "2^11", "--out", "quick"];
    place.run(&[&built_in[..], &DEVICE].concat(), 0);
    fs::write(place.folder().join("space.toml"), SPACE.replace("\"test\"", "\"quick\"")).unwrap();
    let rows = contents(&place.folder().join("quick"));
    let own = ["sweep", "--space", "space.toml", "--out", "quick"];
    let refused = place.run(&[&own[..], &DEVICE].concat(), 1);
    for part in ["replay.quick.csv", "space `quick` (definition ", "--accept-space", "another name", "--out"]
    {
        assert!(refused.stderr.contains(part), "no `{part}` in {}", refused.stderr);
    }
    assert_eq!(contents(&place.folder().join("quick")), rows);
    place.run(&[&own[..], &DEVICE, &["--accept-space"]].concat(), 0);
    let found = csv_file::read(&place.folder().join("quick/replay.quick.csv")).unwrap().records;
    assert!(found.len() > ALL, "{}", found.len());
    place.run(&[&own[..], &DEVICE].concat(), 0);
}

#[test]
fn each_command_takes_the_files_that_it_can_use() {
    let place = Place::in_memory("");
    assert_eq!(place.sweep(&["--sizes", "4096"]).code, Some(0));
    let run = |args: &[&str], code: i32| place.run(args, code);
    let bench = ["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--samples", "3", "--out", "bench.csv"];
    run(&[&bench[..], &DEVICE, &["--plot", "plot.svg"]].concat(), 0);
    fs::write(place.folder().join("times.csv"), "n_elements,steady_ns_median\n4096,1000\n").unwrap();
    let import = ["import", "times.csv", "--subject", "other", "--version", "1", "--device-name", "Replay"];
    run(&[&import[..], &["--out", "import.csv"]].concat(), 0);
    run(&["report", "out/test.csv", "--include-software", "--out", "page.html"], 0);
    run(&["export", "out/test.csv", "--format", "t4", "--output", "rows.t4.json"], 0);
    run(&["export", "out/test.csv", "--format", "json", "--output", "rows.json"], 0);
    let header = fs::read_to_string(place.file("csv")).unwrap().lines().next().unwrap().to_owned();
    fs::write(place.folder().join("header.csv"), header + "\n").unwrap();
    fs::write(place.folder().join("pairs.csv"), "n_elements,config_id,round,base_1_ns,new_1_ns,x\n").unwrap();
    let kinds: [(&str, &str); 12] = [
        ("sweep", "out/test.csv"),
        ("benchmark", "bench.csv"),
        ("import", "import.csv"),
        ("header", "header.csv"),
        ("metadata", "out/test.meta.json"),
        ("metadata of a benchmark", "bench.meta.json"),
        ("page", "page.html"),
        ("picture", "plot.svg"),
        ("t4", "rows.t4.json"),
        ("json", "rows.json"),
        ("pairs", "pairs.csv"),
        ("foreign", "times.csv"),
    ];
    let with = [
        "bench",
        CONFIG,
        "--sizes",
        "4096",
        "--rounds",
        "1",
        "--samples",
        "3",
        "--out",
        "more.csv",
        "--with",
    ];
    let with = [&with[..1], &DEVICE, &with[1..]].concat();
    let from = ["bench", "--sizes", "4096", "--rounds", "1", "--samples", "3", "--out", "from.csv", "--from"];
    let from = [&from[..1], &DEVICE, &from[1..]].concat();
    // A command, what comes behind the file, and what it takes.
    let commands: [(Vec<&str>, &[&str], &[&str]); 9] = [
        (vec!["analyze", "--include-software"], &[], &["sweep"]),
        (vec!["report", "--include-software", "--out", "other.html"], &[], &["sweep"]),
        (vec!["export", "--format", "csv"], &[], &["sweep", "benchmark", "import", "header"]),
        (vec!["compare", "out/test.csv"], &[], &["sweep", "header"]),
        (vec!["compare"], &["out/test.csv"], &["sweep", "header"]),
        (vec!["bench", "--show"], &[], &["benchmark"]),
        (with, &[], &["benchmark", "import"]),
        (from, &[], &["sweep"]),
        (vec!["space", "--space", "space.toml", "--profile"], &[], &["metadata", "metadata of a benchmark"]),
    ];
    for (command, behind, taken) in &commands {
        for (kind, file) in kinds {
            let args = [&command[..], &[file], behind].concat();
            let ran = ended(place.scanbox(&args).output().unwrap());
            let what = format!("{args:?} ({kind}): {:?} {}{}", ran.code, ran.stdout, ran.stderr);
            if taken.contains(&kind) {
                // One file against itself says nothing for certain.
                assert!([Some(0), Some(7)].contains(&ran.code), "{what}");
                // A night without a row is no equal night.
                assert!(command[0] != "compare" || kind != "header" || ran.code == Some(7), "{what}");
                continue;
            }
            assert!([Some(1), Some(2)].contains(&ran.code), "{what}");
            assert!(ran.stderr.contains("error: ") && ran.stderr.contains(file), "{what}");
            assert!(ran.stdout.is_empty(), "an answer all the same: {what}");
        }
    }
    // What scanbox has measured is no other implementation.
    for (kind, file) in &kinds[..4] {
        let args =
            ["import", file, "--subject", "x", "--version", "1", "--device-name", "y", "--out", "z.csv"];
        let ran = ended(place.scanbox(&args).output().unwrap());
        assert!(
            ran.code == Some(2) && ran.stderr.contains("measured without scanbox"),
            "{kind}: {}",
            ran.stderr
        );
    }
}

#[test]
fn what_is_printed_can_be_pasted() {
    let place = Place::new("");
    let name = "meß ung's $x.csv";
    let sweep =
        [&["sweep", "--space", "space.toml", "--out", name, "--sizes", "2^10,4096"][..], &DEVICE].concat();
    let line = |text: &str, label: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(label));
        found.unwrap_or_else(|| panic!("no `{label}` in {text}")).trim().to_owned()
    };
    let shell = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(place.folder());
        shell.env("SCANBOX_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        ended(shell.output().unwrap())
    };
    // Interrupted: what it says goes on.
    place.script(&slow(300));
    let mut command = place.scanbox(&sweep);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_rows(&place.folder().join(name), 2);
    assert!(signal(child.id(), Signal::INT));
    let interrupted = wait(child);
    assert_eq!(interrupted.code, Some(4), "{}", interrupted.stderr);
    place.script("");
    let next = line(&interrupted.stdout, "next");
    let (_, again) = next.split_once("to continue, run: ").unwrap();
    let complete = shell(again);
    assert_eq!(complete.code, Some(0), "{again}: {}", complete.stderr);
    assert_eq!(csv_file::read(&place.folder().join(name)).unwrap().records.len(), 8);
    // Complete: what comes next, and where the files are.
    assert_eq!(shell(&format!("{} --include-software", line(&complete.stdout, "next"))).code, Some(0));
    assert_eq!(shell(&format!("test -s {}", line(&complete.stdout, "files"))).code, Some(0));
    let dry = place.run(&[&sweep[..], &["--dry-run"]].concat(), 0);
    assert_eq!(shell(&format!("test -s {}", line(&dry.stdout, "file"))).code, Some(0));
    let bench = ["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--out", "a b.csv"];
    let told = place.run(&[&bench[..], &DEVICE].concat(), 0).stderr;
    assert_eq!(shell(&format!("test -s {}", line(&told, "rows in"))).code, Some(0));
}

#[test]
fn a_cache_that_cannot_be_used_is_told_once() {
    let place = Place::new("");
    fs::write(place.folder().join("file"), "no folder").unwrap();
    let commands: [&[&str]; 3] = [
        &["sweep", "--space", "space.toml", "--sizes", "1024", "--out", "x.csv"],
        &["verify", CONFIG, "--sizes", "100"],
        &["bench", CONFIG, "--sizes", "1024", "--rounds", "1", "--out", "y.csv"],
    ];
    for command in commands {
        for cache in ["file", "file/below", "/proc/x"] {
            let told = place.run(&[command, &DEVICE, &["--cache", cache]].concat(), 0).stderr;
            let warning = format!("warning: the cache folder {cache} cannot be used");
            assert_eq!(told.matches(&warning).count(), 1, "{command:?}: {told}");
            assert!(told.contains("--cache"), "{told}");
            for left in ["x.csv", "x.meta.json", "y.csv", "y.meta.json"] {
                let _ = fs::remove_file(place.folder().join(left));
            }
        }
        let told = place.run(&[command, &DEVICE, &["--cache", "fresh"]].concat(), 0).stderr;
        assert!(!told.contains("warning: the cache"), "{told}");
    }
}

#[test]
fn columns_of_a_newer_version_survive_every_rewriting() {
    let place = Place::new("");
    assert_eq!(place.sweep(&["--sizes", "1024"]).code, Some(0));
    let text = fs::read_to_string(place.file("csv")).unwrap();
    let newer: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, line)| format!("{line},{}", if at == 0 { "q".to_owned() } else { format!("cell {at}") }))
        .collect();
    fs::write(place.file("csv"), newer.join("\n") + "\n").unwrap();
    let cells = || -> Vec<String> {
        let rows = csv_file::read(&place.file("csv")).unwrap().records;
        let texts = rows.iter().flat_map(|row| &row.unknown).map(|cell| cell.text.clone());
        texts.filter(|text| !text.is_empty()).collect()
    };
    let all = ["cell 1", "cell 2", "cell 3", "cell 4"];
    assert_eq!(cells(), all);
    for args in [
        &["--sizes", "1024,2048"][..],
        &["--sizes", "1024,2048", "--confirm", "2", "--rounds", "1"],
        &["--retry-failed"],
    ] {
        let ran = place.sweep(args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("does not know `q`").count(), 1, "{args:?}: {}", ran.stderr);
        assert_eq!(cells(), all, "{args:?}");
    }
    let sweep = place.file("csv");
    let sweep = sweep.to_str().unwrap();
    for command in [
        &["analyze", "--include-software", sweep][..],
        &["compare", sweep, sweep],
        &["export", "--format", "csv", sweep],
    ] {
        let ran = ended(place.scanbox(command).output().unwrap());
        assert!(ran.stderr.contains("does not know `q`"), "{command:?}: {}", ran.stderr);
        assert!(command[0] != "export" || ran.stdout.contains("cell 3"), "{}", ran.stdout);
    }
}
