//! Which rows enter an answer, and what is said about those that do not.

use std::collections::BTreeMap;

use crate::rows::*;
use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::grouping::{Builder, RecordFile, Runs};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::warning::Warning;
use scanbox_model::device::DeviceKind;
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::Point;

fn at(mut record: Record, timestamp: &str) -> Record {
    record.timestamp_utc = timestamp.into();
    record
}

fn driver(mut record: Record, driver: &str) -> Record {
    record.driver = driver.into();
    record
}

fn version(mut record: Record, version: &str) -> Record {
    record.subject_version = version.into();
    record
}

/// The warnings of grouping as text, without the one about missing metadata.
fn warnings(warnings: &[Warning]) -> Vec<String> {
    let others = warnings.iter().filter(|warning| !matches!(warning, Warning::NoMetadata { .. }));
    others.map(ToString::to_string).collect()
}

/// Checks the ideal throughput by table and size, whatever the order of rows, and that each text is in a warning.
fn check(records: &[Record], runs: Runs, expected: &[&[(u64, f64)]], said: &[&str]) {
    let mut records = records.to_vec();
    for _ in 0..2 {
        let (tables, noticed) = tables_of(&[source(&records)], runs);
        let answers = answers(&tables, "squared");
        let found: Vec<Vec<(u64, f64)>> = answers
            .devices
            .iter()
            .map(|device| device.ideal.points.iter().map(|point| (point.n, point.best.gbps)).collect())
            .collect();
        assert_eq!(found, expected);
        let noticed = warnings(&noticed);
        assert_eq!(noticed.len(), said.len(), "{noticed:?}");
        for text in said {
            assert!(noticed.iter().any(|warning| warning.contains(text)), "{text} is not in {noticed:?}");
        }
        records.reverse();
    }
}

#[test]
fn only_ok_rows_with_a_time_enter() {
    for status in Status::ALL.into_iter().skip(1) {
        check(&[row(A, 64, 100, 5), failed(row(B, 64, 100, 9), status)], Runs::Latest, &[&[(100, 5.0)]], &[]);
    }
    let mut without_time = row(B, 64, 100, 9);
    without_time.steady = None;
    check(
        &[row(A, 64, 100, 5), without_time.clone()],
        Runs::Latest,
        &[&[(100, 5.0)]],
        &["1 ok rows have no time"],
    );
    check(&[without_time], Runs::Latest, &[&[]], &["1 ok rows have no time", "no row is ok"]);
    check(
        &[timed(row(B, 64, 100, 9), 0, 0), row(A, 64, 100, 5)],
        Runs::Latest,
        &[&[(100, 5.0)]],
        &["no time"],
    );
}

#[test]
fn other_subjects_stay_out() {
    let mut cub = row(B, 64, 100, 9);
    cub.subject = "cub".into();
    cub.config_id = "DeviceScan".into();
    let said = "1 benchmark row of cub is not part of these answers";
    check(&[row(A, 64, 100, 5), cub], Runs::Latest, &[&[(100, 5.0)]], &[said]);
}

#[test]
fn rows_of_benchmarks_stay_out() {
    let mut bench = row(B, 64, 100, 9);
    bench.cache = Some(scanbox_model::record::Cache::Hot);
    let mut another = bench.clone();
    another.n_elements = 200;
    let one = "1 benchmark row of scanbox (benchmark) is not part of these answers";
    check(&[row(A, 64, 100, 5), bench.clone()], Runs::Latest, &[&[(100, 5.0)]], &[one]);
    let two = "2 benchmark rows of scanbox (benchmark) are not part of these answers";
    check(&[row(A, 64, 100, 5), bench, another], Runs::Latest, &[&[(100, 5.0)]], &[two]);
}

#[test]
fn the_last_row_of_a_point_counts() {
    let rows = [
        at(row(A, 64, 100, 9), "2025-11-21T08:00:00Z"),
        at(row(A, 64, 100, 5), "2025-11-21T08:00:00.5Z"),
        at(failed(row(A, 64, 100, 1), Status::Timeout), "2025-11-21T09:00:00Z"),
    ];
    check(&rows, Runs::Latest, &[&[(100, 5.0)]], &["1 ok rows are replaced"]);
    // Of two files they may have been meant as two runs.
    for (other, is_told) in [("x.csv", false), ("y.csv", true)] {
        let files = [source(&rows[..1]), RecordFile { name: other, ..source(&rows[1..2]) }];
        let said = warnings(&tables_of(&files, Runs::Latest).1).join("; ");
        assert_eq!(said.contains("to compare two runs, use `scanbox compare`"), is_told, "{said}");
    }
}

#[test]
fn runs_are_not_merged_silently() {
    let rows = [
        driver(at(row(A, 64, 100, 9), "2025-11-20T23:59:59Z"), "driver 1"),
        driver(at(row(A, 64, 100, 5), "2025-11-21T00:00:00Z"), "driver 2"),
        driver(at(row(A, 64, 200, 6), "2025-11-20T00:00:00Z"), "driver 2"),
    ];
    let said = "taken is the newest (driver driver 2, scanbox 0.1.0, kernels hash), left out: 1 rows (driver driver 1";
    check(&rows, Runs::Latest, &[&[(100, 5.0), (200, 6.0)]], &[said]);
    check(&rows, Runs::All, &[&[(100, 9.0)], &[(100, 5.0), (200, 6.0)]], &[]);
    // Builds of one version are one run, versions are not.
    let builds = [version(row(A, 64, 100, 9), "0.1.0+abc"), version(row(A, 64, 200, 5), "0.1.0+def")];
    check(&builds, Runs::Latest, &[&[(100, 9.0), (200, 5.0)]], &[]);
    let versions = [version(row(A, 64, 100, 9), "0.1.0"), version(row(A, 64, 200, 5), "0.2.0")];
    check(&versions, Runs::All, &[&[(100, 9.0)], &[(200, 5.0)]], &[]);
}

#[test]
fn labels_have_to_be_labels() {
    let mut wrong_kernel = row(A, 64, 100, 5);
    wrong_kernel.kernel_id = B.into();
    let mut no_label = row(A, 64, 100, 5);
    no_label.config_id = "fastest".into();
    for (record, column) in [(wrong_kernel, "column `kernel_id`"), (no_label, "column `config_id`")] {
        let records = [row(A, 64, 100, 5), record];
        let error = Builder::new(Clock::Steady).add(&source(&records)).unwrap_err().to_string();
        assert!(error.starts_with("x.csv: data row 2: ") && error.contains(column), "{error}");
    }
}

fn point(kernel: &str, n: u64) -> Point {
    Point { n, config: format!("{kernel}.wg64").parse().unwrap() }
}

/// `sizes` and `kernels` are what is compared, `dropped` each other kernel with its reason.
fn check_eligible(
    records: &[Record],
    planned: Option<&[Point]>,
    sizes: &[u64],
    kernels: &[&str],
    dropped: &[(&str, &str)],
    said: &[&str],
) {
    let copy = records.iter().map(|record| (record.n_elements, 20.0)).collect();
    let source = RecordFile { planned, ceiling_gbps: Some(&copy), ..source(records) };
    let (tables, mut noticed) = tables_of(&[source], Runs::Latest);
    let (answers, more) = answer(&tables, &by(Metric::Squared));
    noticed.extend(more);
    let eligibility = &answers.devices[0].eligibility;
    assert_eq!(eligibility.sizes, sizes);
    let found: Vec<String> =
        eligibility.kernels.iter().map(|&kernel| tables.catalog.kernel(kernel).to_string()).collect();
    assert_eq!(found, kernels);
    let found: Vec<(String, String)> = eligibility
        .dropped
        .iter()
        .map(|d| (tables.catalog.kernel(d.kernel).to_string(), d.to_string()))
        .collect();
    let dropped: Vec<(String, String)> = dropped.iter().map(|&(k, r)| (k.to_owned(), r.to_owned())).collect();
    assert_eq!(found, dropped);
    let noticed = warnings(&noticed);
    assert_eq!(noticed.len(), said.len(), "{noticed:?}");
    for text in said {
        assert!(noticed.iter().any(|warning| warning.contains(text)), "{text} is not in {noticed:?}");
    }
}

#[test]
fn eligibility() {
    let both = |n| [row(A, 64, n, 5), row(B, 64, n, 6)];
    let full = [both(100), both(200)].concat();
    let planned = [point(A, 100), point(B, 100), point(A, 200), point(B, 200)];
    check_eligible(&full, None, &[100, 200], &[A, B], &[], &[]);
    check_eligible(&full, Some(&planned), &[100, 200], &[A, B], &[], &[]);
    // B has no config at 200 by plan: 200 is not compared.
    check_eligible(&full[..3], Some(&planned[..3]), &[100], &[A, B], &[], &[]);
    // B has one and no row.
    let incomplete = ["1 of 4 points have no row"];
    check_eligible(&full[..3], Some(&planned), &[100, 200], &[A], &[(B, "no row at 200")], &incomplete);
    // B was tried.
    let mut tried = full.clone();
    tried[3].status = Status::WrongResult;
    let reason = "no ok row at 200 (1 wrong_result)";
    check_eligible(&tried, Some(&planned), &[100, 200], &[A], &[(B, reason)], &[]);
    check_eligible(&tried, None, &[100, 200], &[A], &[(B, reason)], &[]);
    // Nothing is ok at 200.
    tried[2].status = Status::OutOfMemory;
    check_eligible(&tried, None, &[100], &[A, B], &[], &["no ok row at 200"]);
    // No kernel is everywhere.
    let crossed = [row(A, 64, 100, 5), row(B, 64, 200, 5)];
    check_eligible(
        &crossed,
        Some(&planned),
        &[100, 200],
        &[],
        &[(A, "no row at 200"), (B, "no row at 100")],
        &["2 of 4 points", "no best kernel can be chosen (try --coverage 200)"],
    );
    // No size has every kernel: those with the most sizes are compared, here the one at the larger size.
    check_eligible(&crossed, None, &[200], &[B], &[(A, "no config at 200")], &[]);
}

#[test]
fn copy_is_taken_by_size() {
    let copy = BTreeMap::from([(100, 20.0)]);
    let records = [row(A, 64, 100, 5), row(A, 64, 200, 5)];
    let (tables, _) =
        tables_of(&[RecordFile { ceiling_gbps: Some(&copy), ..source(&records) }], Runs::Latest);
    let answers = answers(&tables, "squared");
    let found: Vec<Option<f64>> =
        answers.devices[0].ideal.points.iter().map(|point| point.ceiling_pct()).collect();
    assert_eq!(found, [Some(25.0), None]);
}

/// The devices that the answer across devices is about.
fn check_across(
    devices: &[(&str, DeviceKind)],
    include_software: bool,
    expected: Option<&[usize]>,
    said: usize,
) {
    let records: Vec<Vec<Record>> =
        devices.iter().map(|(name, _)| vec![on(row(A, 64, 100, 5), name)]).collect();
    let sources = records.iter().zip(devices);
    let sources: Vec<RecordFile<'_>> =
        sources.map(|(records, &(_, kind))| RecordFile { kind: Some(kind), ..source(records) }).collect();
    let (tables, _) = tables_of(&sources, Runs::Latest);
    let (answers, warnings) = answer(&tables, &Question { include_software, ..by(Metric::Squared) });
    assert_eq!(answers.across.first().map(|across| across.devices.as_slice()), expected);
    assert_eq!(warnings.len(), said, "{warnings:?}");
}

#[test]
fn software_stays_out_unless_asked_for() {
    use DeviceKind::{Hardware, Software};
    check_across(&[("a", Hardware)], false, None, 0);
    check_across(&[("a", Hardware), ("b", Hardware)], false, Some(&[0, 1]), 0);
    check_across(&[("a", Hardware), ("b", Software)], false, None, 1);
    check_across(&[("a", Hardware), ("b", Software), ("c", Hardware)], false, Some(&[0, 2]), 1);
    check_across(&[("a", Hardware), ("b", Software)], true, Some(&[0, 1]), 0);
    check_across(&[("a", Software), ("b", Software)], false, Some(&[0, 1]), 0);
}

#[test]
fn the_portable_kernel() {
    // On d1 A is ideal and C loses a tenth; on d2 it is B and C loses a tenth; A and B lose a half on the other one.
    let rows = |device, lines: [(&'static str, u64); 3]| {
        lines.map(|(kernel, gbps)| on(row(kernel, 64, 100, gbps), device))
    };
    let (d1, d2) = (rows("d1", [(A, 100), (B, 50), (C, 90)]), rows("d2", [(A, 5), (B, 10), (C, 9)]));
    let (tables, _) = tables_of(&[source(&d1), source(&d2)], Runs::Latest);
    let across = answers(&tables, "squared").across.remove(0);
    let choice = across.portable.choice.unwrap();
    assert_eq!(tables.catalog.kernel(choice.ranking.winner.kernel).to_string(), C);
    assert!((choice.ranking.winner.score - 0.02).abs() < 1e-12);
    let losses: Vec<f64> = choice.lines.iter().map(|line| line.points[0].loss_pct.round()).collect();
    assert_eq!(losses, [10.0, 10.0]);
    // In GB/s only d1 would count: A loses 0 + 5^2, C 10^2 + 1.
    let named: Vec<String> = choice
        .other_normalizations
        .iter()
        .map(|(other, kernel)| format!("{other} {}", tables.catalog.kernel(*kernel)))
        .collect();
    assert_eq!(named, ["none b1.vec2.seq.rake"]);
}

#[test]
fn the_portable_kernel_has_to_run_on_every_device() {
    let d1 = [on(row(A, 64, 100, 5), "d1"), on(row(B, 64, 100, 9), "d1")];
    let d2 = [on(row(A, 64, 100, 5), "d2")];
    let (tables, _) = tables_of(&[source(&d1), source(&d2)], Runs::Latest);
    let portable = answers(&tables, "squared").across.remove(0).portable;
    assert_eq!(portable.eligibility.dropped.len(), 1);
    assert_eq!(portable.eligibility.dropped[0].device, "d2");
    let choice = portable.choice.unwrap();
    assert_eq!(tables.catalog.kernel(choice.ranking.winner.kernel).to_string(), A);
}

#[test]
fn rows_of_different_problems_are_never_mixed() {
    use scanbox_model::config::Parameter;
    use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
    use scanbox_model::user_operator::{Tolerance, UserOperator};
    // Every problem that rows can be about has its own times: 10 GB/s for the first, 20 for the second, ...
    let mut records = Vec::new();
    let mut expected = Vec::new();
    let mut problems = Vec::new();
    for (&mode, &element, &op) in Mode::VALUES
        .iter()
        .flat_map(|mode| Element::VALUES.iter().map(move |element| (mode, element)))
        .flat_map(|(mode, element)| Operator::VALUES.iter().map(move |op| (mode, element, op)))
    {
        problems.extend(Problem::new(mode, element, op, None, Placement::OutOfPlace).ok());
    }
    // Operators of users: the same name with two texts, and another name with one of them.
    for (name, hash) in [("affine", 1), ("affine", 2), ("maps", 1)] {
        let facts = (false, Tolerance::EXACT);
        let user = UserOperator::new(name.parse().unwrap(), hash, Element::Struct8, facts).unwrap();
        problems.extend(Problem::of_user(Mode::Inclusive, user, Placement::OutOfPlace).ok());
    }
    for problem in problems {
        let gbps = 10 * (expected.len() as u64 + 1);
        for device in ["d1", "d2"] {
            // Its columns, and the time and bytes that the row has.
            let record = on(row(A, 64, 100, gbps), device);
            let mut described = record.clone();
            problem.describe(record.n_elements, &mut described);
            let (element_bytes, bytes_moved) = (record.element_bytes, record.bytes_moved);
            records.push(Record { element_bytes, bytes_moved, ..described });
            expected.push((problem, device, gbps as f64));
        }
    }
    expected.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    // In one file or in several, in any order.
    let files: Vec<Vec<Record>> = records.iter().rev().map(|record| vec![record.clone()]).collect();
    let sources: Vec<RecordFile<'_>> = files.iter().map(|records| source(records)).collect();
    for tables in [tables(&records), tables_of(&sources, Runs::Latest).0] {
        let answers = answers(&tables, "squared");
        let found: Vec<_> = answers
            .devices
            .iter()
            .map(|answer| {
                (answer.table.problem, answer.table.device.name.as_str(), answer.ideal.points[0].best.gbps)
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(answers.across.len(), expected.len() / 2);
        for across in &answers.across {
            assert!(across.devices.iter().all(|&at| answers.devices[at].table.problem == across.problem));
        }
    }
}
