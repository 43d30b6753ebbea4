//! The clocks that times come from.

use serde::{Deserialize, Serialize};

/// Where times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// Timestamps of the device.
    #[default]
    Timestamps,
    /// The clock of the host, around work that it waits for.
    Wall,
}

impl Timer {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Timestamps, Self::Wall];

    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Timestamps => "timestamps",
            Self::Wall => "wall",
        }
    }
}
