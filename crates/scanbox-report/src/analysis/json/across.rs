//! The answers about several devices together.

use std::collections::BTreeMap;

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer};
use scanbox_analysis::portability::Portability;
use scanbox_analysis::shared::{SharedPoint, SharedSet};
use scanbox_analysis::speed::{Speed, SpeedPoint};
use scanbox_analysis::transfer::Transfer;
use schemars::JsonSchema;
use serde::Serialize;

use super::kernels::{ComparedSizesJson, KernelSetJson, LineJson, MetricRow, RankingJson};
use super::{Labeller, NineDigits, ProblemJson, scanned};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AcrossJson {
    #[serde(flatten)]
    problem: ProblemJson,
    /// Positions in `devices`.
    devices: Vec<usize>,
    /// Positions in the `devices` of the document of those that were swept and have no `ok` row.
    dead: Vec<usize>,
    /// What the devices are called: `devices`, then `dead`.
    titles: Vec<String>,
    /// Each device against the first one.
    speeds: Vec<SpeedRow>,
    comparison: ComparedSizesJson,
    portable_kernel: Option<PortableJson>,
    by_metric: Vec<MetricRow>,
    /// By the chosen metric.
    shared: SharedJson,
    /// By the others.
    shared_by_metric: Vec<SharedJson>,
    /// A11; `from` and `to` are positions in `across.devices`.
    transfers: Vec<TransferRow>,
    /// A23, the highest `pp` first.
    portability: Vec<PortabilityRow>,
    portfolio: Option<Vec<KernelSetJson>>,
}

/// One ideal line against another; positions are in `across.devices`.
#[derive(Debug, Serialize, JsonSchema)]
struct SpeedRow {
    base: usize,
    other: usize,
    /// How many times as fast as the base the other one is.
    geometric_mean: NineDigits,
    least: Option<SpeedPointRow>,
    most: Option<SpeedPointRow>,
    /// Sizes where the other one is faster.
    faster: usize,
    points: Vec<SpeedPointRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SpeedPointRow {
    n: u64,
    base_gbps: NineDigits,
    other_gbps: NineDigits,
    ratio: NineDigits,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TransferRow {
    from: usize,
    to: usize,
    /// Sizes where the config of the one is `ok` on the other.
    sizes: usize,
    /// Sizes where it is not.
    missing: Vec<u64>,
    worst_efficiency: Option<NineDigits>,
    worst_n: Option<u64>,
    geometric_mean: Option<NineDigits>,
    harmonic_mean: Option<NineDigits>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PortabilityRow {
    kernel: String,
    pp: NineDigits,
    mean: NineDigits,
    /// In the order of `devices`, then `dead`; 0: not supported.
    efficiencies: Vec<NineDigits>,
}

/// A18.
#[derive(Debug, Serialize, JsonSchema)]
struct PortableJson {
    kernel: String,
    #[serde(flatten)]
    ranked: RankingJson,
    other_normalizations: BTreeMap<&'static str, String>,
    ties: Vec<String>,
    /// The launch table: one line per device, in the order of `devices`.
    lines: Vec<LineJson>,
}

/// A12 to A17.
#[derive(Debug, Serialize, JsonSchema)]
struct SharedJson {
    metric: String,
    normalization: &'static str,
    highest_wins: bool,
    mean_loss_pct: Option<NineDigits>,
    worst_loss_pct: Option<NineDigits>,
    worst_n: Option<u64>,
    /// Sizes with `ok` rows on every device but no config in common.
    without_config: Vec<u64>,
    /// The sizes where another normalisation would choose another config.
    other_normalizations: BTreeMap<&'static str, Vec<u64>>,
    points: Vec<SharedRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SharedRow {
    n: u64,
    candidates: usize,
    config: String,
    score: NineDigits,
    runner_up: Option<String>,
    runner_up_score: Option<NineDigits>,
    /// In the order of `devices`, as the losses.
    gbps: Vec<NineDigits>,
    loss_pct: Vec<NineDigits>,
}

impl Labeller<'_> {
    pub(super) fn across(&self, across: &AcrossAnswer, devices: &[DeviceAnswer<'_>]) -> AcrossJson {
        let portable = across.portable.choice.as_ref().map(|choice| PortableJson {
            kernel: self.kernel(choice.ranking.winner.kernel),
            ranked: self.ranked(&choice.ranking),
            other_normalizations: self.other_normalizations(choice),
            ties: self.kernels(&choice.ties),
            lines: choice.lines.iter().map(|line| self.line(line)).collect(),
        });
        AcrossJson {
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
            pp: NineDigits(row.pp),
            mean: NineDigits(row.mean),
            efficiencies: row.efficiencies.iter().copied().map(NineDigits).collect(),
        }
    }

    fn shared(&self, shared: &SharedSet) -> SharedJson {
        let row = |point: &SharedPoint| SharedRow {
            n: point.n,
            candidates: point.candidates,
            config: self.config(point.config),
            score: NineDigits(point.score),
            runner_up: point.runner_up.map(|(config, _)| self.config(config)),
            runner_up_score: point.runner_up.map(|(_, score)| NineDigits(score)),
            gbps: point.cells.iter().map(|cell| NineDigits(cell.gbps)).collect(),
            loss_pct: point.loss_pct.iter().copied().map(NineDigits).collect(),
        };
        let others = shared.other_normalizations.iter();
        SharedJson {
            metric: shared.metric.to_string(),
            normalization: shared.normalization.word(),
            highest_wins: shared.metric.highest_wins(),
            mean_loss_pct: shared.mean_loss_pct().map(NineDigits),
            worst_loss_pct: shared.worst().map(|point| NineDigits(point.worst_loss_pct())),
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
        base_gbps: NineDigits(point.base_gbps),
        other_gbps: NineDigits(point.other_gbps),
        ratio: NineDigits(point.ratio),
    };
    SpeedRow {
        base: speed.base,
        other: speed.other,
        geometric_mean: NineDigits(speed.mean_ratio()),
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
        worst_efficiency: worst.map(|point| NineDigits(point.efficiency)),
        worst_n: worst.map(|point| point.n),
        geometric_mean: transfer.geometric_mean().map(NineDigits),
        harmonic_mean: transfer.harmonic_mean().map(NineDigits),
    }
}
