//! Why a row of a benchmark, or of an anchor, is there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

documented! {
    /// Why a subject takes part in a benchmark.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum Selection {
        /// It was named.
        Named = "named",
        /// It won a sweep at this size; between two sizes that were swept, it is the best by its times at both.
        Ideal = "ideal",
        /// It won a sweep among those that need nothing from the call before.
        IdealStateless = "ideal-stateless",
        /// Its kernel is the best one on average of a sweep.
        BestKernel = "best-kernel",
        /// It is a ceiling: a copy, or of a reduction a read.
        Ceiling = "copy",
        /// It is another implementation.
        Baseline = "baseline",
        /// An anchor: a config that every shard of a space whose sizes are split measures, here before all points of
        /// this shard. Anchors show how units differ, and whether one keeps its speed.
        AnchorStart = "anchor-start",
        /// An anchor (see anchor-start) when half of the points are measured.
        AnchorMiddle = "anchor-middle",
        /// An anchor (see anchor-start) after all points.
        AnchorEnd = "anchor-end",
    }
}

impl Selection {
    /// Of an anchor, in the order in which they are measured.
    pub const ANCHORS: [Self; 3] = [Self::AnchorStart, Self::AnchorMiddle, Self::AnchorEnd];
}

/// Every reason for which a subject takes part, in ascending order; none in a sweep.
pub type Selections = Vec<Selection>;
