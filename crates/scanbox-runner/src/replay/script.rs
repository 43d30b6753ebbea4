//! What a replay device does, as TOML (see [`super`]).

use std::path::{Path, PathBuf};

use scanbox_kernels::plan::Plan;
use scanbox_model::api::Api;
use scanbox_model::config::Parameter;
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::guarantee_probe::GuaranteeFacts;
use scanbox_model::timer::Timer;
use serde::Deserialize;

use super::noise::NoiseModel;

/// What a replay device does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The name of the device.
    pub name: String,
    /// Its UUID.
    pub uuid: String,
    /// Its PCI address; the default has none, as software devices.
    pub pci_address: Option<String>,
    /// Its driver.
    pub driver: String,
    /// Through what it is driven, `vulkan` or `webgpu`.
    pub api: Api,
    /// Who implements that.
    pub implementation: String,
    /// Whether accesses are kept within bounds.
    pub robustness: Option<bool>,
    /// The steps in which its times come, in nanoseconds; 0: they are as they are.
    pub timer_resolution_ns: f64,
    /// Its subgroup size.
    pub subgroup_size: u32,
    /// The smallest and the largest one, where it has several.
    pub subgroup_sizes: Option<[u32; 2]>,
    /// Subgroups of a workgroup at most, where their size can be chosen.
    pub pinned_subgroups: Option<u32>,
    /// Invocations per workgroup at most.
    pub max_workgroup_size: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Whether it has 64-bit atomics.
    pub int64_atomics: bool,
    /// Registers of pipelines that have their arguments in them. Left out, as many as others have.
    pub baked_registers: Option<u32>,
    /// Registers of builds with late workgroups. Left out, as many as others have.
    pub late_registers: Option<u32>,
    /// Whether it passes for a chip: software devices are never probed.
    pub hardware: bool,
    /// What every call costs.
    pub launch_ns: f64,
    /// What a call of a copy or a read costs beside that, by where it finds its arguments: pushed, in a block, baked.
    pub arguments_ns: [f64; 3],
    /// How long the device has to work until it is as fast as it gets: an idle one has low clocks.
    pub waking_ns: f64,
    /// By which share calls take longer until then.
    pub waking_ratio: f64,
    /// What a copy or a read reaches.
    pub bandwidth_gbps: f64,
    /// Standard deviation of a sample, as a share of it.
    pub noise_ratio: f64,
    /// Share of samples that take twice as long.
    pub outlier_share: f64,
    /// Standard deviation of what all samples of one measurement have in common, as a share: a measurement ends when
    /// another plan is timed, or another block of it begins. More samples do not average it out, more rounds do.
    pub block_noise_ratio: f64,
    /// Standard deviation of what a whole run has in common, as a share: drift between runs.
    pub drift_ratio: f64,
    /// Which run of the device this is.
    pub run: u64,
    /// How much longer than on the same buffers a call takes on cold ones.
    pub cold_ratio: f64,
    /// All times of this device are longer by this share.
    pub slowdown_ratio: f64,
    /// Seed of the speed of each config and, with the run, of the noise.
    pub seed: u64,
    /// What each verification takes in wall-clock time, so that a sweep can be hit in the middle.
    pub wall_ms_per_config: u64,
    /// Which night it is, for drift and the weather of [`Self::noise`]: what two runs at the same time have in common.
    /// Left out, each run is a night of its own.
    pub night: Option<u64>,
    /// Noise of blocks.
    pub noise: NoiseModel,
    /// What probes of guarantees find. Left out, there is nothing to ask.
    pub probe: Option<ProbeScript>,
    /// What is slower.
    pub slow: Vec<Slow>,
    /// What goes wrong.
    #[serde(rename = "fault")]
    pub faults: Vec<Fault>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            name: "Replay".to_owned(),
            uuid: "00000000-0000-0000-0000-00000000feed".to_owned(),
            pci_address: None,
            driver: "replay 1".to_owned(),
            api: Api::Vulkan,
            implementation: String::new(),
            robustness: None,
            timer_resolution_ns: 0.0,
            subgroup_size: 32,
            subgroup_sizes: None,
            pinned_subgroups: None,
            max_workgroup_size: 1024,
            memory_bytes: 16 << 30,
            int64_atomics: true,
            baked_registers: None,
            late_registers: None,
            hardware: false,
            launch_ns: 2000.0,
            arguments_ns: [0.0; 3],
            waking_ns: 0.0,
            waking_ratio: 0.0,
            bandwidth_gbps: 1000.0,
            noise_ratio: 0.0,
            outlier_share: 0.0,
            block_noise_ratio: 0.0,
            drift_ratio: 0.0,
            run: 0,
            cold_ratio: 1.25,
            slowdown_ratio: 0.0,
            seed: 0,
            wall_ms_per_config: 0,
            night: None,
            noise: NoiseModel::default(),
            probe: None,
            slow: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// What probes of guarantees find.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeScript {
    /// Whether workgroups start in order.
    pub order: bool,
    /// Whether they do so in several rows.
    pub order_of_rows: bool,
    /// Whether they do so where each waits until the one before it has waited.
    pub order_of_waits: bool,
    /// Whether subgroups of a workgroup make progress independently.
    pub subgroups: bool,
    /// Whether workgroups that have started make progress.
    pub progress: bool,
    /// Whether as many workgroups run together as were seen to be there.
    pub together: bool,
    /// Invocations that are there at the same time.
    pub invocations: u32,
    /// Whether it tells how long it was busy. Where it does not, its calls take their time.
    pub clock: bool,
}

impl Default for ProbeScript {
    fn default() -> Self {
        Self {
            order: true,
            order_of_rows: true,
            order_of_waits: true,
            subgroups: true,
            progress: true,
            together: true,
            invocations: 1 << 15,
            clock: true,
        }
    }
}

/// Something that takes longer, and at which points.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// How many times as long.
    pub factor: f64,
    /// The beginning of the labels that it hits; every config, but no ceiling, where left out.
    #[serde(default)]
    pub config: String,
    /// The size that it hits; all where left out.
    #[serde(default)]
    pub n: Option<u64>,
}

/// One thing that goes wrong, and for which points.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// The beginning of the labels that it hits; all where left out.
    #[serde(default)]
    pub config: String,
    /// The size that it hits; all where left out.
    #[serde(default)]
    pub n: Option<u64>,
    /// The share of the matching points that it hits, chosen by label and size.
    #[serde(default = "always")]
    pub share: f64,
    /// How often it happens at most.
    #[serde(default)]
    pub times: Option<u32>,
    /// How often it goes well first.
    #[serde(default)]
    pub after: u32,
}

fn always() -> f64 {
    1.0
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The first element is wrong.
    WrongElement,
    /// The last element is wrong.
    WrongLast,
    /// A word behind the output is written.
    WriteBehind,
    /// The total beside a scan is wrong; nothing is where there is none.
    WrongTotal,
    /// The first element is wrong, and the scratch memory is not as the next call expects it: a ticket was not taken,
    /// a bank not cleared.
    LosesTickets,
    /// Every call is wrong but one that is verified on its own.
    WrongTimed,
    /// The total is wrong in the timed calls alone.
    WrongTimedTotal,
    /// Every second call of many in a row is wrong.
    WrongSecond,
    /// Calls are wrong once there were 100 since the scratch memory was forgotten.
    WrongLate,
    /// Calls are wrong whose input is another one than that of the call before.
    WrongStale,
    /// Calls keep what they find in the output, unless that is poison.
    KeepsAnswer,
    /// Calls on cold memory are wrong on all buffers but the first ones.
    WrongCold,
    /// Calls in a row write to the input.
    WritesInput,
    /// A call gives the first element other bits than the call before.
    OtherBits,
    /// The device is lost.
    DeviceLost,
    /// The call never returns.
    Hang,
    /// The process ends.
    Crash,
    /// There is no memory for the call.
    OutOfMemory,
    /// The driver refuses the pipeline.
    PipelineError,
    /// All timestamps are zero.
    ZeroTimestamps,
    /// The second timestamp is before the first.
    BackwardTimestamps,
    /// The first sample of a request has zero timestamps.
    ZeroTimestampOnce,
    /// From here on everything takes twice as long.
    Throttle,
    /// From here on nothing takes twice as long any more.
    Recover,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("replay script {path}: {reason}")]
pub struct ScriptError {
    path: PathBuf,
    reason: String,
}

impl Script {
    /// What the device is and can do.
    pub(crate) fn profile(&self) -> DeviceProfile {
        let [min_subgroup_size, max_subgroup_size] = self.subgroup_sizes.unwrap_or([self.subgroup_size; 2]);
        DeviceProfile {
            name: self.name.clone(),
            uuid: self.uuid.clone(),
            pci_address: self.pci_address.clone(),
            vendor_id: 0,
            device_id: 0,
            kind: if self.hardware { DeviceKind::Hardware } else { DeviceKind::Software },
            driver: self.driver.clone(),
            driver_build: String::new(),
            api_version: "1.3.0".to_owned(),
            subgroup_size: self.subgroup_size,
            min_subgroup_size,
            max_subgroup_size,
            pinned_subgroups: self.pinned_subgroups,
            max_workgroup_size: self.max_workgroup_size,
            max_workgroup_count: [i32::MAX as u32, 65_535, 65_535],
            max_shared_bytes: 48 << 10,
            max_storage_buffer_bytes: u64::from(u32::MAX),
            max_allocation_bytes: u64::from(u32::MAX),
            memory_bytes: self.memory_bytes,
            buffer_addresses: true,
            int64_atomics: self.int64_atomics,
            int64_elements: self.int64_atomics,
            float64_elements: true,
            timestamp_period_ns: 1.0,
            timestamp_valid_bits: 48,
            api: self.api,
            implementation: self.implementation.clone(),
            robustness: self.robustness,
            timer: Timer::Timestamps,
            timer_resolution_ns: self.timer_resolution_ns,
            forced: Forced::default(),
            guarantees: Vec::new(),
            guarantee_facts: GuaranteeFacts::default(),
            residency: None,
            arguments_probe: None,
            compute_units: None,
            assumed_compute_units: None,
            uniform_control_flow: false,
            maximal_reconvergence: false,
        }
    }

    /// What a call of this plan costs before it moves anything.
    pub(super) fn call_ns(&self, plan: &Plan) -> f64 {
        let told_ns = match plan.passes.first().filter(|_| plan.is_ceiling()) {
            Some(pass) => self.arguments_ns[pass.shader.arguments().place()],
            None => 0.0,
        };
        self.launch_ns + told_ns
    }

    /// Reads a script.
    ///
    /// # Errors
    /// When the file cannot be read or is no script.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let failed = |reason: String| ScriptError { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        toml::from_str(&text).map_err(|error| failed(error.to_string()))
    }
}
