//! How much the same config differs from run to run for no reason.
//!
//! The spread of the samples of a row does not tell: on an H200 samples spread by 0.3 % where the row as a whole
//! moves by 0.8 % from one measurement to the next (below 2^20), and by 2 to 3 % from one unit to another. But two
//! runs of one space have hundreds of configs in common, nearly all of them unchanged, and each is a repeated
//! measurement. What their changes leave after the median of their kernel (or size) is taken out is noise; by size,
//! because small sizes are noisier.
//!
//! For times of a confirmation the noise is that between its rounds, over the square root of their number, and more
//! where configs that were confirmed in both runs differ by more.

use std::collections::BTreeMap;

use super::drift::Drift;
use super::run_rows::{RunRows, Time};
use crate::spread::{MAD_DEVIATION, deviation, median, pooled};

/// Below this many leftovers at a size those of the neighbouring sizes are taken as well.
const LEFTOVERS_MIN: usize = 30;
/// Below this many in all, nothing is known of the noise.
const LEFTOVERS_KNOWN: usize = 8;
/// Configs of a kernel (or size) from which on their median is taken out.
const CONFIGS_MIN: usize = 3;
/// Confirmed rows at a size, below which those of the neighbouring sizes are taken as well.
const ROUNDS_MIN: usize = 8;
/// The standard error of a median, in those of a mean, for normal noise: the root of pi/2.
const MEDIAN_ERROR: f64 = 1.2533;

/// The noise of two runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Noise {
    /// Standard deviation of the change of one config, by size.
    rows: BTreeMap<u64, f64>,
    /// Standard deviation of the median of a round of a confirmation, by size.
    rounds: BTreeMap<u64, f64>,
    /// How much further than that apart configs are that both runs have confirmed; 1 at least.
    rounds_factor: f64,
}

impl Noise {
    pub(super) fn between(base: &RunRows<'_>, new: &RunRows<'_>, drift: &Drift) -> Self {
        let leftovers = leftovers(base, new, drift);
        let rounds = round_deviations(base, new);
        let mut noise = Self {
            rows: pooled(&leftovers, LEFTOVERS_MIN, LEFTOVERS_KNOWN, deviation),
            rounds: pooled(&rounds, ROUNDS_MIN, 1, |values| values.iter().sum::<f64>() / values.len() as f64),
            rounds_factor: 1.0,
        };
        noise.rounds_factor = noise.factor(base, new, drift);
        noise
    }

    /// Standard deviation of `ln(new / base)` of two times that are the same but for noise; `None` where nothing
    /// tells it.
    pub(super) fn of_change(&self, n: u64, base: &Time<'_>, new: &Time<'_>) -> Option<f64> {
        let confirmed = || self.of_confirmed(n, base, new).map(|sigma| self.rounds_factor * sigma);
        let row = || {
            let sampling = base.sampling.hypot(new.sampling);
            self.of_rows(n).map(|sigma| sigma.max(sampling))
        };
        confirmed().or_else(row)
    }

    /// The same of two rows of the sweep, by what other configs show.
    pub(super) fn of_rows(&self, n: u64) -> Option<f64> {
        self.rows.get(&n).copied()
    }

    fn of_confirmed(&self, n: u64, base: &Time<'_>, new: &Time<'_>) -> Option<f64> {
        let (base, _) = base.rounds()?;
        let (new, _) = new.rounds()?;
        self.rounds.get(&n).map(|&sigma| change_deviation(sigma, base, new))
    }

    /// Configs that both runs have confirmed, against the noise between rounds.
    fn factor(&self, base: &RunRows<'_>, new: &RunRows<'_>, drift: &Drift) -> f64 {
        let mut ratios = Vec::new();
        for n in base.sizes() {
            for time in base.times(n) {
                let other = new.time(n, &time.record.config_id);
                let sigma = other.and_then(|other| self.of_confirmed(n, &time, &other));
                if let (Some(other), Some(sigma)) = (other, sigma.filter(|&sigma| sigma > 0.0)) {
                    ratios.push((((other.ns as f64 / time.ns as f64).ln() - drift.removed) / sigma).abs());
                }
            }
        }
        let known = ratios.len() >= LEFTOVERS_KNOWN;
        median(&mut ratios).filter(|_| known).map_or(1.0, |middle| (MAD_DEVIATION * middle).max(1.0))
    }
}

/// What is left of the changes at each size when the median of their kernel is taken out; where a kernel has few
/// configs, that of the size, and where that has few, the drift.
fn leftovers(base: &RunRows<'_>, new: &RunRows<'_>, drift: &Drift) -> BTreeMap<u64, Vec<f64>> {
    let mut sizes = BTreeMap::new();
    for n in base.sizes() {
        let mut kernels: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for time in base.times(n) {
            if let Some(other) = new.time(n, &time.record.config_id) {
                let change = (other.unconfirmed().ns as f64 / time.unconfirmed().ns as f64).ln();
                kernels.entry(&time.record.kernel_id).or_default().push(change);
            }
        }
        let (many, few): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
            kernels.into_values().partition(|changes| changes.len() >= CONFIGS_MIN);
        let few: Vec<f64> = few.into_iter().flatten().collect();
        let mut left: Vec<f64> = many.into_iter().flat_map(centred).collect();
        if few.len() >= CONFIGS_MIN {
            left.extend(centred(few));
        } else {
            let centre = drift.scans.unwrap_or_default();
            left.extend(few.into_iter().map(|change| change - centre));
        }
        sizes.insert(n, left);
    }
    sizes
}

/// The values less their median, and stretched by what taking that out costs.
fn centred(values: Vec<f64>) -> Vec<f64> {
    let count = values.len() as f64;
    let centre = median(&mut values.clone()).unwrap_or_default();
    values.into_iter().map(|value| (value - centre) * (count / (count - 1.0)).sqrt()).collect()
}

/// The standard deviation of a round that each confirmed row shows, by size.
fn round_deviations(base: &RunRows<'_>, new: &RunRows<'_>) -> BTreeMap<u64, Vec<f64>> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for side in [base, new] {
        for n in side.sizes() {
            let shown = side.times(n).filter_map(|time| time.rounds()).map(|(_, deviation)| deviation);
            sizes.entry(n).or_default().extend(shown);
        }
    }
    sizes
}

/// The standard deviation of the change of two medians of so many rounds, from that of one round.
fn change_deviation(sigma: f64, base_rounds: u32, new_rounds: u32) -> f64 {
    let shares = 1.0 / f64::from(base_rounds) + 1.0 / f64::from(new_rounds);
    MEDIAN_ERROR * sigma * shares.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rounds_make_a_median_surer_by_their_root() {
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-4, "{found}");
        close(change_deviation(0.02, 8, 8), 0.02 * (std::f64::consts::PI / 2.0).sqrt() / 2.0);
        close(change_deviation(0.02, 32, 32), change_deviation(0.02, 8, 8) / 2.0);
        close(change_deviation(0.02, 9, 3), MEDIAN_ERROR * 0.02 * (4.0f64 / 9.0).sqrt());
    }
}
