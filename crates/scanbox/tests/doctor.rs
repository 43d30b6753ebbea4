//! `scanbox doctor` as a user runs it: with a device, without a loader, without a driver, with folders in the way.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::machines::{Machine, run};

/// Runs the doctor in an empty folder, with the cache in it.
fn doctor(machine: Machine, prepare: impl Fn(&Path), arguments: &[&str]) -> crate::machines::Answer {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    run(folder.path(), machine, &[&["doctor"], arguments].concat())
}

/// What the doctor finds, as (verdict, check, found, fix).
fn findings(machine: Machine, prepare: impl Fn(&Path), arguments: &[&str], code: i32) -> Vec<[String; 4]> {
    let answer = doctor(machine, prepare, &[arguments, &["--format", "json"]].concat());
    assert_eq!(answer.code, code, "{}{}", answer.out, answer.err);
    let diagnosis: Value = serde_json::from_str(&answer.out).unwrap();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let one = |finding: &Value| ["verdict", "check", "found", "fix"].map(|key| text(finding, key));
    diagnosis["findings"].as_array().unwrap().iter().map(one).collect()
}

/// The finding of this check says this, with this verdict; a fix is there if and only if something is to be fixed.
#[track_caller]
fn check(findings: &[[String; 4]], check: &str, verdict: &str, part: &str) {
    for [verdict, check, _, fix] in findings {
        assert_eq!(verdict == "ok", fix.is_empty(), "{check}");
    }
    let says = |[v, c, found, _]: &&[String; 4]| c == check && v == verdict && found.contains(part);
    assert!(
        findings.iter().any(|finding| says(&finding)),
        "no {verdict} `{part}` of {check} in {findings:#?}"
    );
}

fn nothing(_: &Path) {}

#[test]
fn a_software_device_is_usable_and_a_warning() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let found = findings(lavapipe, nothing, &[], 0);
    check(&found, "Vulkan loader", "ok", "Vulkan 1.");
    check(&found, "driver files", "ok", "lvp in what VK_DRIVER_FILES names");
    check(&found, "device 0", "ok", "it has what kernels need");
    check(&found, "device 0: 64-bit atomics", "ok", "yes");
    check(&found, "device 0: reconvergence", "ok", "the device has no maximal reconvergence");
    check(&found, "device 0: timestamps", "ok", "64 bits, 1 ns per tick");
    check(&found, "device 0: subgroups", "ok", "invocations");
    check(&found, "device 0: guarantees", "ok", "beyond what Vulkan promises, the device gives progress");
    // The list of devices says nothing of the order any more: nobody has shown it here.
    assert!(found.iter().all(|[_, _, text, _]| !text.contains("workgroup-order")), "{found:#?}");
    check(&found, "device 0: known issue", "ok", "remedied with LP_NUM_THREADS=1");
    check(&found, "default device", "warning", "its times mean nothing for GPUs");
    check(&found, "cache folder", "ok", "not there yet, will be made");
    check(&found, "results folder", "ok", "not there yet, will be made");
    // A software device that is asked for is no mistake.
    let lavapipe = Machine::lavapipe().unwrap();
    let found = findings(lavapipe, nothing, &["--device", "llvmpipe"], 0);
    assert!(found.iter().all(|[_, check, ..]| check != "default device"), "{found:#?}");
}

#[test]
fn the_table_fits_the_terminal_and_counts() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let answer = doctor(lavapipe, nothing, &[]);
    assert_eq!(answer.code, 0);
    assert!(answer.out.lines().all(|line| line.chars().count() <= 80), "{}", answer.out);
    assert!(answer.out.starts_with("ok       Vulkan loader "), "{}", answer.out);
    assert!(answer.out.contains("\n0 problems, "), "{}", answer.out);
}

#[test]
fn a_machine_without_a_loader_hears_what_to_install() {
    let found = findings(Machine::WithoutLoader, nothing, &[], 3);
    check(&found, "Vulkan loader", "problem", "not found");
    check(&found, "cache folder", "ok", "");
    assert!(found[0][3].contains("apt install libvulkan1"), "{found:#?}");
    assert!(found.iter().all(|[_, check, ..]| !check.starts_with("device ")), "{found:#?}");
}

#[test]
fn a_machine_without_a_driver_hears_which_variable_is_to_blame() {
    let found = findings(Machine::WithoutDriver, nothing, &[], 3);
    check(&found, "Vulkan loader", "ok", "Vulkan 1.");
    check(&found, "driver files", "problem", "VK_DRIVER_FILES names /nonexistent");
    check(&found, "devices", "problem", "the loader finds no device");
}

#[test]
fn a_device_that_does_not_exist_is_told_from_those_that_do() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let found = findings(lavapipe, nothing, &["--device", "7"], 3);
    check(&found, "devices", "problem", "there is no device `7`; there is 0: llvmpipe");
}

#[test]
fn a_file_in_place_of_a_folder_is_a_problem() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let in_the_way = |folder: &Path| {
        fs::write(folder.join("cache"), "").unwrap();
        fs::write(folder.join("results"), "").unwrap();
    };
    let found = findings(lavapipe, in_the_way, &[], 1);
    check(&found, "cache folder", "problem", "cache is not a folder");
    check(&found, "results folder", "problem", "results is not a folder");
    let found = findings(Machine::lavapipe().unwrap(), nothing, &["--kernels", "nowhere"], 1);
    check(&found, "kernel sources", "problem", "kernel sources nowhere: No such file");
}

#[test]
fn nothing_is_made() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), lavapipe, &["doctor"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
