//! Why a row of a benchmark, or of an anchor, is there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a subject takes part in a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// It was named.
    Named,
    /// It won a sweep at this size; between two sizes that were swept, it is the best by its times at both.
    Ideal,
    /// It won a sweep among those that need nothing from the call before.
    IdealStateless,
    /// Its kernel is the best one on average of a sweep.
    BestKernel,
    /// It is a ceiling: a copy, or of a reduction a read.
    #[serde(rename = "copy")]
    Ceiling,
    /// It is another implementation.
    Baseline,
    /// It is measured in every shard of a space whose sizes are split, here before all points of this one: what shows
    /// how units differ.
    AnchorStart,
    /// The same when half of the points are measured.
    AnchorMiddle,
    /// The same after all points.
    AnchorEnd,
}

impl Selection {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Named,
        Self::Ideal,
        Self::IdealStateless,
        Self::BestKernel,
        Self::Ceiling,
        Self::Baseline,
        Self::AnchorStart,
        Self::AnchorMiddle,
        Self::AnchorEnd,
    ];

    /// Of an anchor, in the order in which they are measured.
    pub const ANCHORS: [Self; 3] = [Self::AnchorStart, Self::AnchorMiddle, Self::AnchorEnd];

    /// The word in CSV.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Ideal => "ideal",
            Self::IdealStateless => "ideal-stateless",
            Self::BestKernel => "best-kernel",
            Self::Ceiling => "copy",
            Self::Baseline => "baseline",
            Self::AnchorStart => "anchor-start",
            Self::AnchorMiddle => "anchor-middle",
            Self::AnchorEnd => "anchor-end",
        }
    }
}

/// Every reason for which a subject takes part, in ascending order; none in a sweep.
pub type Selections = Vec<Selection>;
