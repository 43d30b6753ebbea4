//! Coverage, weights, shared configs, portfolios, bandwidth and baselines against values worked out by hand.

use crate::rows::*;
use scanbox_analysis::answers::{Preset, Question, answer};
use scanbox_analysis::bandwidth::{BandwidthOrigin, Peak, Regime};
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::shared::SharedMetric;
use scanbox_analysis::table::Tables;
use scanbox_analysis::weights::Weights;
use scanbox_model::record::{Cache, Record, Selection, Status};

/// Three kernels on two devices at one size, in GB/s: the best of d1 is 100, that of d2 10.
///
/// ```text
///       d1   d2    x1    x2    mean   max  mean-std  ranks   distance  squared
/// A    100    2   1.0   0.2   0.60   1.0   0.2      1 and 4   0.8      0.64
/// B     50   10   0.5   1.0   0.75   1.0   0.5      3 and 1   0.5      0.25
/// C     70    7   0.7   0.7   0.70   0.7   0.7      2 and 2   0.6      0.18
/// D     10    6   0.1   0.6   0.35   0.6   0.1      4 and 3   1.3      0.97
/// ```
fn two_devices() -> Tables {
    let rows = |device: &str, line: [u64; 4]| -> Vec<Record> {
        let kernels = [A, B, C, D].into_iter().zip(line);
        kernels.map(|(kernel, gbps)| on(row(kernel, 64, 100, gbps), device)).collect()
    };
    let files = [rows("d1", [100, 50, 70, 10]), rows("d2", [2, 10, 7, 6])];
    tables_of(&files.each_ref().map(|records| source(records)), Runs::Latest).0
}

#[test]
fn shared_metrics() {
    let tables = two_devices();
    let check = |metric: &str, normalization, kernel: &str, score: f64, runner_up: &str| {
        let shared_metric: SharedMetric = metric.parse().unwrap();
        assert_eq!(shared_metric.to_string(), metric);
        let question = Question { shared_metric, normalization, ..Question::default() };
        let (answers, _) = answer(&tables, &question);
        let point = &answers.across[0].shared.points[0];
        let label = |config| tables.catalog.config(config).kernel.to_string();
        assert_eq!(label(point.config), kernel, "{metric}");
        assert!((point.score - score).abs() < 1e-12, "{metric}: {}, not {score}", point.score);
        assert_eq!(label(point.runner_up.unwrap().0), runner_up, "{metric}");
        assert_eq!(point.candidates, 4);
    };
    check("mean", None, B, 0.75, C);
    // A and B have 1: the higher mean decides.
    check("max", None, B, 1.0, A);
    check("mean-std", None, C, 0.7, B);
    check("min", None, C, 0.7, B);
    // B and C have 4: B has the higher mean.
    check("rank-sum", None, B, 4.0, C);
    // A and C have 4: C has the higher mean.
    check("rank-product", None, B, 3f64.sqrt(), C);
    check("distance", None, B, 0.5, C);
    check("squared", None, C, 0.18, B);
    check("power:1", None, B, 0.5, C);
    check("power:2", None, C, 0.18, B);
    // In GB/s only d1 counts.
    check("mean", Some(Normalization::None), A, 51.0, C);
    check("squared", Some(Normalization::None), A, 64.0, C);
}

#[test]
fn what_another_normalisation_would_choose_is_told() {
    let tables = two_devices();
    let (answers, _) = answer(&tables, &Question::default());
    let others = &answers.across[0].shared.other_normalizations;
    assert!(others.contains(&(Normalization::None, vec![100])), "{others:?}");
    // Ranks know nothing of it.
    let question = Question { shared_metric: SharedMetric::RankSum, ..Question::default() };
    assert!(answer(&tables, &question).0.across[0].shared.other_normalizations.is_empty());
}

#[test]
fn the_preset_of_the_thesis() {
    let by = |preset, shared_metric| {
        let question = Question { preset, shared_metric, ..Question::default() };
        (question.normalization_shared(shared_metric), question.normalization_across())
    };
    use Normalization::{DevicePeak, None, SizeBest};
    assert_eq!(by(Preset::Scanbox, SharedMetric::Mean), (SizeBest, SizeBest));
    assert_eq!(by(Preset::Thesis, SharedMetric::Mean), (DevicePeak, None));
    assert_eq!(by(Preset::Thesis, SharedMetric::MeanStd), (DevicePeak, None));
    assert_eq!(by(Preset::Thesis, SharedMetric::Squared), (None, None));
}

/// Kernels of a range of sizes each: A at all four, B at the first two, C at the last two, D at all but fails at 400.
fn partial() -> Tables {
    let lines = [(A, 100..=400, 4), (B, 100..=200, 8), (C, 300..=400, 10), (D, 100..=400, 6)];
    let mut records = Vec::new();
    for (kernel, range, gbps) in lines {
        let sizes = [100, 200, 300, 400].into_iter().filter(|n| range.contains(n));
        records.extend(sizes.map(|n| {
            let record = row(kernel, 64, n, gbps);
            if kernel == D && n == 400 { failed(record, Status::Timeout) } else { record }
        }));
    }
    tables(&records)
}

#[test]
fn coverage() {
    let tables = partial();
    let check = |coverage: &str, decided: &str, sizes: &[u64], kernels: &[&str], best: Option<&str>| {
        let question = Question { coverage: coverage.parse().unwrap(), ..Question::default() };
        let (answers, warnings) = answer(&tables, &question);
        let found = &answers.devices[0].eligibility;
        assert_eq!(found.coverage.to_string(), decided, "{coverage}");
        assert_eq!(found.sizes, sizes, "{coverage}");
        let label = |kernel| tables.catalog.kernel(kernel).to_string();
        assert_eq!(
            found.kernels.iter().map(|&kernel| label(kernel)).collect::<Vec<_>>(),
            kernels,
            "{coverage}"
        );
        let choice = answers.devices[0].choice.as_ref();
        let winner = choice.map(|choice| label(choice.ranking.winner.kernel));
        assert_eq!(winner.as_deref(), best, "{coverage}: {warnings:?}");
    };
    // No size is common to all four: the kernels with the most sizes decide. A covers four, D three.
    check("auto", "widest", &[100, 200, 300, 400], &[A], Some(A));
    check("widest", "widest", &[100, 200, 300, 400], &[A], Some(A));
    check("all", "all", &[100, 200, 300, 400], &[A], Some(A));
    check("common", "common", &[], &[], None);
    // Three of four kernels have a config at each size.
    check("0.75", "0.75", &[100, 200, 300, 400], &[A], Some(A));
    check("0.8", "0.8", &[], &[], None);
    check("300,400", "300,400", &[300, 400], &[A, C], Some(C));
    check("100,200", "100,200", &[100, 200], &[A, B, D], Some(B));
    // Of D it is told that it failed, of B and C that they are made for other sizes.
    let (answers, _) = answer(&tables, &Question::default());
    let dropped: Vec<(bool, String)> = answers.devices[0]
        .eligibility
        .dropped
        .iter()
        .map(|dropped| (dropped.is_partial(), dropped.to_string()))
        .collect();
    assert_eq!(
        dropped,
        [
            (true, "no config at 300, 400".to_owned()),
            (true, "no config at 100, 200".to_owned()),
            (false, "no ok row at 400 (1 timeout)".to_owned()),
        ]
    );
}

#[test]
fn one_kernel_with_one_size_more_does_not_decide() {
    let sizes: Vec<u64> = (1..=21).map(|size| 100 * size).collect();
    let at = |kernel, sizes: &[u64]| sizes.iter().map(|&n| row(kernel, 64, n, 5)).collect::<Vec<_>>();
    let check = |fewer: usize, expected: &[u64]| {
        let fewer = &sizes[fewer..];
        let rows = [at(A, &sizes), at(B, fewer), at(C, fewer), at(D, &sizes[..2])].concat();
        let tables = tables(&rows);
        let (answers, _) = answer(&tables, &Question { coverage: Coverage::Widest, ..Question::default() });
        assert_eq!(answers.devices[0].eligibility.sizes, expected);
    };
    // Three kernels over 20 sizes tell more than one over 21; but more than nine tenths of the sizes have to be there.
    check(1, &sizes[1..]);
    check(2, &sizes[2..]);
    check(3, &sizes);
}

#[test]
fn coverage_names() {
    for bad in ["", "some", "0", "-1", "1.5", "NaN", "2^"] {
        let error = bad.parse::<Coverage>().unwrap_err().to_string();
        assert!(error.contains("common"), "{bad}: {error}");
    }
    assert_eq!("1".parse::<Coverage>().unwrap().to_string(), "1");
}

#[test]
fn a_portfolio_covers_what_its_kernels_cover_together() {
    let tables = partial();
    let question = Question { portfolio: Some(9), ..Question::default() };
    let (answers, _) = answer(&tables, &question);
    let portfolio = answers.devices[0].portfolio.as_ref().unwrap();
    let label = |set: &scanbox_analysis::portfolio::KernelSet| -> Vec<String> {
        set.kernels.iter().map(|&kernel| tables.catalog.kernel(kernel).to_string()).collect()
    };
    let sets: Vec<Vec<String>> = portfolio.sets.iter().map(label).collect();
    // A alone loses 4 of 8 and 6 of 10 GB/s; B and C are the ideal line, so that a third kernel helps nobody.
    assert_eq!(sets, [vec![A], vec![B, C]]);
    // Sizes count alike: by their shares.
    assert!((portfolio.sets[0].score - (0.25 + 0.25 + 0.36 + 0.36)).abs() < 1e-12);
    assert_eq!(portfolio.sets[1].score, 0.0);
    assert_eq!(portfolio.sets[0].worst, (60.0, 300));
    assert!(portfolio.sets.iter().all(|set| set.exact && set.uncovered == 0));
}

#[test]
fn weights_decide() {
    // A is ideal at 100 and loses 3 GB/s at 200, B the other way round with 4.
    let rows = [row(A, 64, 100, 10), row(A, 64, 200, 7), row(B, 64, 100, 6), row(B, 64, 200, 10)];
    let tables = tables(&rows);
    let check = |weights: Weights, expected: &[(&str, f64)]| {
        let (answers, warnings) = answer(&tables, &Question { weights, ..Question::default() });
        let choice = answers.devices[0].choice.as_ref();
        let scores =
            choice.map(|choice| std::iter::once(&choice.ranking.winner).chain(&choice.ranking.others));
        let found: Vec<(String, f64)> = scores
            .into_iter()
            .flatten()
            .map(|score| (tables.catalog.kernel(score.kernel).to_string(), score.score))
            .collect();
        assert_eq!(found.len(), expected.len(), "{warnings:?}");
        for ((kernel, score), (expected, value)) in found.iter().zip(expected) {
            assert_eq!(kernel, expected);
            assert!((score - value).abs() < 1e-12, "{kernel}: {score}, not {value}");
        }
        assert_eq!(
            warnings.iter().any(|warning| warning.to_string().contains("weight")),
            expected.is_empty()
        );
    };
    let listed = |weights: &[(u64, f64)]| Weights::Listed(weights.iter().copied().collect());
    check(Weights::Uniform, &[(A, 9.0), (B, 16.0)]);
    // 100 counts 2/3, 200 counts 4/3.
    check(Weights::Large, &[(B, 16.0 * 2.0 / 3.0), (A, 9.0 * 4.0 / 3.0)]);
    check(listed(&[(100, 1.0), (200, 3.0)]), &[(B, 8.0), (A, 13.5)]);
    check(listed(&[(200, 5.0)]), &[(B, 0.0), (A, 18.0)]);
    check(listed(&[(300, 1.0)]), &[]);
}

#[test]
fn bandwidth_and_baselines() {
    let copies = [(100, 40.0), (200, 30.0), (400, 20.0)].into();
    let rows = [row(A, 64, 100, 30), row(A, 64, 200, 10), row(A, 64, 400, 15)];
    let other = |subject: &str, n, gbps, selection: &[Selection]| Record {
        subject: subject.into(),
        config_id: subject.into(),
        kernel_id: subject.into(),
        cache: Some(Cache::Hot),
        selection: selection.to_vec(),
        ..row(A, 64, n, gbps)
    };
    let scan = [Selection::Baseline];
    let others = [
        other("x", 100, 10, &scan),
        other("y", 100, 15, &scan),
        other("x", 200, 20, &scan),
        other("copy", 400, 99, &[Selection::Ceiling, Selection::Baseline]),
    ];
    let sweep = scanbox_analysis::grouping::RecordFile { ceiling_gbps: Some(&copies), ..source(&rows) };
    let (mut tables, _) = tables_of(&[sweep, source(&others)], Runs::Latest);
    let (answers, _) = answer(&tables, &Question::default());
    let found = answers.devices[0].utilization.as_ref().unwrap();
    // The copy of the largest size is the bandwidth.
    assert_eq!((found.bandwidth.gbps, found.bandwidth.origin), (20.0, BandwidthOrigin::Ceiling { n: 400 }));
    let points: Vec<_> =
        found.points.iter().map(|point| (point.n, point.pct.round(), point.regime)).collect();
    assert_eq!(
        points,
        [(100, 150.0, Regime::Cache), (200, 50.0, Regime::Memory), (400, 75.0, Regime::Memory)]
    );
    let against = answers.devices[0].baseline.as_ref().unwrap();
    let points: Vec<_> =
        against.points.iter().map(|point| (point.n, point.subject.as_str(), point.ratio)).collect();
    assert_eq!(points, [(100, "y", 2.0), (200, "x", 0.5)]);
    let regions: Vec<_> =
        against.regions.iter().map(|region| (region.regime, region.sizes, region.faster)).collect();
    assert_eq!(regions, [(Some(Regime::Cache), 1, 1), (Some(Regime::Memory), 1, 0)]);

    // What the user gives comes first.
    tables.set_peaks(&["50".parse().unwrap()]).unwrap();
    let (answers, _) = answer(&tables, &Question::default());
    let found = answers.devices[0].utilization.as_ref().unwrap();
    assert_eq!((found.bandwidth.gbps, found.bandwidth.origin), (50.0, BandwidthOrigin::Given));
    assert!(tables.set_peaks(&["D1=60".parse().unwrap()]).is_ok());
    assert_eq!(tables.devices[0].peak_gbps, Some(60.0));
    for (text, said) in [("0", "above 0"), ("x", "above 0"), ("=5", "above 0"), ("nan", "above 0")] {
        let error = text.parse::<Peak>().unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let error = tables.set_peaks(&["H200=5".parse().unwrap()]).unwrap_err().to_string();
    assert!(error.contains("d1"), "{error}");
}

/// Machines are lent: the benchmark may be of another unit of the model. Only a ratio of two times of one run says
/// something there, and the unit's own benchmark comes first.
#[test]
fn baselines_of_another_unit() {
    let rows = [row(A, 64, 100, 30), row(A, 64, 200, 10)];
    let bench = |uuid: &str, own: &[(u64, u64)], other: &[(u64, u64)], device: &str| -> Vec<Record> {
        let of = |subject: &str, n, gbps, selection| Record {
            subject: subject.into(),
            device: device.into(),
            device_uuid: uuid.into(),
            run_id: uuid.into(),
            cache: Some(Cache::Hot),
            selection: vec![selection],
            ..row(A, 64, n, gbps)
        };
        let own = own.iter().map(|&(n, gbps)| of("scanbox", n, gbps, Selection::Ideal));
        own.chain(other.iter().map(|&(n, gbps)| of("x", n, gbps, Selection::Baseline))).collect()
    };
    let check = |benches: &[Vec<Record>], expected: &[(u64, f64)], told: bool| {
        let mut files = vec![source(&rows)];
        files.extend(benches.iter().map(|bench| source(bench)));
        let (tables, warnings) = tables_of(&files, Runs::Latest);
        let (answers, _) = answer(&tables, &Question::default());
        let points = answers.devices[0].baseline.iter().flat_map(|baseline| &baseline.points);
        let points: Vec<_> = points.map(|point| (point.n, point.ratio)).collect();
        assert_eq!(points, expected);
        let text = "d1: other implementations were measured on another unit of this model";
        assert_eq!(warnings.iter().any(|warning| warning.to_string().starts_with(text)), told);
    };
    let (own, other) = ([(100, 60), (200, 30)], [(100, 40), (200, 40)]);
    check(&[bench("u1", &own, &other, "d1")], &[(100, 1.5), (200, 0.75)], false);
    check(&[bench("u2", &own, &other, "d1")], &[(100, 1.5), (200, 0.75)], true);
    check(&[bench("u2", &own[..1], &other, "d1")], &[(100, 1.5)], true);
    check(&[bench("u2", &[], &other, "d1")], &[], false);
    check(&[bench("u2", &own, &other, "d2")], &[], false);
    let here = bench("u1", &own[..1], &other[..1], "d1");
    check(&[bench("u2", &own, &[(100, 10), (200, 10)], "d1"), here], &[(100, 1.5)], false);
}

/// A sweep whose copies are not all there, as one that was killed has left it: whatever is said is true.
#[test]
fn a_copy_of_a_smaller_size_is_no_bandwidth() {
    let rows = [row(A, 64, 100, 10), row(A, 64, 200, 30), row(A, 64, 400, 60)];
    let check = |copies: &[(u64, f64)], origin: Option<u64>, told: Option<&str>| {
        let ceilings = copies.iter().copied().collect();
        let sweep = scanbox_analysis::grouping::RecordFile { ceiling_gbps: Some(&ceilings), ..source(&rows) };
        let (tables, _) = tables_of(&[sweep], Runs::Latest);
        let (answers, warnings) = answer(&tables, &Question::default());
        let found = answers.devices[0].utilization.as_ref().map(|found| found.bandwidth.origin);
        assert_eq!(found, origin.map(|n| BandwidthOrigin::Ceiling { n }), "{copies:?}");
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let of_copies: Vec<&String> = texts.iter().filter(|text| text.contains("copy")).collect();
        assert_eq!(of_copies.len(), usize::from(told.is_some()), "{texts:?}");
        assert!(of_copies.iter().all(|text| told.is_some_and(|told| text.contains(told))), "{texts:?}");
    };
    check(&[(100, 20.0), (200, 40.0), (400, 61.0)], Some(400), None);
    check(&[(200, 16.0)], None, Some("no copy of 100, 400 was measured"));
    check(&[(200, 16.0)], None, Some("without that of the largest size the bandwidth is not known"));
    check(&[(100, 20.0), (400, 0.0)], None, Some("no copy of 200, 400 was measured"));
    check(
        &[(400, 61.0)],
        Some(400),
        Some("no copy of 100, 200 was measured, the same sweep command does it"),
    );
    check(&[(100, 20.0), (200, 40.0), (400, 61.0), (800, 62.0)], Some(800), None);
    check(&[], None, None);
}

#[test]
fn ceiling_divides_by_the_bandwidth() {
    let mut tables = two_devices();
    let question = Question { normalization: Some(Normalization::Ceiling), ..Question::default() };
    let (answers, warnings) = answer(&tables, &question);
    assert!(answers.across[0].portable.choice.is_none());
    assert!(warnings.iter().any(|warning| warning.to_string().contains("--peak-gbps")), "{warnings:?}");
    tables.set_peaks(&["d1=100".parse().unwrap(), "d2=100".parse().unwrap()]).unwrap();
    let (answers, _) = answer(&tables, &question);
    let choice = answers.across[0].portable.choice.as_ref().unwrap();
    assert_eq!(tables.catalog.kernel(choice.ranking.winner.kernel).to_string(), A);
    // 0 and 8 of 100 GB/s.
    assert!((choice.ranking.winner.score - 0.0064).abs() < 1e-12);
}
