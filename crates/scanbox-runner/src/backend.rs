//! What the sweep needs from a device. Two implementations: Vulkan and replay.

mod comparison;
mod failure;

use std::sync::Arc;

use scanbox_kernels::cases::Garbage;
use scanbox_kernels::input::Input;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::plan::{Module, Plan, Shader};
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Record, Status};
use scanbox_pack::{CallUse, Pack, Promises, ScanProblem};

pub use self::comparison::{ElementComparison, LookbackCounts, Mismatch, RoundingError, TickInterval};
pub use self::failure::Failure;
use crate::twin::{Checked, Course};

/// One kernel of a pack for one use, as a pack of its own.
#[derive(Debug, Clone)]
pub struct PackedKernel {
    /// Nothing but this kernel, for the device that tries it.
    pub pack: Arc<Pack>,
    /// What is computed.
    pub scan: ScanProblem,
    /// The use.
    pub call_use: CallUse,
    /// The most elements of a call.
    pub max_n: u64,
    /// Whether the device says of the call that is compared that it has more than that, where it says how many.
    pub is_beyond: bool,
}

/// One call of a probe, on memory of its own that is all zeros before.
#[derive(Debug, Clone, Copy)]
pub struct ProbeCall<'a> {
    /// Its shader, whose pipeline was created.
    pub shader: &'a Shader,
    /// Workgroups of a row, and rows.
    pub groups: [u32; 2],
    /// What stands behind the address of the memory in its push constants.
    pub arguments: [u32; 4],
    /// Words of memory that it works on.
    pub words: u64,
    /// The shader of other work that runs before and behind it, with no barrier between, and its words.
    pub load: Option<(&'a Shader, u32)>,
}

impl ProbeCall<'_> {
    /// Workgroups in all rows.
    #[must_use]
    pub fn workgroups(&self) -> u32 {
        self.groups[0] * self.groups[1]
    }
}

/// What came of a call of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeAnswer {
    /// The first words of its memory.
    pub words: [u32; PROBE_WORDS],
    /// How long the device was busy, in nanoseconds; 0 where nobody knows.
    pub busy_ns: f64,
}

/// Words that the host reads of the memory of a probe.
pub const PROBE_WORDS: usize = 8;

/// One device, driven by one process.
///
/// A backend holds the memory of the session (input, output, reference, scratch) and the pipelines. All calls are
/// synchronous: when one returns, the device is idle.
pub trait Backend {
    /// What the device is and can do.
    fn profile(&self) -> &Arc<DeviceProfile>;

    /// What was found out about guarantees holds from here on: the rules go by it.
    fn learn(&mut self, found: GuaranteesProbe);

    /// Runs a call of a probe.
    ///
    /// # Errors
    /// When it does not run to its end.
    fn ask(&mut self, call: &ProbeCall<'_>) -> Result<ProbeAnswer, Failure>;

    /// Sees to scratch memory of this size ahead, so that pipelines that have its address in them are made once.
    ///
    /// # Errors
    /// When the memory does not fit.
    fn reserve_scratch(&mut self, bytes: u64) -> Result<(), Failure>;

    /// Creates the pipelines of all modules, in parallel where the device allows it. One outcome per module, in
    /// order. Plans may then name these shaders.
    fn create_pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>>;

    /// What the driver tells about the pipelines that run a plan on what is loaded, where they are made only now: where
    /// arguments, or the most elements of a call, are constants of theirs. The driver may unroll what depends on
    /// those, and take more registers than at another size. None: what [`Backend::create_pipelines`] told holds.
    ///
    /// # Errors
    /// Why there are no such pipelines.
    fn as_run(&mut self, _plan: &Plan) -> Result<Option<PipelineInfo>, Failure> {
        Ok(None)
    }

    /// Tries the laws of a user's operator, whose pipelines were made, before a problem of it is loaded. Returns
    /// whether they were tried.
    ///
    /// # Errors
    /// With the status `wrong_result`, when it breaks one.
    fn prove_operator(&mut self, _problem: &Problem, _file: &OperatorFile) -> Result<bool, Failure> {
        // Who plays a device runs no code.
        Ok(false)
    }

    /// Fills input and reference memory with the first `n` elements of the input of a problem and of its answer. What
    /// is already there is kept: a shorter input is the beginning of a longer one.
    ///
    /// # Errors
    /// When the memory does not fit.
    fn load(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure>;

    /// Fills another input beside the one that is loaded, and its answer, for twins whose inputs alternate.
    ///
    /// # Errors
    /// When the memory does not fit.
    fn load_other(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure>;

    /// The failure after which the device cannot be used by this process any more, if there was one: every call ends
    /// with it.
    fn lost(&self) -> Option<&Failure>;

    /// The words of the first element of the answer that is loaded, with zeros behind them.
    ///
    /// # Errors
    /// When nothing is loaded, or the device fails.
    fn first_of_answer(&mut self, problem: &Problem) -> Result<[u32; 4], Failure> {
        let reason = format!("{problem}: who plays a device has no answer");
        Err(Failure::new(Status::Unsupported, reason))
    }

    /// Elements of input and reference that are loaded.
    fn loaded_elements(&self) -> u64;

    /// How long the device has worked for this session, in nanoseconds: submissions only, without what they wait for.
    fn busy_ns(&self) -> f64;

    /// Poisons the output, runs the plan once and compares every element, on the device.
    ///
    /// # Errors
    /// When the plan does not run to its end. A wrong result is no error here.
    fn verify(&mut self, plan: &Plan) -> Result<ElementComparison, Failure>;

    /// The same for arrays that begin at these elements of their memory, source and target, with a guard in front too.
    /// Where calls say how many elements they have, the device writes that between the host's last word and the call;
    /// where there is a total beside the scan, it is compared too. Returns how many elements were compared.
    ///
    /// # Errors
    /// When the plan does not run to its end, or may not run at these addresses; `wrong_result`, when an element is
    /// wrong.
    fn verify_at(&mut self, plan: &Plan, _begin: [u64; 2]) -> Result<u64, Failure> {
        // Who plays a device has no addresses.
        self.verify(plan)?.all_right()
    }

    /// Runs a kernel of a pack through the library that programs have, on what is loaded, at these elements of its
    /// memory, and compares what it leaves: what the plan says, which has no passes. Returns how many elements were
    /// compared.
    ///
    /// # Errors
    /// When it does not run to its end; `unsupported` where the device cannot run it; `wrong_result`, when an element
    /// is wrong.
    fn verify_packed(
        &mut self,
        plan: &Plan,
        _begin: [u64; 2],
        _kernel: &PackedKernel,
    ) -> Result<u64, Failure> {
        let reason = format!("{}: who plays a device runs no code", plan.label);
        Err(Failure::new(Status::Unsupported, reason))
    }

    /// Lends a pack: plans whose calls the library records take them from it, under these promises of a program.
    ///
    /// # Errors
    /// Why the library cannot work on the device.
    fn lend(&mut self, _pack: Arc<Pack>, _promises: Promises) -> Result<(), Failure> {
        // Who plays a device plays calls of a plan, whoever records them.
        Ok(())
    }

    /// Drops all pipelines, and the scans of the library: those that run again are made anew, and their code stands
    /// elsewhere. Pipelines of shaders have to be created again ([`Backend::create_pipelines`]).
    ///
    /// # Errors
    /// Why the library cannot work on the device any more.
    fn drop_pipelines(&mut self) -> Result<(), Failure> {
        // Who plays a device has no code.
        Ok(())
    }

    /// Keeps the output of the call that [`Backend::verify`] has made last, of this plan or one with as many outputs.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn keep(&mut self, plan: &Plan) -> Result<(), Failure>;

    /// Compares the bits of the output of the last call with those that [`Backend::keep`] has
    /// kept: [`Mismatch::expected`] are the kept ones. The call is that of the comparison, without times.
    ///
    /// # Errors
    /// When nothing is kept. A difference is no error here.
    fn compare_with_kept(&mut self, plan: &Plan) -> Result<ElementComparison, Failure>;

    /// Puts garbage into the scratch memory: what a verification does to see that no plan depends on what is there.
    ///
    /// # Errors
    /// When the device fails.
    fn scribble_scratch(&mut self, garbage: Garbage) -> Result<(), Failure>;

    /// So many words of the scratch memory, from byte `offset` on; nothing where a backend cannot tell.
    ///
    /// # Errors
    /// When the device fails.
    fn scratch_content(&mut self, _offset: u64, _words: usize) -> Result<Option<Vec<u32>>, Failure> {
        Ok(None)
    }

    /// Whatever the scratch memory holds counts as unknown from here on: the next call that cares finds it cleared. A
    /// backend does so by itself after every failure and after every comparison that finds a mismatch, because nobody
    /// knows what a wrong kernel has left; this is for the beginning of what must not depend on anybody else at all.
    fn forget_scratch(&mut self);

    /// What is timed from here on is a block of its own, with its own warm-up. A device needs no word for it; one that
    /// is played has to know, because all samples of a block have noise in common.
    fn begin_block(&mut self) {}

    /// Takes `samples` samples of `calls` dependent calls back to back, each sample between two timestamps. What the
    /// plan's reset costs is inside.
    ///
    /// On cold memory each call reads and writes other buffers than the one before, in rotation over [`cold_slots`] of
    /// them, and the rotation goes on from one request to the next. Every input buffer holds the same elements.
    ///
    /// # Errors
    /// When the buffers do not fit, or the plan does not run to its end.
    fn time(
        &mut self,
        plan: &Plan,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure>;

    /// Goes through the course of a twin in one command buffer: calls as [`Backend::time`] makes them, with the same
    /// barriers between them, epochs, tickets and slots going on; some of them on poisoned output and compared, on the
    /// device. One outcome for each comparison, in their order.
    ///
    /// # Errors
    /// When the plan does not run to its end. A wrong result is no error here.
    fn twin(&mut self, plan: &Plan, course: &Course<'_>) -> Result<Vec<Checked>, Failure>;

    /// Sees that the input is what was loaded, as far as calls of this plan are likely to reach.
    /// [`Backend::verify`] and [`Backend::twin`] do so themselves; [`Backend::time`] does not, because nothing may
    /// stand between samples.
    ///
    /// # Errors
    /// `wrong_result`, where it was written to. It is loaded again.
    fn check_input(&mut self, plan: &Plan) -> Result<(), Failure>;
}

/// The outcome of calls of a plan that were timed, unless they have written to the input: everybody reads that, and
/// whoever came next would be blamed.
///
/// # Errors
/// That of the calls; `wrong_result`, where they have written to the input.
pub fn leaves_input<T>(
    backend: &mut dyn Backend,
    plan: &Plan,
    timed: Result<T, Failure>,
) -> Result<T, Failure> {
    if !timed.as_ref().is_err_and(Failure::is_fatal) {
        backend.check_input(plan)?;
    }
    timed
}

/// What the input and output buffers of cold calls have together, at least: several times the largest cache there is
/// (256 MiB of L3 on an AMD MI300X, 50 MiB of L2 on an NVIDIA H200) would be better still, but has to fit small devices
/// too.
const COLD_BYTES: u64 = 256 << 20;

/// How many pairs of input and output buffers cold calls on this many bytes of input rotate over.
#[must_use]
pub fn cold_slots(bytes: u64) -> u64 {
    COLD_BYTES.div_ceil((2 * bytes).max(1)).max(2)
}

/// What the driver tells about a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PipelineInfo {
    /// Registers per invocation.
    pub registers: Option<u32>,
    /// Subgroups that one SIMD unit holds at a time.
    pub subgroups_per_simd: Option<u32>,
}

impl PipelineInfo {
    /// Of both pipelines: the most registers that one takes, and the fewest subgroups that a unit holds of one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let held = [self.subgroups_per_simd, other.subgroups_per_simd];
        Self {
            registers: self.registers.max(other.registers),
            subgroups_per_simd: held.into_iter().flatten().min(),
        }
    }

    /// Writes down what is known of the pipelines of a row.
    pub(crate) fn describe(self, device: &DeviceProfile, record: &mut Record) {
        let Self { registers, subgroups_per_simd } = self;
        let shared_bytes = record.shared_bytes.map_or(0, u64::from);
        record.registers = registers;
        record.subgroups_per_simd = subgroups_per_simd;
        let sizes = record.parameters.workgroup_size.zip(record.subgroup_size);
        record.workgroups_held = sizes.and_then(|(workgroup_size, subgroup_size)| {
            device.workgroups_per_unit(workgroup_size, subgroup_size, registers, shared_bytes)
        });
    }
}
