//! What is in a pack: recipes, their modules, and which of them to take for what, as data.

use std::fmt;

use crate::promises::{FeatureSet, Promises};
use crate::recipe::{ArgumentKind, Recipe};

/// What is in a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackData {
    /// The program that wrote it, and its version.
    pub written_by: String,
    /// Hash of the kernel sources that its modules were compiled from.
    pub kernel_hash: String,
    /// What its modules may be used under, as an SPDX expression.
    pub licence: String,
    /// When its choices were measured: the last of it, in UTC; empty where nothing was.
    pub measured_utc: String,
    /// The device that its choices were measured on.
    pub device: PackDevice,
    /// What it computes.
    pub problems: Vec<PackProblem>,
    /// How. Choices name recipes by their place here.
    pub recipes: Vec<PackRecipe>,
    /// What was measured of them.
    pub times: Vec<PackTime>,
    /// Their code. Recipes name modules by their place here.
    pub modules: Vec<PackModule>,
}

/// The device that choices were measured on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackDevice {
    /// The name that its driver gives.
    pub name: String,
    /// The driver and its version: `driverName` and `driverInfo` of `VkPhysicalDeviceDriverProperties`, with a space.
    pub driver: String,
    /// What tells builds of the driver apart that give themselves the same name; empty where that is not known.
    pub driver_build: String,
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// Processors that run workgroups; 0 where the driver does not tell.
    pub units: u32,
    /// Device ids of the same vendor whose devices are of the same family.
    pub family: Vec<u32>,
    /// What it is known to keep beyond what Vulkan promises.
    pub keeps: Promises,
}

/// What is computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScanProblem {
    /// Which prefixes are written.
    pub mode: ScanMode,
    /// The type of an element, as in `scanbox --type`.
    pub element: String,
    /// Its bytes.
    pub element_bytes: u32,
    /// The operator, as in `scanbox --op`, or the name of a user's.
    pub operator: String,
    /// Hash of the file of a user's operator; empty of any other.
    pub operator_hash: String,
    /// The bits of what it begins with, the lowest word first, where its words have them; of an exclusive scan those of
    /// the identity where nobody said anything else. Empty of others that begin with nothing.
    pub init: Vec<u32>,
    /// Whether the output stands where the input stood.
    pub in_place: bool,
    /// Whether elements are combined from the last one on, with their operands in the order of the array.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "is_no"))]
    pub reverse: bool,
}

#[cfg(feature = "json")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_no(flag: &bool) -> bool {
    !*flag
}

/// Which prefixes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ScanMode {
    /// Element i of the output combines elements 0 to i of the input.
    Inclusive,
    /// Element i of the output combines an initial value and elements 0 to i - 1 of the input.
    Exclusive,
    /// The output is one element: all of the input combined.
    Reduce,
}

/// How a program calls a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallUse {
    /// Only memory of the device says how many elements there are.
    pub n_on_device: bool,
    /// The total of all elements is stored beside the scan.
    pub total: bool,
    /// Memory says what it begins with.
    pub init_in_memory: bool,
    /// Others overwrite the scratch memory between calls.
    pub scratch_overwritten: bool,
    /// Where calls find their arguments: each is told its own as it is recorded, or they stand in lines that are bound
    /// to its pipelines, or are constants of these.
    pub arguments: ArgumentKind,
    /// Source and target may begin at any element, and not only where a vector may.
    pub any_element: bool,
}

/// A problem, and what to run for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackProblem {
    /// What is computed.
    pub scan: ScanProblem,
    /// Of a user's operator: whether its file is known to allow calls in parts, each of which counts its own elements
    /// and begins with the total of the one before. Operators of scanbox's own always do, and do not say it.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "is_no"))]
    pub splittable: bool,
    /// What is best on the device that was measured; of tables for the same use, the better one first.
    pub measured: Vec<ChoiceTable>,
    /// What runs on any device with subgroups of the right size, and needs no promise.
    pub portable: Vec<ChoiceTable>,
}

/// What to run at each size, for one use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceTable {
    /// The use.
    pub call_use: CallUse,
    /// What its recipes need beyond what Vulkan promises.
    pub needs: Promises,
    /// From which number of elements on there is which choice, in ascending order; where only the device knows how
    /// many there are, from which largest number on.
    pub breakpoints: Vec<Breakpoint>,
}

/// A choice, from a number of elements up to the next breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breakpoint {
    /// The fewest elements.
    pub from: u64,
    /// Recipes by their place in the pack, the best one first; the others stand in for it where it cannot be had.
    pub ranked: Vec<u16>,
    /// By how much the best one is slower than the fastest that was measured, at the worst size of the range, in parts
    /// per million; none where that is not known.
    pub worst_loss_ppm: Option<u32>,
}

/// A recipe and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackRecipe {
    /// The label of its config, for messages.
    pub label: String,
    /// The recipe, which names modules by their place in the pack.
    pub recipe: Recipe<u16>,
}

/// What one recipe takes at one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackTime {
    /// The recipe, by its place in the pack.
    pub recipe: u16,
    /// Elements.
    pub n: u64,
    /// The median time of a call, in picoseconds.
    pub picoseconds: u64,
    /// Whether it comes from a benchmark of the leaders, rather than from the sweep itself.
    pub confirmed: bool,
}

/// A compiled shader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackModule {
    /// The hash of its words.
    pub hash: ModuleHash,
    /// The subgroup size that it is compiled for.
    pub subgroup_size: u32,
    /// Invocations per workgroup.
    pub workgroup_size: u32,
    /// Bytes of shared memory of a workgroup at most.
    pub shared_bytes: u32,
    /// Features that must be enabled on the device.
    pub features: FeatureSet,
    /// SPIR-V. The JSON form leaves it out.
    #[cfg_attr(feature = "json", serde(skip))]
    pub words: Vec<u32>,
}

/// BLAKE3 of the words of a module, as little-endian bytes. Who writes a pack makes it; nothing here compares it with
/// the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModuleHash(pub [u8; 32]);

impl fmt::Display for ModuleHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<ModuleHash> for String {
    fn from(hash: ModuleHash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for ModuleHash {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits: Option<Vec<u8>> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
        let bytes =
            digits.map(|digits| digits.chunks(2).map(|pair| pair[0] << 4 | pair[pair.len() - 1]).collect());
        let bytes: Option<Vec<u8>> = bytes.filter(|_| text.len() == 64);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| format!("{text:?} is not a hash of a module: 64 hexadecimal digits"))
    }
}
