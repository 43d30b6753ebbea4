//! Variants: builds of a kernel that are no kernels of their own. They show how a lookback behaves, and are no part
//! of a label: what is measured of them says so beside it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a build of a kernel has that others do not. The default has nothing, and is compiled from the same defines as
/// before there were variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Variant {
    /// Simulated blocking: 1 in 2^k tiles never publishes its total, the first tile among them
    /// (stages/lookback/blocking.glsl).
    pub blocking: Option<u32>,
    /// Whether workgroups count what their lookback does (stages/lookback/counts.glsl). It takes registers and time.
    pub counted: bool,
}

/// 1 in 2^31 tiles is none but the first.
pub const MAX_BLOCKING: u32 = 31;

impl Variant {
    /// A build with simulated blocking, or none.
    #[must_use]
    pub fn blocked(blocking: Option<u32>) -> Self {
        Self { blocking, counted: false }
    }

    /// The same, with counts.
    #[must_use]
    pub fn counted(self) -> Self {
        Self { counted: true, ..self }
    }
}

impl fmt::Display for Variant {
    /// ` blocked 1 in 8 counted`: what stands behind a label in messages; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(k) = self.blocking {
            write!(f, " blocked 1 in {}", 1u64 << k.min(63))?;
        }
        if self.counted { f.write_str(" counted") } else { Ok(()) }
    }
}
