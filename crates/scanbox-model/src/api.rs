//! The interfaces through which a device is driven.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An interface through which a device is driven.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Vulkan.
    #[default]
    Vulkan,
    /// WebGPU.
    WebGpu,
}

impl Api {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Vulkan, Self::WebGpu];

    /// The word in files and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Vulkan => "vulkan",
            Self::WebGpu => "webgpu",
        }
    }

    /// Its name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Vulkan => "Vulkan",
            Self::WebGpu => "WebGPU",
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Api {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|api| api.word() == text).ok_or_else(|| {
            let text: String = text.chars().take(40).collect();
            format!("`{text}` is neither vulkan nor webgpu")
        })
    }
}
