//! The memory of a session: input, output and reference, which grow with n, scratch, and small change.
//!
//! Shaders reach all of it by address. The host holds a fixed amount: chunks on their way to the device.

mod cold;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::REPORT_WORDS;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{Binding, Expected, GUARD_WORDS, Plan};
use scanbox_model::problem::{Mode, Problem};
use scanbox_model::record::Status;
use scanbox_vk::line::PAIR_BYTES;

use self::cold::Cold;
pub(super) use self::upload::is_placed;
use self::upload::{Large, Loaded, MOST_VECTOR_BYTES, SLOTS, Slot};
use super::buffer::{Buffer, BufferOffset, Fetched, WORD_BYTES};
use super::device::Gpu;
use crate::backend::Failure;

/// Room for the banks of groups and as many states.
const LEAST_SCRATCH_BYTES: u64 = 1 << 21;
/// Everything that shaders work on.
pub(super) struct Memory {
    gpu: Arc<Gpu>,
    large: Option<Large>,
    /// Another input and its answer.
    other: Option<Large>,
    output: Option<Buffer>,
    cold: Option<Cold>,
    scratch: Option<Buffer>,
    /// The output of an earlier call.
    kept: Option<Buffer>,
    /// What workgroups count in.
    counts: Option<Fetched>,
    /// What a scan stores its total in.
    total: Option<Buffer>,
    /// Input and output of calls whose arrays begin anywhere.
    elsewhere: Option<[Buffer; 2]>,
    /// What the comparisons of a twin report in.
    reports: Option<Fetched>,
    /// Lines of arguments, a pair for each pass of a call; behind them what kernels find by addresses among these: n,
    /// and what an exclusive scan begins with.
    lines: Buffer,
    /// What the comparison reports in.
    report: Buffer,
    /// Where the host reads reports and single words.
    readback: Buffer,
    staging: Vec<Slot>,
}

/// Passes of a call that have a pair of lines each.
pub(super) const LINES: u64 = 32;

/// Where n and the initial value, an element of any size, stand behind the lines, in bytes.
pub(super) const N_OFFSET: u64 = LINES * PAIR_BYTES;
pub(super) const INITIAL_OFFSET: u64 = (N_OFFSET + WORD_BYTES).next_multiple_of(ELEMENT_WORDS * WORD_BYTES);

/// Words that a workgroup counts in.
const COUNTS_WORDS: u64 = 4;

/// Bytes of the guard behind an output.
pub(super) const GUARD_BYTES: u64 = GUARD_WORDS * WORD_BYTES;
/// What a call leaves that finds no elements stands so far behind a total, which has a guard behind it.
pub(super) const OF_NONE_OFFSET: u64 = ELEMENT_WORDS * WORD_BYTES + GUARD_BYTES;

/// Words of the largest element.
pub(super) const ELEMENT_WORDS: u64 = 4;

/// Bytes of the report of one comparison.
pub(super) const REPORT_BYTES: u64 = REPORT_WORDS * WORD_BYTES;
/// Words of the readback: the report, then an expected element and the one that was there.
const READBACK_WORDS: u64 = REPORT_WORDS + 2 * ELEMENT_WORDS;

impl Memory {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self, Failure> {
        let lines =
            Buffer::new(gpu, "lines", INITIAL_OFFSET + ELEMENT_WORDS * WORD_BYTES, MemoryLocation::GpuOnly)?;
        // The addresses of a pair differ in one bit. Memory of its own begins with a page, though no rule says so.
        if !lines.address().is_multiple_of(PAIR_BYTES) {
            let reason = format!("lines of arguments at {:#x}, no multiple of {PAIR_BYTES}", lines.address());
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        let report = Buffer::new(gpu, "report", REPORT_BYTES, MemoryLocation::GpuOnly)?;
        let readback = Buffer::new(gpu, "readback", READBACK_WORDS * WORD_BYTES, MemoryLocation::GpuToCpu)?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            large: None,
            other: None,
            output: None,
            cold: None,
            scratch: None,
            kept: None,
            counts: None,
            total: None,
            elsewhere: None,
            reports: None,
            lines,
            report,
            readback,
            staging: Vec::new(),
        })
    }

    /// The largest n that is loaded.
    pub fn loaded(&self) -> u64 {
        self.large.as_ref().and_then(|large| large.loaded).map_or(0, |loaded| loaded.n)
    }

    /// Input and reference.
    pub fn input_and_reference(&self) -> Option<[&Buffer; 2]> {
        self.large.as_ref().map(|large| [&large.input, &large.reference])
    }

    /// What is loaded, if it is for this problem.
    pub fn input_of(&self, problem: &Problem) -> Option<Input> {
        let loaded = self.large.as_ref().and_then(|large| large.loaded)?;
        (loaded.problem == *problem).then_some(loaded.input)
    }

    /// Problem, input and size of what is loaded, or of the other input.
    pub fn loaded_input(&self, other: bool) -> Option<(Problem, Input, u64)> {
        let loaded = self.large_or_other(other).and_then(|large| large.loaded)?;
        Some((loaded.problem, loaded.input, loaded.n))
    }

    fn large_or_other(&self, other: bool) -> Option<&Large> {
        if other { self.other.as_ref() } else { self.large.as_ref() }
    }

    /// Sees to room for so many bytes of sums of the input, twice.
    pub fn reserve_sums(&mut self, bytes: u64) -> Result<(), Failure> {
        let Some(large) = &mut self.large else { return Ok(()) };
        if large.sums.as_ref().is_none_or(|sums| sums.bytes() < 2 * bytes) {
            large.sums = None;
            large.sums = Some(Buffer::new(&self.gpu, "sums", 2 * bytes, MemoryLocation::GpuOnly)?);
        }
        Ok(())
    }

    /// The input, the place of its sums as it was loaded, and that of its sums as it is.
    pub fn watched(&self, other: bool) -> Result<[BufferOffset<'_>; 3], Failure> {
        let missing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let large = self.large_or_other(other).ok_or_else(missing)?;
        let sums = large.sums.as_ref().ok_or_else(missing)?;
        let place = |buffer, offset| BufferOffset { buffer, offset };
        Ok([place(&large.input, 0), place(sums, 0), place(sums, sums.bytes() / 2)])
    }

    /// The buffer that a binding of a plan names, and the offset in it.
    fn resolve(&self, binding: Binding, plan: &Plan) -> Result<(&Buffer, u64), Failure> {
        self.resolve_on(self.large.as_ref(), binding, plan)
    }

    /// The same, where this is loaded.
    fn resolve_on<'a>(
        &'a self,
        large: Option<&'a Large>,
        binding: Binding,
        plan: &Plan,
    ) -> Result<(&'a Buffer, u64), Failure> {
        let missing = |what| Failure::new(Status::RuntimeError, format!("the plan needs {what}"));
        let large = || large.ok_or_else(|| missing("an input, and none is loaded"));
        let begin = |large: &Large| large.begin(&plan.problem, plan.n);
        Ok(match (binding, plan.result) {
            // The sums of a read are expected nowhere: their complements are poison enough.
            (Binding::Input, _) | (Binding::Expected, Expected::Copy | Expected::Sums { .. }) => {
                let large = large()?;
                (&large.input, begin(large))
            }
            // The element that is combined last.
            (Binding::Expected, Expected::Total) if plan.problem.is_reversed() => {
                let large = large()?;
                (&large.reference, begin(large))
            }
            (Binding::Expected, Expected::Total) => {
                (&large()?.reference, plan.n.saturating_sub(1) * plan.problem.element_bytes())
            }
            (Binding::Reference, _) | (Binding::Expected, Expected::Scan) => {
                let large = large()?;
                (&large.reference, begin(large))
            }
            (Binding::Output, _) => {
                (self.output.as_ref().ok_or_else(|| missing("an output, and has none"))?, 0)
            }
            (Binding::Report, _) => (&self.report, 0),
            (Binding::Kept, _) => {
                let bytes = plan.output_words() * WORD_BYTES;
                let kept = self.kept.as_ref().filter(|kept| kept.bytes() >= bytes);
                (kept.ok_or_else(|| missing("an output of an earlier call, and none is kept"))?, 0)
            }
            (Binding::Counts(_), _) => {
                let counts = self.counts.as_ref().ok_or_else(|| missing("memory for counts"))?;
                (&counts.device, 0)
            }
            (Binding::Total, _) => (self.total.as_ref().ok_or_else(|| missing("a place for its total"))?, 0),
            (Binding::Elements(_), _) => (&self.lines, N_OFFSET),
            (Binding::Initial(_), _) => (&self.lines, INITIAL_OFFSET),
            (Binding::Scratch(offset), _) => {
                let scratch = self.scratch.as_ref().filter(|scratch| offset < scratch.bytes());
                (scratch.ok_or_else(|| missing("scratch memory that it does not declare"))?, offset)
            }
        })
    }

    /// The address of what a binding names.
    ///
    /// # Errors
    /// Also where elements do not stand at a multiple of their size: some devices read them right even so, others the
    /// words before them.
    pub fn address(&self, binding: Binding, plan: &Plan) -> Result<vk::DeviceAddress, Failure> {
        let (buffer, offset) = self.resolve(binding, plan)?;
        let address = buffer.address() + offset;
        let needed = match binding {
            Binding::Report | Binding::Counts(_) | Binding::Elements(_) | Binding::Scratch(_) => WORD_BYTES,
            Binding::Input
            | Binding::Output
            | Binding::Reference
            | Binding::Expected
            | Binding::Kept
            | Binding::Total
            | Binding::Initial(_) => plan.problem.element().alignment().into(),
        };
        if address.is_multiple_of(needed) {
            return Ok(address);
        }
        let reason =
            format!("{binding:?} at {address:#x}, no multiple of {needed} bytes: a fault of scanbox");
        Err(Failure::new(Status::RuntimeError, reason))
    }

    /// Sees to `bytes` of scratch memory. Returns whether the memory is new, so that its content is unknown.
    pub fn reserve_scratch(&mut self, bytes: u64) -> Result<bool, Failure> {
        if bytes == 0 || self.scratch.as_ref().is_some_and(|scratch| scratch.bytes() >= bytes) {
            return Ok(false);
        }
        // Seldom anew: pipelines have its address in them.
        let bytes = bytes.next_power_of_two().max(LEAST_SCRATCH_BYTES);
        self.scratch = None;
        self.scratch = Some(Buffer::new(&self.gpu, "scratch", bytes, MemoryLocation::GpuOnly)?);
        Ok(true)
    }

    /// Sees to the memory for the counts of so many tiles.
    pub fn reserve_counts(&mut self, tiles: u64) -> Result<(), Failure> {
        let bytes = tiles * COUNTS_WORDS * WORD_BYTES;
        if self.counts.as_ref().is_none_or(|counts| counts.device.bytes() < bytes) {
            self.counts = None;
            self.counts = Some(Fetched::new(&self.gpu, "counts", bytes)?);
        }
        Ok(())
    }

    /// Where workgroups count, and where the host reads that.
    pub fn counts(&self) -> Option<(&Buffer, &Buffer)> {
        self.counts.as_ref().map(|counts| (&counts.device, &counts.host))
    }

    /// The counts of the first tiles, four words each, that were copied to the host.
    pub fn read_counts(&mut self, tiles: u64) -> &[u32] {
        let words = (tiles * COUNTS_WORDS) as usize;
        self.counts.as_mut().map_or(&[], |counts| &counts.host.words()[..words])
    }

    /// Sees to the place of a total, and of what a call leaves that finds no elements.
    pub fn reserve_total(&mut self) -> Result<&Buffer, Failure> {
        if self.total.is_none() {
            let bytes = OF_NONE_OFFSET + ELEMENT_WORDS * WORD_BYTES;
            self.total = Some(Buffer::new(&self.gpu, "total", bytes, MemoryLocation::GpuOnly)?);
        }
        Ok(self.total.as_ref().expect("it has just been made"))
    }

    /// The place of a total, of plans that have one.
    pub fn total(&self) -> Option<&Buffer> {
        self.total.as_ref()
    }

    /// Sees to an input and an output beside those that are loaded, of so many bytes each.
    pub fn reserve_elsewhere(&mut self, bytes: u64) -> Result<(), Failure> {
        if self.elsewhere.as_ref().is_none_or(|[input, _]| input.bytes() < bytes) {
            self.elsewhere = None;
            let new = |name| Buffer::new(&self.gpu, name, bytes, MemoryLocation::GpuOnly);
            self.elsewhere = Some([new("input elsewhere")?, new("output elsewhere")?]);
        }
        Ok(())
    }

    /// That input and output.
    pub fn elsewhere(&self) -> Option<&[Buffer; 2]> {
        self.elsewhere.as_ref()
    }

    /// The lines of arguments.
    pub fn lines(&self) -> &Buffer {
        &self.lines
    }

    pub fn scratch(&self) -> Option<&Buffer> {
        self.scratch.as_ref()
    }

    pub fn output(&self) -> Option<&Buffer> {
        self.output.as_ref()
    }

    pub fn report(&self) -> &Buffer {
        &self.report
    }

    pub fn readback(&self) -> &Buffer {
        &self.readback
    }

    /// What was copied to the readback buffer.
    pub fn read_back(&mut self) -> [u32; READBACK_WORDS as usize] {
        *self.readback.words().first_chunk().expect("the readback buffer has at least these words")
    }

    /// The buffers that a wrong element is looked up in, with offsets: what it was compared with, and the output.
    pub fn expected_and_output(
        &self,
        expected: Binding,
        plan: &Plan,
    ) -> Result<[(&Buffer, u64); 2], Failure> {
        Ok([self.resolve(expected, plan)?, self.resolve(Binding::Output, plan)?])
    }

    /// Sees to room for an output of this many bytes beside the one that plans write.
    pub fn reserve_kept(&mut self, bytes: u64) -> Result<(), Failure> {
        if self.kept.as_ref().is_none_or(|kept| kept.bytes() < bytes) {
            self.kept = None;
            self.kept = Some(Buffer::new(&self.gpu, "kept output", bytes, MemoryLocation::GpuOnly)?);
        }
        Ok(())
    }

    pub fn kept(&self) -> Option<&Buffer> {
        self.kept.as_ref()
    }

    /// Input and output, of plans that work in place.
    pub fn input_and_output(&self) -> Option<(&Buffer, &Buffer)> {
        Some((&self.large.as_ref()?.input, self.output.as_ref()?))
    }

    /// Where the input of a plan begins, in bytes.
    pub fn begin(&self, plan: &Plan) -> u64 {
        self.large.as_ref().map_or(0, |large| large.begin(&plan.problem, plan.n))
    }

    /// Whether input and answer of `n` elements of a problem are among those that are loaded. From the last element on
    /// they stand at their end, which is not everywhere where a vector may begin.
    pub fn has_window(&self, problem: &Problem, n: u64) -> bool {
        self.large.as_ref().is_some_and(|large| large.has_window(problem, n))
    }

    /// How many elements have to be loaded for calls of `n`: the total of an exclusive scan is the answer to one more.
    /// As many more as keep vectors where they are, from the last element on.
    pub fn with_total(problem: &Problem, n: u64) -> u64 {
        let more = problem.has_total() && problem.mode() == Mode::Exclusive;
        n + if more { MOST_VECTOR_BYTES / u64::from(problem.element().alignment()) } else { 0 }
    }

    /// Of which of the two inputs these elements of a problem are not there and have to be loaded for themselves: what
    /// is loaded.
    pub fn without_window(&self, problem: &Problem, n: u64, other: bool) -> Option<Input> {
        let large = self.large_or_other(other)?;
        let needed = Self::with_total(problem, n);
        let loaded = large.loaded.filter(|_| !large.has_window(problem, needed))?;
        Some(loaded.input)
    }

    /// Fills input and reference of a problem with the first `n` elements, as far as they are not there yet.
    pub fn load(&mut self, problem: &Problem, input: &Input, n: u64, limit: Duration) -> Result<(), Failure> {
        // Chunks may be on their way still, if an earlier load failed.
        self.staging.iter_mut().try_for_each(|slot| slot.wait(limit))?;
        self.reserve(problem, n)?;
        self.reserve_staging()?;
        let Self { large: Some(large), staging, .. } = self else { unreachable!("it was just made") };
        let before = large.loaded;
        large.fill(problem, input, n, staging, limit)?;
        if before.is_none_or(|before| (before.problem, before.input) != (*problem, *input)) {
            // Its inputs are copies of another one.
            self.cold = None;
        }
        Ok(())
    }

    /// What is loaded from here on is another input beside the one that was loaded; the next time, that one again.
    pub fn swap_inputs(&mut self) {
        std::mem::swap(&mut self.large, &mut self.other);
    }

    /// Sees to input, output and reference of `n` elements.
    pub fn reserve(&mut self, problem: &Problem, n: u64) -> Result<(), Failure> {
        // A size that overflows is refused like any other that is too large.
        let bytes = n.saturating_mul(problem.element_bytes());
        if self.large.as_ref().is_none_or(|large| large.bytes < bytes) {
            // The old ones go first: both together may not fit.
            self.cold = None;
            self.elsewhere = None;
            self.large = None;
            self.large = Some(Large::new(&self.gpu, bytes)?);
        }
        let guarded = bytes.saturating_add(GUARD_BYTES);
        if self.output.as_ref().is_none_or(|output| output.bytes() < guarded) {
            self.output = None;
            self.output = Some(Buffer::new(&self.gpu, "output", guarded, MemoryLocation::GpuOnly)?);
        }
        Ok(())
    }

    fn reserve_staging(&mut self) -> Result<(), Failure> {
        while self.staging.len() < SLOTS {
            self.staging.push(Slot::new(&self.gpu)?);
        }
        Ok(())
    }

    /// Whether the first `n` elements of an input of a problem are there, with their answer.
    pub fn holds(&self, problem: &Problem, input: &Input, n: u64) -> bool {
        let loaded = self.large.as_ref().and_then(|large| large.loaded);
        loaded.is_some_and(|loaded| (loaded.problem, loaded.input) == (*problem, *input))
            && self.has_window(problem, n)
    }

    /// Input and reference are about to be made on the device: what was there is gone.
    pub fn forget(&mut self) {
        self.cold = None;
        if let Some(large) = &mut self.large {
            large.loaded = None;
        }
    }

    /// Input and reference of `n` elements were made on the device.
    pub fn made(&mut self, problem: &Problem, input: &Input, n: u64) {
        if let Some(large) = &mut self.large {
            large.loaded = Some(Loaded { problem: *problem, input: *input, n, reference: None });
        }
    }

    /// The input of the first call and of every second one behind it, or that of the others where inputs alternate;
    /// and what the output of such a call must equal.
    pub fn input_and_expected(&self, plan: &Plan, other: bool) -> Result<[BufferOffset<'_>; 2], Failure> {
        let large =
            self.large_or_other(other).filter(|large| large.loaded.is_some_and(|loaded| plan.n <= loaded.n));
        let [input, expected] =
            [self.resolve_on(large, Binding::Input, plan)?, self.resolve_on(large, Binding::Expected, plan)?];
        Ok([input, expected].map(|(buffer, offset)| BufferOffset { buffer, offset }))
    }

    /// Sees to the reports of so many comparisons.
    pub fn reserve_reports(&mut self, count: u64) -> Result<(), Failure> {
        let bytes = count * REPORT_BYTES;
        if self.reports.as_ref().is_none_or(|reports| reports.device.bytes() < bytes) {
            self.reports = None;
            self.reports = Some(Fetched::new(&self.gpu, "reports", bytes)?);
        }
        Ok(())
    }

    /// Where comparisons report, and where the host reads that.
    pub fn reports(&self) -> Option<(&Buffer, &Buffer)> {
        self.reports.as_ref().map(|reports| (&reports.device, &reports.host))
    }

    /// The reports that were copied to the host.
    pub fn read_reports(&mut self, count: u64) -> &[u32] {
        let words = (count * REPORT_WORDS) as usize;
        self.reports.as_mut().map_or(&[], |reports| &reports.host.words()[..words])
    }
}
