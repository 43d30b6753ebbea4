//! Which of two devices is faster, and by how much: ideal line against ideal line, size by size.

use crate::lines::Lines;
use crate::stats;

/// One device against another.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// The position of the device that the other one is measured by.
    pub base: usize,
    /// The position of the other one.
    pub other: usize,
    /// Sizes that both have, ascending; at least one.
    pub points: Vec<SpeedPoint>,
}

/// One size of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedPoint {
    /// Input size in elements.
    pub n: u64,
    /// The ideal throughput of the base, in GB/s.
    pub base_gbps: f64,
    /// That of the other one.
    pub other_gbps: f64,
    /// How many times as fast as the base the other one is.
    pub ratio: f64,
}

impl Speed {
    /// The geometric mean of the ratios: the same whichever device is the base.
    #[must_use]
    pub fn mean_ratio(&self) -> f64 {
        let ratios: Vec<f64> = self.points.iter().map(|point| point.ratio).collect();
        stats::geometric_mean(&ratios).unwrap_or(1.0)
    }

    /// The size with the lowest ratio, the smallest of several.
    #[must_use]
    pub fn least(&self) -> Option<&SpeedPoint> {
        self.points.iter().reduce(|least, point| if point.ratio < least.ratio { point } else { least })
    }

    /// The size with the highest ratio, the smallest of several.
    #[must_use]
    pub fn most(&self) -> Option<&SpeedPoint> {
        self.points.iter().reduce(|most, point| if point.ratio > most.ratio { point } else { most })
    }

    /// At how many sizes the other one is faster than the base.
    #[must_use]
    pub fn faster(&self) -> usize {
        self.points.iter().filter(|point| point.ratio > 1.0).count()
    }
}

/// Every device against the first one; none that has no size in common with it.
#[must_use]
pub fn speeds(devices: &[&Lines<'_>]) -> Vec<Speed> {
    let Some((first, others)) = devices.split_first() else { return Vec::new() };
    let point = |other: &Lines<'_>, n: u64| {
        let (base_gbps, other_gbps) = (first.ideal_gbps(n)?, other.ideal_gbps(n)?);
        Some(SpeedPoint { n, base_gbps, other_gbps, ratio: other_gbps / base_gbps })
    };
    let speed = |(index, other): (usize, &&Lines<'_>)| {
        let sizes = other.table.sizes.iter();
        let points: Vec<SpeedPoint> = sizes.filter_map(|&n| point(other, n)).collect();
        (!points.is_empty()).then_some(Speed { base: 0, other: index + 1, points })
    };
    others.iter().enumerate().filter_map(speed).collect()
}
