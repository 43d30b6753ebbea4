//! The answers as JSON. The structures here are the format: fields are only added within [`FORMAT`].
//!
//! Throughput is in GB/s, times are in nanoseconds, sizes in elements, `*_pct` in percent. A kernel or config is its
//! label. Numbers are rounded to nine significant digits, so that they are the same on every machine.

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer};
use scanbox_analysis::best_kernel::{KernelLine, Ranking, Score};
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::ideal::IdealPoint;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::table::{Catalog, ConfigIndex, KernelIndex, SpaceOrigin};
use scanbox_model::device::DeviceKind;
use serde::{Serialize, Serializer};

use super::{Report, clock_word};

/// The version of this format.
pub const FORMAT: u32 = 1;

/// The whole document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    format: u32,
    tool_version: &'static str,
    clock: &'static str,
    metric: String,
    normalization: &'static str,
    normalization_across: &'static str,
    warnings: &'a [String],
    /// Rows of implementations other than scanbox; they enter no answer.
    other_subjects: &'a BTreeMap<String, u64>,
    devices: Vec<Device>,
    /// `null` with fewer than two devices.
    across: Option<Across>,
}

#[derive(Debug, Serialize)]
struct Device {
    device: String,
    device_uuid: String,
    /// `null` without metadata.
    kind: Option<DeviceKind>,
    driver: String,
    scanbox_version: String,
    kernel_hash: String,
    newest_utc: String,
    rows: Rows,
    ideal: Ideal,
    comparison: Comparison,
    best_kernel: Option<Best>,
    by_metric: Vec<Ranked>,
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
    sizes: Vec<u64>,
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
    /// Positions in `devices`.
    devices: Vec<usize>,
    comparison: Comparison,
    portable_kernel: Option<Portable>,
}

/// A18.
#[derive(Debug, Serialize)]
struct Portable {
    kernel: String,
    #[serde(flatten)]
    ranked: Ranked,
    other_normalizations: BTreeMap<&'static str, String>,
    /// The launch table: one line per device, in the order of `devices`.
    lines: Vec<Line>,
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
        warnings: report.warnings,
        other_subjects: &report.tables.other_subjects,
        devices: report.answers.devices.iter().map(|device| labels.device(device)).collect(),
        across: report.answers.across.as_ref().map(|across| labels.across(across)),
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
            comparison: self.comparison(&device.eligibility),
            best_kernel: device.choice.as_ref().map(|choice| self.best(choice)),
            by_metric: device.by_metric.iter().map(|ranking| self.ranked(ranking)).collect(),
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
            sizes: eligibility.sizes.clone(),
            kernels: eligibility.kernels.iter().map(|&kernel| self.kernel(kernel)).collect(),
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
            lines: choice.lines.iter().map(|line| self.line(line)).collect(),
        });
        Across {
            devices: across.devices.clone(),
            comparison: self.comparison(&across.portable.eligibility),
            portable_kernel: portable,
        }
    }
}
