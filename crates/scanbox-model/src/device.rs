//! What one device is and can do, in plain numbers: the part of the answer that needs no driver to read.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use crate::api::Api;
use crate::config::{Arguments, Kernel, Reset, SubgroupSize, TileState};
use crate::device_api::{DeviceApi, is_default};
use crate::guarantee_probe::{GuaranteeFacts, ProbeVerdict};
use crate::parameters::{Declaration, Parameter, Typed, Value};
use crate::probe::ArgumentsProbe;
use crate::safe_devices::{Guarantee, Residency};
use crate::timer::Timer;

/// Whether a device is a chip or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A GPU or another accelerator.
    Hardware,
    /// A driver that runs shaders on the CPU: right for correctness, meaningless for speed.
    Software,
    /// A driver without a device behind it: it makes pipelines as for a chip, and runs none.
    Null,
}

/// Identity, driver and limits of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The subgroup size that kernels are compiled for and pinned to; by WebGPU, which pins nothing, the one that is
    /// expected, and 1 where there are no subgroups: then every invocation is one.
    pub subgroup_size: u32,
    /// The smallest subgroup size that the device offers.
    pub min_subgroup_size: u32,
    /// The largest subgroup size that the device offers.
    pub max_subgroup_size: u32,
    /// Subgroups of a workgroup at most, where the subgroup size of a kernel can be chosen: the device has several, and
    /// its driver takes one for each pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_subgroups: Option<u32>,
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
    /// What is taken for them where it does not: of rows of persistent kernels, workgroups follow from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed_compute_units: Option<u32>,
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
    /// Whether invocations that have diverged come together again where the structure of the code says so
    /// (`VK_KHR_shader_maximal_reconvergence`); kernels ask for it where it is. Files of older versions are of kernels
    /// that did not.
    #[serde(default)]
    pub maximal_reconvergence: bool,
    /// Nanoseconds per timestamp tick.
    pub timestamp_period_ns: f32,
    /// Meaningful bits of a timestamp; 0: the device has none.
    pub timestamp_valid_bits: u32,
    /// Through what it is driven; files of older versions know Vulkan alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api: Api,
    /// What implements that API, with its version and the API below: `wgpu 30.0.1 (Vulkan)`. Empty of Vulkan.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub implementation: String,
    /// Whether accesses of kernels are kept within bounds; `None` where nobody asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robustness: Option<bool>,
    /// Where times come from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timer: Timer,
    /// The steps in nanoseconds in which times come; 0: not known, and no matter of the samples.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timer_resolution_ns: f64,
    /// What `auto` stands for because of a known issue of the device, not because of what it can do.
    #[serde(default, skip_serializing_if = "Forced::is_empty", deserialize_with = "forced_of_file")]
    pub forced: Forced,
    /// What the device keeps beyond what Vulkan promises (see [`crate::safe_devices`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarantees: Vec<Guarantee>,
    /// What is known beside that: assumptions of the user, what a probe found.
    #[serde(default, skip_serializing_if = "GuaranteeFacts::is_empty")]
    pub guarantee_facts: GuaranteeFacts,
    /// What one compute unit holds at a time, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<Residency>,
    /// What a probe found out, where one was asked for: what `auto` of arguments stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_probe: Option<ArgumentsProbe>,
}

/// Values that parameters with the value `auto` get on a device, whatever it can do
/// (see [`crate::known_issues`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// The tile state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile_state: Option<TileState>,
    /// The reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
    /// `false`: kernels do not ask for maximal reconvergence, although the device has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximal_reconvergence: Option<bool>,
}

/// Reads what was forced from a description of a device; older ones also say how subgroups of NVIDIA devices found the
/// totals of users' elements, which no kernel asks any more.
fn forced_of_file<'de, D: Deserializer<'de>>(file: D) -> Result<Forced, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ForcedThen {
        tile_state: Option<TileState>,
        reset: Option<Reset>,
        maximal_reconvergence: Option<bool>,
        #[serde(rename = "subgroup_total")]
        _subgroup_total: Option<IgnoredAny>,
    }
    let ForcedThen { tile_state, reset, maximal_reconvergence, .. } = ForcedThen::deserialize(file)?;
    Ok(Forced { tile_state, reset, maximal_reconvergence })
}

impl Forced {
    /// Whether nothing is forced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl DeviceProfile {
    /// The name for messages: the device's own, with through what it is driven where that is not Vulkan, and with a
    /// word where its times mean nothing for GPUs.
    #[must_use]
    pub fn title(&self) -> String {
        let name = self.device_api().title_of(&self.name);
        match self.kind {
            DeviceKind::Hardware | DeviceKind::Null => name,
            DeviceKind::Software => format!("{name} (software)"),
        }
    }

    /// Takes what known issues force: what they turn off is not there for kernels.
    pub fn force(&mut self, forced: Forced) {
        self.forced = forced;
        self.maximal_reconvergence &= forced.maximal_reconvergence.unwrap_or(true);
    }

    /// Through what it is driven.
    #[must_use]
    pub fn device_api(&self) -> DeviceApi {
        DeviceApi { api: self.api, implementation: self.implementation.clone(), robustness: self.robustness }
    }

    /// Whether a session takes the device to give this: what the user assumes goes before what was found there, and
    /// that before what is listed. Progress, which nearly every kernel needs, is taken for granted of Vulkan where
    /// nothing speaks against it: by WebGPU a device may be anything.
    #[must_use]
    pub fn gives(&self, guarantee: Guarantee) -> bool {
        let facts = &self.guarantee_facts;
        if facts.assumed.contains(&guarantee) {
            return true;
        }
        if facts.lacks.contains(&guarantee) {
            return false;
        }
        match facts.finding(guarantee).map(|finding| finding.verdict) {
            Some(ProbeVerdict::Refuted | ProbeVerdict::Hung) => false,
            Some(ProbeVerdict::NotRefuted) => true,
            Some(ProbeVerdict::Unknown) | None => {
                self.guarantees.contains(&guarantee)
                    || (guarantee == Guarantee::Progress && self.api == Api::Vulkan)
            }
        }
    }

    /// Whether kernels can use subgroups.
    #[must_use]
    pub fn has_subgroups(&self) -> bool {
        self.max_subgroup_size > 1
    }

    /// Whether nothing is left to find out about this: it is listed, assumed, known to be missing, or was found out.
    #[must_use]
    pub fn is_settled(&self, guarantee: Guarantee) -> bool {
        let facts = &self.guarantee_facts;
        let lists = [&self.guarantees, &facts.assumed, &facts.lacks];
        lists.iter().any(|list| list.contains(&guarantee)) || facts.finding(guarantee).is_some()
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

    /// The subgroup sizes that kernels can be built for: the device's own choice alone where nobody else can choose.
    #[must_use]
    pub fn offered_subgroup_sizes(&self) -> Vec<u32> {
        let range = self.min_subgroup_size..=self.max_subgroup_size;
        let sizes = <SubgroupSize as Parameter>::VALUES.iter().filter_map(|size| size.invocations());
        let can = |size: &u32| {
            *size == self.subgroup_size || (self.pinned_subgroups.is_some() && range.contains(size))
        };
        sizes.filter(can).collect()
    }

    /// The sizes of subgroups among which the driver chooses, whatever a kernel was built for.
    #[must_use]
    pub fn chosen_by_driver(&self) -> Option<(u32, u32)> {
        let sizes = (self.min_subgroup_size, self.max_subgroup_size);
        (sizes.0 != sizes.1 && self.pinned_subgroups.is_none()).then_some(sizes)
    }

    /// The subgroup size of a kernel.
    #[must_use]
    pub fn subgroup_size_of(&self, kernel: &Kernel) -> u32 {
        kernel.subgroup_size.invocations().unwrap_or(self.subgroup_size)
    }

    /// A subgroup size, where it is not the device's own choice.
    #[must_use]
    pub fn other_subgroup_size(&self, subgroup_size: u32) -> Option<u32> {
        (subgroup_size != self.subgroup_size).then_some(subgroup_size)
    }

    /// What `all` stands for in a list of a parameter on the device: its own choice first, and never twice.
    #[must_use]
    pub fn offers(&self, parameter: &Declaration) -> Vec<Value> {
        if parameter.name != SubgroupSize::NAME {
            return Vec::new();
        }
        let offered = self.offered_subgroup_sizes();
        let others = <SubgroupSize as Parameter>::VALUES.iter().filter(|size| {
            size.invocations().is_some_and(|size| size != self.subgroup_size && offered.contains(&size))
        });
        std::iter::once(&SubgroupSize::Device).chain(others).map(|size| size.value()).collect()
    }

    /// The same device with kernels for subgroups of this size, which it offers.
    #[must_use]
    pub fn with_subgroups_of(&self, subgroup_size: u32) -> Self {
        Self { subgroup_size, ..self.clone() }
    }

    /// The units that run workgroups: as the driver tells, else as a probe of the guarantees counted them. Threads of a
    /// software device are none.
    #[must_use]
    pub fn units(&self) -> Option<u32> {
        let probed = || match self.kind {
            DeviceKind::Hardware => self.guarantee_facts.probe.as_ref()?.units(),
            DeviceKind::Software | DeviceKind::Null => None,
        };
        self.compute_units.or_else(probed)
    }

    /// Workgroups of a shape that one unit holds at a time, by what is known of its units, else as a probe counted
    /// them, at least.
    #[must_use]
    pub fn workgroups_per_unit(
        &self,
        workgroup_size: u32,
        subgroup_size: u32,
        registers: Option<u32>,
        shared_bytes: u64,
    ) -> Option<u32> {
        let probe = self.guarantee_facts.probe.as_ref();
        let other_size = self.other_subgroup_size(subgroup_size);
        let computed = self.residency.zip(registers).map(|(residency, registers)| {
            residency.workgroups_per_unit(workgroup_size, subgroup_size, registers, shared_bytes)
        });
        let counted = || {
            let all = probe?.resident(other_size, workgroup_size, registers, shared_bytes)?;
            u32::try_from(all / u64::from(self.units()?)).ok()
        };
        computed.or_else(counted).filter(|workgroups| *workgroups > 0)
    }

    /// What no device can be, in words: a file that says so was changed by hand, or is damaged.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let sizes = [
            ("subgroup_size", self.subgroup_size),
            ("min_subgroup_size", self.min_subgroup_size),
            ("max_subgroup_size", self.max_subgroup_size),
        ];
        if let Some((field, size)) = sizes.iter().find(|(_, size)| !size.is_power_of_two() || *size > 128) {
            return Err(format!(
                "{field} is {size}, where subgroups have 1 to 128 invocations, a power of two"
            ));
        }
        let range = self.min_subgroup_size..=self.max_subgroup_size;
        if !range.contains(&self.subgroup_size) {
            let range = format!("{} to {}", range.start(), range.end());
            return Err(format!("subgroup_size is {}, outside of its range {range}", self.subgroup_size));
        }
        let limits = [
            ("max_workgroup_size", u64::from(self.max_workgroup_size)),
            ("max_workgroup_count", self.max_workgroup_count.iter().map(|count| u64::from(*count)).product()),
            ("memory_bytes", self.memory_bytes),
        ];
        match limits.iter().find(|(_, limit)| *limit == 0) {
            Some((field, _)) => Err(format!("{field} is 0, so that nothing could run")),
            None => Ok(()),
        }
    }

    /// Workgroups that one dispatch can start, in rows.
    #[must_use]
    pub fn most_workgroups(&self) -> u64 {
        u64::from(self.max_workgroup_count[0]) * u64::from(self.max_workgroup_count[1])
    }
}
