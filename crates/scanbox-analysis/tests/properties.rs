//! What has to hold whatever was measured.

use crate::rows::*;
use proptest::prelude::*;
use scanbox_analysis::answers::{Answers, Question, answer};
use scanbox_analysis::best_kernel::Criterion;
use scanbox_analysis::best_kernel::Ranking;
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::lines::Lines;
use scanbox_analysis::metric::{Exponent, Metric};
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portable::portable_kernel;
use scanbox_analysis::shared::{Candidates, SharedMetric, SharedSet, shared_set};
use scanbox_analysis::table::{ConfigIndex, KernelIndex, Tables};
use scanbox_analysis::weights::Weights;
use scanbox_model::record::{Record, Status, TimeStats};

const KERNELS: [&str; 4] = [A, B, C, D];
const SIZES: [u64; 4] = [100, 200, 300, 400];

/// The rows of one device: each kernel at each size with one or two configs. Few different times make ties, one
/// failure in twelve makes gaps.
fn sweep(device: &'static str) -> impl Strategy<Value = Vec<Record>> {
    let one = (0..KERNELS.len(), 0..SIZES.len(), any::<bool>());
    let time = prop_oneof![100u64..110, 100u64..5_000];
    let measured = (time, 0u64..4, 0..12u32);
    let points: Vec<_> = (0..KERNELS.len())
        .flat_map(|kernel| (0..SIZES.len()).flat_map(move |size| [64, 128].map(|wg| (kernel, size, wg))))
        .collect();
    let count = points.len();
    (proptest::collection::vec(measured, count), proptest::collection::vec(one, 0..3)).prop_map(
        move |(measured, gaps)| {
            let rows =
                points.iter().zip(measured).map(|(&(kernel, size, workgroup_size), (ns, spread, luck))| {
                    let record =
                        on(row(KERNELS[kernel], workgroup_size, SIZES[size], 1 + size as u64), device);
                    let record = timed(record, ns, spread);
                    let gap = gaps
                        .iter()
                        .any(|&(k, s, second)| k == kernel && s == size && (second || workgroup_size == 64));
                    if luck == 0 || gap { failed(record, Status::RuntimeError) } else { record }
                });
            rows.collect()
        },
    )
}

fn devices() -> impl Strategy<Value = Vec<Vec<Record>>> {
    (sweep("d1"), sweep("d2"), sweep("d3"), 1..=3usize)
        .prop_map(|(a, b, c, count)| [a, b, c].into_iter().take(count).collect())
}

fn tables_of_files(files: &[Vec<Record>]) -> Tables {
    let sources: Vec<_> = files.iter().map(|records| source(records)).collect();
    tables_of(&sources, Runs::Latest).0
}

fn answers_by<'a>(tables: &'a Tables, metric: Metric, normalization: Normalization) -> Answers<'a> {
    answer(
        tables,
        &Question { metric, normalization: Some(normalization), all_metrics: true, ..Question::default() },
    )
    .0
}

/// The order of kernels in every ranking of the answers: across devices, then of each device.
fn orders(answers: &Answers<'_>) -> Vec<Vec<KernelIndex>> {
    let order = |ranking: &Ranking| {
        std::iter::once(&ranking.winner).chain(&ranking.others).map(|s| s.kernel).collect()
    };
    let across = answers.across.iter().filter_map(|across| across.portable.choice.as_ref());
    let alone = answers.devices.iter().filter_map(|device| device.choice.as_ref());
    across.chain(alone).map(|choice| order(&choice.ranking)).collect()
}

fn metrics() -> impl Strategy<Value = Metric> {
    prop_oneof![
        Just(Metric::Sum),
        Just(Metric::Absolute),
        Just(Metric::Squared),
        Just(Metric::Chebyshev),
        Just(Metric::Cosine),
        (0.25..4.0f64).prop_map(|exponent| Metric::Power(Exponent::new(exponent).unwrap())),
    ]
}

fn normalizations() -> impl Strategy<Value = Normalization> {
    proptest::sample::select(Normalization::ALL.to_vec())
}

fn by_metric(metric: Metric, normalization: Normalization) -> Criterion<'static> {
    Criterion { metric, normalization, weights: &Weights::Uniform }
}

fn shared_metrics() -> impl Strategy<Value = SharedMetric> {
    proptest::sample::select(SharedMetric::ALL.to_vec())
}

/// The shared set of these devices.
fn shared(tables: &Tables, lines: &[&Lines<'_>], metric: SharedMetric, by: Normalization) -> SharedSet {
    shared_set(&Candidates::of_every_size(&tables.catalog, lines), metric, by)
}

fn lines_of(tables: &Tables) -> Vec<Lines<'_>> {
    tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect()
}

fn configs(shared: &SharedSet) -> Vec<(u64, ConfigIndex)> {
    shared.points.iter().map(|point| (point.n, point.config)).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3)
}

fn coverages() -> impl Strategy<Value = Coverage> {
    prop_oneof![
        Just("auto"),
        Just("common"),
        Just("all"),
        Just("widest"),
        Just("0.5"),
        Just("0.9"),
        Just("100,300"),
    ]
    .prop_map(|text| text.parse().unwrap())
}

fn power(exponent: f64) -> Metric {
    Metric::Power(Exponent::new(exponent).unwrap())
}

fn scaled(record: &Record, factor: u64) -> Record {
    let times = |time: TimeStats| TimeStats {
        median_ns: factor * time.median_ns,
        q1_ns: factor * time.q1_ns,
        q3_ns: factor * time.q3_ns,
        ..time
    };
    Record { steady: record.steady.map(times), ..record.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sum_and_absolute_and_the_powers_agree(files in devices(), normalization in normalizations()) {
        let tables = tables_of_files(&files);
        let orders_by = |metric| orders(&answers_by(&tables, metric, normalization));
        prop_assert_eq!(orders_by(Metric::Sum), orders_by(Metric::Absolute));
        prop_assert_eq!(orders_by(power(1.0)), orders_by(Metric::Absolute));
        prop_assert_eq!(orders_by(power(2.0)), orders_by(Metric::Squared));
    }

    #[test]
    fn the_order_of_rows_and_files_does_not_matter(
        files in devices(), metric in metrics(), normalization in normalizations(), cut in 0..32usize,
    ) {
        let tables = tables_of_files(&files);
        let mut shuffled: Vec<Vec<Record>> = files.iter().rev().cloned().collect();
        for records in &mut shuffled {
            records.reverse();
            records.rotate_left(cut);
        }
        let split: Vec<Vec<Record>> = shuffled.iter().flat_map(|r| [r[cut..].to_vec(), r[..cut].to_vec()]).collect();
        for other in [tables_of_files(&shuffled), tables_of_files(&split)] {
            prop_assert_eq!(&tables, &other);
            prop_assert_eq!(answers_by(&tables, metric, normalization), answers_by(&other, metric, normalization));
        }
    }

    #[test]
    fn the_scale_of_a_device_does_not_matter(files in devices(), metric in metrics(), factor in 2..50u64) {
        let mut slower = files.clone();
        slower[0] = slower[0].iter().map(|record| scaled(record, factor)).collect();
        let (tables, slower) = (tables_of_files(&files), tables_of_files(&slower));
        let of = |tables| orders(&answers_by(tables, metric, Normalization::SizeBest));
        prop_assert_eq!(of(&tables), of(&slower));
        prop_assert_eq!(ideal_labels(&tables, 0), ideal_labels(&slower, 0));
    }

    #[test]
    fn a_dominated_config_changes_no_ideal_set(files in devices(), kernel in 0..4usize, size in 0..4usize) {
        let tables = tables_of_files(&files);
        let mut more = files.clone();
        let slow = timed(on(row(KERNELS[kernel], 1024, SIZES[size], 1), "d1"), 1_000_000, 0);
        more[0].push(slow);
        // Where nothing else is ok the slow config dominates: it is not dominated.
        let measured = ideal_labels(&tables, 0).iter().any(|&(n, _)| n == SIZES[size]);
        prop_assume!(measured);
        prop_assert_eq!(ideal_labels(&tables, 0), ideal_labels(&tables_of_files(&more), 0));
    }

    #[test]
    fn a_device_twice_leaves_the_portable_kernel(
        files in devices(), metric in metrics(), normalization in normalizations(),
    ) {
        // Sums over each device twice are twice the sums: the order stays. One device alone is the same answer too.
        let tables = tables_of_files(&files);
        let lines: Vec<Lines<'_>> = tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect();
        let once: Vec<&Lines<'_>> = lines.iter().collect();
        let twice: Vec<&Lines<'_>> = lines.iter().chain(&lines).collect();
        let winner = |devices: &[&Lines<'_>]| {
            let (portable, _) = portable_kernel(&tables.catalog, devices, &Coverage::Auto, &by_metric(metric, normalization));
            portable.choice.map(|choice| choice.ranking.winner.kernel)
        };
        prop_assert_eq!(winner(&once), winner(&twice));
    }

    #[test]
    fn one_device_across_devices_is_one_device(
        records in sweep("d1"), metric in metrics(), normalization in normalizations(),
    ) {
        let tables = tables_of_files(&[records]);
        let alone = answers_by(&tables, metric, normalization).devices.remove(0).choice;
        let lines = Lines::new(&tables.catalog, &tables.devices[0]);
        let (across, _) = portable_kernel(&tables.catalog, &[&lines], &Coverage::Auto, &by_metric(metric, normalization));
        prop_assert_eq!(alone, across.choice);
    }

    #[test]
    fn only_ok_rows_win_and_the_ideal_line_is_the_highest(files in devices(), metric in metrics()) {
        let tables = tables_of_files(&files);
        let answers = answers_by(&tables, metric, Normalization::None);
        for device in &answers.devices {
            let rows: Vec<&Record> = files.iter().flatten().filter(|r| r.device == device.table.device.name).collect();
            for point in &device.ideal.points {
                let label = tables.catalog.config(point.best.config).to_string();
                prop_assert!(rows.iter().any(|r| r.config_id == label && r.n_elements == point.n && r.status == Status::Ok));
                for row in rows.iter().filter(|r| r.n_elements == point.n && r.status == Status::Ok) {
                    let time = row.steady.unwrap().median_ns;
                    prop_assert!(point.best.gbps >= row.bytes_moved as f64 / time as f64);
                }
            }
            for line in device.choice.iter().flat_map(|choice| &choice.lines) {
                for point in &line.points {
                    prop_assert!(point.best.gbps <= point.ideal_gbps && point.loss_pct >= 0.0);
                }
            }
        }
    }

    #[test]
    fn mean_less_deviation_is_the_minimum_of_two_devices(
        a in sweep("d1"), b in sweep("d2"), normalization in normalizations(),
    ) {
        let tables = tables_of_files(&[a, b]);
        let lines = lines_of(&tables);
        let lines: Vec<&Lines<'_>> = lines.iter().collect();
        let of = |metric| shared(&tables, &lines, metric, normalization);
        let (mean_std, min) = (of(SharedMetric::MeanStd), of(SharedMetric::Min));
        prop_assert_eq!(configs(&mean_std), configs(&min));
        for (a, b) in mean_std.points.iter().zip(&min.points) {
            prop_assert!(close(a.score, b.score), "{} and {}", a.score, b.score);
        }
    }

    #[test]
    fn shared_sets_know_neither_scales_nor_copies_of_devices(
        files in devices(), metric in shared_metrics(), factor in 2..50u64,
    ) {
        let mut slower = files.clone();
        slower[0] = slower[0].iter().map(|record| scaled(record, factor)).collect();
        let (tables, slower) = (tables_of_files(&files), tables_of_files(&slower));
        let (lines, slower_lines) = (lines_of(&tables), lines_of(&slower));
        let once: Vec<&Lines<'_>> = lines.iter().collect();
        let twice: Vec<&Lines<'_>> = lines.iter().chain(&lines).collect();
        let slower_once: Vec<&Lines<'_>> = slower_lines.iter().collect();
        let of = |tables, lines: &[&Lines<'_>]| configs(&shared(tables, lines, metric, Normalization::SizeBest));
        prop_assert_eq!(of(&tables, &once), of(&slower, &slower_once));
        prop_assert_eq!(of(&tables, &once), of(&tables, &twice));
    }

    #[test]
    fn the_shared_set_of_one_device_is_its_ideal_set(
        records in sweep("d1"), metric in shared_metrics(), normalization in normalizations(),
    ) {
        let tables = tables_of_files(&[records]);
        let lines = lines_of(&tables);
        // Of equally fast ones, the tie-breaks look at other things: the throughput is the same.
        for point in &shared(&tables, &[&lines[0]], metric, normalization).points {
            prop_assert_eq!(Some(point.cells[0].gbps), lines[0].ideal_gbps(point.n));
            prop_assert_eq!(point.loss_pct[0], 0.0);
        }
    }

    #[test]
    fn shared_configs_are_ok_everywhere_and_score_best(
        files in devices(), metric in shared_metrics(), normalization in normalizations(),
    ) {
        let tables = tables_of_files(&files);
        let lines = lines_of(&tables);
        let lines: Vec<&Lines<'_>> = lines.iter().collect();
        for point in &shared(&tables, &lines, metric, normalization).points {
            let label = tables.catalog.config(point.config).to_string();
            for (device, cell) in tables.devices.iter().zip(&point.cells) {
                let is_it = |row: &&Record| {
                    row.device == device.device.name && row.n_elements == point.n && row.config_id == label
                };
                let row = files.iter().flatten().find(is_it).unwrap();
                prop_assert_eq!(row.status, Status::Ok);
                prop_assert_eq!(row.steady.unwrap().median_ns, cell.median_ns);
            }
            if let Some((_, other)) = point.runner_up {
                let lead = if metric.highest_wins() { point.score - other } else { other - point.score };
                prop_assert!(lead >= -1e-9 * other.abs().max(1.0), "{} and {}", point.score, other);
            }
        }
    }

    #[test]
    fn a_portfolio_of_one_is_the_best_kernel_and_one_of_all_the_ideal_line(
        files in devices(), normalization in normalizations(), metric in metrics(), coverage in coverages(),
    ) {
        let tables = tables_of_files(&files);
        let question = Question {
            metric, normalization: Some(normalization), coverage, portfolio: Some(KERNELS.len()),
            ..Question::default()
        };
        let (answers, _) = answer(&tables, &question);
        let of_devices = answers.devices.iter().map(|device| (&device.portfolio, &device.choice));
        let of_all = answers.across.iter().map(|across| (&across.portfolio, &across.portable.choice));
        for (portfolio, choice) in of_devices.chain(of_all) {
            let Some(portfolio) = portfolio else { continue };
            if let Some(choice) = choice {
                prop_assert_eq!(&portfolio.sets[0].kernels, &[choice.ranking.winner.kernel]);
                prop_assert!(close(portfolio.sets[0].score, choice.ranking.winner.score));
            }
            let sign = if metric.highest_wins() { -1.0 } else { 1.0 };
            for pair in portfolio.sets.windows(2) {
                prop_assert!(pair[1].uncovered <= pair[0].uncovered);
                // More kernels never do worse, but the direction of a line can turn.
                if pair[0].uncovered == pair[1].uncovered && metric != Metric::Cosine {
                    prop_assert!(sign * pair[1].score <= sign * pair[0].score + 1e-9 * pair[0].score.abs());
                }
            }
            let last = portfolio.sets.last().unwrap();
            prop_assert_eq!((last.uncovered, last.worst.0), (0, 0.0));
            prop_assert!(portfolio.sets.iter().all(|set| set.exact));
        }
    }

    #[test]
    fn kernels_take_part_only_with_every_size(files in devices(), coverage in coverages()) {
        let tables = tables_of_files(&files);
        let lines = lines_of(&tables);
        let lines: Vec<&Lines<'_>> = lines.iter().collect();
        let (found, _) = scanbox_analysis::eligible::eligibility(&tables.catalog, &lines, &coverage);
        let is_ok = |kernel, n| lines.iter().all(|lines| lines.best(kernel, n).is_some());
        prop_assert!(found.kernels.iter().all(|&kernel| found.sizes.iter().all(|&n| is_ok(kernel, n))));
        for dropped in &found.dropped {
            prop_assert!(dropped.sizes.iter().any(|&n| !is_ok(dropped.kernel, n)));
        }
        if coverage == Coverage::Widest && !found.sizes.is_empty() {
            prop_assert!(!found.kernels.is_empty(), "the widest coverage is that of some kernel");
        }
        if coverage == Coverage::All {
            prop_assert_eq!(found.sizes.len(), found.measured);
        }
    }

    #[test]
    fn weights_that_are_equal_change_nothing(
        files in devices(), metric in metrics(), normalization in normalizations(), weight in 0.01..100.0f64,
    ) {
        let tables = tables_of_files(&files);
        let listed = Weights::Listed(SIZES.iter().map(|&n| (n, weight)).collect());
        let of = |weights| {
            let question =
                Question { metric, normalization: Some(normalization), weights, ..Question::default() };
            orders(&answer(&tables, &question).0)
        };
        prop_assert_eq!(of(Weights::Uniform), of(listed));
    }
}
