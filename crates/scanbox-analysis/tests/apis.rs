//! One chip through several interfaces is several devices, with titles that tell them apart, and transfer between them.

use crate::rows::*;
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::lines::Lines;
use scanbox_analysis::transfer::transfers;
use scanbox_analysis::trust::Trust;
use scanbox_model::api::Api;
use scanbox_model::record::{Record, Status};

const WGPU: &str = "wgpu 30.0.1 (Vulkan)";
const DAWN: &str = "Dawn, Chromium 156.0 (Vulkan)";

fn web(mut record: Record, implementation: &str, robustness: Option<bool>) -> Record {
    (record.api, record.robustness) = (Api::WebGpu, robustness);
    record.implementation = implementation.into();
    record
}

/// Two configs, of which the one that is named first wins by this interface.
fn sweep(first: &str, change: impl Fn(Record) -> Record) -> Vec<Record> {
    let second = if first == A { B } else { A };
    let at = |n| [row(first, 64, n, 30), row(second, 64, n, 20)];
    [100u64, 200].into_iter().flat_map(at).map(change).collect()
}

/// Checks the titles of these files, whatever the order of their rows.
fn check(files: &[Vec<Record>], titles: &[&str]) {
    let mut records: Vec<Record> = files.concat();
    for _ in 0..2 {
        let (tables, noticed) = tables_of(&[source(&records)], Runs::Latest);
        let found: Vec<&str> = tables.devices.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(found, titles);
        assert!(!noticed.iter().any(|warning| warning.to_string().contains("older")), "{noticed:?}");
        assert!(tables.devices.iter().all(|table| table.newest_run && table.summary.rows == 4));
        records.reverse();
    }
}

#[test]
fn each_interface_has_a_table_and_a_title_that_is_as_short_as_it_can_be() {
    let vulkan = sweep(A, |row| row);
    let wgpu = sweep(B, |row| web(row, WGPU, Some(true)));
    let newer = sweep(B, |row| web(row, "wgpu 31.0.0 (Vulkan)", Some(true)));
    let off = sweep(B, |row| web(row, WGPU, Some(false)));
    let silent = sweep(B, |row| web(row, WGPU, None));
    let dawn = sweep(B, |row| web(row, DAWN, Some(true)));
    check(std::slice::from_ref(&vulkan), &["d1"]);
    check(std::slice::from_ref(&wgpu), &["d1 (WebGPU)"]);
    check(&[vulkan.clone(), wgpu.clone()], &["d1", "d1 (WebGPU)"]);
    let implementations = ["d1", "d1 (WebGPU, Dawn, Chromium)", "d1 (WebGPU, wgpu)"];
    check(&[vulkan.clone(), dawn, wgpu.clone()], &implementations);
    let versions = ["d1", "d1 (WebGPU, wgpu 30.0.1 (Vulkan))", "d1 (WebGPU, wgpu 31.0.0 (Vulkan))"];
    check(&[vulkan.clone(), wgpu.clone(), newer], &versions);
    check(&[wgpu.clone(), off], &["d1 (WebGPU, robustness off)", "d1 (WebGPU)"]);
    let all = ["d1 (WebGPU, wgpu 30.0.1 (Vulkan))", "d1 (WebGPU, wgpu 30.0.1 (Vulkan), robustness on)"];
    check(&[silent, wgpu.clone()], &all);
    // Another unit of the model is told apart as well.
    let other = sweep(B, |mut row| {
        row.device_uuid = "other-1".into();
        web(row, WGPU, Some(true))
    });
    let (tables, _) = tables_of(&[source(&[vulkan, wgpu, other].concat())], Runs::Latest);
    let titles: Vec<&str> = tables.devices.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles[0], "d1");
    assert!(titles[1..].iter().all(|title| title.starts_with("d1 (WebGPU) ")), "{titles:?}");
}

#[test]
fn what_wins_through_one_is_set_against_what_wins_through_the_other() {
    let records = [sweep(A, |row| row), sweep(B, |row| web(row, WGPU, None))].concat();
    let (tables, _) = tables_of(&[source(&records)], Runs::Latest);
    let lines: Vec<Lines<'_>> =
        tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect();
    let (found, warnings) = transfers(&lines.iter().collect::<Vec<_>>());
    assert_eq!(warnings, []);
    let ways: Vec<(usize, usize)> = found.iter().map(|transfer| (transfer.from, transfer.to)).collect();
    assert_eq!(ways, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let others = found.iter().filter(|transfer| transfer.from != transfer.to);
    for point in others.flat_map(|transfer| &transfer.points) {
        assert!((point.efficiency - 2.0 / 3.0).abs() < 1e-9, "{point:?}");
    }
}

#[test]
fn what_was_wrong_through_one_interface_is_not_accused_through_the_other() {
    let fail = |row: &Record| Record { status: Status::WrongResult, mismatches: Some(1), ..row.clone() };
    let vulkan = sweep(A, |row| row);
    let wgpu = sweep(A, |row| web(row, WGPU, None));
    let trust = Trust::of(&[fail(&wgpu[0])]);
    assert!(trust.trusts(&vulkan[0]) && !trust.trusts(&wgpu[0]));
}

#[test]
fn a_lead_below_a_step_of_the_timer_is_a_tie() {
    let timed = |config: &str, median_ns: u64, resolution_ns| {
        let mut row = row(config, 64, 1000, 10);
        let time = row.steady.as_mut().unwrap();
        (time.median_ns, time.min_ns, time.mean_ns) = (median_ns, median_ns, median_ns);
        (time.q1_ns, time.q3_ns) = (median_ns, median_ns);
        (row.timer_resolution_ns, row.sample_calls) = (resolution_ns, Some(1000));
        row
    };
    let ties = |resolution_ns| {
        let records = [timed(A, 10_000, resolution_ns), timed(B, 10_150, resolution_ns)];
        let tables = tables(&records);
        let answers = answers(&tables, "squared");
        let point = &answers.devices[0].ideal.points[0];
        (point.ties, (1000.0 * point.best.relative_spread()).round())
    };
    let alone = ties(None);
    assert_eq!(alone.1, 0.0);
    assert_eq!(ties(Some(1000.0)).0, alone.0);
    // Steps of 100 us over 1,000 calls are 100 ns to both sides, and 1 % of the time.
    assert_eq!(ties(Some(1e5)), (alone.0 + 1, 10.0));
}
