//! How a device is driven: a part of what it is called, and of what its rows are of.

use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::record::Record;
use crate::units::slug;

/// Through what a device is driven. One chip has other times, other kernels and other limits through each, so rows
/// that differ in it are of different devices.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct DeviceApi {
    /// The interface.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api: Api,
    /// What implements it, with its version and the API below: `wgpu 30.0.1 (Vulkan)`. Empty of Vulkan: that is the
    /// driver.
    #[serde(default, skip_serializing_if = "is_default")]
    pub implementation: String,
    /// Whether accesses are kept within bounds; `None` where nobody asks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub robustness: Option<bool>,
}

/// Whether a field need not be written: what serde asks of several structures.
#[must_use]
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_called_by_what_drives_it() {
        let check = |api, implementation: &str, robustness, ways: &[&str], file: &str| {
            let implementation = implementation.to_owned();
            let api = DeviceApi { api, implementation, robustness };
            assert_eq!(api.ways(), ways);
            assert_eq!(api.file_name_of("NVIDIA H200"), file);
            let title = ways.last().map_or("NVIDIA H200".to_owned(), |way| format!("NVIDIA H200 ({way})"));
            assert_eq!(api.title_of("NVIDIA H200"), title);
        };
        check(Api::Vulkan, "", None, &[], "nvidia-h200");
        let wgpu = ["WebGPU", "WebGPU, wgpu", "WebGPU, wgpu 30.0.1 (Vulkan)"];
        check(Api::WebGpu, "wgpu 30.0.1 (Vulkan)", None, &wgpu, "nvidia-h200.webgpu-wgpu");
        let on = [&wgpu[..], &["WebGPU, wgpu 30.0.1 (Vulkan), robustness on"]].concat();
        check(Api::WebGpu, "wgpu 30.0.1 (Vulkan)", Some(true), &on, "nvidia-h200.webgpu-wgpu");
        let off = wgpu.map(|way| format!("{way}, robustness off"));
        let off = off.each_ref().map(String::as_str);
        check(Api::WebGpu, "wgpu 30.0.1 (Vulkan)", Some(false), &off, "nvidia-h200.webgpu-wgpu-not-robust");
        let dawn = ["WebGPU", "WebGPU, Dawn, Chromium", "WebGPU, Dawn, Chromium 156.0 (Vulkan)"];
        check(Api::WebGpu, "Dawn, Chromium 156.0 (Vulkan)", None, &dawn, "nvidia-h200.webgpu-dawn-chromium");
        check(Api::WebGpu, "", None, &["WebGPU"; 3], "nvidia-h200.webgpu");
    }
}
