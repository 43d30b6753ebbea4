//! Normalisation: throughput of different sizes or devices made comparable before a metric adds it up.

use std::fmt;
use std::str::FromStr;

use crate::AnalysisError;
use crate::lines::Lines;

/// What a throughput is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalization {
    /// The best of its device and size: every size of every device counts alike.
    SizeBest,
    /// The best of its device at any size: the shape of the device's ideal line is kept.
    DevicePeak,
    /// The slowest `ok` config of its device and size is 0, the best is 1. All are 1 where they are equal.
    MinMax,
    /// The bandwidth of its device ([`crate::table::DeviceTable::bandwidth`]): the given peak, else the ceiling of
    /// the largest size.
    Ceiling,
    /// Nothing: GB/s.
    None,
}

impl Normalization {
    /// Every normalisation.
    pub const ALL: [Self; 5] = [Self::SizeBest, Self::DevicePeak, Self::MinMax, Self::Ceiling, Self::None];

    /// The word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SizeBest => "size-best",
            Self::DevicePeak => "device-peak",
            Self::MinMax => "minmax",
            Self::Ceiling => "ceiling",
            Self::None => "none",
        }
    }

    /// The divisor in words and symbols, for people.
    #[must_use]
    pub fn formula(self) -> &'static str {
        match self {
            Self::SizeBest => "x / I(d,n)",
            Self::DevicePeak => "x / max over n of I(d,n)",
            Self::MinMax => "(x - least) / (I(d,n) - least), least over the ok configs of d at n",
            Self::Ceiling => "x / B(d), B the bandwidth of the device",
            Self::None => "x in GB/s",
        }
    }

    /// How throughput of one device at one size is scaled; `None` where the device has no `ok` row at `n`, or no
    /// bandwidth to divide by.
    pub(crate) fn scale(self, lines: &Lines<'_>, n: u64) -> Option<LinearScale> {
        let best = lines.ideal_gbps(n)?;
        let linear = |zero, one| LinearScale { zero, one };
        Some(match self {
            Self::SizeBest => linear(0.0, best),
            Self::DevicePeak => linear(0.0, lines.peak_gbps()),
            Self::MinMax => linear(lines.least_gbps(n)?, best),
            Self::Ceiling => linear(0.0, lines.table.bandwidth()?.gbps),
            Self::None => linear(0.0, 1.0),
        })
    }
}

/// A linear scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearScale {
    zero: f64,
    one: f64,
}

impl LinearScale {
    pub(crate) fn apply(self, gbps: f64) -> f64 {
        if self.one > self.zero { (gbps - self.zero) / (self.one - self.zero) } else { 1.0 }
    }
}

impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Normalization {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Self, AnalysisError> {
        Self::ALL
            .into_iter()
            .find(|normalization| normalization.word() == text)
            .ok_or_else(|| AnalysisError::Normalization { text: text.chars().take(40).collect() })
    }
}
