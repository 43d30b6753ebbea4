//! Estimates of a middle and of its error that a few wild values do not move.

pub(super) use crate::spread::median;
use crate::spread::{deviation, pooled};
use std::collections::BTreeMap;

/// The standard error of a median, in those of a mean, for normal noise: the root of pi/2.
const MEDIAN_ERROR: f64 = 1.2533;
/// Below this many rows at a size those of the neighbouring sizes tell its noise as well.
const ROWS_MIN: usize = 30;
/// Below this many in all nothing is known of it.
const ROWS_KNOWN: usize = 8;

/// A middle and its standard error, both in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChangeEstimate {
    pub change: f64,
    pub error: f64,
}

/// The standard deviation of one row around the median of its size, by size.
pub(super) fn row_deviations(rows: &BTreeMap<u64, Vec<f64>>) -> BTreeMap<u64, f64> {
    let left = rows.iter().map(|(&n, changes)| {
        let centre = median(&mut changes.clone()).unwrap_or_default();
        // What taking the median out costs.
        let stretch = (changes.len() as f64 / (changes.len() as f64 - 1.0).max(1.0)).sqrt();
        // One row has no other to differ from.
        let values = if changes.len() < 2 { Vec::new() } else { changes.clone() };
        (n, values.into_iter().map(|change| (change - centre) * stretch).collect())
    });
    pooled(&left.collect(), ROWS_MIN, ROWS_KNOWN, deviation)
}

/// The median of many rows, each with this standard deviation.
pub(super) fn of_rows(changes: &mut [f64], deviation: f64) -> Option<ChangeEstimate> {
    let error = MEDIAN_ERROR * deviation / (changes.len() as f64).sqrt();
    Some(ChangeEstimate { change: median(changes)?, error })
}

/// The mean of some values without the lowest and the highest, and its standard error by the winsorised variance
/// (Yuen 1974); `None` of fewer than four.
pub(super) fn trimmed(values: &mut [f64]) -> Option<ChangeEstimate> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let [_, inner @ .., _] = &*values else { return None };
    let (&first, &last, kept) = (inner.first()?, inner.last()?, inner.len() as f64);
    if inner.len() < 2 {
        return None;
    }
    let change = inner.iter().sum::<f64>() / kept;
    let winsorised = || inner.iter().copied().chain([first, last]);
    let mean = winsorised().sum::<f64>() / count as f64;
    let squares: f64 = winsorised().map(|value| (value - mean).powi(2)).sum();
    Some(ChangeEstimate { change, error: (squares / (kept * (kept - 1.0))).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: winsorised, the values are 1, 1, 2, 3, 4 and 4, whose squares around 2.5 add up to 9.5.
    #[test]
    fn a_trimmed_mean_has_the_error_of_yuen() {
        let found = trimmed(&mut [100.0, 2.0, 0.0, 4.0, 3.0, 1.0]).unwrap();
        assert_eq!(found.change, 2.5);
        assert!((found.error - (9.5f64 / 12.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert!(trimmed(&mut [1.0, 2.0, 3.0]).is_none());
    }
}
