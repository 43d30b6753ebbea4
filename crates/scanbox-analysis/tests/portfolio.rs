//! Portfolios against every set there is, and their default: sizes count alike.

use crate::rows::*;
use proptest::prelude::*;
use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::lines::Lines;
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::table::KernelIndex;
use scanbox_model::record::Record;

const KERNELS: [&str; 7] = [A, B, C, D, "b1.vec4.par.rake", "b2.vec4.par.rake", "b4.vec4.par.rake"];
const SIZES: [u64; 4] = [100, 200, 400, 800];

/// Every set of so many of these, in order.
fn sets(kernels: &[KernelIndex], count: usize) -> Vec<Vec<KernelIndex>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, &first) in kernels.iter().enumerate() {
        for mut rest in sets(&kernels[index + 1..], count - 1) {
            rest.insert(0, first);
            all.push(rest);
        }
    }
    all
}

proptest! {
    /// Few different values make kernels that others are as good as everywhere.
    #[test]
    fn no_set_of_as_many_kernels_is_better(
        gbps in proptest::collection::vec(prop_oneof![1..6u64, 1..1000u64], KERNELS.len() * SIZES.len()),
        metric in proptest::sample::select(Metric::THESIS.to_vec()),
        normalization in proptest::sample::select(vec![None, Some(Normalization::None), Some(Normalization::DevicePeak)]),
    ) {
        let places = KERNELS.iter().flat_map(|&kernel| SIZES.map(|n| (kernel, n)));
        let rows: Vec<Record> = places.zip(&gbps).map(|((kernel, n), &gbps)| row(kernel, 64, n, gbps)).collect();
        let tables = tables(&rows);
        let question = Question { metric, normalization, portfolio: Some(4), ..Question::default() };
        let (answers, _) = answer(&tables, &question);
        let portfolio = answers.devices[0].portfolio.as_ref().unwrap();
        prop_assert_eq!(portfolio.normalization, normalization.unwrap_or(Normalization::SizeBest));
        prop_assert!(portfolio.undominated <= portfolio.candidates);
        let lines = Lines::new(&tables.catalog, &tables.devices[0]);
        let peak = SIZES.iter().map(|&n| lines.ideal_gbps(n).unwrap()).fold(0.0, f64::max);
        let scaled = |n: u64, gbps: f64| gbps / match portfolio.normalization {
            Normalization::SizeBest => lines.ideal_gbps(n).unwrap(),
            Normalization::DevicePeak => peak,
            _ => 1.0,
        };
        let ideal: Vec<f64> = SIZES.iter().map(|&n| scaled(n, lines.ideal_gbps(n).unwrap())).collect();
        let score = |set: &[KernelIndex]| {
            let line = SIZES.map(|n| {
                scaled(n, set.iter().map(|&kernel| lines.best(kernel, n).unwrap().gbps).fold(0.0, f64::max))
            });
            metric.score(&ideal, &line, &[1.0; 4])
        };
        for set in &portfolio.sets {
            prop_assert!(set.exact);
            let found = score(&set.kernels);
            prop_assert!((found - set.score).abs() <= 1e-9 * found.abs().max(1e-9));
            let sign = if metric.highest_wins() { -1.0 } else { 1.0 };
            for other in sets(&lines.kernels, set.kernels.len()) {
                let better = sign * (score(&other) - found) < -1e-9 * metric.score(&ideal, &[0.0; 4], &[1.0; 4]).abs().max(1.0);
                prop_assert!(!better, "{:?} is better than {:?}", other, set);
            }
        }
    }
}

/// B loses a fifth of the GB/s of the large size, C nothing there and nine tenths of the small one: by GB/s C is the
/// better kernel, by size it is not.
#[test]
fn a_small_size_counts_as_much_as_a_large_one() {
    let rows = [
        row(A, 64, 100, 10),
        row(A, 64, 200, 100),
        row(A, 64, 400, 4000),
        row(B, 64, 100, 10),
        row(B, 64, 200, 1000),
        row(B, 64, 400, 3600),
        row(C, 64, 100, 1),
        row(C, 64, 200, 1000),
        row(C, 64, 400, 4400),
    ];
    let tables = tables(&rows);
    let one = |normalization| {
        let question = Question { normalization, portfolio: Some(2), ..Question::default() };
        let (answers, _) = answer(&tables, &question);
        let portfolio = answers.devices[0].portfolio.clone().unwrap();
        let kernel = tables.catalog.kernel(portfolio.sets[0].kernels[0]).to_string();
        (kernel, portfolio.sets[0].mean_loss_pct)
    };
    assert_eq!(one(None).0, B);
    assert_eq!(one(None), one(Some(Normalization::SizeBest)));
    let by_gbps = one(Some(Normalization::None));
    assert_eq!(by_gbps.0, C);
    assert!(by_gbps.1 > one(None).1, "{by_gbps:?}");
}

/// More kernels than can be tried four by four; three of four are as good as another one everywhere.
#[test]
fn what_others_are_as_good_as_is_not_tried() {
    let mut rows = Vec::new();
    for batch in 1..=32u64 {
        for (place, tag) in ["", ".direct", ".striped"].into_iter().enumerate() {
            for block in ["rake", "blelloch", "sub"] {
                let kernel = format!("b{batch}.vec4.par.{block}{tag}");
                if kernel.parse::<scanbox_model::config::Kernel>().is_err() {
                    continue;
                }
                for n in SIZES {
                    // The first variant of each block is the best one; batches trade small sizes for large ones.
                    let gbps = 1000 + (batch * n / 10) % 971 - 100 * place as u64;
                    rows.push(row(&kernel, 64, n, if block == "rake" { gbps } else { gbps - 50 }));
                }
            }
        }
    }
    let tables = tables(&rows);
    let question = Question { portfolio: Some(4), ..Question::default() };
    let (answers, _) = answer(&tables, &question);
    let portfolio = answers.devices[0].portfolio.as_ref().unwrap();
    assert!(portfolio.candidates > 200 && portfolio.undominated <= 32, "{portfolio:?}");
    assert!(portfolio.sets.iter().all(|set| set.exact));
}

/// A set that has every size comes before faster ones that have not.
#[test]
fn what_covers_more_sizes_is_better() {
    let mut rows = SIZES[..3].iter().map(|&n| row(A, 64, n, 10)).collect::<Vec<_>>();
    rows.extend([row(B, 64, SIZES[0], 100), row(C, 64, SIZES[1], 90)]);
    let tables = tables(&rows);
    let question = Question { portfolio: Some(2), ..Question::default() };
    let (answers, _) = answer(&tables, &question);
    let sets = &answers.devices[0].portfolio.as_ref().unwrap().sets;
    let names: Vec<Vec<String>> = sets
        .iter()
        .map(|set| set.kernels.iter().map(|&kernel| tables.catalog.kernel(kernel).to_string()).collect())
        .collect();
    assert_eq!(names, [vec![A.to_owned()], vec![A.to_owned(), B.to_owned()]]);
    assert!(sets.iter().all(|set| set.uncovered == 0));
}
