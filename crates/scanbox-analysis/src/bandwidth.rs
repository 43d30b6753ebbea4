//! The ideal line against the bandwidth of its device (A20, thesis table 5.1) and against other implementations
//! (A22, thesis 5.5).
//!
//! A throughput above the bandwidth says that data stayed in caches: ratios to another implementation are summed up
//! apart for these sizes.

use std::fmt;
use std::str::FromStr;

use crate::AnalysisError;
use crate::ideal::IdealSet;
use crate::table::{DeviceTable, Tables};

/// The bandwidth of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// In GB/s; above zero.
    pub gbps: f64,
    /// Where the number comes from.
    pub origin: BandwidthOrigin,
}

/// Where a bandwidth comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BandwidthOrigin {
    /// The user gave it.
    Given,
    /// The ceiling of this size, the largest one.
    Ceiling {
        /// Input size in elements.
        n: u64,
    },
}

/// Where the data of a size is while it is scanned again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Regime {
    /// The ideal throughput exceeds the bandwidth: some of it is in caches.
    Cache,
    /// It does not.
    Memory,
}

impl Regime {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Memory => "memory",
        }
    }
}

/// A20: what the ideal line reaches of the bandwidth.
#[derive(Debug, Clone, PartialEq)]
pub struct Utilization {
    /// The bandwidth.
    pub bandwidth: Bandwidth,
    /// By size, ascending.
    pub points: Vec<UtilizationPoint>,
}

/// One size of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UtilizationPoint {
    /// Input size in elements.
    pub n: u64,
    /// The ideal throughput in percent of the bandwidth.
    pub pct: f64,
    /// Cache or memory.
    pub regime: Regime,
}

impl DeviceTable {
    /// The bandwidth of the device: what the user gave, else the ceiling of the largest size; `None` without both. The
    /// ceiling of a smaller size is no bandwidth: it may be that of starting a call, or of a cache.
    #[must_use]
    pub fn bandwidth(&self) -> Option<Bandwidth> {
        let given = self.peak_gbps.map(|gbps| Bandwidth { gbps, origin: BandwidthOrigin::Given });
        let ceiling = || {
            let (&n, &gbps) = self.ceiling_gbps.iter().rfind(|&(_, &gbps)| gbps > 0.0)?;
            self.sizes.last().is_none_or(|&largest| n >= largest).then_some(())?;
            Some(Bandwidth { gbps, origin: BandwidthOrigin::Ceiling { n } })
        };
        given.or_else(ceiling)
    }

    /// The sizes with an `ok` row and no ceiling, where others have one.
    #[must_use]
    pub fn sizes_without_ceiling(&self) -> Vec<u64> {
        let has_one = |n: &u64| self.ceiling_gbps.get(n).is_some_and(|&gbps| gbps > 0.0);
        if !self.ceiling_gbps.keys().any(has_one) {
            return Vec::new();
        }
        self.sizes.iter().copied().filter(|n| !has_one(n)).collect()
    }
}

/// What the ideal line of a device reaches of its bandwidth (A20); `None` where that is not known.
#[must_use]
pub fn utilization(table: &DeviceTable, ideal: &IdealSet) -> Option<Utilization> {
    let bandwidth = table.bandwidth()?;
    let point = |n, gbps: f64| UtilizationPoint {
        n,
        pct: 100.0 * gbps / bandwidth.gbps,
        regime: if gbps > bandwidth.gbps { Regime::Cache } else { Regime::Memory },
    };
    let points = ideal.points.iter().map(|ideal| point(ideal.n, ideal.best.gbps)).collect();
    Some(Utilization { bandwidth, points })
}

/// A22: the ideal line against the fastest scan of another implementation.
#[derive(Debug, Clone, PartialEq)]
pub struct AgainstBaseline {
    /// By size, ascending, where the other one was measured.
    pub points: Vec<AgainstBaselinePoint>,
    /// Cache and memory apart where the bandwidth is known, else everything; no empty one.
    pub regions: Vec<Region>,
}

/// One size of it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgainstBaselinePoint {
    /// Input size in elements.
    pub n: u64,
    /// The other implementation.
    pub subject: String,
    /// Its throughput in GB/s.
    pub gbps: f64,
    /// How many times as fast as it the best config is.
    pub ratio: f64,
    /// Cache or memory; `None` where the bandwidth is not known.
    pub regime: Option<Regime>,
}

/// Sizes of one regime together.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// Cache or memory; `None`: every size.
    pub regime: Option<Regime>,
    /// How many sizes.
    pub sizes: usize,
    /// At how many of them the best config is faster.
    pub faster: usize,
    /// The geometric mean of the ratios.
    pub mean_ratio: f64,
    /// The lowest ratio, and its size.
    pub least: (f64, u64),
    /// The highest ratio, and its size.
    pub most: (f64, u64),
}

/// Sets scanbox against the fastest scan of another implementation on the device (A22), size by size
/// ([`IdealPoint::baseline_ratio`](crate::ideal::IdealPoint::baseline_ratio)); `None` where there is none.
#[must_use]
pub fn against_baseline(table: &DeviceTable, ideal: &IdealSet) -> Option<AgainstBaseline> {
    let bandwidth = table.bandwidth().map(|bandwidth| bandwidth.gbps);
    let points = ideal.points.iter().filter_map(|point| {
        let baseline = table.baselines.get(&point.n).filter(|baseline| baseline.gbps > 0.0)?;
        Some(AgainstBaselinePoint {
            n: point.n,
            subject: baseline.subject.clone(),
            gbps: baseline.gbps,
            ratio: point.baseline_ratio()?,
            regime: bandwidth.map(|b| if point.best.gbps > b { Regime::Cache } else { Regime::Memory }),
        })
    });
    let points: Vec<AgainstBaselinePoint> = points.collect();
    if points.is_empty() {
        return None;
    }
    let regimes = [None, Some(Regime::Cache), Some(Regime::Memory)];
    let regions = regimes.into_iter().filter_map(|regime| region(&points, regime)).collect();
    Some(AgainstBaseline { points, regions })
}

fn region(points: &[AgainstBaselinePoint], regime: Option<Regime>) -> Option<Region> {
    let ratios: Vec<(f64, u64)> =
        points.iter().filter(|point| point.regime == regime).map(|point| (point.ratio, point.n)).collect();
    let least = ratios.iter().copied().reduce(|a, b| if b.0 < a.0 { b } else { a })?;
    let most = ratios.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let log_sum: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
    Some(Region {
        regime,
        sizes: ratios.len(),
        faster: ratios.iter().filter(|(ratio, _)| *ratio > 1.0).count(),
        mean_ratio: (log_sum / ratios.len() as f64).exp(),
        least,
        most,
    })
}

/// A bandwidth that the user gives: of the only device, or of those that a name belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
    /// A part of the name, or the UUID; `None`: there is one device only.
    pub device: Option<String>,
    /// In GB/s.
    pub gbps: f64,
}

impl FromStr for Peak {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Self, AnalysisError> {
        let (device, number) = match text.rsplit_once('=') {
            Some((device, number)) => (Some(device.trim().to_owned()), number),
            None => (None, text),
        };
        let gbps = number.trim().parse().ok().filter(|gbps: &f64| *gbps > 0.0 && gbps.is_finite());
        match gbps {
            Some(gbps) if device.as_ref().is_none_or(|device| !device.is_empty()) => {
                Ok(Self { device, gbps })
            }
            _ => Err(AnalysisError::Peak { text: text.chars().take(40).collect() }),
        }
    }
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(f, "{device}={}", self.gbps),
            None => write!(f, "{}", self.gbps),
        }
    }
}

impl Tables {
    /// Takes over what the user says of bandwidths.
    ///
    /// # Errors
    /// When one is of no device, or of none in particular where there are several.
    pub fn set_peaks(&mut self, peaks: &[Peak]) -> Result<(), AnalysisError> {
        let names: std::collections::BTreeSet<String> =
            self.devices.iter().map(|table| table.title.clone()).collect();
        for peak in peaks {
            let refused = |reason| AnalysisError::PeakDevice {
                text: peak.to_string(),
                reason,
                devices: names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            };
            if peak.device.is_none() && names.len() > 1 {
                return Err(refused("which of the devices has it is not said (NAME=GBPS)"));
            }
            let wanted = peak.device.as_deref().map(str::to_lowercase);
            let mut found = false;
            for table in &mut self.devices {
                let is_it = wanted.as_ref().is_none_or(|wanted| {
                    table.title.to_lowercase().contains(wanted)
                        || table.device.uuid.eq_ignore_ascii_case(wanted)
                });
                if is_it {
                    table.peak_gbps = Some(peak.gbps);
                    found = true;
                }
            }
            if !found {
                return Err(refused("no device has this name or UUID"));
            }
        }
        Ok(())
    }
}
