//! The best single kernel by a metric, A4 to A9 (thesis 5.5), over one device or several (A18, thesis 5.7).
//!
//! Scores that differ by rounding only are equal. Among equals the kernel with the higher sum of throughput wins
//! (normalised, as the metric sees it), then the one with the lower mean relative spread, then the one that the ideal
//! configuration sets use at more sizes, then the first by parameters.

use crate::eligible::Eligibility;
use crate::lines::Lines;
use crate::metric::Metric;
use crate::normalize::{LinearScale, Normalization};
use crate::stats;
use crate::table::{Cell, KernelIndex};
use crate::weights::Weights;

/// Scores closer than this, relative to the score of a line of zeros, are equal: sums of a few thousand terms carry
/// rounding errors well below it, and measured times have at most about ten significant digits.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Every eligible kernel with its score, the winner first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The metric.
    pub metric: Metric,
    /// What throughput was divided by.
    pub normalization: Normalization,
    /// The winner.
    pub winner: Score,
    /// The other kernels, best first.
    pub others: Vec<Score>,
}

/// A kernel and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The kernel.
    pub kernel: KernelIndex,
    /// The score by the metric, in GB/s to the power of the metric, or without unit after a normalisation.
    pub score: f64,
}

/// What decides between two kernels.
struct KernelStanding {
    kernel: KernelIndex,
    /// The score, turned so that the lowest wins.
    rank: f64,
    total: f64,
    spread: f64,
    uses: usize,
}

/// By what kernels are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion<'a> {
    /// The metric.
    pub metric: Metric,
    /// What throughput is divided by.
    pub normalization: Normalization,
    /// How much each size counts.
    pub weights: &'a Weights,
}

/// Every device at every size of a comparison as one long line: all sizes of the first device, then of the second.
pub(crate) struct Places<'a> {
    places: Vec<SizeOfDevice<'a>>,
    /// The ideal line, as the metric sees it.
    pub(crate) ideal: Vec<f64>,
    /// The weight of each place.
    pub(crate) weights: Vec<f64>,
}

/// A size of a device.
#[derive(Clone, Copy)]
struct SizeOfDevice<'a> {
    lines: &'a Lines<'a>,
    /// The position of the size.
    size: usize,
    scale: LinearScale,
}

impl<'a> Places<'a> {
    /// `None` where there is no size, where no size counts, or where a device has no number to divide by.
    pub(crate) fn new(devices: &[&'a Lines<'a>], sizes: &[u64], criterion: &Criterion<'_>) -> Option<Self> {
        let of_sizes = criterion.weights.of(sizes)?;
        let place = |lines: &'a Lines<'a>, n: u64| {
            let (size, scale) = (lines.table.size_index(n)?, criterion.normalization.scale(lines, n)?);
            Some((SizeOfDevice { lines, size, scale }, scale.apply(lines.ideal_gbps(n)?)))
        };
        let places = devices.iter().flat_map(|&lines| sizes.iter().map(move |&n| place(lines, n)));
        let (places, ideal): (Vec<SizeOfDevice<'a>>, Vec<f64>) =
            places.collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let weights = devices.iter().flat_map(|_| of_sizes.iter().copied()).collect();
        (!places.is_empty()).then_some(Self { places, ideal, weights })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The best config of a kernel at each place, with its throughput as the metric sees it.
    pub(crate) fn line(&self, kernel: KernelIndex) -> Vec<Option<(&'a Cell, f64)>> {
        // All sizes of a device follow each other: its row of the kernel is looked up once.
        let of_device = |places: &[SizeOfDevice<'a>]| -> Vec<Option<(&'a Cell, f64)>> {
            let row = places[0].lines.row_of(kernel);
            let cell = |place: &SizeOfDevice<'a>| {
                let cell = place.lines.best_at(row?, place.size)?;
                Some((cell, place.scale.apply(cell.gbps)))
            };
            places.iter().map(cell).collect()
        };
        self.places.chunk_by(|a, b| std::ptr::eq(a.lines, b.lines)).flat_map(of_device).collect()
    }

    /// The weighted sum of a line.
    pub(crate) fn total(&self, line: &[f64]) -> f64 {
        Metric::Sum.score(&self.ideal, line, &self.weights)
    }
}

/// Ranks the eligible kernels. `None` where there is no kernel or no size to compare, or nothing to divide by.
#[must_use]
pub fn rank(devices: &[&Lines<'_>], eligibility: &Eligibility, criterion: &Criterion<'_>) -> Option<Ranking> {
    let places = Places::new(devices, &eligibility.sizes, criterion)?;
    let Criterion { metric, normalization, .. } = *criterion;
    let sign = if metric.highest_wins() { -1.0 } else { 1.0 };
    let candidates = eligibility.kernels.iter().map(|&kernel| {
        let (cells, line): (Vec<&Cell>, Vec<f64>) = places.line(kernel).into_iter().flatten().unzip();
        let spreads: Vec<f64> = cells.iter().map(|cell| cell.relative_spread()).collect();
        KernelStanding {
            kernel,
            rank: sign * metric.score(&places.ideal, &line, &places.weights),
            total: places.total(&line),
            spread: stats::mean(&spreads).unwrap_or(0.0),
            uses: devices.iter().filter_map(|lines| lines.ideal.uses.get(&kernel)).sum(),
        }
    });
    let magnitude = |metric: Metric| metric.magnitude(&places.ideal, &places.weights);
    let candidates = in_order(candidates.collect(), magnitude(metric), magnitude(Metric::Sum));
    let mut scores = candidates
        .into_iter()
        .map(|candidate| Score { kernel: candidate.kernel, score: sign * candidate.rank });
    Some(Ranking { metric, normalization, winner: scores.next()?, others: scores.collect() })
}

/// Orders candidates by score and tie-breaks. `magnitude` and `total_magnitude` are what rounding is relative to.
fn in_order(
    mut candidates: Vec<KernelStanding>,
    magnitude: f64,
    total_magnitude: f64,
) -> Vec<KernelStanding> {
    candidates.sort_by(|a, b| a.rank.total_cmp(&b.rank).then(a.kernel.cmp(&b.kernel)));
    for first in 0..candidates.len() {
        let rest = &candidates[first..];
        let limit = rest[0].rank + ROUNDING * magnitude;
        let mut equal: Vec<usize> = (0..rest.partition_point(|candidate| candidate.rank <= limit)).collect();
        keep_lowest(&mut equal, |index| -rest[index].total, ROUNDING * total_magnitude);
        keep_lowest(&mut equal, |index| rest[index].spread, ROUNDING);
        keep_lowest(&mut equal, |index| -(rest[index].uses as f64), 0.0);
        if let Some(next) = equal.into_iter().min_by_key(|&index| rest[index].kernel) {
            candidates[first..=first + next].rotate_right(1);
        }
    }
    candidates
}

/// Keeps the indices whose value is at most `tolerance` above the lowest.
pub(crate) fn keep_lowest(indices: &mut Vec<usize>, value: impl Fn(usize) -> f64, tolerance: f64) {
    let lowest = indices.iter().map(|&index| value(index)).fold(f64::INFINITY, f64::min);
    indices.retain(|&index| value(index) <= lowest + tolerance);
}

/// The line of a kernel beside the ideal line of one device: what a plot shows (A10).
#[derive(Debug, Clone, PartialEq)]
pub struct KernelLine {
    /// The kernel.
    pub kernel: KernelIndex,
    /// Sizes where the kernel is `ok`, ascending, whether they took part in the choice or not.
    pub points: Vec<LinePoint>,
}

/// One size of a kernel line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinePoint {
    /// Input size in elements.
    pub n: u64,
    /// The kernel's best config and its throughput: how to launch it at this size.
    pub best: Cell,
    /// The ideal throughput in GB/s.
    pub ideal_gbps: f64,
    /// What the kernel loses, in percent of the ideal throughput.
    pub loss_pct: f64,
    /// Whether the size took part in the choice.
    pub in_choice: bool,
}

impl KernelLine {
    /// The line of a kernel on a device.
    #[must_use]
    pub fn new(lines: &Lines<'_>, kernel: KernelIndex, eligibility: &Eligibility) -> Self {
        let point = |&n: &u64| {
            let best = *lines.best(kernel, n)?;
            let ideal_gbps = lines.ideal_gbps(n)?;
            let loss_pct = 100.0 * (1.0 - best.gbps / ideal_gbps);
            let in_choice = eligibility.sizes.binary_search(&n).is_ok();
            Some(LinePoint { n, best, ideal_gbps, loss_pct, in_choice })
        };
        Self { kernel, points: lines.table.sizes.iter().filter_map(point).collect() }
    }

    /// The point at a size.
    #[must_use]
    pub fn at(&self, n: u64) -> Option<&LinePoint> {
        self.points.binary_search_by_key(&n, |point| point.n).ok().map(|index| &self.points[index])
    }

    /// The arithmetic mean of the loss over the sizes of the choice, in percent.
    #[must_use]
    pub fn mean_loss_pct(&self) -> Option<f64> {
        let losses: Vec<f64> =
            self.points.iter().filter(|point| point.in_choice).map(|point| point.loss_pct).collect();
        stats::mean(&losses)
    }

    /// The point of the choice with the largest loss, the smallest size of several.
    #[must_use]
    pub fn worst(&self) -> Option<&LinePoint> {
        let points = self.points.iter().filter(|point| point.in_choice);
        points.reduce(|worst, point| if point.loss_pct > worst.loss_pct { point } else { worst })
    }
}
