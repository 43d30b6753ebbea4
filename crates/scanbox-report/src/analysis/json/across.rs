//! The answers about several devices together.

use std::collections::BTreeMap;

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer};
use scanbox_analysis::portability::Portability;
use scanbox_analysis::shared::{SharedPoint, SharedSet};
use scanbox_analysis::speed::{Speed, SpeedPoint};
use scanbox_analysis::transfer::Transfer;
use serde::Serialize;

use super::kernels::{Comparison, KernelSet, Line, MetricRow, Ranked};
use super::{Labels, Number, Scanned, scanned};

#[derive(Debug, Serialize)]
pub(super) struct Across {
    #[serde(flatten)]
    problem: Scanned,
    /// Positions in `devices`.
    devices: Vec<usize>,
    /// Positions in the `devices` of the document of those that were swept and have no `ok` row.
    dead: Vec<usize>,
    /// What the devices are called: `devices`, then `dead`.
    titles: Vec<String>,
    /// Each device against the first one.
    speeds: Vec<SpeedRow>,
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

/// One ideal line against another; positions are in `across.devices`.
#[derive(Debug, Serialize)]
struct SpeedRow {
    base: usize,
    other: usize,
    /// How many times as fast as the base the other one is.
    geometric_mean: Number,
    least: Option<SpeedPointRow>,
    most: Option<SpeedPointRow>,
    /// Sizes where the other one is faster.
    faster: usize,
    points: Vec<SpeedPointRow>,
}

#[derive(Debug, Serialize)]
struct SpeedPointRow {
    n: u64,
    base_gbps: Number,
    other_gbps: Number,
    ratio: Number,
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
    /// In the order of `devices`, then `dead`; 0: not supported.
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

impl Labels<'_> {
    pub(super) fn across(&self, across: &AcrossAnswer, devices: &[DeviceAnswer<'_>]) -> Across {
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
            dead: across.dead.clone(),
            titles: across
                .devices
                .iter()
                .chain(&across.dead)
                .map(|&at| devices[at].table.title.clone())
                .collect(),
            speeds: across.speeds.iter().map(speed).collect(),
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

fn speed(speed: &Speed) -> SpeedRow {
    let row = |point: &SpeedPoint| SpeedPointRow {
        n: point.n,
        base_gbps: Number(point.base_gbps),
        other_gbps: Number(point.other_gbps),
        ratio: Number(point.ratio),
    };
    SpeedRow {
        base: speed.base,
        other: speed.other,
        geometric_mean: Number(speed.mean_ratio()),
        least: speed.least().map(row),
        most: speed.most().map(row),
        faster: speed.faster(),
        points: speed.points.iter().map(row).collect(),
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
