//! Kernels against each other: which took part, how they rank, what the chosen ones lose. Of one device or of several.

use std::collections::BTreeMap;

use scanbox_analysis::answers::MetricAnswer;
use scanbox_analysis::best_kernel::{KernelLine, Ranking, Score};
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::portfolio::{self, Portfolio};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Labeller, NineDigits};

/// A3.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ComparedSizesJson {
    /// What decided over which sizes kernels are compared.
    coverage: String,
    sizes: Vec<u64>,
    /// Sizes with an `ok` row on every device.
    measured_sizes: usize,
    kernels: Vec<String>,
    dropped: Vec<DroppedKernelJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DroppedKernelJson {
    kernel: String,
    device: String,
    sizes: Vec<u64>,
    reason: String,
}

/// A4 to A9.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RankingJson {
    metric: String,
    normalization: &'static str,
    highest_wins: bool,
    /// Best first.
    ranking: Vec<RankedKernelJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RankedKernelJson {
    kernel: String,
    score: NineDigits,
}

/// The chosen kernel with its line (A10).
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BestKernelJson {
    kernel: String,
    #[serde(flatten)]
    ranked: RankingJson,
    /// Normalisations that would choose another kernel.
    other_normalizations: BTreeMap<&'static str, String>,
    /// Kernels that cannot be told from it at any size.
    ties: Vec<String>,
    #[serde(flatten)]
    line: Option<LineJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LineJson {
    mean_loss_pct: Option<NineDigits>,
    worst_loss_pct: Option<NineDigits>,
    worst_n: Option<u64>,
    line: Vec<LineRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LineRow {
    n: u64,
    config: String,
    workgroup_size: u32,
    workgroups: Option<u32>,
    gbps: NineDigits,
    ideal_gbps: NineDigits,
    loss_pct: NineDigits,
    in_choice: bool,
}

/// The winner of a metric with what it loses over all devices, and the whole ranking.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MetricRow {
    #[serde(flatten)]
    ranked: RankingJson,
    mean_loss_pct: Option<NineDigits>,
    worst_loss_pct: Option<NineDigits>,
    worst_n: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KernelSetJson {
    kernels: Vec<String>,
    score: NineDigits,
    exact: bool,
    /// Sizes that the losses are over, and all sizes with an ok row; on all devices.
    sizes: usize,
    of_sizes: usize,
    /// Of all sizes those at which none of its kernels is ok.
    uncovered: usize,
    uncovered_n: Vec<u64>,
    mean_loss_pct: NineDigits,
    worst_loss_pct: NineDigits,
    worst_n: u64,
    /// The same at sizes outside the comparison.
    worst_elsewhere_loss_pct: Option<NineDigits>,
    worst_elsewhere_n: Option<u64>,
}

impl Labeller<'_> {
    pub(super) fn comparison(&self, eligibility: &Eligibility) -> ComparedSizesJson {
        let dropped = eligibility.dropped.iter().map(|dropped| DroppedKernelJson {
            kernel: self.kernel(dropped.kernel),
            device: dropped.device.clone(),
            sizes: dropped.sizes.clone(),
            reason: dropped.to_string(),
        });
        ComparedSizesJson {
            coverage: eligibility.coverage.to_string(),
            sizes: eligibility.sizes.clone(),
            measured_sizes: eligibility.measured,
            kernels: self.kernels(&eligibility.kernels),
            dropped: dropped.collect(),
        }
    }

    pub(super) fn ranked(&self, ranking: &Ranking) -> RankingJson {
        let row = |score: &Score| RankedKernelJson {
            kernel: self.kernel(score.kernel),
            score: NineDigits(score.score),
        };
        RankingJson {
            metric: ranking.metric.to_string(),
            normalization: ranking.normalization.word(),
            highest_wins: ranking.metric.highest_wins(),
            ranking: std::iter::once(&ranking.winner).chain(&ranking.others).map(row).collect(),
        }
    }

    pub(super) fn other_normalizations(&self, choice: &Choice) -> BTreeMap<&'static str, String> {
        choice
            .other_normalizations
            .iter()
            .map(|&(other, kernel)| (other.word(), self.kernel(kernel)))
            .collect()
    }

    pub(super) fn best(&self, choice: &Choice) -> BestKernelJson {
        BestKernelJson {
            kernel: self.kernel(choice.ranking.winner.kernel),
            ranked: self.ranked(&choice.ranking),
            other_normalizations: self.other_normalizations(choice),
            ties: self.kernels(&choice.ties),
            line: choice.lines.first().map(|line| self.line(line)),
        }
    }

    pub(super) fn line(&self, line: &KernelLine) -> LineJson {
        let rows = line.points.iter().map(|point| {
            let config = self.0.config(point.best.config);
            LineRow {
                n: point.n,
                config: config.to_string(),
                workgroup_size: config.workgroup_size,
                workgroups: config.workgroups,
                gbps: NineDigits(point.best.gbps),
                ideal_gbps: NineDigits(point.ideal_gbps),
                loss_pct: NineDigits(point.loss_pct),
                in_choice: point.in_choice,
            }
        });
        LineJson {
            mean_loss_pct: line.mean_loss_pct().map(NineDigits),
            worst_loss_pct: line.worst().map(|point| NineDigits(point.loss_pct)),
            worst_n: line.worst().map(|point| point.n),
            line: rows.collect(),
        }
    }

    pub(super) fn metric_row(&self, answer: &MetricAnswer) -> MetricRow {
        let worst = answer.worst();
        MetricRow {
            ranked: self.ranked(&answer.ranking),
            mean_loss_pct: answer.mean_loss_pct().map(NineDigits),
            worst_loss_pct: worst.map(|point| NineDigits(point.loss_pct)),
            worst_n: worst.map(|point| point.n),
        }
    }

    pub(super) fn portfolio(&self, portfolio: &Portfolio) -> Vec<KernelSetJson> {
        let row = |set: &portfolio::KernelSet| KernelSetJson {
            kernels: self.kernels(&set.kernels),
            score: NineDigits(set.score),
            exact: set.exact,
            sizes: portfolio.compared - set.uncovered,
            of_sizes: portfolio.measured,
            uncovered: set.not_covered.len(),
            uncovered_n: set.not_covered.clone(),
            mean_loss_pct: NineDigits(set.mean_loss_pct),
            worst_loss_pct: NineDigits(set.worst.0),
            worst_n: set.worst.1,
            worst_elsewhere_loss_pct: set.worst_elsewhere.map(|worst| NineDigits(worst.0)),
            worst_elsewhere_n: set.worst_elsewhere.map(|worst| worst.1),
        };
        portfolio.sets.iter().map(row).collect()
    }
}
