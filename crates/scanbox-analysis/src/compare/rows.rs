//! Two sweeps of two nights, all rows of a size together.
//!
//! One row differs from night to night by more than most losses, but half of the rows of a size do not all differ the
//! same way. Their median has an error by the scatter of the rows, and a second one that no number of rows makes
//! smaller: another unit, or another night, moves a size as a whole. How much sizes as a whole differ shows in how
//! far their medians lie apart, by the half of them that lie closest together: a loss at some sizes is in the other
//! half.

use std::collections::BTreeMap;

use super::Verdict;
use super::drift::Drift;
use super::noise::Noise;
use super::run_rows::RunRows;
use crate::pairs::{
    GROUP_ERRORS, GROUP_LIMIT, GROUP_MIN, GroupChange, Judgement, POWER, RowsOf, is_powerless,
};
use crate::spread::median;

/// The standard error of a median, in those of a mean, for normal noise: the root of pi/2.
const MEDIAN_ERROR: f64 = 1.2533;
/// Sizes from which on they tell how much sizes differ.
const SIZES_MIN: usize = 5;
/// The length of the shortest interval with half of normal values, in standard deviations.
const HALF_LENGTH: f64 = 1.349;

/// What the rows of each size say together.
pub(super) fn judge(
    base: &RunRows<'_>,
    new: &RunRows<'_>,
    drift: &Drift,
    noise: &Noise,
    threshold: f64,
) -> Judgement {
    let mut sizes: BTreeMap<u64, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for n in base.sizes() {
        let (changes, sampling) = sizes.entry(n).or_default();
        for time in base.times(n) {
            if let Some(other) = new.time(n, &time.record.config_id) {
                let (before, now) = (time.unconfirmed().ns as f64, other.unconfirmed().ns as f64);
                changes.push((now / before).ln() - drift.removed);
                sampling.push(time.sampling.hypot(other.sampling));
            }
        }
    }
    let medians: Vec<f64> = sizes.values().filter_map(|(changes, _)| median(&mut changes.clone())).collect();
    let between = shortest_half(medians);
    // A canary that ranges far says that the device did: four standard deviations, up and down.
    let canary = [base, new].into_iter().filter_map(RunRows::canary_range).fold(0.0, f64::max) / 4.0;
    let threshold = threshold.ln_1p();
    let groups = sizes.into_iter().filter_map(|(n, (mut changes, mut sampling))| {
        let rows = changes.len();
        let change = median(&mut changes)?;
        let scatter =
            noise.of_rows(n).map(|rows| rows.max(median(&mut sampling).unwrap_or_default()).max(canary));
        let error = scatter.map(|scatter| (MEDIAN_ERROR * scatter / (rows as f64).sqrt()).max(between));
        let limit = error.map(|error| threshold.max(GROUP_ERRORS * error) + POWER * error);
        let verdict = match error.zip(limit) {
            Some((error, _)) if change.abs() > threshold && change.abs() > GROUP_ERRORS * error => {
                match change > 0.0 {
                    // Measuring in turns tells.
                    true if rows < GROUP_MIN => Verdict::Unclear,
                    true => Verdict::Slower,
                    false => Verdict::Faster,
                }
            }
            Some((_, limit)) if change <= threshold && !is_powerless(limit, GROUP_LIMIT, threshold) => {
                Verdict::Same
            }
            _ => Verdict::Unclear,
        };
        let (change, limit) = (change.exp_m1(), limit.map(f64::exp_m1));
        Some(GroupChange { n, group: RowsOf::All, rows, change, limit, verdict })
    });
    Judgement { groups: groups.collect(), singles: Vec::new() }
}

/// The standard deviation of most values, by the shortest interval with half of them; 0 of few.
fn shortest_half(mut values: Vec<f64>) -> f64 {
    if values.len() < SIZES_MIN {
        return 0.0;
    }
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let lengths = values.iter().zip(&values[half..]).map(|(low, high)| high - low);
    lengths.fold(f64::INFINITY, f64::min) / HALF_LENGTH
}
