//! The answers as JSON. The structures here are the format: fields are only added within [`FORMAT`].
//!
//! Throughput is in GB/s, times are in nanoseconds, sizes in elements, `*_pct` in percent. A kernel or config is its
//! label. Numbers are rounded to nine significant digits, so that they are the same on every machine.

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer, MetricAnswer};
use scanbox_analysis::bandwidth::{self, Origin, Regime};
use scanbox_analysis::best_kernel::{KernelLine, Ranking, Score};
use scanbox_analysis::density::Density;
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::ideal::IdealPoint;
use scanbox_analysis::portability::Portability;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::portfolio::Portfolio;
use scanbox_analysis::problem::Problem;
use scanbox_analysis::shared::{SharedPoint, SharedSet};
use scanbox_analysis::table::{Catalog, ConfigIndex, KernelIndex, SpaceOrigin};
use scanbox_analysis::transfer::Transfer;
use scanbox_analysis::trends::Trend;
use scanbox_analysis::weights;
use scanbox_model::device::DeviceKind;
use serde::{Serialize, Serializer};

use super::{Report, clock_word};

/// The version of this format.
pub const FORMAT: u32 = 2;

/// The whole document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    format: u32,
    tool_version: &'static str,
    clock: &'static str,
    metric: String,
    normalization: &'static str,
    normalization_across: &'static str,
    shared_metric: String,
    normalization_shared: &'static str,
    /// As it was asked for; each comparison says what decided.
    coverage: String,
    weights: Weights,
    warnings: &'a [String],
    /// Rows of implementations other than scanbox; they enter no answer but `baseline`.
    other_subjects: &'a BTreeMap<String, u64>,
    /// By problem, device and run.
    devices: Vec<Device>,
    /// By problem; none of one with fewer than two devices.
    across: Vec<Across>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Weights {
    Uniform,
    Large,
    Listed(BTreeMap<u64, Number>),
}

/// What was scanned.
#[derive(Debug, Serialize)]
struct Scanned {
    mode: String,
    element: String,
    op: String,
    /// Of a user's operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_hash: Option<String>,
    /// Of an exclusive scan.
    init: Option<String>,
    placement: String,
}

#[derive(Debug, Serialize)]
struct Device {
    device: String,
    device_uuid: String,
    #[serde(flatten)]
    problem: Scanned,
    /// `null` without metadata.
    kind: Option<DeviceKind>,
    driver: String,
    scanbox_version: String,
    kernel_hash: String,
    newest_utc: String,
    rows: Rows,
    ideal: Ideal,
    /// A20; `null` where the bandwidth is not known.
    bandwidth: Option<Bandwidth>,
    /// A22; `null` without rows of another implementation.
    baseline: Option<Baseline>,
    comparison: Comparison,
    best_kernel: Option<Best>,
    by_metric: Vec<MetricRow>,
    /// A24, one set per number of kernels; `null` where nobody asked.
    portfolio: Option<Vec<KernelSet>>,
    /// A19, by size.
    densities: Vec<DensityRow>,
    /// A21, by parameter.
    trends: Vec<TrendRow>,
}

#[derive(Debug, Serialize)]
struct DensityRow {
    n: u64,
    configs: usize,
    median_gbps: Number,
    p90_gbps: Number,
    best_gbps: Number,
    /// The share of the configs within 5 % of the best, from 0 to 1.
    near_best: Number,
    /// The left edge of the first bin, the width of each, and how many configs are in each.
    low_gbps: Number,
    width_gbps: Number,
    counts: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct TrendRow {
    parameter: &'static str,
    /// Its value in the ideal configuration set, by size.
    ideal: BTreeMap<u64, String>,
    /// The best line with the parameter pinned.
    pinned: Vec<Pinned>,
}

#[derive(Debug, Serialize)]
struct Pinned {
    value: String,
    mean_loss_pct: Option<Number>,
    /// Percent of the ideal throughput, by size.
    loss_pct: BTreeMap<u64, Number>,
}

#[derive(Debug, Serialize)]
struct Bandwidth {
    gbps: Number,
    /// `given` or `copy`.
    origin: &'static str,
    /// The size of the copy.
    copy_n: Option<u64>,
    points: Vec<BandwidthRow>,
}

#[derive(Debug, Serialize)]
struct BandwidthRow {
    n: u64,
    pct: Number,
    regime: &'static str,
}

#[derive(Debug, Serialize)]
struct Baseline {
    points: Vec<BaselineRow>,
    regions: Vec<BaselineRegion>,
}

#[derive(Debug, Serialize)]
struct BaselineRow {
    n: u64,
    subject: String,
    gbps: Number,
    ratio: Number,
    regime: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct BaselineRegion {
    /// `null`: every size, where the bandwidth is not known.
    regime: Option<&'static str>,
    sizes: usize,
    faster: usize,
    mean_ratio: Number,
    least_ratio: Number,
    least_n: u64,
    most_ratio: Number,
    most_n: u64,
}

#[derive(Debug, Serialize)]
struct KernelSet {
    kernels: Vec<String>,
    score: Number,
    exact: bool,
    uncovered: usize,
    mean_loss_pct: Number,
    worst_loss_pct: Number,
    worst_n: u64,
}

/// The winner of a metric with what it loses over all devices, and the whole ranking.
#[derive(Debug, Serialize)]
struct MetricRow {
    #[serde(flatten)]
    ranked: Ranked,
    mean_loss_pct: Option<Number>,
    worst_loss_pct: Option<Number>,
    worst_n: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Rows {
    total: u64,
    by_status: BTreeMap<&'static str, u64>,
    replaced: u64,
    without_time: u64,
    /// `planned`: from metadata; `rows`: what the rows show.
    space: &'static str,
    planned_points: Option<u64>,
    planned_with_row: Option<u64>,
}

/// A1 and A20.
#[derive(Debug, Serialize)]
struct Ideal {
    /// Kernels that the set needs, with the number of sizes.
    kernels: BTreeMap<String, usize>,
    points: Vec<IdealRow>,
}

#[derive(Debug, Serialize)]
struct IdealRow {
    n: u64,
    config: String,
    kernel: String,
    gbps: Number,
    time_ns_median: u64,
    time_ns_q1: u64,
    time_ns_q3: u64,
    samples: u32,
    spread_pct: Number,
    /// By the confirmation of the sweep; `null` without one.
    confirmed_ns_median: Option<u64>,
    runner_up: Option<String>,
    runner_up_gbps: Option<Number>,
    margin_pct: Option<Number>,
    ties: usize,
    configs: usize,
    copy_gbps: Option<Number>,
    copy_pct: Option<Number>,
    /// The fastest scan of another implementation; `null` without a file that has one.
    baseline_gbps: Option<Number>,
    baseline_ratio: Option<Number>,
}

/// A3.
#[derive(Debug, Serialize)]
struct Comparison {
    /// What decided over which sizes kernels are compared.
    coverage: String,
    sizes: Vec<u64>,
    /// Sizes with an `ok` row on every device.
    measured_sizes: usize,
    kernels: Vec<String>,
    dropped: Vec<DroppedKernel>,
}

#[derive(Debug, Serialize)]
struct DroppedKernel {
    kernel: String,
    device: String,
    sizes: Vec<u64>,
    reason: String,
}

/// A4 to A9.
#[derive(Debug, Serialize)]
struct Ranked {
    metric: String,
    normalization: &'static str,
    highest_wins: bool,
    /// Best first.
    ranking: Vec<RankedKernel>,
}

#[derive(Debug, Serialize)]
struct RankedKernel {
    kernel: String,
    score: Number,
}

/// The chosen kernel with its line (A10).
#[derive(Debug, Serialize)]
struct Best {
    kernel: String,
    #[serde(flatten)]
    ranked: Ranked,
    /// Normalisations that would choose another kernel.
    other_normalizations: BTreeMap<&'static str, String>,
    /// Kernels that cannot be told from it at any size.
    ties: Vec<String>,
    #[serde(flatten)]
    line: Option<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    mean_loss_pct: Option<Number>,
    worst_loss_pct: Option<Number>,
    worst_n: Option<u64>,
    line: Vec<LineRow>,
}

#[derive(Debug, Serialize)]
struct LineRow {
    n: u64,
    config: String,
    workgroup_size: u32,
    workgroups: Option<u32>,
    gbps: Number,
    ideal_gbps: Number,
    loss_pct: Number,
    in_choice: bool,
}

#[derive(Debug, Serialize)]
struct Across {
    #[serde(flatten)]
    problem: Scanned,
    /// Positions in `devices`.
    devices: Vec<usize>,
    comparison: Comparison,
    portable_kernel: Option<Portable>,
    by_metric: Vec<MetricRow>,
    /// By the chosen metric.
    shared: Shared,
    /// By the others.
    shared_by_metric: Vec<Shared>,
    /// A11; `from` and `to` are positions in `across.devices`.
    transfers: Vec<TransferRow>,
    /// A23, the highest `pp` first.
    portability: Vec<PortabilityRow>,
    portfolio: Option<Vec<KernelSet>>,
}

#[derive(Debug, Serialize)]
struct TransferRow {
    from: usize,
    to: usize,
    /// Sizes where the config of the one is `ok` on the other.
    sizes: usize,
    /// Sizes where it is not.
    missing: Vec<u64>,
    worst_efficiency: Option<Number>,
    worst_n: Option<u64>,
    geometric_mean: Option<Number>,
    harmonic_mean: Option<Number>,
}

#[derive(Debug, Serialize)]
struct PortabilityRow {
    kernel: String,
    pp: Number,
    mean: Number,
    /// In the order of `devices`; 0: not supported.
    efficiencies: Vec<Number>,
}

/// A18.
#[derive(Debug, Serialize)]
struct Portable {
    kernel: String,
    #[serde(flatten)]
    ranked: Ranked,
    other_normalizations: BTreeMap<&'static str, String>,
    ties: Vec<String>,
    /// The launch table: one line per device, in the order of `devices`.
    lines: Vec<Line>,
}

/// A12 to A17.
#[derive(Debug, Serialize)]
struct Shared {
    metric: String,
    normalization: &'static str,
    highest_wins: bool,
    mean_loss_pct: Option<Number>,
    worst_loss_pct: Option<Number>,
    worst_n: Option<u64>,
    /// Sizes with `ok` rows on every device but no config in common.
    without_config: Vec<u64>,
    /// The sizes where another normalisation would choose another config.
    other_normalizations: BTreeMap<&'static str, Vec<u64>>,
    points: Vec<SharedRow>,
}

#[derive(Debug, Serialize)]
struct SharedRow {
    n: u64,
    candidates: usize,
    config: String,
    score: Number,
    runner_up: Option<String>,
    runner_up_score: Option<Number>,
    /// In the order of `devices`, as the losses.
    gbps: Vec<Number>,
    loss_pct: Vec<Number>,
}

/// A number that is written with nine significant digits.
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(format!("{:.8e}", self.0).parse().unwrap_or(self.0))
    }
}

/// Writes the document.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let labels = Labels(&report.tables.catalog);
    let document = Document {
        format: FORMAT,
        tool_version: env!("CARGO_PKG_VERSION"),
        clock: clock_word(report.clock),
        metric: report.question.metric.to_string(),
        normalization: report.question.normalization_alone().word(),
        normalization_across: report.question.normalization_across().word(),
        shared_metric: report.question.shared_metric.to_string(),
        normalization_shared: report.question.normalization_shared(report.question.shared_metric).word(),
        coverage: report.question.coverage.to_string(),
        weights: match &report.question.weights {
            weights::Weights::Uniform => Weights::Uniform,
            weights::Weights::Large => Weights::Large,
            weights::Weights::Listed(listed) => {
                Weights::Listed(listed.iter().map(|(&n, &weight)| (n, Number(weight))).collect())
            }
        },
        warnings: report.warnings,
        other_subjects: &report.tables.other_subjects,
        devices: report.answers.devices.iter().map(|device| labels.device(device)).collect(),
        across: report.answers.across.iter().map(|across| labels.across(across)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// Turns answers about numbers into rows about labels.
struct Labels<'a>(&'a Catalog);

impl Labels<'_> {
    fn kernel(&self, kernel: KernelIndex) -> String {
        self.0.kernel(kernel).to_string()
    }

    fn config(&self, config: ConfigIndex) -> String {
        self.0.config(config).to_string()
    }

    fn device(&self, device: &DeviceAnswer<'_>) -> Device {
        let table = device.table;
        Device {
            device: table.device.name.clone(),
            device_uuid: table.device.uuid.clone(),
            problem: scanned(table.problem),
            kind: table.kind,
            driver: table.provenance.driver.clone(),
            scanbox_version: table.provenance.version.clone(),
            kernel_hash: table.provenance.kernel_hash.clone(),
            newest_utc: table.newest_utc.clone(),
            rows: Rows {
                total: table.summary.rows,
                by_status: table
                    .summary
                    .by_status
                    .iter()
                    .map(|(status, &count)| (status.word(), count))
                    .collect(),
                replaced: table.summary.replaced,
                without_time: table.summary.without_time,
                space: match table.space_origin {
                    SpaceOrigin::Planned => "planned",
                    SpaceOrigin::Rows => "rows",
                },
                planned_points: table.summary.planned_points,
                planned_with_row: table.summary.planned_points.map(|_| table.summary.planned_with_row),
            },
            ideal: Ideal {
                kernels: device
                    .ideal
                    .uses
                    .iter()
                    .map(|(&kernel, &sizes)| (self.kernel(kernel), sizes))
                    .collect(),
                points: device.ideal.points.iter().map(|point| self.ideal_row(point)).collect(),
            },
            bandwidth: device.utilization.as_ref().map(bandwidth),
            baseline: device.baseline.as_ref().map(baseline),
            comparison: self.comparison(&device.eligibility),
            best_kernel: device.choice.as_ref().map(|choice| self.best(choice)),
            by_metric: device.by_metric.iter().map(|answer| self.metric_row(answer)).collect(),
            portfolio: device.portfolio.as_ref().map(|portfolio| self.portfolio(portfolio)),
            densities: device.densities.iter().map(density).collect(),
            trends: device.trends.iter().map(trend).collect(),
        }
    }

    fn ideal_row(&self, point: &IdealPoint) -> IdealRow {
        IdealRow {
            n: point.n,
            config: self.config(point.best.config),
            kernel: self.kernel(self.0.kernel_of(point.best.config)),
            gbps: Number(point.best.gbps),
            time_ns_median: point.best.median_ns,
            time_ns_q1: point.best.q1_ns,
            time_ns_q3: point.best.q3_ns,
            samples: point.best.samples,
            spread_pct: Number(100.0 * point.best.relative_spread()),
            confirmed_ns_median: point.best.confirmed_ns,
            runner_up: point.runner_up.map(|cell| self.config(cell.config)),
            runner_up_gbps: point.runner_up.map(|cell| Number(cell.gbps)),
            margin_pct: point.margin_pct.map(Number),
            ties: point.ties,
            configs: point.configs,
            copy_gbps: point.copy_gbps.map(Number),
            copy_pct: point.copy_pct().map(Number),
            baseline_gbps: point.baseline_gbps.map(Number),
            baseline_ratio: point.baseline_ratio().map(Number),
        }
    }

    fn comparison(&self, eligibility: &Eligibility) -> Comparison {
        let dropped = eligibility.dropped.iter().map(|dropped| DroppedKernel {
            kernel: self.kernel(dropped.kernel),
            device: dropped.device.clone(),
            sizes: dropped.sizes.clone(),
            reason: dropped.to_string(),
        });
        Comparison {
            coverage: eligibility.coverage.to_string(),
            sizes: eligibility.sizes.clone(),
            measured_sizes: eligibility.measured,
            kernels: self.kernels(&eligibility.kernels),
            dropped: dropped.collect(),
        }
    }

    fn ranked(&self, ranking: &Ranking) -> Ranked {
        let row =
            |score: &Score| RankedKernel { kernel: self.kernel(score.kernel), score: Number(score.score) };
        Ranked {
            metric: ranking.metric.to_string(),
            normalization: ranking.normalization.word(),
            highest_wins: ranking.metric.highest_wins(),
            ranking: std::iter::once(&ranking.winner).chain(&ranking.others).map(row).collect(),
        }
    }

    fn other_normalizations(&self, choice: &Choice) -> BTreeMap<&'static str, String> {
        choice
            .other_normalizations
            .iter()
            .map(|&(other, kernel)| (other.word(), self.kernel(kernel)))
            .collect()
    }

    fn best(&self, choice: &Choice) -> Best {
        Best {
            kernel: self.kernel(choice.ranking.winner.kernel),
            ranked: self.ranked(&choice.ranking),
            other_normalizations: self.other_normalizations(choice),
            ties: self.kernels(&choice.ties),
            line: choice.lines.first().map(|line| self.line(line)),
        }
    }

    fn line(&self, line: &KernelLine) -> Line {
        let rows = line.points.iter().map(|point| {
            let config = self.0.config(point.best.config);
            LineRow {
                n: point.n,
                config: config.to_string(),
                workgroup_size: config.workgroup_size,
                workgroups: config.workgroups,
                gbps: Number(point.best.gbps),
                ideal_gbps: Number(point.ideal_gbps),
                loss_pct: Number(point.loss_pct),
                in_choice: point.in_choice,
            }
        });
        Line {
            mean_loss_pct: line.mean_loss_pct().map(Number),
            worst_loss_pct: line.worst().map(|point| Number(point.loss_pct)),
            worst_n: line.worst().map(|point| point.n),
            line: rows.collect(),
        }
    }

    fn across(&self, across: &AcrossAnswer) -> Across {
        let portable = across.portable.choice.as_ref().map(|choice| Portable {
            kernel: self.kernel(choice.ranking.winner.kernel),
            ranked: self.ranked(&choice.ranking),
            other_normalizations: self.other_normalizations(choice),
            ties: self.kernels(&choice.ties),
            lines: choice.lines.iter().map(|line| self.line(line)).collect(),
        });
        Across {
            problem: scanned(across.problem),
            devices: across.devices.clone(),
            comparison: self.comparison(&across.portable.eligibility),
            portable_kernel: portable,
            by_metric: across.by_metric.iter().map(|answer| self.metric_row(answer)).collect(),
            shared: self.shared(&across.shared),
            shared_by_metric: across.shared_by_metric.iter().map(|shared| self.shared(shared)).collect(),
            transfers: across.transfers.iter().map(transfer).collect(),
            portability: across.portability.kernels.iter().map(|row| self.portability(row)).collect(),
            portfolio: across.portfolio.as_ref().map(|portfolio| self.portfolio(portfolio)),
        }
    }

    fn portability(&self, row: &Portability) -> PortabilityRow {
        PortabilityRow {
            kernel: self.kernel(row.kernel),
            pp: Number(row.pp),
            mean: Number(row.mean),
            efficiencies: row.efficiencies.iter().copied().map(Number).collect(),
        }
    }

    fn kernels(&self, kernels: &[KernelIndex]) -> Vec<String> {
        kernels.iter().map(|&kernel| self.kernel(kernel)).collect()
    }

    fn metric_row(&self, answer: &MetricAnswer) -> MetricRow {
        let worst = answer.worst();
        MetricRow {
            ranked: self.ranked(&answer.ranking),
            mean_loss_pct: answer.mean_loss_pct().map(Number),
            worst_loss_pct: worst.map(|point| Number(point.loss_pct)),
            worst_n: worst.map(|point| point.n),
        }
    }

    fn portfolio(&self, portfolio: &Portfolio) -> Vec<KernelSet> {
        let row = |set: &scanbox_analysis::portfolio::KernelSet| KernelSet {
            kernels: self.kernels(&set.kernels),
            score: Number(set.score),
            exact: set.exact,
            uncovered: set.uncovered,
            mean_loss_pct: Number(set.mean_loss_pct),
            worst_loss_pct: Number(set.worst.0),
            worst_n: set.worst.1,
        };
        portfolio.sets.iter().map(row).collect()
    }

    fn shared(&self, shared: &SharedSet) -> Shared {
        let row = |point: &SharedPoint| SharedRow {
            n: point.n,
            candidates: point.candidates,
            config: self.config(point.config),
            score: Number(point.score),
            runner_up: point.runner_up.map(|(config, _)| self.config(config)),
            runner_up_score: point.runner_up.map(|(_, score)| Number(score)),
            gbps: point.cells.iter().map(|cell| Number(cell.gbps)).collect(),
            loss_pct: point.loss_pct.iter().copied().map(Number).collect(),
        };
        let others = shared.other_normalizations.iter();
        Shared {
            metric: shared.metric.to_string(),
            normalization: shared.normalization.word(),
            highest_wins: shared.metric.highest_wins(),
            mean_loss_pct: shared.mean_loss_pct().map(Number),
            worst_loss_pct: shared.worst().map(|point| Number(point.worst_loss_pct())),
            worst_n: shared.worst().map(|point| point.n),
            without_config: shared.without_config.clone(),
            other_normalizations: others.map(|(other, sizes)| (other.word(), sizes.clone())).collect(),
            points: shared.points.iter().map(row).collect(),
        }
    }
}

fn density(density: &Density) -> DensityRow {
    DensityRow {
        n: density.n,
        configs: density.configs,
        median_gbps: Number(density.median_gbps),
        p90_gbps: Number(density.p90_gbps),
        best_gbps: Number(density.best_gbps),
        near_best: Number(density.near_best),
        low_gbps: Number(density.histogram.low),
        width_gbps: Number(density.histogram.width),
        counts: density.histogram.counts.clone(),
    }
}

fn trend(trend: &Trend) -> TrendRow {
    let pinned = trend.pinned.iter().map(|line| Pinned {
        value: line.value.to_string(),
        mean_loss_pct: line.mean_loss_pct().map(Number),
        loss_pct: line.points.iter().map(|point| (point.n, Number(point.loss_pct))).collect(),
    });
    TrendRow {
        parameter: trend.parameter,
        ideal: trend.ideal.iter().map(|(n, value)| (*n, value.to_string())).collect(),
        pinned: pinned.collect(),
    }
}

fn transfer(transfer: &Transfer) -> TransferRow {
    let worst = transfer.worst();
    TransferRow {
        from: transfer.from,
        to: transfer.to,
        sizes: transfer.points.len(),
        missing: transfer.missing.clone(),
        worst_efficiency: worst.map(|point| Number(point.efficiency)),
        worst_n: worst.map(|point| point.n),
        geometric_mean: transfer.geometric_mean().map(Number),
        harmonic_mean: transfer.harmonic_mean().map(Number),
    }
}

fn scanned(problem: Problem) -> Scanned {
    Scanned {
        mode: problem.mode().to_string(),
        element: problem.element().to_string(),
        op: problem.operator_name().to_string(),
        operator_hash: problem.user().map(|user| user.hash_text()),
        init: problem.init().map(|init| init.to_string()),
        placement: problem.placement().to_string(),
    }
}

fn bandwidth(utilization: &bandwidth::Utilization) -> Bandwidth {
    let (origin, copy_n) = match utilization.bandwidth.origin {
        Origin::Given => ("given", None),
        Origin::Copy { n } => ("copy", Some(n)),
    };
    let points = utilization.points.iter();
    let points =
        points.map(|point| BandwidthRow { n: point.n, pct: Number(point.pct), regime: point.regime.word() });
    Bandwidth { gbps: Number(utilization.bandwidth.gbps), origin, copy_n, points: points.collect() }
}

fn baseline(comparison: &bandwidth::Comparison) -> Baseline {
    let row = |point: &bandwidth::ComparisonPoint| BaselineRow {
        n: point.n,
        subject: point.subject.clone(),
        gbps: Number(point.gbps),
        ratio: Number(point.ratio),
        regime: point.regime.map(Regime::word),
    };
    let region = |region: &bandwidth::Region| BaselineRegion {
        regime: region.regime.map(Regime::word),
        sizes: region.sizes,
        faster: region.faster,
        mean_ratio: Number(region.mean_ratio),
        least_ratio: Number(region.least.0),
        least_n: region.least.1,
        most_ratio: Number(region.most.0),
        most_n: region.most.1,
    };
    Baseline {
        points: comparison.points.iter().map(row).collect(),
        regions: comparison.regions.iter().map(region).collect(),
    }
}
