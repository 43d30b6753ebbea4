//! Safe devices: which devices keep more than Vulkan promises, so that kernels which need it may run there.
//!
//! The list is data (`configs/safe_devices.toml`). A device has the guarantees of every entry that matches it, and
//! those that the user assumes.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::DeviceProfile;
use crate::known_issues::DeviceMatch;
use crate::parameters::Parameter;

parameter! {
    /// Something that a kernel may need and that no specification promises.
    Guarantee, "guarantee", {
        /// Workgroups that have started make progress, whatever others wait for, so that one may wait for another one
        /// that has started. Packs ask for it; a session takes every device to give it that nothing is known against.
        Progress = "progress" / "",
        /// Workgroups start in the order of their numbers, so that one may wait for those before it.
        WorkgroupOrder = "workgroup-order" / "",
        /// Subgroups of one workgroup make progress independently, so that one may wait for another one in a loop.
        SubgroupProgress = "subgroup-progress" / "",
        /// As many workgroups as fit the device at the same time really run at the same time.
        CoResidency = "co-residency" / "",
    }
}

impl std::str::FromStr for Guarantee {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::from_word(word)
    }
}

/// What one compute unit holds at a time: how many workgroups run on it at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Residency {
    /// Parts of a unit with registers of their own; a subgroup runs on one of them.
    pub partitions: u32,
    /// 32-bit registers of one partition.
    pub registers: u32,
    /// The registers of an invocation are counted in steps of this.
    pub register_step: u32,
    /// Subgroups of one unit at most.
    pub subgroups: u32,
    /// Workgroups of one unit at most.
    pub workgroups: u32,
    /// Shared memory of one unit, in bytes.
    pub shared_bytes: u32,
    /// Shared memory that each workgroup takes beside its own, in bytes.
    pub shared_overhead: u32,
}

impl Residency {
    /// Workgroups that run on one unit at once, at least.
    #[must_use]
    pub fn workgroups_per_unit(
        &self,
        workgroup_size: u32,
        subgroup_size: u32,
        registers: u32,
        shared_bytes: u64,
    ) -> u32 {
        let subgroups = workgroup_size.div_ceil(subgroup_size).max(1);
        let registers = registers.max(1).next_multiple_of(self.register_step.max(1));
        let per_partition =
            (self.registers / (subgroup_size * registers)).min(self.subgroups / self.partitions.max(1));
        // Subgroups are dealt out evenly; a workgroup that does not divide evenly is counted as if it did.
        let by_subgroups = per_partition / subgroups.div_ceil(self.partitions.max(1));
        let shared = shared_bytes + u64::from(self.shared_overhead);
        let by_shared = u64::from(self.shared_bytes) / shared.max(1);
        by_subgroups.min(self.workgroups).min(u32::try_from(by_shared).unwrap_or(u32::MAX))
    }
}

/// All entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SafeDevices {
    entries: Vec<SafeDevice>,
    assumed: BTreeSet<Guarantee>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SafeDevice {
    #[serde(rename = "match")]
    device: DeviceMatch,
    #[serde(default)]
    guarantees: BTreeSet<Guarantee>,
    #[serde(default)]
    lacks: BTreeSet<Guarantee>,
    residency: Option<Residency>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SafeDevicesFile {
    #[serde(default)]
    device: Vec<SafeDevice>,
}

impl SafeDevices {
    /// Reads entries from TOML; `path` is for messages.
    ///
    /// # Errors
    /// When the text is not TOML of entries, matches every device or gives no reason.
    pub fn from_toml(text: &str, path: &str) -> Result<Self, String> {
        let file: SafeDevicesFile =
            toml::from_str(text).map_err(|error| format!("{path}: {}", error.to_string().trim_end()))?;
        for (index, entry) in file.device.iter().enumerate() {
            let refuse = |reason: &str| Err(format!("{path}: device {}: {reason}", index + 1));
            if entry.device == DeviceMatch::default() {
                return refuse("`match`: it would match every device");
            }
            if entry.why.trim().is_empty() {
                return refuse("`why`: it is empty");
            }
            if entry.residency.is_some_and(|residency| residency.partitions == 0) {
                return refuse("`residency`: a unit has at least one partition");
            }
            if let Some(both) = entry.lacks.intersection(&entry.guarantees).next() {
                return refuse(&format!("`lacks`: it gives and lacks {both}"));
            }
        }
        Ok(Self { entries: file.device, assumed: BTreeSet::new() })
    }

    /// The same, with guarantees that every device is assumed to give.
    #[must_use]
    pub fn assuming(mut self, assumed: impl IntoIterator<Item = Guarantee>) -> Self {
        self.assumed.extend(assumed);
        self
    }

    /// Writes down in the profile what the device guarantees, and what its units hold.
    pub fn apply(&self, device: &mut DeviceProfile) {
        let matching: Vec<&SafeDevice> =
            self.entries.iter().filter(|entry| entry.device.matches(device)).collect();
        let guarantees: BTreeSet<Guarantee> =
            matching.iter().flat_map(|entry| &entry.guarantees).chain(&self.assumed).copied().collect();
        device.residency = matching.iter().find_map(|entry| entry.residency);
        device.guarantees = guarantees.into_iter().collect();
        device.guarantee_facts.assumed = self.assumed.iter().copied().collect();
        let lacks: BTreeSet<Guarantee> = matching.iter().flat_map(|entry| &entry.lacks).copied().collect();
        device.guarantee_facts.lacks = lacks.into_iter().collect();
    }
}
