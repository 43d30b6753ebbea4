//! Devices that are not there: what AMD's compiler says of kernels, by a driver that makes pipelines and runs none.
//!
//! The chip is that of a variable (`RADV_FORCE_FAMILY`). These tests need Mesa's RADV, and no GPU.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::machines::Machine;

/// A few kernels of one shape each.
const SPACE: &str = r#"name = "few"
sizes = "2^16"

[[block]]
family = ["chained-scan", "reduce-then-scan"]
batch_size = [2]
vector_width = ["vec4"]
workgroup_size = [128]
lookback = ["parallel", "none"]
block_scan = ["subgroup"]
"#;

/// AMD's driver, where it is installed.
#[allow(clippy::print_stderr, reason = "whoever reads the output of a test that did nothing has to know")]
fn radv() -> Option<PathBuf> {
    let files = fs::read_dir("/usr/share/vulkan/icd.d").into_iter().flatten().flatten();
    let found = files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("/radeon_icd"));
    if found.is_none() {
        eprintln!("not tested: no RADV in /usr/share/vulkan/icd.d");
    }
    found
}

/// Runs scanbox in a folder, where this driver makes pipelines for this chip.
fn run(folder: &Path, driver: &Path, chip: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = cargo_bin_cmd!("scanbox");
    command.current_dir(folder).args(arguments).env("VK_DRIVER_FILES", driver).env("RADV_FORCE_FAMILY", chip);
    command.env("COLUMNS", "120").env("SCANBOX_CACHE", folder.join("cache")).env("SCANBOX_LOCKS", folder);
    for name in ["VK_ICD_FILENAMES", "LP_NUM_THREADS", "SCANBOX_KERNELS", "SCANBOX_KNOWN_ISSUES"] {
        command.env_remove(name);
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = [stdout, stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (status.code().unwrap_or(-1), said)
}

/// The rows of a file, as the values of these columns.
fn rows<const N: usize>(file: &Path, columns: [&str; N]) -> Vec<[String; N]> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let header = reader.headers().unwrap().clone();
    let places = columns.map(|column| header.iter().position(|name| name == column).unwrap());
    reader.records().map(|row| row.unwrap()).map(|row| places.map(|place| row[place].to_owned())).collect()
}

/// Every way of scanning becomes a program of these chips, without anything that has no register.
#[test]
fn amds_compiler_takes_every_family_and_has_registers_for_it() {
    let Some(driver) = radv() else { return };
    let folder = tempfile::tempdir().unwrap();
    let check = |chip: &str, sizes: &str| {
        let assume = "workgroup-order,co-residency,subgroup-progress";
        let flags = ["space", "--space", "families", "--assume", assume, "--compile", "made.csv"];
        let (code, said) =
            run(folder.path(), &driver, chip, &[&flags[..], &["--subgroup-sizes", sizes]].concat());
        assert_eq!(code, 0, "{said}");
        let columns = ["config", "subgroup_size", "status", "reason", "registers", "subgroups_per_simd"];
        let made = rows(&folder.path().join("made.csv"), columns);
        for size in sizes.split(',') {
            let of_size: Vec<_> = made.iter().filter(|row| row[1] == size).collect();
            assert!(of_size.len() > 150, "{chip}: {} for subgroups of {size}", of_size.len());
            for [config, _, status, reason, registers, subgroups] in of_size {
                assert_eq!(status, "ok", "{chip}: {config} with subgroups of {size}: {reason}");
                let [registers, subgroups] = [registers, subgroups].map(|told| told.parse::<u32>().unwrap());
                assert!((4..=256).contains(&registers) && subgroups > 0, "{chip}: {config}: {registers}");
            }
        }
        let spilled = ["config", "spilled_registers", "spilled_scalar_registers", "scratch_bytes"];
        let mut spilling = rows(&folder.path().join("made.csv"), spilled);
        spilling
            .retain(|[_, vector, scalar, scratch]| [vector, scalar, scratch].iter().any(|told| *told != "0"));
        assert!(spilling.is_empty(), "{chip}: {spilling:?}");
    };
    check("gfx1100", "32,64");
    check("navi21", "32,64");
    check("vega10", "64");
}

/// A list of subgroup sizes is an axis of the space: labels say what is not the device's own choice, and the driver
/// makes what they say.
#[test]
fn pipelines_have_the_subgroup_size_of_their_label() {
    let Some(driver) = radv() else { return };
    let folder = tempfile::tempdir().unwrap();
    let all = SPACE.replace("workgroup_size", "subgroup_size = [\"all\"]\nworkgroup_size");
    fs::write(folder.path().join("all.toml"), all).unwrap();
    let sizes = |chip: &str| {
        let arguments = ["space", "--space", "all.toml", "--compile", "made.csv"];
        let (code, said) = run(folder.path(), &driver, chip, &arguments);
        assert_eq!(code, 0, "{said}");
        let made = rows(&folder.path().join("made.csv"), ["config", "subgroup_size", "made_for"]);
        assert!(!made.is_empty());
        made.into_iter().map(|[config, size, made_for]| (config.contains(".sg32."), size, made_for)).collect()
    };
    let row = |is_said: bool, size: &str| (is_said, size.to_owned(), size.to_owned());
    let both = BTreeSet::from([row(false, "64"), row(true, "32")]);
    let found: BTreeSet<(bool, String, String)> = sizes("navi21");
    assert_eq!(found, both);
    let found: BTreeSet<(bool, String, String)> = sizes("vega10");
    assert_eq!(found, BTreeSet::from([row(false, "64")]));
}

/// What runs something never gets a device that is not there, also not where it is the only one.
#[test]
fn nothing_runs_on_a_device_without_hardware() {
    let Some(driver) = radv() else { return };
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], code: i32, part: &str| {
        let (found, said) = run(folder.path(), &driver, "gfx1100", arguments);
        assert_eq!(found, code, "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: no `{part}` in {said}");
    };
    let none = "has no hardware";
    check(&["sweep", "--out", "rows.csv"], 3, none);
    check(&["sweep", "--device", "all", "--out", "rows"], 3, "");
    check(&["verify"], 3, none);
    check(&["bench", "b2.vec4.par.sub.wg128", "--sizes", "2^20"], 3, none);
    check(&["tune", "--folder", "tuned"], 3, none);
    check(&["devices"], 3, "makes pipelines, and runs none");
    check(&["devices", "--format", "json"], 3, r#""usable": false"#);
    check(&["doctor"], 3, "unset RADV_FORCE_FAMILY");
    // Its space is that of the chip.
    check(&["space", "--space", "quick"], 0, "subgroups of 64");
    assert!(!folder.path().join("rows.csv").exists());

    let Some(Machine::With(lavapipe)) = Machine::lavapipe() else { return };
    let both = PathBuf::from(format!("{}:{}", driver.display(), lavapipe.display()));
    let (_, said) = run(folder.path(), &both, "gfx1100", &["devices"]);
    assert!(said.contains(" 0  llvmpipe") && said.contains(" 1  Null hardware"), "{said}");
}

#[test]
fn what_cannot_be_asked_of_a_compiler_is_said() {
    let Some(driver) = radv() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("few.toml"), SPACE).unwrap();
    let few = ["space", "--space", "few.toml", "--compile", "made.csv"];
    let check = |chip: &str, more: &[&str], code: i32, part: &str| {
        let (found, said) = run(folder.path(), &driver, chip, &[&few, more].concat());
        assert_eq!(found, code, "{more:?}: {said}");
        assert!(said.contains(part), "{more:?}: no `{part}` in {said}");
    };
    check("gfx999", &[], 2, "RADV knows no such chip");
    check("", &[], 2, "RADV knows no such chip");
    check("vega10", &["--subgroup-sizes", "32"], 2, "no subgroups of 32; it has 64");
    check("vega10", &["--subgroup-sizes", "many"], 2, "invalid");
    check("vega10", &["--filter", "batch_size=3"], 2, "no config");
    check("vega10", &[], 0, "pipelines of space few");
    // A file of its own kind is replaced, another one is not.
    check("gfx1100", &["--subgroup-sizes", "32"], 0, "");
    let sizes = rows(&folder.path().join("made.csv"), ["subgroup_size"]);
    assert!(!sizes.is_empty() && sizes.iter().all(|[size]| size == "32"), "{sizes:?}");
    fs::write(folder.path().join("made.csv"), "mine\n").unwrap();
    check("vega10", &[], 1, "stays as it is");

    // A driver that tells nothing has rows all the same.
    let Some(Machine::With(lavapipe)) = Machine::lavapipe() else { return };
    let arguments = ["space", "--space", "few.toml", "--compile", "lavapipe.csv"];
    let (code, said) = run(folder.path(), &lavapipe, "", &arguments);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the driver tells nothing of its pipelines"), "{said}");
    let made = rows(&folder.path().join("lavapipe.csv"), ["status", "registers"]);
    assert!(!made.is_empty() && made.iter().all(|row| *row == ["ok", ""]), "{made:?}");
}
