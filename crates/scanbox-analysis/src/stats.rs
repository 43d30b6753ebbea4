//! Statistics of single rows: what five numbers per config can and cannot say.
//!
//! A row keeps the median, the quartiles and the number of samples, not the samples. Two configs tie when the
//! intervals of their medians overlap. The interval is the notch of `McGill`, Tukey and Larsen ("Variations of box
//! plots", The American Statistician 32, 1978): `median ± 1.57 * (q3 - q1) / sqrt(samples)`. The factor is made so
//! that two notches of similar spread just touch where a test of their medians at the 5 % level just rejects.
//! Quartiles, not the standard deviation, because a few interrupted samples must not widen it.
//!
//! It covers the noise between the samples of one run only. Drift during the run is not in it, and the best of many
//! noisy medians stays optimistic.

/// The factor of the notch: 1.7 * 1.25 / 1.35 (`McGill`, Tukey and Larsen 1978).
const NOTCH: f64 = 1.57;

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl ConfidenceInterval {
    /// It around a median, with at least so much to both sides: more samples make no step of a timer smaller.
    #[must_use]
    pub fn at_least(self, median_ns: u64, half_ns: f64) -> Self {
        let median = median_ns as f64;
        Self { low: self.low.min(median - half_ns), high: self.high.max(median + half_ns) }
    }

    /// Whether the two have a value in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The interval of a median time in nanoseconds, for comparison with another one (see the module). Without samples or
/// without a spread it is the median alone.
#[must_use]
pub fn median_interval(median_ns: u64, q1_ns: u64, q3_ns: u64, samples: u32) -> ConfidenceInterval {
    let median = median_ns as f64;
    let half = NOTCH * q3_ns.saturating_sub(q1_ns) as f64 / f64::from(samples.max(1)).sqrt();
    ConfidenceInterval { low: median - half, high: median + half }
}

/// The standard deviation of a median that its samples show, as a share of it: 1.25 of those of the mean, and the
/// interquartile range holds 1.35 standard deviations (normal noise).
#[must_use]
pub fn median_deviation(median_ns: u64, q1_ns: u64, q3_ns: u64, samples: u32) -> f64 {
    relative_spread(median_ns, q1_ns, q3_ns) * 1.25 / 1.35 / f64::from(samples.max(1)).sqrt()
}

/// The standard deviation of normal values of which so many lie in a range this wide (the factors of control charts, as
/// in ASTM E2587); `None` of fewer than two. More than ten are taken for ten.
#[must_use]
pub fn deviation_of_range(range: f64, values: u32) -> Option<f64> {
    const D2: [f64; 9] = [1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078];
    let place = (values.min(10) as usize).checked_sub(2)?;
    Some(range / D2[place])
}

/// The interquartile range over the median: 0.02 says that half the samples lie within 2 % of each other.
#[must_use]
pub fn relative_spread(median_ns: u64, q1_ns: u64, q3_ns: u64) -> f64 {
    q3_ns.saturating_sub(q1_ns) as f64 / median_ns.max(1) as f64
}

/// A step of the timer over the median, which is not known better than that; 0 where steps are no matter.
#[must_use]
pub fn relative_step(median_ns: u64, resolution_ns: f64) -> f64 {
    resolution_ns / median_ns.max(1) as f64
}

/// The arithmetic mean; `None` of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The geometric mean of numbers of at least 0; `None` of nothing.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).map(f64::exp)
}

/// The harmonic mean of numbers of at least 0: 0 where one of them is; `None` of nothing.
#[must_use]
pub fn harmonic_mean(values: &[f64]) -> Option<f64> {
    let inverse: Vec<f64> = values.iter().map(|value| value.recip()).collect();
    mean(&inverse).map(f64::recip)
}
