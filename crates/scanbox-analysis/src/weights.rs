//! Weights: how much each size counts when a metric adds up a line.

use std::collections::BTreeMap;
use std::fmt;

/// The weight of each size. Metrics see them scaled so that their mean over the compared sizes is 1: scores of
/// different weights have the same unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Weights {
    /// Every size counts alike.
    #[default]
    Uniform,
    /// Every element counts alike: the weight of a size is the size.
    Large,
    /// By size; a size that is missing counts nothing.
    Listed(BTreeMap<u64, f64>),
}

impl Weights {
    /// The weights of these sizes, with mean 1; `None` where nothing counts.
    #[must_use]
    pub fn of(&self, sizes: &[u64]) -> Option<Vec<f64>> {
        let raw: Vec<f64> = match self {
            Self::Uniform => return (!sizes.is_empty()).then(|| vec![1.0; sizes.len()]),
            Self::Large => sizes.iter().map(|&n| n as f64).collect(),
            Self::Listed(listed) => sizes.iter().map(|n| listed.get(n).copied().unwrap_or(0.0)).collect(),
        };
        let mean = raw.iter().sum::<f64>() / raw.len() as f64;
        (mean > 0.0 && mean.is_finite()).then(|| raw.iter().map(|weight| weight / mean).collect())
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uniform => "uniform",
            Self::Large => "large",
            Self::Listed(_) => "listed",
        })
    }
}
