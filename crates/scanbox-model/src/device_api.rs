//! How a device is driven: a part of what it is called, and of what its rows are of.

use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::record::Record;
use crate::units::slug;

/// Through what a device is driven. One chip has other times, other kernels and other limits through each, so rows
/// that differ in it are of different devices.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct DeviceApi {
    /// The interface.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api: Api,
    /// Who implements it, with its version and the API below: `wgpu 30.0.1 (Vulkan)`. Empty of Vulkan: that is the
    /// driver.
    #[serde(default, skip_serializing_if = "is_default")]
    pub implementation: String,
    /// Whether accesses are kept within bounds; `None` where nobody asks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub robustness: Option<bool>,
}

/// Whether a field need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

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

impl DeviceApi {
    /// That of a row.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self { api: record.api, implementation: record.implementation.clone(), robustness: record.robustness }
    }

    /// Whether it is that of a row.
    #[must_use]
    pub fn is_of(&self, record: &Record) -> bool {
        self.api == record.api
            && self.implementation == record.implementation
            && self.robustness == record.robustness
    }

    /// It in words, each shorter than the one behind it: the interface, who implements it, with the version, and
    /// whether accesses are kept within bounds. None of Vulkan, which goes without saying.
    #[must_use]
    pub fn ways(&self) -> Vec<String> {
        let api = match self.api {
            Api::Vulkan => return Vec::new(),
            Api::WebGpu => "WebGPU",
        };
        let Self { implementation, .. } = self;
        let robustness = match self.robustness {
            None | Some(true) => "",
            Some(false) => ", robustness off",
        };
        let is_word = |word: &&str| word.chars().all(|c| c.is_alphabetic() || c == ',');
        let name = implementation.split(' ').take_while(is_word).collect::<Vec<_>>().join(" ");
        let with = |name: &str| if name.is_empty() { api.to_owned() } else { format!("{api}, {name}") };
        let mut ways = vec![
            format!("{api}{robustness}"),
            format!("{}{robustness}", with(name.trim_end_matches(','))),
            format!("{}{robustness}", with(implementation)),
        ];
        // The last resort: that accesses are kept within bounds, or that nobody says so.
        if self.robustness == Some(true) {
            ways.push(format!("{}, robustness on", with(implementation)));
        }
        ways
    }

    /// It in full: `Vulkan`, `WebGPU, wgpu 30.0.1 (Vulkan), robustness off`.
    #[must_use]
    pub fn words(&self) -> String {
        self.ways().pop().unwrap_or_else(|| "Vulkan".to_owned())
    }

    /// What a device of this name is called when it is driven so: the name alone with Vulkan.
    #[must_use]
    pub fn title_of(&self, name: &str) -> String {
        match self.api {
            Api::Vulkan => name.to_owned(),
            Api::WebGpu => format!("{name} ({})", self.words()),
        }
    }

    /// The name of a device so driven, as a part of a file name: `nvidia-h200`, `nvidia-h200.webgpu-wgpu`.
    #[must_use]
    pub fn file_name_of(&self, name: &str) -> String {
        if self.api == Api::Vulkan {
            return slug(name);
        }
        let mut text = format!("{}.{}", slug(name), self.api);
        let before = self.implementation.split('(').next().unwrap_or_default();
        let words = before.split(|c: char| !c.is_ascii_alphanumeric());
        for word in words.filter(|word| word.chars().next().is_some_and(|c| c.is_ascii_alphabetic())) {
            text += &format!("-{}", word.to_ascii_lowercase());
        }
        if self.robustness == Some(false) {
            text += "-not-robust";
        }
        text
    }
}
