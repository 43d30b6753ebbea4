//! The shared ideal configuration set, A12 to A17 (thesis 5.6): one config per size for several devices.
//!
//! At each size the candidates are the configs that are `ok` on every device. The ideal line of a device stays the best
//! of all its configs, whether the others can run them or not. Scores that differ by rounding only are equal; among
//! equals the config with the higher mean of normalised throughput wins, then the one with the lower mean relative
//! spread, then the one whose kernel the ideal configuration sets use at more sizes, then the first by parameters.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::AnalysisError;
use crate::best_kernel::{ROUNDING, keep_lowest};
use crate::lines::Lines;
use crate::metric::Exponent;
use crate::normalize::Normalization;
use crate::table::{Catalog, Cell, ConfigIndex};

/// How a config is judged on several devices at one size. `x` is its throughput per device and `I` the ideal one, both
/// normalised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SharedMetric {
    /// A12: the mean of x; the highest wins.
    Mean,
    /// A13: the largest x; the highest wins.
    Max,
    /// A14: the mean less the standard deviation (of the devices, not of a sample); the highest wins.
    MeanStd,
    /// The smallest x; the highest wins. For two devices it is `MeanStd`, by algebra.
    Min,
    /// A15: the sum of the ranks (1 is the fastest, equal ones share the mean of their ranks); the lowest wins.
    RankSum,
    /// A16: the product of the ranks, told as its root of the number of devices; the lowest wins.
    RankProduct,
    /// A17: the sum of I - x; the lowest wins.
    Distance,
    /// A17: the sum of (I - x)^2; the lowest wins.
    Squared,
    /// A17: the sum of (I - x)^P; the lowest wins.
    Power(Exponent),
}

impl SharedMetric {
    /// Every metric, in the order of the thesis; the power is the one that it settles on.
    pub const ALL: [Self; 9] = [
        Self::Mean,
        Self::Max,
        Self::MeanStd,
        Self::Min,
        Self::RankSum,
        Self::RankProduct,
        Self::Distance,
        Self::Squared,
        Self::Power(Exponent::THESIS),
    ];

    /// The score of a config: its throughput on each device, the ideal one, and its rank there.
    #[must_use]
    pub fn score(self, x: &[f64], ideal: &[f64], ranks: &[f64]) -> f64 {
        let count = x.len() as f64;
        let mean = x.iter().sum::<f64>() / count;
        // Rounding in a normalisation can put a config a last digit above the ideal.
        let gaps = || ideal.iter().zip(x).map(|(ideal, x)| (ideal - x).max(0.0));
        match self {
            Self::Mean => mean,
            Self::Max => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::MeanStd => {
                let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
                mean - variance.sqrt()
            }
            Self::Min => x.iter().copied().fold(f64::INFINITY, f64::min),
            Self::RankSum => ranks.iter().sum(),
            Self::RankProduct => (ranks.iter().map(|rank| rank.ln()).sum::<f64>() / count).exp(),
            Self::Distance => gaps().sum(),
            Self::Squared => gaps().map(|gap| gap * gap).sum(),
            Self::Power(exponent) => gaps().map(|gap| gap.powf(exponent.get())).sum(),
        }
    }

    /// The magnitude against which two scores are compared: that of the best and of the worst possible ones.
    fn magnitude(self, ideal: &[f64], candidates: usize) -> f64 {
        match self {
            Self::RankSum => candidates as f64 * ideal.len() as f64,
            Self::RankProduct => candidates as f64,
            Self::Mean | Self::Max | Self::MeanStd | Self::Min => ideal.iter().copied().fold(0.0, f64::max),
            _ => self.score(&vec![0.0; ideal.len()], ideal, &[]),
        }
    }

    /// Whether the highest score wins.
    #[must_use]
    pub fn highest_wins(self) -> bool {
        matches!(self, Self::Mean | Self::Max | Self::MeanStd | Self::Min)
    }

    /// Whether ranks decide, which no normalisation changes.
    fn is_by_rank(self) -> bool {
        matches!(self, Self::RankSum | Self::RankProduct)
    }

    /// The formula, for people: `x` and `I` are normalised.
    #[must_use]
    pub fn formula(self) -> String {
        match self {
            Self::Mean => "highest mean over devices of x".to_owned(),
            Self::Max => "highest maximum over devices of x".to_owned(),
            Self::MeanStd => "highest mean less standard deviation over devices of x".to_owned(),
            Self::Min => "highest minimum over devices of x".to_owned(),
            Self::RankSum => "lowest sum over devices of the rank of x".to_owned(),
            Self::RankProduct => "lowest geometric mean over devices of the rank of x".to_owned(),
            Self::Distance => "lowest sum over devices of (I - x)".to_owned(),
            Self::Squared => "lowest sum over devices of (I - x)^2".to_owned(),
            Self::Power(exponent) => format!("lowest sum over devices of (I - x)^{}", exponent.get()),
        }
    }
}

impl fmt::Display for SharedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::MeanStd => f.write_str("mean-std"),
            Self::Min => f.write_str("min"),
            Self::RankSum => f.write_str("rank-sum"),
            Self::RankProduct => f.write_str("rank-product"),
            Self::Distance => f.write_str("distance"),
            Self::Squared => f.write_str("squared"),
            Self::Power(exponent) => write!(f, "power:{}", exponent.get()),
        }
    }
}

impl FromStr for SharedMetric {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Self, AnalysisError> {
        if let Some(metric) = Self::ALL.into_iter().take(8).find(|metric| metric.to_string() == text) {
            return Ok(metric);
        }
        let error = |reason| AnalysisError::SharedMetric { text: text.chars().take(40).collect(), reason };
        let exponent = text.strip_prefix("power:").ok_or_else(|| error(""))?;
        let exponent = exponent.parse().map_err(|_| error(": the exponent is not a number"))?;
        let exponent = Exponent::new(exponent);
        exponent.map(Self::Power).ok_or_else(|| error(": the exponent must be above 0 and finite"))
    }
}

/// One config per size for several devices.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSet {
    /// The metric.
    pub metric: SharedMetric,
    /// What throughput was divided by.
    pub normalization: Normalization,
    /// By size, ascending: sizes where at least one config is `ok` on every device.
    pub points: Vec<SharedPoint>,
    /// Sizes with `ok` rows on every device but no config in common.
    pub without_config: Vec<u64>,
    /// Normalisations that would choose another config, with the sizes where they would.
    pub other_normalizations: Vec<(Normalization, Vec<u64>)>,
}

/// The shared config of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPoint {
    /// Input size in elements.
    pub n: u64,
    /// Configs that are `ok` on every device.
    pub candidates: usize,
    /// The best of them.
    pub config: ConfigIndex,
    /// Its score.
    pub score: f64,
    /// The second-best config and its score; `None` where there is one candidate.
    pub runner_up: Option<(ConfigIndex, f64)>,
    /// Its time on each device, in the order of the devices.
    pub cells: Vec<Cell>,
    /// What it loses on each device, in percent of the ideal throughput.
    pub loss_pct: Vec<f64>,
}

impl SharedPoint {
    /// The largest loss on any device, in percent.
    #[must_use]
    pub fn worst_loss_pct(&self) -> f64 {
        self.loss_pct.iter().copied().fold(0.0, f64::max)
    }
}

impl SharedSet {
    /// The mean of what it loses over all sizes and devices, in percent.
    #[must_use]
    pub fn mean_loss_pct(&self) -> Option<f64> {
        let losses: Vec<f64> = self.points.iter().flat_map(|point| point.loss_pct.iter().copied()).collect();
        crate::stats::mean(&losses)
    }

    /// The point with the largest loss on any device, the smallest size of several.
    #[must_use]
    pub fn worst(&self) -> Option<&SharedPoint> {
        let points = self.points.iter();
        points.reduce(|a, b| if b.worst_loss_pct() > a.worst_loss_pct() { b } else { a })
    }
}

/// The configs of one size that are `ok` on every device, with their times there.
pub struct Candidates<'a> {
    n: u64,
    devices: Vec<&'a Lines<'a>>,
    configs: Vec<ConfigIndex>,
    /// By config, then device.
    cells: Vec<&'a Cell>,
    /// By config, then device; where a metric is by them.
    ranks: OnceCell<Vec<f64>>,
    /// By config: mean relative spread, and uses of its kernel in the ideal sets.
    spreads: Vec<f64>,
    uses: Vec<usize>,
}

impl<'a> Candidates<'a> {
    /// Finds the candidates of every size that has an `ok` row on every device.
    #[must_use]
    pub fn of_every_size(catalog: &Catalog, devices: &[&'a Lines<'a>]) -> Vec<Self> {
        let Some((first, others)) = devices.split_first() else { return Vec::new() };
        let everywhere = |n: &u64| others.iter().all(|lines| lines.table.size_index(*n).is_some());
        let sizes = first.table.sizes.iter().copied().filter(everywhere);
        sizes.map(|n| Self::new(catalog, devices, n)).collect()
    }

    fn new(catalog: &Catalog, devices: &[&'a Lines<'a>], n: u64) -> Self {
        let of_device = |lines: &&'a Lines<'a>| match lines.table.size_index(n) {
            Some(index) => lines.table.cells_at(index),
            None => &[],
        };
        let rows: Vec<&'a [Cell]> = devices.iter().map(of_device).collect();
        let mut places = vec![0; rows.len()];
        let (mut configs, mut cells): (Vec<ConfigIndex>, Vec<&'a Cell>) = (Vec::new(), Vec::new());
        // Every list is in the order of configs: all are walked side by side.
        for cell in rows.first().copied().unwrap_or_default() {
            let is_everywhere = rows.iter().zip(&mut places).all(|(row, place)| {
                *place += row[*place..].partition_point(|other| other.config < cell.config);
                row.get(*place).is_some_and(|other| other.config == cell.config)
            });
            if is_everywhere {
                configs.push(cell.config);
                cells.extend(rows.iter().zip(&places).map(|(row, &place)| &row[place]));
            }
        }
        let count = devices.len();
        let spread = |cells: &[&Cell]| {
            cells.iter().map(|cell| cell.relative_spread()).sum::<f64>() / cells.len() as f64
        };
        let spreads = cells.chunks(count.max(1)).map(spread).collect();
        let kernel_uses = |&config: &ConfigIndex| {
            let kernel = catalog.kernel_of(config);
            devices.iter().filter_map(|lines| lines.ideal.uses.get(&kernel)).sum()
        };
        let uses = configs.iter().map(kernel_uses).collect();
        let ranks = OnceCell::new();
        Self { n, devices: devices.to_vec(), configs, cells, ranks, spreads, uses }
    }

    fn ranks(&self) -> &[f64] {
        self.ranks.get_or_init(|| {
            let count = self.devices.len();
            let mut ranks = vec![0.0; self.cells.len()];
            for device in 0..count {
                let column = self.cells.iter().skip(device).step_by(count).map(|cell| cell.gbps);
                let column: Vec<f64> = column.collect();
                for (config, rank) in ranks_of(&column).into_iter().enumerate() {
                    ranks[config * count + device] = rank;
                }
            }
            ranks
        })
    }

    /// The best config by a metric; `None` where there is no candidate, or a device has no number to divide by.
    fn choose(&self, metric: SharedMetric, normalization: Normalization) -> Option<SharedPoint> {
        let count = self.devices.len();
        let scales = self.devices.iter().map(|lines| normalization.scale(lines, self.n));
        let scales: Vec<_> = scales.collect::<Option<_>>()?;
        let ideals = self.devices.iter().zip(&scales);
        let ideal = ideals.map(|(lines, scale)| lines.ideal_gbps(self.n).map(|gbps| scale.apply(gbps)));
        let ideal: Vec<f64> = ideal.collect::<Option<_>>()?;
        let sign = if metric.highest_wins() { -1.0 } else { 1.0 };
        let mut x = vec![0.0; count];
        let (mut scores, mut means) = (Vec::new(), Vec::new());
        let ranks = if metric.is_by_rank() { self.ranks() } else { &[] };
        for (config, cells) in self.cells.chunks(count).enumerate() {
            let ranks = ranks.get(config * count..(config + 1) * count).unwrap_or_default();
            for ((x, cell), scale) in x.iter_mut().zip(cells).zip(&scales) {
                *x = scale.apply(cell.gbps);
            }
            scores.push(sign * metric.score(&x, &ideal, ranks));
            means.push(x.iter().sum::<f64>() / count as f64);
        }
        let magnitude = ROUNDING * metric.magnitude(&ideal, self.configs.len());
        let mean_magnitude = ROUNDING * ideal.iter().copied().fold(0.0, f64::max);
        let best_without = |without: Option<usize>| {
            let mut equal: Vec<usize> =
                (0..self.configs.len()).filter(|&index| Some(index) != without).collect();
            keep_lowest(&mut equal, |index| scores[index], magnitude);
            keep_lowest(&mut equal, |index| -means[index], mean_magnitude);
            keep_lowest(&mut equal, |index| self.spreads[index], ROUNDING);
            keep_lowest(&mut equal, |index| -(self.uses[index] as f64), 0.0);
            equal.first().copied()
        };
        let best = best_without(None)?;
        let cells: Vec<Cell> =
            self.cells[best * count..(best + 1) * count].iter().map(|&&cell| cell).collect();
        let losses = self.devices.iter().zip(&cells).map(|(lines, cell)| {
            let ideal = lines.ideal_gbps(self.n).unwrap_or(cell.gbps);
            100.0 * (1.0 - cell.gbps / ideal)
        });
        Some(SharedPoint {
            n: self.n,
            candidates: self.configs.len(),
            config: self.configs[best],
            score: sign * scores[best],
            runner_up: best_without(Some(best)).map(|index| (self.configs[index], sign * scores[index])),
            loss_pct: losses.collect(),
            cells,
        })
    }
}

/// The rank of each value, 1 for the highest; equal values share the mean of their ranks.
fn ranks_of(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&index| ranks[index] = rank);
        before += equal.len();
    }
    ranks
}

/// Chooses the shared config of every size.
#[must_use]
pub fn shared_set(
    candidates: &[Candidates<'_>],
    metric: SharedMetric,
    normalization: Normalization,
) -> SharedSet {
    let points = |normalization| -> Vec<SharedPoint> {
        candidates.iter().filter_map(|candidates| candidates.choose(metric, normalization)).collect()
    };
    let chosen = points(normalization);
    let configs: BTreeMap<u64, ConfigIndex> = chosen.iter().map(|point| (point.n, point.config)).collect();
    let others = Normalization::ALL.into_iter().filter(|&other| other != normalization);
    let others = others.filter(|_| !metric.is_by_rank()).filter_map(|other| {
        let changed = |point: &SharedPoint| (configs.get(&point.n) != Some(&point.config)).then_some(point.n);
        let changed: Vec<u64> = points(other).iter().filter_map(changed).collect();
        (!changed.is_empty()).then_some((other, changed))
    });
    let without_config = candidates.iter().filter(|candidates| candidates.configs.is_empty());
    SharedSet {
        metric,
        normalization,
        other_normalizations: others.collect(),
        without_config: without_config.map(|candidates| candidates.n).collect(),
        points: chosen,
    }
}
