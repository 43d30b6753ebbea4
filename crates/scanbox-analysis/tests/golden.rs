//! Densities, trends, transfers and portability against `scripts/golden/devices.py`, which shares no code with them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rows::*;
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::density::densities;
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::lines::Lines;
use scanbox_analysis::portability::portability;
use scanbox_analysis::transfer::transfers;
use scanbox_analysis::trends::trends;
use scanbox_model::config::Parameter;
use scanbox_model::csv_file;
use scanbox_model::parameters::Cells;
use scanbox_model::record::{Record, Status};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}: {found}, not {expected}");
}

fn check(files: &[PathBuf]) {
    let script = root().join("scripts/golden/devices.py");
    let output = Command::new("python3").arg(script).args(files).output();
    let Ok(output) = output else {
        // Not silently: the harness shows this with --nocapture, CI has Python.
        let _ = writeln!(std::io::stderr(), "skipped: there is no python3 to compare with");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected: Value = serde_json::from_slice(&output.stdout).unwrap();

    let records: Vec<Vec<Record>> = files.iter().map(|file| csv_file::read(file).unwrap().records).collect();
    let sources: Vec<_> = records.iter().map(|records| source(records)).collect();
    let tables = tables_of(&sources, Runs::Latest).0;
    let lines: Vec<Lines<'_>> =
        tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect();
    let lines: Vec<&Lines<'_>> = lines.iter().collect();

    assert_eq!(expected["devices"].as_array().unwrap().len(), lines.len());
    for (lines, expected) in lines.iter().zip(expected["devices"].as_array().unwrap()) {
        let (found, _) = densities(lines.table);
        assert_eq!(found.len(), expected["densities"].as_array().unwrap().len());
        for (found, expected) in found.iter().zip(expected["densities"].as_array().unwrap()) {
            assert_eq!(Value::from(found.n), expected["n"]);
            assert_eq!(Value::from(found.histogram.counts.clone()), expected["counts"], "at {}", found.n);
            close(found.median_gbps, &expected["median"], "median");
            close(found.p90_gbps, &expected["p90"], "p90");
            close(found.near_best, &expected["near"], "near the best");
        }
        let (found, _) = trends(&tables.catalog, lines);
        // What follows from the others in a sweep, and what the rows tell of what ran, the script leaves out.
        let found: Vec<_> = found
            .iter()
            .filter(|trend| !["workgroups", "tile_state", "reset"].contains(&trend.parameter))
            .collect();
        let expected = expected["trends"].as_object().unwrap();
        assert_eq!(found.len(), expected.len());
        for trend in found {
            let expected = &expected[trend.parameter];
            for ((n, value), expected) in trend.ideal.iter().zip(expected["ideal"].as_array().unwrap()) {
                assert_eq!(Value::from(*n), expected[0]);
                assert_eq!(value.to_string(), expected[1], "{} at {n}", trend.parameter);
            }
            let expected = expected["pinned"].as_object().unwrap();
            assert_eq!(trend.pinned.len(), expected.len());
            for line in &trend.pinned {
                let expected = expected[&line.value.to_string()].as_object().unwrap();
                assert_eq!(line.points.len(), expected.len());
                for point in &line.points {
                    close(point.loss_pct, &expected[&point.n.to_string()], trend.parameter);
                }
            }
        }
    }

    let (found, _) = transfers(&lines);
    for (found, expected) in found.iter().zip(expected["transfers"].as_array().unwrap()) {
        assert_eq!(Value::from(found.missing.clone()), expected["missing"]);
        match found.worst() {
            None => assert!(expected["means"].is_null()),
            Some(worst) => {
                close(worst.efficiency, &expected["means"][0], "least");
                close(found.geometric_mean().unwrap(), &expected["means"][1], "geometric mean");
                close(found.harmonic_mean().unwrap(), &expected["means"][2], "harmonic mean");
            }
        }
    }
    let (found, _) = portability(&tables.catalog, &lines, 0, &Coverage::Common);
    let expected = expected["portability"].as_object().unwrap();
    assert_eq!(found.kernels.len(), expected.len());
    for found in &found.kernels {
        let label = tables.catalog.kernel(found.kernel).to_string();
        close(found.pp, &expected[&label][0], &label);
        close(found.mean, &expected[&label][1], &label);
    }
}

#[test]
fn the_published_sweeps() {
    check(&[root().join("results/published.nvidia-h200.thesis.csv")]);
    check(&[root().join("results/published.nvidia-h200.full.csv")]);
}

/// Three devices, of which the second lacks a size, and every eleventh row has failed. No two times are equal.
#[test]
fn three_devices() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1u64;
    let mut random = |limit: u64| {
        // Knuth's MMIX generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let files = ["GPU A", "GPU B", "GPU C"].map(|device| {
        let mut records = Vec::new();
        for size in (10..16).filter(|&size| device != "GPU B" || size != 12) {
            for kernel in [A, B, C, D, "b2.vec4.par.rake", "b4.vec4.par.sub.striped"] {
                for workgroup_size in [64, 128, 256] {
                    let mut record = on(row(kernel, workgroup_size, 1 << size, 1 << size), device);
                    fill_parameters(&mut record);
                    let ns = 100 * (20 + random(4000)) + records.len() as u64 % 100;
                    record = timed(record, ns, random(15));
                    // Every kernel keeps a row at every size, so that there is something to compare.
                    let fails = workgroup_size != 64 && random(11) == 0;
                    records.push(if fails { failed(record, Status::Timeout) } else { record });
                }
            }
        }
        let path = folder.path().join(format!("{device}.csv"));
        csv_file::write(File::create(&path).unwrap(), true, &records).unwrap();
        path
    });
    check(&files);
}

/// What a row tells of its config beside the label.
fn fill_parameters(record: &mut Record) {
    let config = record.config().unwrap();
    assert_eq!(config.kernel.family.word(), "chained-scan");
    // What a label leaves to the device no cell has.
    let parameters = Cells { tile_state: None, reset: None, ..Cells::of(&config) };
    *record = Record { parameters, bytes_moved: 8 * record.n_elements, ..record.clone() };
}
