//! `scripts/bounds`: kernels that do less than a scan are right all the same, on lavapipe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use rustix::process::Signal;
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};

use crate::machines::Machine;
use crate::sweeps::{signal, wait_until};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/bounds").canonicalize().unwrap()
}

fn run(folder: &Path, driver: &Path, arguments: &[&str]) -> Output {
    command(folder, driver, arguments).output().unwrap()
}

fn command(folder: &Path, driver: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(script());
    command.current_dir(folder).args(arguments).env("SCANBOX", cargo_bin("scanbox"));
    command.env("SCANBOX_LOCKS", folder).env("SCANBOX_CACHE", folder.join("cache"));
    command.env("VK_DRIVER_FILES", driver).env("LP_NUM_THREADS", "1");
    command
}

/// The table that the script makes of a sweep, which is in `folder` then, as are the rows in `out`.
fn table(folder: &Path, driver: &Path, sweep: &str, arguments: &[&str]) -> String {
    fs::write(folder.join("sweep.csv"), sweep).unwrap();
    let common = ["sweep.csv", "--rounds", "1", "--share-device", "--out", "out"];
    let output = run(folder, driver, &[&common[..], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Rows of a sweep as the script reads them: one config for each size.
const SWEEP: &str = "\
status,element,op,mode,reset,n_elements,config_id,steady_ns_median,confirmed_ns
ok,u32,add,inclusive,epoch,1000,b4.vec4.gather.sub.shuffle.striped.wgid.early.block.wg128,2000,1999
ok,u32,add,inclusive,epoch,1000,redo.b1.vec2.none.sub.shuffle.striped.block.wg128,1000,
ok,u32,add,inclusive,epoch,1000,b4.vec4.two.sub.shuffle.striped.wgid.early.block.wg128,1,1
ok,u32,add,exclusive,epoch,1000,b1.vec4.gather.sub.shuffle.striped.wgid.early.block.wg128,1,1
ok,u32,add,inclusive,epoch,4096,b2.vec4.gather.sub.shuffle.striped.wgid.early.block.wg128,3000,
ok,u32,add,inclusive,epoch,4096,b2.vec4.gather.sub.shuffle.striped.wgid.early.baked.wg128,2000,
wrong_result,u32,add,inclusive,epoch,4096,b1.vec4.gather.sub.shuffle.striped.wgid.early.block.wg128,1,1
";

#[test]
fn kernels_that_do_less_are_right_and_stand_in_one_table() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), &driver, SWEEP, &["--sizes", "1001,2^12", "--top", "1"]);
    // Of each size a line with seven times, six of them as shares.
    let lines: Vec<Vec<&str>> = table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    let sizes: Vec<&str> = lines.iter().map(|words| words[0]).collect();
    assert_eq!(sizes, ["1001", "4096"], "{table}");
    for words in &lines {
        assert_eq!(words.len(), 2 + 2 * 6, "{table}");
        assert!(
            words[1..].iter().all(|word| word.trim_end_matches('%').parse::<f64>().is_ok_and(|x| x > 0.0))
        );
    }
    // Each kernel's rows are of its own sources.
    let mut hashes: Vec<String> = ["scan", "no-wait", "no-look", "no-scan", "moves"]
        .iter()
        .map(|name| {
            let rows: Vec<Record> =
                csv_file::read(&folder.path().join("out").join(format!("bounds-{name}.csv")))
                    .unwrap()
                    .records;
            assert_eq!(rows.len(), 2, "{name}");
            assert!(rows.iter().all(|row| row.status == Status::Ok && row.mismatches == Some(0)), "{rows:?}");
            rows[0].kernel_hash.clone()
        })
        .collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
    let show = || run(folder.path(), &driver, &["--show", "out"]);
    assert_eq!(String::from_utf8_lossy(&show().stdout), table);
    // A run that fails leaves what was there, and nothing beside it.
    let notes = folder.path().join("out/bounds-notes.txt");
    fs::write(&notes, "mine").unwrap();
    let failed =
        run(folder.path(), &driver, &["sweep.csv", "--out", "out", "--device", "9", "--sizes", "5000"]);
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(1) && said.contains("there is no device `9`"), "{said}");
    assert!(said.contains("5000: the fastest configs of 4096"), "{said}");
    assert_eq!(String::from_utf8_lossy(&show().stdout), table);
    assert!(notes.is_file());
    let outs = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("out")).count()
    };
    assert_eq!(outs(), 1);
    // So does one that is ended.
    for (ending, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let endless = ["sweep.csv", "--out", "out", "--share-device", "--rounds", "9999"];
        let mut child = command(folder.path(), &driver, &endless).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the earlier run is out of the way", || outs() == 2);
        assert!(signal(child.id(), ending));
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(String::from_utf8_lossy(&show().stdout), table);
        assert_eq!(outs(), 1);
    }
    // A size without copies is no table.
    fs::write(folder.path().join("out/bounds-built-in-1001.csv"), SWEEP).unwrap();
    let lacking = show();
    let said = String::from_utf8_lossy(&lacking.stderr);
    assert!(
        lacking.status.code() == Some(1) && said.contains("out lacks rows; measure them again"),
        "{said}"
    );
}

#[test]
fn baked_arguments_have_a_table_of_their_own() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), &driver, SWEEP, &["--arguments", "baked", "--sizes", "2^12"]);
    let words: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert!(words.len() == 2 + 2 * 6 && words[0] == "4096", "{table}");
    let rows = csv_file::read(&folder.path().join("out/bounds-moves.csv")).unwrap().records;
    assert!(rows.iter().all(|row| row.config_id.contains(".baked.") && row.status == Status::Ok), "{rows:?}");
}

/// What a kernel does decides how many registers it takes, so some may not fit where others do.
#[test]
fn kernels_that_the_device_does_not_run_are_dashes() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let many = "pers.b4.vec4.gather.sub.shuffle.striped.wgid.early.block.wg64.u64";
    let (columns, _) = SWEEP.split_once('\n').unwrap();
    let sweep = format!("{columns}\nok,u32,add,inclusive,epoch,100000,{many},1000,\n");
    let table = table(folder.path(), &driver, &sweep, &["--sizes", "100000"]);
    let words: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!((words.len(), &words[2..]), (8, &["-"; 6][..]), "{table}");
}

#[test]
fn bad_input_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("none.csv"),
        "status,element,op,mode,reset,n_elements,config_id,steady_ns_median\n",
    )
    .unwrap();
    fs::write(folder.path().join("other.csv"), "a,b\n1,2\n").unwrap();
    fs::write(folder.path().join("short.csv"), "status,element\nok,u32\n").unwrap();
    fs::write(folder.path().join("bytes.csv"), [0xff, 0xfe, b'\n', 0x00]).unwrap();
    let baked = SWEEP.lines().filter(|line| line.contains("status") || line.contains(".baked."));
    fs::write(folder.path().join("baked.csv"), baked.collect::<Vec<_>>().join("\n")).unwrap();
    // Somebody else's folder.
    fs::create_dir_all(folder.path().join("out/bounds-scan-kernels")).unwrap();
    for (arguments, code, part) in [
        (&[][..], 2, "name a sweep, or --show a folder, or --check"),
        (&["none.csv", "--check"], 2, "name a sweep, or --show a folder, or --check"),
        (&["missing.csv"], 1, "missing.csv: No such file"),
        (&["other.csv"], 1, "other.csv has no rows of scanbox"),
        (&["short.csv"], 1, "short.csv has no rows of scanbox"),
        (&["bytes.csv"], 1, "bytes.csv has no rows of scanbox"),
        (&["none.csv"], 1, "has no sums of u32 with arguments = block"),
        (&["--check"], 1, "scan-kernels: File exists"),
        (&["baked.csv"], 1, "no sums of u32 with arguments = block; try --arguments baked"),
        (&["none.csv", "--sizes", "many"], 2, "`many`: sizes are as in 2^16..2^22,1000"),
        (&["none.csv", "--sizes", "1000,0"], 2, "`0`: sizes are"),
        (&["none.csv", "--sizes", "12..14"], 2, "`12..14`: sizes are"),
        (&["none.csv", "--sizes", "2^14..2^12"], 2, "`2^14..2^12`: sizes are"),
        (&["none.csv", "--sizes", "2^32"], 2, "`2^32`: sizes are"),
        (&["none.csv", "--sizes=2^-1"], 2, "`2^-1`: sizes are"),
        (&["none.csv", "--top", "0"], 2, "`0` is not a number from 1"),
        (&["none.csv", "--rounds=-1"], 2, "`-1` is not a number from 1"),
        (&["--show", "out"], 1, "bounds.toml: No such file"),
    ] {
        let output = run(folder.path(), Path::new("/nonexistent"), &[arguments, &["--out", "out"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(part), "{arguments:?}: {said}");
        assert!(!said.contains("Traceback"), "{said}");
    }
}
