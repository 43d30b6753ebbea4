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
use crate::spread::median;

/// A loss of the device from which on it is a regression, as a share. From night to night devices differ by some 2 %.
pub const DEVICE_LIMIT: f64 = 0.07;
/// A loss of the device that leaves nothing the same, as a share.
pub const DEVICE_DOUBT: f64 = 0.05;
/// Nights that the reference is made of, that of the base among them.
const NIGHTS_MAX: usize = 9;

/// By how much the device is slower; logarithms, so that about 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceChange {
    /// The base's own kernels, run by its own program; `None` where it was not run.
    pub kernels: Option<f64>,
    /// Ceilings; `None` where one of the sweeps has none.
    pub ceilings: Option<f64>,
    /// Nights that it is held against, that of the base among them.
    pub nights: usize,
    /// What it comes to.
    pub lost: f64,
}

impl DeviceChange {
    pub(super) fn between(base: &RunRows<'_>, night: Option<&Night<'_>>, drift: &Drift) -> Self {
        let ceilings = drift.ceilings;
        let Some(night) = night else {
            // Scans alone may have lost it themselves.
            let lost = ceilings.map_or(0.0, |_| drift.removed);
            return Self { kernels: None, ceilings, nights: 1, lost };
        };
        let swept = |n: u64, config: &str| base.time(n, config).map(|time| time.unconfirmed().ns as f64);
        // A night that was slow or fast itself is no reference.
        let mut earlier: Vec<TimesByRow<'_>> = Vec::new();
        for times in night.earlier.iter().map(Pairs::base_times) {
            let change = lost(&times, |n, config| swept(n, config)).unwrap_or(f64::INFINITY);
            if change.abs() <= DEVICE_DOUBT.ln_1p() && earlier.len() < NIGHTS_MAX - 1 {
                earlier.push(times);
            }
        }
        let kernels = lost(&night.pairs.base_times(), |n, config| {
            let before = earlier.iter().filter_map(|times| times.get(&(n, config)).copied());
            median(&mut swept(n, config).into_iter().chain(before).collect::<Vec<_>>())
        });
        Self { kernels, ceilings, nights: 1 + earlier.len(), lost: kernels.unwrap_or_default() }
    }

    /// Whether it lost more than this share.
    #[must_use]
    pub fn is_above(&self, share: f64) -> bool {
        self.lost > share.ln_1p()
    }

    /// Whether that is a regression.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        self.is_above(DEVICE_LIMIT)
    }

    /// Whether it may be one.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.is_above(DEVICE_DOUBT)
    }
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
