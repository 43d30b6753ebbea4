//! Every metric and tie-break against values worked out by hand.

use crate::rows::*;
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_model::record::Record;

/// Three kernels at three sizes, in GB/s. The ideal line is 10, 20, 40.
///
/// ```text
///      n = 100   200   300     gaps        sum   absolute  squared        chebyshev
/// A         10    12    40     0  8  0     62    8         64             8
/// B          6    16    36     4  4  4     58    12        3 * 16 = 48    4
/// C          1    20    39     9  0  1     60    10        81 + 1 = 82    9
/// ```
fn example() -> Vec<Record> {
    let lines = [(A, [10, 12, 40]), (B, [6, 16, 36]), (C, [1, 20, 39])];
    let rows = lines.iter().flat_map(|&(kernel, line)| {
        [100, 200, 300].into_iter().zip(line).map(move |(n, gbps)| row(kernel, 64, n, gbps))
    });
    rows.collect()
}

/// `expected` is each kernel with its score, best first.
fn check(records: &[Record], metric: &str, expected: &[(&str, f64)]) {
    let tables = tables(records);
    let answers = answers(&tables, metric);
    let ranking = &answers.devices[0].choice.as_ref().unwrap().ranking;
    assert_eq!(ranking.metric.to_string(), metric);
    let found = std::iter::once(&ranking.winner).chain(&ranking.others);
    let found: Vec<(String, f64)> =
        found.map(|score| (tables.catalog.kernel(score.kernel).to_string(), score.score)).collect();
    let kernels: Vec<&str> = found.iter().map(|(kernel, _)| kernel.as_str()).collect();
    let expected_kernels: Vec<&str> = expected.iter().map(|(kernel, _)| *kernel).collect();
    assert_eq!(kernels, expected_kernels, "{metric}");
    for ((kernel, found), (_, expected)) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3),
            "{metric} of {kernel}: {found}, not {expected}"
        );
    }
}

#[test]
fn scores() {
    // I.A = 100 + 240 + 1600 = 1940, I.B = 60 + 320 + 1440 = 1820, I.C = 10 + 400 + 1560 = 1970.
    // |I|^2 = 2100, |A|^2 = 100 + 144 + 1600 = 1844, |B|^2 = 36 + 256 + 1296 = 1588, |C|^2 = 1 + 400 + 1521 = 1922.
    let cosine = |dot: f64, square: f64| 1.0 - dot / (2100f64 * square).sqrt();
    // 8^1.25 = 8 * 8^(1/4), 3 * 4^1.25 = 12 * sqrt(2), 9^1.25 + 1 = 9 * sqrt(3) + 1.
    let eighth = 8.0 * 8f64.sqrt().sqrt();
    check(&example(), "sum", &[(A, 62.0), (C, 60.0), (B, 58.0)]);
    check(&example(), "absolute", &[(A, 8.0), (C, 10.0), (B, 12.0)]);
    check(&example(), "squared", &[(B, 48.0), (A, 64.0), (C, 82.0)]);
    check(&example(), "chebyshev", &[(B, 4.0), (A, 8.0), (C, 9.0)]);
    check(
        &example(),
        "cosine",
        &[(B, cosine(1820.0, 1588.0)), (A, cosine(1940.0, 1844.0)), (C, cosine(1970.0, 1922.0))],
    );
    check(&example(), "power:1.25", &[(A, eighth), (C, 9.0 * 3f64.sqrt() + 1.0), (B, 12.0 * 2f64.sqrt())]);
    check(&example(), "power:1", &[(A, 8.0), (C, 10.0), (B, 12.0)]);
    check(&example(), "power:2", &[(B, 48.0), (A, 64.0), (C, 82.0)]);
}

#[test]
fn cosine_is_blind_to_scale_and_ties_go_to_the_sum() {
    // The ideal line is A's: B and C are a half and a tenth of it everywhere. All have cosine 0; the sums are 70,
    // 35, 7.
    let lines = [(C, [1, 2, 4]), (B, [5, 10, 20]), (A, [10, 20, 40])];
    let rows = lines.iter().flat_map(|&(kernel, line)| {
        [100, 200, 300].into_iter().zip(line).map(move |(n, gbps)| row(kernel, 64, n, gbps))
    });
    check(&rows.collect::<Vec<_>>(), "cosine", &[(A, 0.0), (B, 0.0), (C, 0.0)]);
}

#[test]
fn equal_scores_are_decided_in_order() {
    // B and A mirror each other: the score is equal in exact arithmetic, and so is the sum. B has the lower spread.
    let swapped = [
        timed(row(A, 64, 100, 7), 1000, 20),
        timed(row(A, 64, 200, 3), 1000, 20),
        timed(row(B, 64, 100, 3), 1000, 10),
        timed(row(B, 64, 200, 7), 1000, 10),
    ];
    check(&swapped, "squared", &[(B, 16.0), (A, 16.0)]);
    // Nothing decides but the order of the parameters.
    let same = [row(B, 64, 100, 7), row(A, 64, 100, 7)];
    check(&same, "squared", &[(A, 0.0), (B, 0.0)]);
    check(&same, "cosine", &[(A, 0.0), (B, 0.0)]);
}

#[test]
fn pruning_takes_the_best_config_of_each_kernel() {
    let mut records = example();
    records.extend([row(A, 128, 200, 13), row(B, 128, 200, 1)]);
    // A is at 13 now: 7^2 = 49; B's slow config changes nothing.
    check(&records, "squared", &[(B, 48.0), (A, 49.0), (C, 82.0)]);
}

#[test]
fn normalisations() {
    // Sizes count alike after size-best: A's gaps are 0, 8/20, 0; B's 4/10, 4/20, 4/40; C's 9/10, 0, 1/40.
    let expected = [
        (Normalization::None, [(B, 48.0), (A, 64.0), (C, 82.0)]),
        (Normalization::SizeBest, [(A, 0.16), (B, 0.21), (C, 0.810625)]),
        // Everything over 40: scores over 1600.
        (Normalization::DevicePeak, [(B, 0.03), (A, 0.04), (C, 0.05125)]),
        // Ranges are 1..10, 12..20, 36..40: A 0, 8/8, 0; B 4/9, 4/8, 4/4; C 9/9, 0, 1/4.
        (Normalization::MinMax, [(A, 1.0), (C, 1.0625), (B, 16.0 / 81.0 + 1.25)]),
    ];
    let tables = tables(&example());
    for (normalization, expected) in expected {
        let question =
            scanbox_analysis::answers::Question { normalization: Some(normalization), ..by(Metric::Squared) };
        let (answers, _) = scanbox_analysis::answers::answer(&tables, &question);
        let choice = answers.devices[0].choice.as_ref().unwrap();
        let scores = std::iter::once(&choice.ranking.winner).chain(&choice.ranking.others);
        for (found, (kernel, score)) in scores.zip(expected) {
            assert_eq!(tables.catalog.kernel(found.kernel).to_string(), kernel, "{normalization}");
            assert!(
                (found.score - score).abs() < 1e-12,
                "{normalization} of {kernel}: {}, not {score}",
                found.score
            );
        }
        let fragile = choice.other_normalizations.len();
        assert_eq!(fragile, 2, "{normalization}: two of the others choose another kernel");
    }
}

#[test]
fn the_line_of_the_chosen_kernel() {
    let tables = tables(&example());
    let answers = answers(&tables, "squared");
    let line = &answers.devices[0].choice.as_ref().unwrap().lines[0];
    // B loses 4/10, 4/20, 4/40 of the ideal throughput.
    let losses: Vec<i64> = line.points.iter().map(|point| (point.loss_pct * 1e6).round() as i64).collect();
    assert_eq!(losses, [40_000_000, 20_000_000, 10_000_000]);
    assert!((line.mean_loss_pct().unwrap() - 70.0 / 3.0).abs() < 1e-9);
    assert_eq!(line.worst().unwrap().n, 100);
}

/// `expected` is the best config at n = 100, then by how many percent it leads, then how many tie with it.
fn check_ideal(records: &[Record], expected: &str, margin_pct: Option<f64>, ties: usize) {
    let tables = tables(records);
    let answers = answers(&tables, "squared");
    let point = answers.devices[0].ideal.points[0];
    assert_eq!(tables.catalog.config(point.best.config).to_string(), expected);
    assert_eq!(
        point.margin_pct.map(|pct| (pct * 1e6).round()),
        margin_pct.map(|pct| (pct * 1e6).round()),
        "{expected}"
    );
    assert_eq!(point.ties, ties, "{expected}");
}

#[test]
fn ideal_points() {
    let a = || row(A, 64, 100, 10);
    check_ideal(&[a()], "b1.vec2.seq.rake.wg64", None, 0);
    check_ideal(&[a(), row(B, 64, 100, 12)], "b2.vec2.seq.rake.wg64", Some(20.0), 0);
    // Equal times: the lower spread wins.
    check_ideal(
        &[timed(a(), 1000, 5), timed(row(B, 64, 100, 10), 1000, 4)],
        "b2.vec2.seq.rake.wg64",
        Some(0.0),
        1,
    );
    // Equal in everything: the kernel that wins elsewhere.
    check_ideal(
        &[a(), row(B, 64, 100, 10), row(A, 64, 200, 1), row(B, 64, 200, 2)],
        "b2.vec2.seq.rake.wg64",
        Some(0.0),
        1,
    );
    // Equal in everything, nothing elsewhere: the order of the parameters; workgroup sizes as numbers, not as text.
    check_ideal(&[row(A, 1024, 100, 10), row(A, 64, 100, 10)], "b1.vec2.seq.rake.wg64", Some(0.0), 1);
    // 25 samples, quartiles 10 ns apart: the notch is 1.57 * 10 / 5 = 3.14 ns on either side. 6 ns apart they touch,
    // 7 ns apart they do not.
    let near = |ns: u64| [timed(a(), 1000, 5), timed(row(B, 64, 100, 10), 1000 + ns, 5)];
    check_ideal(&near(6), "b1.vec2.seq.rake.wg64", Some(0.6), 1);
    check_ideal(&near(7), "b1.vec2.seq.rake.wg64", Some(0.7), 0);
}

#[test]
fn metric_names() {
    for (text, expected) in [
        ("sum", Ok("sum")),
        ("power:1.25", Ok("power:1.25")),
        ("power:2", Ok("power:2")),
        ("power:0", Err("above 0")),
        ("power:-1", Err("above 0")),
        ("power:inf", Err("above 0")),
        ("power:NaN", Err("above 0")),
        ("power:x", Err("not a number")),
        ("power", Err("is not a metric; the metrics are")),
        ("Sum", Err("is not a metric; the metrics are")),
        ("", Err("is not a metric; the metrics are")),
    ] {
        match (text.parse::<Metric>(), expected) {
            (Ok(metric), Ok(name)) => assert_eq!(metric.to_string(), name),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}
