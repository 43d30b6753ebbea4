//! Densities, trends, transfers and portability: by hand, and what has to hold whatever was measured.

use crate::rows::*;
use proptest::prelude::*;
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::density::{Density, Histogram, densities};
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::lines::Lines;
use scanbox_analysis::portability::{Portability, PortabilityAnswer, portability};
use scanbox_analysis::table::Tables;
use scanbox_analysis::transfer::{Transfer, transfers};
use scanbox_analysis::trends::{Trend, trends};
use scanbox_analysis::warning::Warning;
use scanbox_model::record::{Record, Status};

fn lines_of(tables: &Tables) -> Vec<Lines<'_>> {
    tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect()
}

fn tables_of_files(files: &[Vec<Record>]) -> Tables {
    let sources: Vec<_> = files.iter().map(|records| source(records)).collect();
    tables_of(&sources, Runs::Latest).0
}

/// Everything that this file is about.
#[derive(Debug, PartialEq)]
struct All {
    densities: Vec<Vec<Density>>,
    trends: Vec<Vec<Trend>>,
    transfers: Vec<Transfer>,
    portability: PortabilityAnswer,
    warnings: Vec<Warning>,
}

fn all(tables: &Tables) -> All {
    let lines = lines_of(tables);
    let lines: Vec<&Lines<'_>> = lines.iter().collect();
    let (transfers, mut warnings) = transfers(&lines);
    let (portability, more) = portability(&tables.catalog, &lines, 0, &Coverage::Common);
    warnings.extend(more);
    let mut answer = All { densities: vec![], trends: vec![], transfers, portability, warnings };
    for line in lines {
        let (density, more) = densities(line.table);
        answer.densities.push(density);
        answer.warnings.extend(more);
        let (trend, more) = trends(&tables.catalog, line);
        answer.trends.push(trend);
        answer.warnings.extend(more);
    }
    answer
}

#[test]
fn the_density_of_a_size() {
    let gbps = [100, 97, 95, 94, 50, 50, 49, 48, 10, 20];
    let records: Vec<Record> =
        gbps.iter().enumerate().map(|(index, &gbps)| row(A, 32 + index as u32, 1000, gbps)).collect();
    let tables = tables(&records);
    let (densities, warnings) = densities(&tables.devices[0]);
    assert_eq!(warnings, []);
    let density = &densities[0];
    assert_eq!((density.n, density.configs), (1000, 10));
    assert_eq!(density.histogram.counts.iter().sum::<u64>(), 10);
    assert!((density.median_gbps - 50.0).abs() < 1e-9);
    assert!((density.p90_gbps - 97.3).abs() < 1e-9);
    assert!((density.best_gbps - 100.0).abs() < 1e-9);
    assert!((density.near_best - 0.3).abs() < 1e-12);
}

#[test]
fn sizes_with_few_times_have_one_bin_and_are_told() {
    let records = [row(A, 32, 1000, 5), row(A, 64, 1000, 7), row(A, 32, 2000, 5), row(A, 64, 2000, 5)];
    let tables = tables(&records);
    let (found, warnings) = densities(&tables.devices[0]);
    assert_eq!(found[0].histogram, Histogram { low: 5.0, width: 2.0, counts: vec![2] });
    assert_eq!(found[1].histogram, Histogram { low: 5.0, width: 0.0, counts: vec![2] });
    assert_eq!(warnings, [Warning::OneBin { device: "d1".into(), sizes: vec![1000, 2000] }]);
}

#[test]
fn trends_by_hand() {
    // Batch 1 wins the small size, batch 2 the large one; the workgroup size matters at the large one only.
    let records = [
        row(A, 32, 100, 10),
        row(A, 64, 100, 10),
        row(B, 32, 100, 5),
        row(B, 64, 100, 4),
        row(A, 32, 200, 10),
        row(A, 64, 200, 20),
        row(B, 32, 200, 30),
        row(B, 64, 200, 40),
    ];
    let tables = tables(&records);
    let lines = lines_of(&tables);
    let (found, warnings) = trends(&tables.catalog, &lines[0]);
    assert_eq!(warnings, []);
    let names: Vec<&str> = found.iter().map(|trend| trend.parameter).collect();
    assert_eq!(names, ["batch_size", "workgroup_size"], "the others have one value");
    let batch = &found[0];
    let ideal: Vec<(u64, String)> = batch.ideal.iter().map(|(n, value)| (*n, value.to_string())).collect();
    assert_eq!(ideal, [(100, "1".to_owned()), (200, "2".to_owned())]);
    assert_eq!(batch.changes(), 1);
    let losses: Vec<Vec<f64>> =
        batch.pinned.iter().map(|line| line.points.iter().map(|point| point.loss_pct).collect()).collect();
    assert_eq!(losses, [[0.0, 50.0], [50.0, 0.0]]);
    let constant = batch.constant(&[100, 200]).unwrap();
    assert_eq!((constant.value.to_string().as_str(), constant.rivals), ("1", 1), "of equal ones the first");
    assert_eq!((constant.mean_loss_pct, constant.worst_loss_pct, constant.worst_at), (25.0, 50.0, 200));
    assert_eq!(batch.stakes_pct(200), Some(50.0));
    assert_eq!(batch.pinned[0].worst().unwrap().n, 200);
    let workgroup = &found[1];
    assert_eq!(workgroup.constant(&[100, 200]).unwrap().value.to_string(), "64");
    assert_eq!(workgroup.stakes_pct(100), Some(0.0));
    assert_eq!(workgroup.stakes_pct(200), Some(25.0));
}

#[test]
fn a_value_that_is_missing_at_a_size_is_no_constant() {
    let records = [row(A, 32, 100, 1), row(A, 32, 200, 1), row(B, 32, 200, 50)];
    let tables = tables(&records);
    let lines = lines_of(&tables);
    let (found, _) = trends(&tables.catalog, &lines[0]);
    assert_eq!(found[0].pinned.len(), 2);
    let check = |sizes: &[u64], expected: Option<(&str, usize)>| {
        let constant = found[0].constant(sizes);
        let found = constant.map(|constant| (constant.value.to_string(), constant.rivals));
        assert_eq!(found.as_ref().map(|(value, rivals)| (value.as_str(), *rivals)), expected, "{sizes:?}");
    };
    check(&[100, 200], Some(("1", 0)));
    check(&[200], Some(("2", 1)));
    check(&[300], None);
    check(&[], None);
    let (_, warnings) = trends(&tables.catalog, &lines_of(&crate::rows::tables(&records[..1]))[0]);
    assert_eq!(warnings, [Warning::OneSize { device: "d1".into() }]);
}

/// Two devices: the best of the one is half as fast on the other at 100, has failed there at 200, and is fastest
/// at 300.
fn two_devices() -> Vec<Vec<Record>> {
    let first = vec![row(A, 32, 100, 10), row(B, 32, 100, 8), row(A, 32, 200, 10), row(A, 32, 300, 10)];
    let second = [
        row(A, 32, 100, 40),
        row(B, 32, 100, 80),
        failed(row(A, 32, 200, 1), Status::Timeout),
        row(B, 32, 200, 80),
        row(A, 32, 300, 80),
        row(A, 32, 400, 80),
    ];
    vec![first, second.into_iter().map(|record| on(record, "d2")).collect()]
}

#[test]
fn transfers_by_hand() {
    let tables = tables_of_files(&two_devices());
    let lines = lines_of(&tables);
    let lines: Vec<&Lines<'_>> = lines.iter().collect();
    let (found, warnings) = transfers(&lines);
    let pairs: Vec<(usize, usize)> = found.iter().map(|transfer| (transfer.from, transfer.to)).collect();
    assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let there = &found[1];
    let points: Vec<(u64, f64, f64)> = there.points.iter().map(|p| (p.n, p.gbps, p.efficiency)).collect();
    assert_eq!(points, [(100, 40.0, 0.5), (300, 80.0, 1.0)]);
    assert_eq!(there.missing, [200]);
    assert_eq!(there.worst().unwrap().n, 100);
    assert!((there.geometric_mean().unwrap() - 0.5f64.sqrt()).abs() < 1e-12);
    assert!((there.harmonic_mean().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(found[2].missing, [200], "400 is a size of one device only");
    let told =
        |from: &str, to: &str| Warning::NotTransferred { from: from.into(), to: to.into(), sizes: vec![200] };
    assert_eq!(warnings, [told("d1", "d2"), told("d2", "d1")]);
    for own in [&found[0], &found[3]] {
        assert!(
            own.missing.is_empty() && own.points.iter().all(|point| (point.efficiency - 1.0).abs() < 1e-12)
        );
    }
}

#[test]
fn portability_by_hand() {
    let records = |device: &str, a: u64, b: u64| -> Vec<Record> {
        let rows = [row(A, 32, 100, a), row(B, 32, 100, b), row(A, 32, 200, a), row(B, 32, 200, b)];
        rows.into_iter().map(|record| on(record, device)).collect()
    };
    let mut files = vec![records("d1", 10, 5), records("d2", 20, 20), records("d3", 10, 40)];
    let check = |files: &[Vec<Record>], expected: &[(&str, f64, f64)]| {
        let tables = tables_of_files(files);
        let lines = lines_of(&tables);
        let (answer, _) =
            portability(&tables.catalog, &lines.iter().collect::<Vec<_>>(), 0, &Coverage::Common);
        assert_eq!(answer.sizes, [100, 200]);
        let found: Vec<(String, f64, f64)> = answer
            .kernels
            .iter()
            .map(|k| (tables.catalog.kernel(k.kernel).to_string(), k.pp, k.mean))
            .collect();
        assert_eq!(found.len(), expected.len());
        for ((kernel, pp, mean), (label, expected_pp, expected_mean)) in found.iter().zip(expected) {
            assert_eq!(kernel, label);
            assert!((pp - expected_pp).abs() < 1e-12 && (mean - expected_mean).abs() < 1e-12, "{found:?}");
        }
        answer
    };
    // Kernel A: 1, 1, 1/4; kernel B: 1/2, 1, 1.
    let answer = check(&files, &[(B, 0.75, 2.5 / 3.0), (A, 0.5, 2.25 / 3.0)]);
    let steps: Vec<(usize, f64)> =
        answer.kernels[1].cascade.iter().map(|step| (step.device, step.pp)).collect();
    assert_eq!(steps, [(0, 1.0), (1, 1.0), (2, 0.5)]);
    // B fails at one size of one device: it is not supported there.
    let last = files[1].len() - 1;
    files[1][last].status = Status::WrongResult;
    let answer = check(&files, &[(A, 0.5, 2.25 / 3.0), (B, 0.0, 0.5)]);
    let steps: Vec<f64> = answer.kernels[1].cascade.iter().map(|step| step.pp).collect();
    assert!((steps[1] - 2.0 / 3.0).abs() < 1e-12 && steps[2] == 0.0, "{steps:?}");
}

const KERNELS: [&str; 3] = [A, B, C];
const SIZES: [u64; 3] = [100, 200, 400];

/// Up to three devices that measured three kernels with two workgroup sizes at three sizes; few times, so that there
/// are ties, and some failures.
fn devices() -> impl Strategy<Value = Vec<Vec<Record>>> {
    let time = prop_oneof![100u64..110, 100u64..5_000];
    let one = proptest::collection::vec((time, 0..12u32), KERNELS.len() * SIZES.len() * 2);
    proptest::collection::vec(one, 1..=3).prop_map(|devices| {
        let device = |(device, measured): (usize, Vec<(u64, u32)>)| {
            let rows = measured.into_iter().enumerate().map(|(index, (ns, luck))| {
                let (kernel, size) = (KERNELS[index % 3], SIZES[index / 3 % 3]);
                let workgroup = if index < 9 { 64 } else { 128 };
                let record = timed(on(row(kernel, workgroup, size, size), &format!("d{device}")), ns, 0);
                if luck == 0 { failed(record, Status::RuntimeError) } else { record }
            });
            rows.collect()
        };
        devices.into_iter().enumerate().map(device).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_histogram_holds_every_value(values in proptest::collection::vec(0u32..1000, 1..80)) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let histogram = Histogram::of(&values).unwrap();
        prop_assert_eq!(histogram.counts.iter().sum::<u64>(), values.len() as u64);
        let high = values.iter().copied().fold(0.0, f64::max);
        let end = histogram.low + histogram.width * histogram.counts.len() as f64;
        prop_assert!((end - high).abs() < 1e-6);
        prop_assert!(histogram.counts.len() <= 500);
    }

    #[test]
    fn the_order_of_rows_and_files_does_not_matter(files in devices(), cut in 0..18usize) {
        let mut shuffled: Vec<Vec<Record>> = files.iter().rev().cloned().collect();
        for records in &mut shuffled {
            records.reverse();
            records.rotate_left(cut);
        }
        prop_assert_eq!(all(&tables_of_files(&files)), all(&tables_of_files(&shuffled)));
    }

    #[test]
    fn the_scale_of_a_device_does_not_matter_across_devices(files in devices(), factor in 2..50u64) {
        let mut slower = files.clone();
        for time in slower[0].iter_mut().filter_map(|record| record.steady.as_mut()) {
            time.median_ns *= factor;
            time.q1_ns *= factor;
            time.q3_ns *= factor;
        }
        let (a, b) = (all(&tables_of_files(&files)), all(&tables_of_files(&slower)));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        for (a, b) in a.transfers.iter().zip(&b.transfers) {
            prop_assert_eq!(&a.missing, &b.missing);
            for (a, b) in a.points.iter().zip(&b.points) {
                prop_assert!(a.n == b.n && a.config == b.config && close(a.efficiency, b.efficiency));
            }
        }
        for (a, b) in a.portability.kernels.iter().zip(&b.portability.kernels) {
            prop_assert!(close(a.pp, b.pp) && close(a.mean, b.mean));
        }
        for (a, b) in a.trends.iter().flatten().zip(b.trends.iter().flatten()) {
            prop_assert_eq!(&a.ideal, &b.ideal);
        }
    }

    #[test]
    fn pp_is_at_most_the_mean_and_a_cascade_falls(efficiencies in proptest::collection::vec(0.0..=1.0f64, 1..8)) {
        let tables = tables(&[row(A, 32, 100, 1)]);
        let kernel = tables.devices[0].space[0].1;
        let found = Portability::new(kernel, efficiencies.clone());
        prop_assert!(found.pp <= found.mean + 1e-12);
        prop_assert!(found.cascade.windows(2).all(|pair| pair[0].pp >= pair[1].pp - 1e-12));
        prop_assert!((found.cascade.last().unwrap().pp - found.pp).abs() < 1e-12);
        if efficiencies.contains(&0.0) {
            prop_assert_eq!(found.pp, 0.0);
        }
    }

    #[test]
    fn nothing_is_above_the_ideal_line_and_failures_win_nothing(files in devices()) {
        let tables = tables_of_files(&files);
        let found = all(&tables);
        for transfer in &found.transfers {
            prop_assert!(transfer.points.iter().all(|point| point.efficiency > 0.0 && point.efficiency <= 1.0));
            if transfer.from == transfer.to {
                prop_assert!(transfer.missing.is_empty());
                prop_assert!(transfer.points.iter().all(|point| point.efficiency == 1.0));
            }
        }
        for (trends, records) in found.trends.iter().zip(&files) {
            for trend in trends {
                let line = |value| trend.pinned.iter().find(|line| line.value == value).unwrap();
                // The line that has the value of the ideal set pinned touches the ideal line.
                for &(n, value) in &trend.ideal {
                    prop_assert_eq!(line(value).at(n).unwrap().loss_pct, 0.0);
                }
                for point in trend.pinned.iter().flat_map(|line| &line.points) {
                    let label = tables.catalog.config(point.best.config).to_string();
                    prop_assert!(point.loss_pct >= 0.0);
                    prop_assert!(records.iter().any(|r| r.config_id == label
                        && r.n_elements == point.n && r.status == Status::Ok));
                }
            }
        }
        for (densities, records) in found.densities.iter().zip(&files) {
            let ok = records.iter().filter(|record| record.status == Status::Ok).count();
            prop_assert_eq!(densities.iter().map(|density| density.configs).sum::<usize>(), ok);
            for density in densities {
                prop_assert!(density.median_gbps <= density.p90_gbps && density.p90_gbps <= density.best_gbps);
                prop_assert!(density.near_best > 0.0 && density.near_best <= 1.0);
            }
        }
    }
}
