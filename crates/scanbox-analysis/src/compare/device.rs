//! What the device lost, whoever is to blame for it: clocks, a driver, another unit, cooling.
//!
//! The program of the base has not changed. So where it runs tonight, what its kernels lost against earlier nights
//! the device lost. What is earlier is the base's own sweep and the first nights after it, up to `NIGHTS_MAX`
//! together: one night alone may have been a fast one, and a reference that moves on would follow a slow decline.
//! Without it, what ceilings and scans of two sweeps have both lost stands for it.

use std::collections::BTreeMap;

use super::Night;
use super::drift::Drift;
use super::run_rows::RunRows;
use crate::pairs::Pairs;
use crate::spread::{MAD_DEVIATION, median};

/// A loss of the device from which on it is a regression, as a share. From night to night devices differ by some 2 %.
pub const DEVICE_LIMIT: f64 = 0.07;
/// A loss of the device that leaves nothing the same, as a share.
pub const DEVICE_DOUBT: f64 = 0.05;
/// Nights that the reference is made of, that of the base among them.
const NIGHTS_MAX: usize = 9;
/// Errors of a night from which on a loss is a regression, and from which on it may be one: a machine that others use
/// differs by more from night to night than the shares above.
const LIMIT_ERRORS: f64 = 4.0;
const DOUBT_ERRORS: f64 = 2.5;
/// Nights that tell how much nights differ, at least, that of the base among them.
const SCATTER_NIGHTS: usize = 4;

/// By how much the device is slower; logarithms, so that about 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceChange {
    /// The base's own kernels, run by its own program; `None` where it was not run.
    pub kernels: Option<f64>,
    /// Ceilings; `None` where one of the sweeps has none.
    pub ceilings: Option<f64>,
    /// Nights that it is held against, that of the base among them.
    pub nights: usize,
    /// The standard deviation of the first nights; 0 of fewer than four.
    pub scatter: f64,
    /// What it comes to.
    pub lost: f64,
}

impl DeviceChange {
    pub(super) fn between(base: &RunRows<'_>, night: Option<&Night<'_>>, drift: &Drift) -> Self {
        let ceilings = drift.ceilings;
        let Some(night) = night else {
            // Scans alone may have lost it themselves.
            let lost = ceilings.map_or(0.0, |_| drift.removed);
            return Self { kernels: None, ceilings, nights: 1, scatter: 0.0, lost };
        };
        let swept = |n: u64, config: &str| base.time(n, config).map(|time| time.unconfirmed().ns as f64);
        let nights = night.earlier.iter().map(Pairs::base_times);
        let changes: Vec<(TimesByRow<'_>, f64)> = nights
            .filter_map(|times| lost(&times, |n, config| swept(n, config)).map(|change| (times, change)))
            .collect();
        let first: Vec<f64> = changes.iter().map(|(_, change)| *change).take(NIGHTS_MAX - 1).collect();
        let scatter = scatter(&first);
        // A night that was slow or fast itself is no reference.
        let doubt = above(DEVICE_DOUBT, DOUBT_ERRORS, scatter);
        let earlier = changes.into_iter().filter(|(_, change)| change.abs() <= doubt).map(|(times, _)| times);
        let earlier: Vec<TimesByRow<'_>> = earlier.take(NIGHTS_MAX - 1).collect();
        let kernels = lost(&night.pairs.base_times(), |n, config| {
            let before = earlier.iter().filter_map(|times| times.get(&(n, config)).copied());
            median(&mut swept(n, config).into_iter().chain(before).collect::<Vec<_>>())
        });
        Self { kernels, ceilings, nights: 1 + earlier.len(), scatter, lost: kernels.unwrap_or_default() }
    }

    /// Whether it lost more than this share.
    #[must_use]
    pub fn is_above(&self, share: f64) -> bool {
        self.lost > share.ln_1p()
    }

    /// The loss from which on it is a regression: more than nights differ by.
    #[must_use]
    pub fn limit(&self) -> f64 {
        above(DEVICE_LIMIT, LIMIT_ERRORS, self.scatter)
    }

    /// Whether it is one.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        self.lost > self.limit()
    }

    /// Whether it may be one.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.lost > above(DEVICE_DOUBT, DOUBT_ERRORS, self.scatter)
    }
}

/// A share, or so many errors where those are more, as a logarithm.
fn above(share: f64, errors: f64, scatter: f64) -> f64 {
    share.ln_1p().max(errors * scatter)
}

/// The standard deviation of nights, by how much one differs from the night before: a step, which a regression is,
/// counts once. `changes`: against the base, whose own night is the first one.
fn scatter(changes: &[f64]) -> f64 {
    if changes.len() + 1 < SCATTER_NIGHTS {
        return 0.0;
    }
    let before = std::iter::once(&0.0).chain(changes);
    let mut steps: Vec<f64> =
        changes.iter().zip(before).map(|(change, before)| (change - before).abs()).collect();
    // Of a normal distribution; the difference of two has twice the variance.
    median(&mut steps).unwrap_or_default() * MAD_DEVIATION / std::f64::consts::SQRT_2
}

/// Nanoseconds by size and label.
type TimesByRow<'a> = BTreeMap<(u64, &'a str), f64>;

/// `ln(time / reference)`, by the median over sizes of the median over rows.
fn lost(times: &TimesByRow<'_>, reference: impl Fn(u64, &str) -> Option<f64>) -> Option<f64> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (&(n, config), time) in times {
        if let Some(reference) = reference(n, config) {
            sizes.entry(n).or_default().push((time / reference).ln());
        }
    }
    median(&mut sizes.values_mut().filter_map(|rows| median(rows)).collect::<Vec<_>>())
}
