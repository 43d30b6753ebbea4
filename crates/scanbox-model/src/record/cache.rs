//! Whether benchmarks are hot or cold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the calls of a benchmark find their data in a cache.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// Every call works on the same buffers.
    #[default]
    Hot,
    /// Successive calls work on other buffers, which together exceed any cache.
    Cold,
}

impl Cache {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hot, Self::Cold];

    /// The word in CSV and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Cold => "cold",
        }
    }
}
