//! What the sweep needs from a device. Two implementations: Vulkan and replay.

use scanbox_kernels::plan::{Module, Plan};
use scanbox_kernels::reference::Input;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;
use serde::{Deserialize, Serialize};

/// One device, driven by one process.
///
/// A backend holds the memory of the session (input, output, reference, scratch) and the pipelines. All calls are
/// synchronous: when one returns, the device is idle.
pub trait Backend {
    /// What the device is and can do.
    fn profile(&self) -> &DeviceProfile;

    /// Creates the pipelines of all modules, in parallel where the device allows it. One outcome per module, in
    /// order. Plans may then name these shaders.
    fn create_pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>>;

    /// Fills input and reference memory with the first `n` elements of `input` and of its scan. What is already
    /// there is kept: a shorter input is the beginning of a longer one.
    ///
    /// # Errors
    /// When the memory does not fit.
    fn load(&mut self, input: &Input, n: u64) -> Result<(), Failure>;

    /// Elements of input and reference that are loaded.
    fn loaded_elements(&self) -> u64;

    /// How long the device has worked for this session, in nanoseconds: submissions only, without what they wait for.
    fn busy_ns(&self) -> f64;

    /// Poisons the output, runs the plan once and compares every element, on the device.
    ///
    /// # Errors
    /// When the plan does not run to its end. A wrong result is no error here.
    fn verify(&mut self, plan: &Plan) -> Result<Comparison, Failure>;

    /// Puts garbage into the scratch memory: what a verification does to see that no plan depends on what is there.
    ///
    /// # Errors
    /// When the device fails.
    fn litter(&mut self, garbage: Garbage) -> Result<(), Failure>;

    /// Takes `samples` samples of `calls` dependent calls back to back, each sample between two timestamps. What the
    /// plan's reset costs is inside.
    ///
    /// # Errors
    /// When the plan does not run to its end.
    fn time(&mut self, plan: &Plan, calls: u32, samples: u32) -> Result<Vec<Interval>, Failure>;

    /// [`Backend::time`] on cold memory: each call reads and writes other buffers than the one before, in rotation over
    /// [`cold_slots`] of them, and the rotation goes on from one request to the next. Every input buffer holds the same
    /// elements.
    ///
    /// # Errors
    /// When the buffers do not fit, or the plan does not run to its end.
    fn time_cold(&mut self, plan: &Plan, calls: u32, samples: u32) -> Result<Vec<Interval>, Failure>;
}

/// What the input and output buffers of cold calls have together, at least: several times the largest cache there is
/// (256 MiB of L3 on an AMD MI300X, 50 MiB of L2 on an NVIDIA H200) would be better still, but has to fit small devices
/// too.
const COLD_BYTES: u64 = 256 << 20;

/// How many pairs of input and output buffers cold calls of `n` elements of `element_bytes` bytes rotate over.
#[must_use]
pub fn cold_slots(n: u64, element_bytes: u64) -> u64 {
    COLD_BYTES.div_ceil((2 * n * element_bytes).max(1)).max(2)
}

/// What the scratch memory may hold before a call without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// This word everywhere, in memory that counts as new: no harm to any plan, because who uses it first clears it.
    InNewMemory(u32),
    /// This word everywhere, behind the back of the backend: no harm to a plan that fills its memory before each
    /// call. Other plans have to be given new memory afterwards.
    Unnoticed(u32),
    /// This word in every tile state, behind the back of the backend: no harm to a plan whose states carry epochs, as
    /// long as the epoch in the word is an old one.
    InTileStates(u32),
}

/// What the driver tells about a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PipelineInfo {
    /// Registers per invocation.
    pub registers: Option<u32>,
}

/// The outcome of the comparison of every element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Elements compared, the guard behind the last one included.
    pub compared: u64,
    /// Wrong elements.
    pub mismatches: u64,
    /// The wrong element with the smallest index.
    pub first: Option<Mismatch>,
    /// The one call that was compared, between timestamps.
    pub call: Interval,
}

/// A wrong element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Its index; at or above the input size, it was written past the end of the output.
    pub index: u64,
    /// What belongs there.
    pub expected: u32,
    /// What was there.
    pub got: u32,
}

/// Two raw timestamps: ticks of `timestamp_period_ns`, of which `timestamp_valid_bits` count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Before.
    pub begin: u64,
    /// After.
    pub end: u64,
}

/// Why a config has no time: the status and reason of its row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {reason}")]
pub struct Failure {
    /// The status.
    pub status: Status,
    /// The reason, with the driver's words.
    pub reason: String,
}

impl Failure {
    /// A failure with this status.
    pub fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// Whether the device cannot be used after it: only a new process can.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self.status, Status::Timeout | Status::DeviceLost)
    }
}
