//! Drift: a device that is slower as a whole, or faster, than in the other run.
//!
//! Two things tell it. Ceilings, which every sweep measures at every size and which no change of a scan touches; and
//! the scans themselves, by the median over sizes of the median over configs. What both show is drift and is taken
//! out of every change: the smaller of the two where they have one sign, else nothing. So a loss of all scans that
//! ceilings do not share stays in the changes and is told as what it may be, a regression; and a ceiling that changes
//! alone moves nothing.

use super::run_rows::RunRows;
use crate::spread::median;

/// Without ceilings, scans of this many sizes tell the drift: a loss at one of them does not move their median.
const SIZES_MIN: usize = 5;

/// By how much the new run is slower as a whole; all as `ln(new / base)`, so that about 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Drift {
    /// By ceilings; `None` where one of the runs has none.
    pub ceilings: Option<f64>,
    /// By scans; `None` where no config is `ok` in both.
    pub scans: Option<f64>,
    /// What is taken out of every change.
    pub removed: f64,
}

impl Drift {
    pub(super) fn between(base: &RunRows<'_>, new: &RunRows<'_>) -> Self {
        let at = |rows: &RunRows<'_>, n: u64| rows.ceiling_gbps?.get(&n).copied().filter(|&gbps| gbps > 0.0);
        let ceiling_sizes = base.ceiling_gbps.into_iter().flatten().map(|(&n, _)| n);
        let ceilings: Vec<f64> =
            ceiling_sizes.filter_map(|n| Some((at(base, n)? / at(new, n)?).ln())).collect();
        let scans: Vec<f64> = base.sizes().filter_map(|n| median(&mut changes(base, new, n))).collect();
        let sizes = scans.len();
        let (ceilings, scans) = (median(&mut { ceilings }), median(&mut { scans }));
        let removed = match (ceilings, scans) {
            (Some(ceilings), Some(scans)) if ceilings * scans > 0.0 => {
                ceilings.signum() * ceilings.abs().min(scans.abs())
            }
            (None, Some(scans)) if sizes >= SIZES_MIN => scans,
            _ => 0.0,
        };
        Self { ceilings, scans, removed }
    }

    /// Whether scans are slower as a whole, by more than this share, and no ceiling says whether that is drift.
    #[must_use]
    pub fn is_unexplained(&self, threshold: f64) -> bool {
        self.ceilings.is_none() && self.removed > threshold.ln_1p()
    }

    /// By how much scans as a whole became slower against ceilings, as a share; `None` without both.
    #[must_use]
    pub fn scans_against_ceilings(&self) -> Option<f64> {
        Some((self.scans? - self.ceilings?).exp_m1())
    }
}

/// `ln(new / base)` of every config that is `ok` in both at this size.
fn changes(base: &RunRows<'_>, new: &RunRows<'_>, n: u64) -> Vec<f64> {
    let change = |time: super::run_rows::Time<'_>| {
        let other = new.time(n, &time.record.config_id)?.unconfirmed();
        Some((other.ns as f64 / time.unconfirmed().ns as f64).ln())
    };
    base.times(n).filter_map(change).collect()
}
