//! Density, A19 (thesis 5.4 and figure 5.6): how the throughput of all `ok` configs of a size is distributed, before
//! pruning. A size where most configs are far from the best needs its own tuning; one where many are near it does not.
//!
//! The number of bins minimises the cost of Shimazaki and Shinomoto ("A method for selecting the bin size of a time
//! histogram", Neural Computation 19, 2007): `(2 m - v) / D^2` for bins of width `D` with mean count `m` and biased
//! variance `v` of the counts.

use crate::table::DeviceTable;
use crate::warning::Warning;

/// A bin has at least this many values on average: with fewer, bins show single configs and no density.
const VALUES_PER_BIN: usize = 5;
/// A value this close below a border, as a share of a bin, stands on it: times are whole numbers, and their quotients
/// stand on borders often, where rounding must not decide.
const ON_BORDER: f64 = 1e-9;

/// Configs with at least this part of the best throughput are near the best.
const NEAR: f64 = 0.95;

/// The distribution at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Input size in elements.
    pub n: u64,
    /// The histogram of throughput in GB/s.
    pub histogram: Histogram,
    /// Configs that are `ok`.
    pub configs: usize,
    /// The median of their throughput in GB/s.
    pub median_gbps: f64,
    /// The throughput that one config in ten reaches, in GB/s.
    pub p90_gbps: f64,
    /// The highest throughput in GB/s.
    pub best_gbps: f64,
    /// The part of the configs within 5 % of the best, from 0 to 1; the best is among them.
    pub near_best: f64,
}

/// Counts in bins of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The lower end of the first bin.
    pub low: f64,
    /// The width of a bin; 0 where all values are equal.
    pub width: f64,
    /// Values by bin; a value on a border is in the upper bin, the highest value in the last one.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// The histogram of these values with the number of bins of Shimazaki and Shinomoto, the smallest of equally good
    /// ones; `None` of nothing.
    ///
    /// Bins are at least twice as wide as the smallest gap between two values: times are whole nanoseconds, and the
    /// cost of bins that resolve those steps has nothing to do with the distribution. There is at most one bin for
    /// every five values. Where that leaves no choice, as with fewer than three distinct values, there is one bin.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&low, &high) = (sorted.first()?, sorted.last()?);
        let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0);
        let smallest_gap = gaps.fold(f64::INFINITY, f64::min);
        // With all values equal this is 0 / infinity.
        let most =
            (((high - low) / (2.0 * smallest_gap)).floor() as usize).min(sorted.len() / VALUES_PER_BIN);
        let mut best = Self::with_bins(&sorted, 1);
        let mut lowest_cost = f64::INFINITY;
        for bins in 2..=most {
            let histogram = Self::with_bins(&sorted, bins);
            let cost = histogram.cost();
            if cost < lowest_cost {
                (best, lowest_cost) = (histogram, cost);
            }
        }
        Some(best)
    }

    /// Ascending values in so many bins.
    fn with_bins(sorted: &[f64], bins: usize) -> Self {
        let low = sorted[0];
        let range = sorted[sorted.len() - 1] - low;
        let width = range / bins as f64;
        let mut counts = vec![0; bins];
        for value in sorted {
            let place = if range > 0.0 { (value - low) / range * bins as f64 } else { 0.0 };
            let bin = (place + ON_BORDER) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
        Self { low, width, counts }
    }

    fn cost(&self) -> f64 {
        let bins = self.counts.len() as f64;
        let mean = self.counts.iter().sum::<u64>() as f64 / bins;
        let variance = self.counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / bins;
        (2.0 * mean - variance) / (self.width * self.width)
    }
}

/// The distribution at each size, ascending.
#[must_use]
pub fn densities(table: &DeviceTable) -> (Vec<Density>, Vec<Warning>) {
    let mut few = Vec::new();
    let mut answer = Vec::new();
    for (index, &n) in table.sizes.iter().enumerate() {
        let mut gbps: Vec<f64> = table.cells_at(index).iter().map(|cell| cell.gbps).collect();
        gbps.sort_by(f64::total_cmp);
        let (Some(histogram), Some(&best)) = (Histogram::of(&gbps), gbps.last()) else { continue };
        if histogram.counts.len() == 1 {
            few.push(n);
        }
        let near = gbps.iter().filter(|&&gbps| gbps >= NEAR * best).count();
        answer.push(Density {
            n,
            histogram,
            configs: gbps.len(),
            median_gbps: quantile(&gbps, 0.5),
            p90_gbps: quantile(&gbps, 0.9),
            best_gbps: best,
            near_best: near as f64 / gbps.len() as f64,
        });
    }
    let warning = Warning::OneBin { device: table.title.clone(), sizes: few };
    let has_few = matches!(&warning, Warning::OneBin { sizes, .. } if !sizes.is_empty());
    (answer, if has_few { vec![warning] } else { Vec::new() })
}

/// A quantile of ascending values, at least one; between two values linearly (type 7 of Hyndman and Fan 1996).
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let below = sorted[place as usize];
    let above = sorted[(place as usize + 1).min(sorted.len() - 1)];
    below + place.fract() * (above - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], low: f64, width: f64, counts: &[u64]) {
        assert_eq!(
            Histogram::of(values),
            Some(Histogram { low, width, counts: counts.to_vec() }),
            "{values:?}"
        );
    }

    #[test]
    fn bins_by_hand() {
        assert_eq!(Histogram::of(&[]), None);
        check(&[3.0], 3.0, 0.0, &[1]);
        check(&[3.0, 3.0, 3.0], 3.0, 0.0, &[3]);
        // Two distinct values, and three in a row: no bin can be twice as wide as the gap and not the whole.
        check(&[1.0, 2.0, 1.0], 1.0, 1.0, &[3]);
        check(&[1.0, 2.0, 3.0], 1.0, 2.0, &[3]);
        // Two clusters of 12 and 13. Of 5 bins of 2, the most for 25 values: (12, 0, 0, 0, 13), m 5, v 37.6, the
        // lowest cost.
        let twice = |value: f64, count| std::iter::repeat_n(value, count);
        let clusters: Vec<f64> =
            twice(0.0, 1).chain(twice(1.0, 11)).chain(twice(9.0, 12)).chain(twice(10.0, 1)).collect();
        check(&clusters, 0.0, 2.0, &[12, 0, 0, 0, 13]);
        // Fewer than ten values are in one bin.
        check(&[0.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 10.0], 0.0, 10.0, &[8]);
    }

    #[test]
    fn a_value_on_a_border_is_in_the_upper_bin() {
        // In floats 0.3 is below three times 0.1, and (0.7 - 0.1) / 0.2 below 3.
        let tenths =
            |range: std::ops::Range<u32>| range.map(|tenth| f64::from(tenth) / 10.0).collect::<Vec<f64>>();
        let counts = |values: &[f64], bins| Histogram::with_bins(values, bins).counts;
        assert_eq!(counts(&tenths(0..11), 10), [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(counts(&tenths(1..12), 5), [2, 2, 2, 2, 3]);
    }

    #[test]
    fn quantiles_by_hand() {
        let check = |values: &[f64], part, expected: f64| {
            assert!((quantile(values, part) - expected).abs() < 1e-12, "{values:?} {part}");
        };
        check(&[7.0], 0.9, 7.0);
        check(&[1.0, 2.0, 3.0], 0.5, 2.0);
        check(&[1.0, 2.0, 3.0, 4.0], 0.5, 2.5);
        check(&[0.0, 10.0, 20.0, 30.0, 40.0], 0.9, 36.0);
        check(&[0.0, 10.0], 1.0, 10.0);
    }
}
