//! What a device may lack, and how it may go, by WebGPU: the software device of Mesa behind a driver with that fault.

use std::process::Command;

use super::*;

/// A driver with faults, which its source names.
fn faulty(folder: &Path, faults: &[&str]) -> Option<Machine> {
    let Machine::With(json) = Machine::lavapipe()? else { return None };
    let text = fs::read_to_string(json).unwrap();
    let mut driver: Value = serde_json::from_str(&text).unwrap();
    let real = driver["ICD"]["library_path"].as_str().unwrap().to_owned();
    let library = folder.join("faulty.so");
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
    command.arg(format!("-DREAL=\"{real}\"")).args(faults);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webgpu/faulty_driver.c"));
    let made = command.arg("-o").arg(&library).arg("-ldl").output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    driver["ICD"]["library_path"] = library.to_str().unwrap().into();
    let json = folder.join("faulty.json");
    fs::write(&json, driver.to_string()).unwrap();
    Some(Machine::With(json))
}

#[test]
fn a_device_without_timestamps_is_timed_by_the_host() {
    let fixture = Fixture::new();
    let Some(machine) = faulty(fixture.path(), &["-DNO_TIMESTAMPS"]) else { return };
    fixture.check(&machine, SWEEP, 0, &[]);
    let rows = fixture.rows();
    assert!(rows.len() >= 9, "{}", rows.len());
    for row in rows {
        assert_eq!(
            (row.status, row.timer),
            (Status::Ok, Some(Timer::Wall)),
            "{}: {}",
            row.config_id,
            row.reason
        );
        assert!(row.steady.as_ref().is_some_and(|steady| steady.median_ns > 0), "{}", row.config_id);
    }
}

#[test]
fn a_device_without_subgroups_runs_what_needs_none() {
    let fixture = Fixture::new();
    let Some(machine) = faulty(fixture.path(), &["-DNO_SUBGROUPS"]) else { return };
    fixture.check(&machine, SWEEP, 0, &[]);
    for row in fixture.rows() {
        assert_eq!(
            (row.status, row.subgroup_size),
            (Status::Ok, Some(1)),
            "{}: {}",
            row.config_id,
            row.reason
        );
    }
    let labels = ["b1.vec4.fallback.sub.wg64", "b2.vec4.gather.sub.wg64", "rts.b2.vec4.none.sub.wg64"];
    let verify = [&["verify", "--api", "webgpu", "--sizes", "100,5000"], &labels[..]].concat();
    fixture.check(&machine, &verify, 0, &["3 ok"]);
    let parallel = ["verify", "--api", "webgpu", "b1.vec4.par.sub.wg64", "--sizes", "5000"];
    fixture.check(&machine, &parallel, 2, &["needs-subgroups"]);
}

#[test]
fn a_device_that_is_lost_costs_a_row_at_most_and_a_worker() {
    let fixture = Fixture::new();
    let file = fixture.path().join("loses");
    let Some(machine) = faulty(fixture.path(), &[&format!("-DLOSES=\"{}\"", file.display())]) else { return };
    let Machine::With(driver) = machine else { return };
    let child = start(&fixture, &driver);
    wait_until("a config in flight", || is_in_flight(&fixture));
    fs::write(&file, "").unwrap();
    let ended = wait(child);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(0), "{said}");
    assert!(!file.exists());
    let rows = fixture.rows();
    let points: BTreeSet<_> = rows.iter().map(|row| (row.config_id.clone(), row.n_elements)).collect();
    assert_eq!((points.len(), rows.len()), (9, 9));
    let lost: Vec<&Record> = rows.iter().filter(|row| row.status != Status::Ok).collect();
    assert!(lost.len() <= 1, "{lost:?}");
    for row in &lost {
        assert!(row.status == Status::DeviceLost && row.steady.is_none(), "{row:?}");
    }
    // Where it fell on a copy, nobody is to blame, and that is said.
    let reasons = lost.iter().map(|row| &row.reason).chain([&said]);
    assert!(reasons.into_iter().any(|text| text.contains("wgpu: the device was lost: ")), "{said}");
}
