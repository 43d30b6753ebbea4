//! No command destroys anything: every option that names an output, against every kind of file that may be there.
#![cfg(unix)]

mod beside;
mod cases;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

use self::cases::{Case, cases};
use crate::options::{PATHS, Use, Writes};
use crate::sweeps::{CONFIG, Place, ended};

/// What may be at the place of an output.
enum There {
    Nothing,
    Bytes(Vec<u8>),
    Folder,
    Pipe,
    DeadLink,
    /// A link of this kind to a file.
    Link(bool, &'static str),
}

/// Every kind of file, by a word for it.
fn kinds(place: &Place) -> BTreeMap<&'static str, There> {
    let of = |name: &str| There::Bytes(fs::read(place.folder().join(name)).unwrap());
    let text = |text: &str| There::Bytes(text.as_bytes().to_vec());
    let header = String::from_utf8(fs::read(place.folder().join("sweep.csv")).unwrap()).unwrap();
    let (header, rows) = header.split_once('\n').unwrap();
    let torn = fs::read(place.folder().join("sweep.meta.json")).unwrap()[..200].to_vec();
    let mut kinds = BTreeMap::from([
        ("nothing", There::Nothing),
        ("empty", text("")),
        ("sweep", of("sweep.csv")),
        ("benchmark", of("bench.csv")),
        ("import", of("import.csv")),
        ("header", text(&format!("{header}\n"))),
        ("broken rows", text(&format!("{header}\n{}", rows.replacen("ok", "perhaps", 1)))),
        ("metadata", of("sweep.meta.json")),
        ("metadata of a benchmark", of("bench.meta.json")),
        ("torn metadata", There::Bytes(torn)),
        ("journal", text("run 1b4e28ba\nstart b4.vec4.par.rake.wg64 1024\nend\n")),
        ("pairs", text("n_elements,config_id,round,base_1_ns,new_1_ns,base_2_ns,new_2_ns\n")),
        ("lock", text("process 17, since 2026-01-01T00:00:00Z\n")),
        ("page", of("page.html")),
        ("picture", of("picture.svg")),
        ("t4", of("rows.t4.json")),
        ("json", of("rows.json")),
        ("csv", of("rows.csv")),
        ("pack", of("rows.scanpack")),
        ("kernels", of("kernels/README.md")),
        ("foreign readme", text("# Scan kernels\n\nof mine\n")),
        ("foreign text", text("my notes\n")),
        ("foreign page", text("<!DOCTYPE html>\n<html><body>mine</body></html>\n")),
        ("foreign picture", text("<svg xmlns=\"http://www.w3.org/2000/svg\"><text>mine</text></svg>\n")),
        ("foreign table", text("n,time\n1,2\n")),
        ("notes in the journal", text("run 1 was slow, fan loud\n")),
        ("picture about scanbox", text("<svg xmlns=\"x\"><text>CUB, scanbox and others</text></svg>\n")),
        ("foreign document", text("{\"schema_version\":\"1.0.0\",\"results\":[]}\n")),
        ("foreign array", text("[\n{\"schema\":1,\"a\":2}\n]\n")),
        ("foreign bytes", There::Bytes(vec![0, 159, 146, 150, 255, 10, 0])),
        ("folder", There::Folder),
        ("pipe", There::Pipe),
        ("dead link", There::DeadLink),
    ]);
    for (word, noted, older, name) in [
        ("fallbacks", "fallbacks and notes", "older fallbacks", "plots/fallbacks.csv"),
        ("throughput", "throughput and notes", "older throughput", "plots/replay.throughput.csv"),
        ("pipelines", "pipelines and notes", "older pipelines", "pipelines.csv"),
    ] {
        kinds.insert(word, of(name));
        // With a column of the user's own.
        let table = String::from_utf8(fs::read(place.folder().join(name)).unwrap()).unwrap();
        let table: String = table.lines().map(|line| format!("{line},note\n")).collect();
        kinds.insert(noted, There::Bytes(table.into_bytes()));
        // Of an older version, which had fewer columns.
        let fewer: String = String::from_utf8(fs::read(place.folder().join(name)).unwrap())
            .unwrap()
            .lines()
            .map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0))
            .collect();
        kinds.insert(older, There::Bytes(fewer.into_bytes()));
    }
    for (word, name) in [("linked sweep", "sweep.csv"), ("linked page", "page.html")] {
        kinds.insert(word, There::Link(true, name));
    }
    kinds
}

/// What has to happen: the file becomes the output, or stays as it is.
fn may_write(case: &Case, kind: &str) -> bool {
    let own = match case.writes {
        // Rows are appended to those of a sweep; the same rows as CSV are a sweep, too.
        "sweep" => &["sweep", "csv", "header", "linked sweep"][..],
        "benchmark" => &["benchmark"],
        "picture" => &["picture"],
        "page" => &["page"],
        "t4" => &["t4"],
        "json" => &["json"],
        "pack" => &["pack"],
        "kernels" => &["kernels"],
        "table" if case.command == "bench" => &["fallbacks", "older fallbacks"],
        "table" => &["throughput", "older throughput"],
        "pipelines" => &["pipelines", "older pipelines"],
        // Rows of a sweep are replaced where they were merged: `merge::bad_input`.
        "import" | "csv" | "pairs" | "merged" => &[],
        other => panic!("{other}"),
    };
    ["nothing", "empty"].contains(&kind)
        || own.contains(&kind)
        || (kind == "linked page" && case.writes == "page")
        // Two plots of one shape.
        || (case.writes == "table" && kind == "throughput" && case.command == "report")
}

/// A folder with one file of each kind, which the tests copy from.
fn sources() -> Place {
    let place = Place::in_memory("");
    fs::write(place.folder().join("space.csv"), crate::sweeps::SPACE.replace("2^10..2^16", "1024,4096"))
        .unwrap();
    fs::write(place.folder().join("times.csv"), "n_elements,steady_ns_median\n4096,1000\n").unwrap();
    let run = |args: &[&str]| drop(place.run(args, 0));
    run(&["sweep", "--device", "replay:replay.toml", "--space", "./space.csv", "--out", "sweep.csv"]);
    run(&[
        "bench",
        CONFIG,
        "--device",
        "replay:replay.toml",
        "--sizes",
        "4096",
        "--rounds",
        "1",
        "--out",
        "bench.csv",
        "--plot",
        "picture.svg",
    ]);
    let of = |option: &str, writes: &str| {
        cases().into_iter().find(|case| case.option == option && case.writes == writes).unwrap()
    };
    run(&[of("out", "import").line, &["import.csv"]].concat());
    for (name, writes) in [("rows.t4.json", "t4"), ("rows.json", "json"), ("rows.csv", "csv")] {
        run(&[of("output", writes).line, &[name]].concat());
    }
    run(&[of("output", "kernels").line, &["kernels"]].concat());
    run(&[of("output", "pack").line, &["rows.scanpack"]].concat());
    run(&[of("compile", "pipelines").line, &["pipelines.csv"]].concat());
    for command in ["report", "bench"] {
        let case = cases().into_iter().find(|case| case.command == command && case.option == "plots");
        run(&[case.unwrap().line, &["plots"]].concat());
    }
    place
}

/// Files as they are: what a pipe or a folder holds is nothing.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                found.insert(
                    path.clone(),
                    fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes(),
                );
            } else if kind.is_fifo() {
                found.insert(path, Vec::new());
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for (path, bytes) in contents(from) {
        let place = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }
}

fn put(there: &There, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match there {
        There::Nothing => drop(fs::remove_file(path)),
        There::Bytes(bytes) => fs::write(path, bytes).unwrap(),
        There::Folder => {
            let _ = fs::remove_file(path);
            fs::create_dir_all(path).unwrap();
        }
        There::Pipe => {
            let _ = fs::remove_file(path);
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        There::DeadLink => {
            let _ = fs::remove_file(path);
            symlink("nowhere", path).unwrap();
        }
        There::Link(symbolic, name) => {
            let _ = fs::remove_file(path);
            let target = path.parent().unwrap().join(name);
            if *symbolic { symlink(target, path).unwrap() } else { fs::hard_link(target, path).unwrap() }
        }
    }
}

/// Runs the command of a case, and sees that either nothing has changed and the user knows why, or that it has written.
#[track_caller]
fn check(place: &Place, case: &Case, out: &str, may: bool, file: &str, what: &str) {
    let before = contents(place.folder());
    let ran = ended(place.scanbox(case.line).arg(out).output().unwrap());
    let who = format!("{} --{} over {what}: {}", case.command, case.option, ran.stderr);
    if may {
        assert_eq!(ran.code, Some(0), "{who}");
        let path = place.folder().join(file);
        assert!(path.is_file() && fs::metadata(&path).unwrap().len() > 0, "{who}");
        return;
    }
    assert_eq!(ran.code, Some(1), "{who}");
    assert!(ran.stderr.contains(&format!("--{}", case.option)), "no way out: {who}");
    let name = Path::new(file).file_name().unwrap().to_string_lossy().into_owned();
    assert!(ran.stderr.contains(&name), "which file: {who}");
    for (path, bytes) in &before {
        let name = path.display();
        assert!(contents(place.folder()).get(path) == Some(bytes), "{name} has changed: {who}");
    }
    assert!(!ran.stderr.contains("compiling"), "work was done before it was refused: {who}");
}

#[test]
fn every_output_leaves_alone_what_is_not_its_own() {
    let sources = sources();
    let kinds = kinds(&sources);
    for case in cases() {
        for (kind, there) in &kinds {
            let folder_out = case.out != case.file;
            // A pipe waits for its reader; what is written to one is tried with a device below.
            let rows = ["sweep", "merged", "benchmark", "table", "pipelines"].contains(&case.writes);
            if *kind == "pipe" && !rows {
                continue;
            }
            let place = Place::in_memory("");
            copy(sources.folder(), place.folder());
            if folder_out {
                drop(fs::remove_dir_all(place.folder().join("plots")));
            }
            // A link in a folder of plots would need another target.
            if folder_out && matches!(there, There::Link(..)) {
                continue;
            }
            put(there, &place.folder().join(case.file));
            // Of linked files, what they lead to is no input here.
            if *kind == "linked sweep" && case.writes == "sweep" {
                fs::copy(place.folder().join("sweep.meta.json"), place.folder().join("x.meta.json")).unwrap();
            }
            check(&place, &case, case.out, may_write(&case, kind), case.file, kind);
            if *kind == "linked page" && case.writes == "page" {
                assert!(place.folder().join(case.file).is_symlink(), "a link stays one");
            }
        }
    }
}

#[test]
fn where_nothing_can_be_written_no_work_is_done() {
    let sources = sources();
    for case in cases() {
        // Files of the system's own folder are made by nobody. A missing folder is made for rows, and for many files.
        let is_made =
            case.out != case.file || ["sweep", "benchmark", "merged", "import"].contains(&case.writes);
        for (folder, may) in [("/proc", false), ("missing", is_made)] {
            let place = Place::in_memory("");
            copy(sources.folder(), place.folder());
            let (out, before) = (format!("{folder}/{}", case.out), contents(place.folder()));
            let ran = ended(place.scanbox(case.line).arg(&out).output().unwrap());
            let who = format!("{} --{} {out}: {}", case.command, case.option, ran.stderr);
            assert_eq!(ran.code, Some(i32::from(!may)), "{who}");
            assert_eq!(place.folder().join(folder).join(case.file).exists(), may, "{who}");
            if !may {
                assert!(ran.stderr.contains(&format!("--{}", case.option)), "no way out: {who}");
                assert!(ran.stderr.contains(folder), "where: {who}");
                assert!(!ran.stderr.contains("compiling"), "work was done before it was refused: {who}");
                assert!(contents(place.folder()) == before, "something was written: {who}");
            }
        }
    }
}

#[test]
fn no_input_is_an_output_however_it_is_spelled() {
    let sources = sources();
    for case in cases().iter().filter(|case| !case.input.is_empty()) {
        let stem = case.input.strip_suffix(".csv").unwrap();
        let csv = |name: &str| name.to_owned();
        let mut spellings = vec![
            (csv(case.input), case.input.to_owned()),
            (format!("./{}", case.input), case.input.to_owned()),
            (format!("plots/../{}", case.input), case.input.to_owned()),
            ("link.csv".to_owned(), case.input.to_owned()),
            ("hard.csv".to_owned(), case.input.to_owned()),
            (format!("{stem}.meta.json"), format!("{stem}.meta.json")),
            (format!("{stem}.journal"), format!("{stem}.journal")),
            (format!("{stem}.lock"), format!("{stem}.lock")),
        ];
        // What names no CSV is a folder to a sweep.
        if case.writes == "sweep" {
            spellings.truncate(5);
        }
        for (spelling, file) in spellings {
            for is_there in [true, false] {
                let place = Place::in_memory("");
                copy(sources.folder(), place.folder());
                let path = |name: &str| place.folder().join(name);
                symlink(path(case.input), path("link.csv")).unwrap();
                fs::hard_link(path(case.input), path("hard.csv")).unwrap();
                let is_companion = file != case.input;
                if !is_there {
                    if !is_companion {
                        continue;
                    }
                    drop(fs::remove_file(path(&file)));
                }
                check(&place, case, &spelling, false, &spelling, &format!("the input as {spelling}"));
                assert!(is_there || !path(&file).exists(), "{spelling} of {}", case.command);
            }
        }
    }
}

#[test]
fn devices_are_written_to_and_stay() {
    let sources = sources();
    for case in cases().iter().filter(|case| case.out == case.file) {
        let rows = ["sweep", "merged", "benchmark", "pipelines"].contains(&case.writes);
        // What names no CSV is a folder to a sweep.
        if case.writes == "sweep" {
            continue;
        }
        for device in ["/dev/null", "/dev/stdout"] {
            // A pack is no text, which the output of a command is taken for here.
            if case.writes == "pack" && device == "/dev/stdout" {
                continue;
            }
            let ran = ended(sources.scanbox(case.line).arg(device).output().unwrap());
            assert_eq!(ran.code, Some(i32::from(rows)), "{} {device}: {}", case.command, ran.stderr);
            let kind = fs::symlink_metadata("/dev/null").unwrap().file_type();
            assert!(kind.is_char_device() && Path::new("/dev/stdout").is_symlink());
        }
    }
}

#[test]
fn every_option_that_writes_is_tried() {
    let tried = |command: &str, option: &str| {
        cases().iter().any(|case| (case.command, case.option) == (command, option))
    };
    let mut writing = 0;
    for (command, option, purpose) in PATHS {
        if let Use::Write(writes) = purpose {
            assert!(tried(command, option), "{command} --{option} ({writes:?}) is not tried");
            writing += 1;
        }
    }
    assert!(writing >= 8 && PATHS.iter().any(|path| path.2 == Use::Write(Writes::Sweep)));
}
