//! Coverage: the sizes that a kernel has to cover to be compared with others (A3 and what it needs for other spaces).
//!
//! In the space of the thesis every kernel has a config at most sizes, and kernels are compared over the sizes that are
//! common to all. In a space of kernels that are made for a range of sizes each, there is no such size. Then the
//! question is which of the kernels that run at every size is the best one, and those that do not are left out.

use std::fmt;
use std::str::FromStr;

use scanbox_model::sizes::Sizes;

use crate::AnalysisError;

/// Over which sizes kernels are compared. A kernel takes part if it is `ok` at all of them on every device.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Coverage {
    /// `Common` where that is at least half of the measured sizes, else `Widest`.
    #[default]
    Auto,
    /// The sizes where every kernel of the space has a legal config (A3, thesis 5.5).
    Common,
    /// Every measured size.
    All,
    /// The sizes that the kernels with about the most sizes have in common: every measured size, where most of them
    /// cover them all.
    Widest,
    /// The sizes where at least this share of the kernels of the space has a legal config; 1 is `Common`.
    Share(Share),
    /// These, as far as they were measured.
    Sizes(Sizes),
}

/// A share: above zero, at most one.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// `None` unless the share is above zero and at most one.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self(share))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Common => f.write_str("common"),
            Self::All => f.write_str("all"),
            Self::Widest => f.write_str("widest"),
            Self::Share(Share(share)) => write!(f, "{share}"),
            Self::Sizes(sizes) => write!(f, "{sizes}"),
        }
    }
}

impl FromStr for Coverage {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Self, AnalysisError> {
        match text {
            "auto" => return Ok(Self::Auto),
            "common" => return Ok(Self::Common),
            "all" => return Ok(Self::All),
            "widest" => return Ok(Self::Widest),
            _ => {}
        }
        // A plain whole number above 1 is a size.
        if let Some(share) = text.parse().ok().and_then(Share::new) {
            return Ok(Self::Share(share));
        }
        text.parse()
            .map(Self::Sizes)
            .map_err(|_| AnalysisError::Coverage { text: text.chars().take(40).collect() })
    }
}
