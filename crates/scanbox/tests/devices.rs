//! `scanbox devices` and `scanbox space` as a user runs them: what they show, and what they say where they cannot.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use scanbox_model::csv_file;
use scanbox_model::record::{Record, SCHEMA, Status, TimeStats};
use serde_json::Value;

use crate::machines::{Answer, Machine, run};

const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/space/nvidia-h200.meta.json");

const SPACE: &str = r#"name = "example"
sizes = "2^12..2^14"

[[block]]
family = ["chained-scan"]
batch_size = [1]
vector_width = ["vec4"]
workgroup_size = [64]
workgroups = "16..device"
lookback = ["parallel"]
block_scan = ["raking"]
"#;

fn run_once(machine: Machine, arguments: &[&str]) -> Answer {
    run(tempfile::tempdir().unwrap().path(), machine, arguments)
}

/// The run ends with this code; one of its outputs has each of the parts.
#[track_caller]
fn check(answer: &Answer, code: i32, parts: &[&str]) {
    let Answer { out, err, .. } = answer;
    assert_eq!(answer.code, code, "{out}{err}");
    for part in parts {
        assert!(out.contains(part) || err.contains(part), "no `{part}` in:\n{out}{err}");
    }
}

/// The loader hides drivers that stand on another interface from programs that do not ask for them.
#[test]
fn a_driver_on_another_interface_is_found_and_used() {
    let Some(Machine::With(lavapipe)) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(lavapipe).unwrap()).unwrap();
    manifest["ICD"]["is_portability_driver"] = Value::from(true);
    let driver = folder.path().join("portable.json");
    fs::write(&driver, manifest.to_string()).unwrap();
    let on = |arguments: &[&str]| run(folder.path(), Machine::With(driver.clone()), arguments);
    check(&on(&["devices"]), 0, &[" 0  llvmpipe", "usable   yes"]);
    check(&on(&["doctor"]), 0, &["portable in what VK_DRIVER_FILES names", "it has"]);
    check(&on(&["verify", "one.b1.vec4.none.rake.wg64", "--sizes", "100"]), 0, &["ok"]);
    // A size of subgroups that is said is that of the device, which has one; it has no other.
    let devices: Value = serde_json::from_str(&on(&["devices", "--format", "json"]).out).unwrap();
    let size = &devices[0]["profile"]["subgroup_size"];
    let said = format!("one.b1.vec4.none.rake.sg{size}.wg64");
    check(&on(&["verify", &said, "--sizes", "100"]), 0, &["1 ok"]);
    let other = "one.b1.vec4.none.rake.sg128.wg128";
    check(&on(&["verify", other, "--sizes", "100"]), 2, &["subgroup-size-limit"]);
}

#[test]
fn devices_are_listed_with_what_they_can_do() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let answer = run_once(lavapipe.clone(), &["devices"]);
    check(
        &answer,
        0,
        &[" 0  llvmpipe", "kind     software: ", "64-bit atomics\n", "promises beyond what", "usable   yes"],
    );
    assert!(answer.out.lines().all(|line| line.chars().count() <= 80), "{}", answer.out);
    let answer = run_once(lavapipe, &["devices", "--format", "json"]);
    check(&answer, 0, &[]);
    let devices: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((&devices[0]["index"], &devices[0]["usable"]), (&Value::from(0), &Value::from(true)));
    let gives = serde_json::json!(["progress"]);
    assert_eq!(devices[0]["profile"]["guarantees"], gives);
}

#[test]
fn without_a_loader_or_a_driver_commands_say_what_to_install() {
    for arguments in [&["devices"][..], &["space"], &["sweep"], &["sweep", "--device", "0"]] {
        let answer = run_once(Machine::WithoutLoader, arguments);
        check(&answer, 3, &["there is no Vulkan loader", "install it"]);
        let answer = run_once(Machine::WithoutDriver, arguments);
        check(&answer, 3, &["there is no Vulkan device", "mesa-vulkan-drivers", "VK_DRIVER_FILES"]);
    }
}

#[test]
fn what_needs_no_device_needs_no_loader() {
    let check_without = |arguments: &[&str], parts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        write_rows(&folder.path().join("a.csv"));
        check(&run(folder.path(), Machine::WithoutLoader, arguments), 0, parts);
    };
    check_without(&["--help"], &["scanbox sweep --device 0"]);
    check_without(&["--version"], &["scanbox "]);
    check_without(&["sweep", "--help"], &["--budget"]);
    check_without(&["analyze", "a.csv"], &["b1.vec4.par.rake.wg64.g16"]);
    check_without(&["space", "--profile", PROFILE], &["3600"]);
}

/// A sweep of one row.
fn write_rows(path: &Path) {
    let label = "b1.vec4.par.rake.wg64.g16";
    let time =
        TimeStats { median_ns: 1000, min_ns: 999, mean_ns: 1000, q1_ns: 999, q3_ns: 1001, stddev_ns: 1 };
    let record = Record {
        schema: SCHEMA,
        device: "Example".into(),
        subject: "scanbox".into(),
        config_id: label.into(),
        kernel_id: "b1.vec4.par.rake".into(),
        n_elements: 4096,
        element_bytes: 4,
        bytes_moved: 32_768,
        status: Status::Ok,
        samples: 9,
        steady: Some(time),
        ..Record::default()
    };
    csv_file::write(&mut fs::File::create(path).unwrap(), true, [&record]).unwrap();
}

#[test]
fn a_device_that_does_not_exist_is_told_from_those_that_do() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    for selector in ["7", "GeForce", "00000000-0000-0000-0000-000000000000"] {
        for command in ["space", "sweep"] {
            let answer = run_once(lavapipe.clone(), &[command, "--device", selector]);
            check(
                &answer,
                3,
                &[&format!("there is no device `{selector}`; there is 0: llvmpipe"), "(6d657361-"],
            );
        }
    }
}

#[test]
fn a_wrong_space_file_is_an_error_with_its_place() {
    let check_space = |from: &str, to: &str, parts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        assert!(SPACE.contains(from));
        fs::write(folder.path().join("space.toml"), SPACE.replace(from, to)).unwrap();
        let answer = run(folder.path(), Machine::WithoutLoader, &["space", "--space", "space.toml"]);
        check(&answer, 1, &[&["space.toml"], parts].concat());
    };
    check_space("lookback =", "look_back =", &["line 10", "unknown field `look_back`"]);
    check_space("[\"raking\"]", "[\"fast\"]", &["line 11", "`fast`"]);
    check_space("[1]", "[]", &["block 1", "`batch_size`", "the list is empty"]);
    check_space("[64]", "[8192]", &["block 1", "`workgroup_size`", "8192 is not a number from 1 to 4096"]);
    check_space("\"16..device\"", "\"16..\"", &["block 1", "`workgroups`", "`16..` is not a range"]);
    check_space("2^12..2^14", "2^12..2^99", &["line 2", "`2^99` is above 2^40"]);
    check_space("\"example\"", "\"An example\"", &["`name`", "lower-case letters"]);
    let answer = run_once(Machine::WithoutLoader, &["space", "--space", "gone.toml"]);
    check(&answer, 1, &["space file gone.toml"]);
    let answer = run_once(Machine::WithoutLoader, &["space", "--space", "theses"]);
    check(&answer, 2, &["there is no space `theses`", "thesis, quick"]);
}

#[test]
fn the_thesis_space_on_a_device_that_is_not_here() {
    let answer = run_once(Machine::WithoutLoader, &["space", "--profile", PROFILE]);
    check(&answer, 0, &[]);
    insta::with_settings!({snapshot_path => "fixtures/space", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("thesis_80", answer.out);
    });
    let answer = run_once(Machine::WithoutLoader, &["space", "--profile", PROFILE, "--format", "json"]);
    check(&answer, 0, &[]);
    let counts: Value = serde_json::from_str(&answer.out).unwrap();
    let expected = [("configs", 3600), ("kernels", 40), ("pipelines", 240), ("deterministic_kernels", 0)];
    for (key, count) in expected {
        assert_eq!(counts[key], Value::from(count), "{key}");
    }
    // A space with all families: what is deterministic is counted, and can be asked for alone.
    let count = |filter: &[&str]| {
        let arguments = ["space", "--profile", PROFILE, "--space", "families", "--format", "json"];
        let answer = run_once(Machine::WithoutLoader, &[&arguments[..], filter].concat());
        check(&answer, 0, &[]);
        let counts: Value = serde_json::from_str(&answer.out).unwrap();
        ["configs", "kernels", "deterministic_kernels"].map(|key| counts[key].as_u64().unwrap())
    };
    let ([all, all_kernels, some_kernels], [yes, yes_kernels, yes_again], [no, _, none]) =
        (count(&[]), count(&["--filter", "deterministic=yes"]), count(&["--filter", "deterministic=no"]));
    assert!((1000..2000).contains(&all), "{all} configs");
    assert!(some_kernels < all_kernels && yes_kernels == some_kernels && yes_again == some_kernels);
    assert_eq!((yes + no, none), (all, 0));
    let answer = run_once(Machine::WithoutLoader, &["space", "--profile", "gone.meta.json"]);
    check(&answer, 1, &["the profile is a metadata file", "gone.meta.json"]);
    // One that was changed: what is wrong with it is named.
    let whole: Value = serde_json::from_str(&fs::read_to_string(PROFILE).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let check_changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>), parts: &[&str]| {
        let mut changed = whole.clone();
        change(changed["device"].as_object_mut().unwrap());
        fs::write(folder.path().join("x.meta.json"), changed.to_string()).unwrap();
        for command in [&["space"][..], &["explain", "b4.vec4.par.rake.wg256"]] {
            let arguments = [command, &["--profile", "x.meta.json"]].concat();
            check(
                &run(folder.path(), Machine::WithoutLoader, &arguments),
                1,
                &[parts, &["x.meta.json"]].concat(),
            );
        }
    };
    check_changed(&|device| drop(device.remove("subgroup_size")), &["missing field `subgroup_size`"]);
    check_changed(&|device| drop(device.insert("subgroup_size".into(), 0.into())), &["subgroup_size is 0"]);
    check_changed(
        &|device| drop(device.insert("subgroup_size".into(), 16.into())),
        &["outside of its range 32 to 32"],
    );
    check_changed(
        &|device| drop(device.insert("min_subgroup_size".into(), 48.into())),
        &["min_subgroup_size is 48"],
    );
    check_changed(&|device| drop(device.insert("memory_bytes".into(), 0.into())), &["memory_bytes is 0"]);
}
