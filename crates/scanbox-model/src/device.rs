//! What one device is and can do, in plain numbers: the part of the answer that needs no driver to read.

use serde::{Deserialize, Serialize};

use crate::config::{Arguments, Reset, TileState};
use crate::parameters::{Declaration, Parameter, Typed, Value};
use crate::probe::ArgumentsProbe;
use crate::safe_devices::{Guarantee, Residency};

/// Whether a device is a chip or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A GPU or another accelerator.
    Hardware,
    /// A driver that runs shaders on the CPU: right for correctness, meaningless for speed.
    Software,
}

/// Identity, driver and limits of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceProfile {
    /// The name that the driver gives.
    pub name: String,
    /// The device UUID, in the usual hexadecimal form.
    pub uuid: String,
    /// Where it stands on the PCI bus, `domain:bus:device.function`, where the driver tells: units of one model whose
    /// drivers give them the same UUID differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// PCI vendor id.
    pub vendor_id: u32,
    /// PCI device id.
    pub device_id: u32,
    /// Chip or program.
    pub kind: DeviceKind,
    /// The driver and its version, as it names them.
    pub driver: String,
    /// What tells builds of the driver apart that give themselves the same name: its version as a number and the UUID
    /// of its pipeline caches. Empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver_build: String,
    /// The Vulkan version that the device offers, `major.minor.patch`.
    pub api_version: String,
    /// The subgroup size that kernels are compiled for and pinned to.
    pub subgroup_size: u32,
    /// The smallest subgroup size that the device offers.
    pub min_subgroup_size: u32,
    /// The largest subgroup size that the device offers.
    pub max_subgroup_size: u32,
    /// Invocations per workgroup at most, in the first dimension.
    pub max_workgroup_size: u32,
    /// Workgroups per dispatch at most, per dimension.
    pub max_workgroup_count: [u32; 3],
    /// Shared memory per workgroup at most, in bytes.
    pub max_shared_bytes: u32,
    /// The range of one storage buffer binding at most, in bytes.
    pub max_storage_buffer_bytes: u64,
    /// One memory allocation at most, in bytes (a soft limit on some drivers).
    pub max_allocation_bytes: u64,
    /// The largest device-local heap, in bytes.
    pub memory_bytes: u64,
    /// Compute units (streaming multiprocessors, compute units, cores), where the driver tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_units: Option<u32>,
    /// Whether buffers can be addressed directly (no limit of the binding range then).
    pub buffer_addresses: bool,
    /// Whether shaders have 64-bit integers and 64-bit atomics on buffers.
    pub int64_atomics: bool,
    /// Whether shaders have 64-bit integers, in subgroup operations too.
    #[serde(default)]
    pub int64_elements: bool,
    /// Whether shaders have 64-bit floats.
    #[serde(default)]
    pub float64_elements: bool,
    /// Whether subgroups are promised to come together again behind branches that they enter together
    /// (`VK_KHR_shader_subgroup_uniform_control_flow`); kernels ask for it where it is.
    #[serde(default)]
    pub uniform_control_flow: bool,
    /// Nanoseconds per timestamp tick.
    pub timestamp_period_ns: f32,
    /// Meaningful bits of a timestamp; 0: the device has none.
    pub timestamp_valid_bits: u32,
    /// What `auto` stands for because of a known issue of the device, not because of what it can do.
    #[serde(default, skip_serializing_if = "Forced::is_empty")]
    pub forced: Forced,
    /// What the device keeps beyond what Vulkan promises (see [`crate::safe_devices`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarantees: Vec<Guarantee>,
    /// What one compute unit holds at a time, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<Residency>,
    /// What a probe found out, where one was asked for: what `auto` of arguments stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_probe: Option<ArgumentsProbe>,
}

/// Values that parameters with the value `auto` get on a device, whatever it can do
/// (see [`crate::known_issues`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// The tile state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_state: Option<TileState>,
    /// The reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
    /// How subgroups find the total of elements of a user's operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgroup_total: Option<SubgroupTotal>,
}

/// How a subgroup finds the total of elements of a user's operator
/// (`kernels/glsl/stages/subgroup/operator_of_file.glsl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubgroupTotal {
    /// By shuffles, from register to register.
    #[default]
    Shuffle,
    /// Through shared memory.
    SharedMemory,
}

impl Forced {
    /// Whether nothing is forced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl DeviceProfile {
    /// The name for messages: the device's own, with a word where its times mean nothing for GPUs.
    #[must_use]
    pub fn title(&self) -> String {
        match self.kind {
            DeviceKind::Hardware => self.name.clone(),
            DeviceKind::Software => format!("{} (software)", self.name),
        }
    }

    /// What `auto` of arguments stands for: what a probe found, and `push` where there was none. Never `baked`.
    #[must_use]
    pub fn arguments(&self) -> Arguments {
        match self.arguments_probe {
            Some(ArgumentsProbe { arguments: Arguments::Block, .. }) => Arguments::Block,
            _ => Arguments::Push,
        }
    }

    /// What an entry of a list of a parameter stands for on the device ([`Declaration::found`]).
    #[must_use]
    pub fn found(&self, parameter: &Declaration, entry: Value) -> Value {
        match entry {
            Value::Auto if parameter.name == Arguments::NAME => self.arguments().value(),
            entry => entry,
        }
    }

    /// Workgroups that one dispatch can start, in rows.
    #[must_use]
    pub fn most_workgroups(&self) -> u64 {
        u64::from(self.max_workgroup_count[0]) * u64::from(self.max_workgroup_count[1])
    }
}
