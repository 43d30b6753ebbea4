//! The memory of a session: input, output and reference, which grow with n, scratch, and small change.

use scanbox_kernels::catalog::REPORT_WORDS;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{
    Binding, Expected, FIRST_TURN, GUARD_WORDS, Plan, PlanKind, TICKET_BYTES, TURN_WORD,
};
use scanbox_kernels::reference::Reference;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;

use super::work::{
    BINDING_ALIGNMENT, ByteRange, DeviceDriver, DeviceWork, HeldBuffer, VECTOR_BYTES, WORD_BYTES, WorkStep,
};
use crate::backend::{Failure, cold_slots};
use crate::comparison_report::{ComparisonReport, NO_MISMATCH};

/// Room for as many states as small inputs have.
const LEAST_SCRATCH_BYTES: u64 = 1 << 21;
/// Words that are made and sent at a time.
const CHUNK: usize = 1 << 20;
/// Words that a workgroup counts in.
const COUNTS_WORDS: u64 = 4;
/// Bytes of the guard behind an output.
pub(super) const GUARD_BYTES: u64 = GUARD_WORDS * WORD_BYTES;
/// From one report to the next.
pub(super) const REPORT_STRIDE: u64 = BINDING_ALIGNMENT;

/// An input and its answer.
struct LoadedArrays {
    /// Bytes that each has room for.
    bytes: u64,
    input: HeldBuffer,
    reference: HeldBuffer,
    /// Sums of the input: as it was loaded, and as it is now.
    sums: Option<[HeldBuffer; 2]>,
    loaded: Option<ArrayContent>,
}

/// What input and reference hold.
#[derive(Debug, Clone, Copy)]
struct ArrayContent {
    problem: Problem,
    input: Input,
    n: u64,
    /// The answer so far.
    reference: Reference,
}

/// Input and output buffers beside the ordinary ones: together they exceed any cache.
struct ColdBuffers {
    /// Of an input.
    bytes: u64,
    /// Pairs, the ordinary one included.
    slots: u64,
    /// The pair of the next call. It is not the first of each sample, whose data may be in the cache.
    next: u64,
    /// Bytes from one input to the next, and from one output to the next.
    strides: [u64; 2],
    buffers: [HeldBuffer; 2],
    /// The plan whose calls in place go on in the outputs.
    used_by: Option<PlanKind>,
}

/// Everything that shaders work on.
#[derive(Default)]
pub(super) struct BoundMemory {
    large: Option<LoadedArrays>,
    /// Another input and its answer.
    other: Option<LoadedArrays>,
    output: Option<HeldBuffer>,
    cold: Option<ColdBuffers>,
    scratch: Option<HeldBuffer>,
    /// What scratch memory begins with that was cleared.
    begin: Option<HeldBuffer>,
    /// The output of an earlier call.
    kept: Option<HeldBuffer>,
    /// What workgroups count in.
    counts: Option<HeldBuffer>,
    /// What comparisons report in.
    reports: Option<HeldBuffer>,
    /// The last elements of both references: bindings begin at multiples of 256 bytes, and what a reduction must equal
    /// seldom does.
    totals: Option<HeldBuffer>,
}

impl BoundMemory {
    /// The largest n that is loaded.
    pub fn loaded(&self) -> u64 {
        self.large.as_ref().and_then(|large| large.loaded).map_or(0, |loaded| loaded.n)
    }

    /// What is loaded, if it is for this problem.
    pub fn input_of(&self, problem: &Problem) -> Option<Input> {
        let loaded = self.large.as_ref().and_then(|large| large.loaded)?;
        (loaded.problem == *problem).then_some(loaded.input)
    }

    /// Problem, input and size of what is loaded, or of the other input.
    pub fn loaded_input(&self, other: bool) -> Option<(Problem, Input, u64)> {
        let loaded = self.large_or_other(other)?.loaded?;
        Some((loaded.problem, loaded.input, loaded.n))
    }

    fn large_or_other(&self, other: bool) -> Option<&LoadedArrays> {
        if other { self.other.as_ref() } else { self.large.as_ref() }
    }

    /// Whether the first `n` elements of an input of a problem are there, with their answer.
    pub fn holds(&self, problem: &Problem, input: &Input, n: u64) -> bool {
        let loaded = self.large.as_ref().and_then(|large| large.loaded);
        loaded.is_some_and(|loaded| (loaded.problem, loaded.input) == (*problem, *input) && n <= loaded.n)
    }

    /// What is loaded from here on is another input beside the one that was loaded; the next time, that one again.
    pub fn swap_inputs(&mut self) {
        std::mem::swap(&mut self.large, &mut self.other);
    }

    /// What is loaded counts as gone.
    pub fn forget(&mut self) {
        self.cold = None;
        if let Some(large) = &mut self.large {
            large.loaded = None;
        }
    }

    /// Fills input and reference of a problem with the first `n` elements, as far as they are not there yet.
    pub fn load(
        &mut self,
        driver: &mut dyn DeviceDriver,
        problem: &Problem,
        input: &Input,
        n: u64,
    ) -> Result<(), Failure> {
        let element = problem.element_bytes();
        // A size that overflows is refused like any other that is too large.
        let bytes = n.saturating_mul(element);
        if self.large.as_ref().is_none_or(|large| large.bytes < bytes) {
            // The old ones go first: both together may not fit.
            self.cold = None;
            self.large = None;
            let [input, reference] = [driver.buffer("input", bytes)?, driver.buffer("reference", bytes)?];
            self.large = Some(LoadedArrays { bytes, input, reference, sums: None, loaded: None });
        }
        let guarded = bytes.saturating_add(GUARD_BYTES);
        if self.output.as_ref().is_none_or(|output| output.bytes < guarded) {
            self.output = None;
            self.output = Some(driver.buffer("output", guarded)?);
        }
        let Some(large) = &mut self.large else { unreachable!("it was just made") };
        let before = large.loaded.take();
        let same = before.filter(|before| (before.problem, before.input) == (*problem, *input));
        if same.is_none() {
            // Its inputs are copies of another one.
            self.cold = None;
        }
        let (start, mut reference) =
            same.map_or_else(|| (0, Reference::new(*problem)), |same| (same.n, same.reference));
        let chunk = CHUNK as u64 * WORD_BYTES / element;
        let (mut elements, mut scan) = (vec![0; CHUNK], vec![0; CHUNK]);
        for first in (start..n).step_by(chunk as usize) {
            let words = ((n - first).min(chunk) * element / WORD_BYTES) as usize;
            input.fill(problem, first, &mut elements[..words]);
            scan[..words].copy_from_slice(&elements[..words]);
            reference.scan(&mut scan[..words]);
            driver.write(&large.input, first * element, &elements[..words])?;
            driver.write(&large.reference, first * element, &scan[..words])?;
            // What is on its way takes memory of the host.
            driver.run(&DeviceWork::default())?;
        }
        large.loaded = Some(ArrayContent { problem: *problem, input: *input, n, reference });
        Ok(())
    }

    /// Sees to room for so many bytes of sums of the input, twice.
    pub fn reserve_sums(&mut self, driver: &mut dyn DeviceDriver, bytes: u64) -> Result<(), Failure> {
        let Some(large) = &mut self.large else { return Ok(()) };
        let bytes = bytes + GUARD_BYTES;
        if large.sums.as_ref().is_none_or(|[sums, _]| sums.bytes < bytes) {
            large.sums = None;
            large.sums = Some([driver.buffer("sums", bytes)?, driver.buffer("sums now", bytes)?]);
        }
        Ok(())
    }

    /// The input, its sums as it was loaded, and the place of its sums as it is.
    pub fn watched(&self, other: bool) -> Result<[ByteRange; 3], Failure> {
        let missing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let large = self.large_or_other(other).ok_or_else(missing)?;
        let [before, now] = large.sums.as_ref().ok_or_else(missing)?;
        Ok([&large.input, before, now].map(HeldBuffer::whole))
    }

    /// What a binding of a plan names.
    pub fn resolve(&self, binding: Binding, plan: &Plan) -> Result<ByteRange, Failure> {
        self.resolve_on(false, binding, plan)
    }

    /// The same, where this input is meant.
    fn resolve_on(&self, other: bool, binding: Binding, plan: &Plan) -> Result<ByteRange, Failure> {
        let missing = |what| Failure::new(Status::RuntimeError, format!("the plan needs {what}"));
        let large = || self.large_or_other(other).ok_or_else(|| missing("an input, and none is loaded"));
        let output = || self.output.as_ref().ok_or_else(|| missing("an output, and has none"));
        Ok(match (binding, plan.result) {
            // The sums of a read are expected nowhere: their complements are poison enough.
            (Binding::Input, _) | (Binding::Expected, Expected::Copy | Expected::Sums { .. }) => {
                large()?.input.whole()
            }
            (Binding::Expected, Expected::Total) => {
                let totals = self.totals.as_ref().ok_or_else(|| missing("a total that was copied"))?;
                totals.at(u64::from(other) * BINDING_ALIGNMENT, BINDING_ALIGNMENT)
            }
            (Binding::Reference, _) | (Binding::Expected, Expected::Scan) => large()?.reference.whole(),
            (Binding::Output, _) => output()?.whole(),
            (Binding::Report, _) => self.report(0)?,
            (Binding::Kept, _) => {
                let bytes = plan.output_words() * WORD_BYTES;
                let kept = self.kept.as_ref().filter(|kept| kept.bytes >= bytes);
                kept.ok_or_else(|| missing("an output of an earlier call, and none is kept"))?.whole()
            }
            (Binding::Counts(_), _) => {
                self.counts.as_ref().ok_or_else(|| missing("memory for counts"))?.whole()
            }
            (Binding::Scratch(offset), _) => {
                let scratch = self.scratch.as_ref().filter(|scratch| offset < scratch.bytes);
                let scratch = scratch.ok_or_else(|| missing("scratch memory that it does not declare"))?;
                scratch.at(offset, scratch.bytes - offset)
            }
            (Binding::Total | Binding::Initial(_) | Binding::Elements(_), _) => {
                let reason = format!("{}: WebGPU has no variant with such memory", plan.label);
                return Err(Failure::new(Status::Unsupported, reason));
            }
        })
    }

    /// Where what a plan must equal is the last element of a reference: has that copied to where it can be bound.
    pub fn copy_total(&self, plan: &Plan, other: bool, work: &mut DeviceWork) -> Result<(), Failure> {
        let (Expected::Total, Some(totals)) = (plan.result, &self.totals) else { return Ok(()) };
        let missing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let large = self.large_or_other(other).ok_or_else(missing)?;
        let bytes = plan.problem.element_bytes();
        let last = large.reference.at(plan.n.saturating_sub(1) * bytes, bytes);
        work.copy(last, totals.at(u64::from(other) * BINDING_ALIGNMENT, bytes));
        Ok(())
    }

    /// Sees to the place of totals that are copied.
    pub fn reserve_totals(&mut self, driver: &mut dyn DeviceDriver) -> Result<(), Failure> {
        if self.totals.is_none() {
            self.totals = Some(driver.buffer("totals", 2 * BINDING_ALIGNMENT)?);
        }
        Ok(())
    }

    /// Sees to `bytes` of scratch memory. Returns whether the memory is new.
    pub fn reserve_scratch(&mut self, driver: &mut dyn DeviceDriver, bytes: u64) -> Result<bool, Failure> {
        if self.begin.is_none() {
            let begin = driver.buffer("first turn", TICKET_BYTES)?;
            let mut words = vec![0; (TICKET_BYTES / WORD_BYTES) as usize];
            words[TURN_WORD as usize] = FIRST_TURN;
            driver.write(&begin, 0, &words)?;
            self.begin = Some(begin);
        }
        if bytes == 0 || self.scratch.as_ref().is_some_and(|scratch| scratch.bytes >= bytes) {
            return Ok(false);
        }
        let bytes = bytes.next_power_of_two().max(LEAST_SCRATCH_BYTES);
        self.scratch = None;
        self.scratch = Some(driver.buffer("scratch", bytes)?);
        Ok(true)
    }

    /// Clears the scratch memory, all of it: other plans of the format use more than one does.
    pub fn adopt(&self, work: &mut DeviceWork) {
        if let (Some(scratch), Some(begin)) = (&self.scratch, &self.begin) {
            work.steps.push(WorkStep::Clear(scratch.whole()));
            // Those that turn themselves begin anew too.
            work.copy(begin.at(0, TICKET_BYTES), scratch.at(0, TICKET_BYTES));
        }
    }

    /// Sets every word of the scratch memory from byte `offset`.
    pub fn fill_scratch(&self, driver: &mut dyn DeviceDriver, offset: u64, word: u32) -> Result<(), Failure> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        let words = vec![word; CHUNK];
        for at in (offset..scratch.bytes).step_by(CHUNK * WORD_BYTES as usize) {
            let count = ((scratch.bytes - at) / WORD_BYTES).min(CHUNK as u64);
            driver.write(scratch, at, &words[..count as usize])?;
        }
        driver.run(&DeviceWork::default()).map(drop)
    }

    /// Sees to the memory for the counts of so many tiles.
    pub fn reserve_counts(&mut self, driver: &mut dyn DeviceDriver, tiles: u64) -> Result<(), Failure> {
        let bytes = tiles * COUNTS_WORDS * WORD_BYTES;
        if self.counts.as_ref().is_none_or(|counts| counts.bytes < bytes) {
            self.counts = None;
            self.counts = Some(driver.buffer("counts", bytes)?);
        }
        Ok(())
    }

    /// The counts of the first tiles.
    pub fn counts(&self, tiles: u64) -> Option<(&HeldBuffer, ByteRange)> {
        let counts = self.counts.as_ref()?;
        Some((counts, counts.at(0, tiles * COUNTS_WORDS * WORD_BYTES)))
    }

    /// Sees to the reports of so many comparisons.
    pub fn reserve_reports(&mut self, driver: &mut dyn DeviceDriver, count: u64) -> Result<(), Failure> {
        let bytes = count.max(1) * REPORT_STRIDE;
        if self.reports.as_ref().is_none_or(|reports| reports.bytes < bytes) {
            self.reports = None;
            self.reports = Some(driver.buffer("reports", bytes)?);
        }
        Ok(())
    }

    /// Where a comparison reports.
    pub fn report(&self, place: u64) -> Result<ByteRange, Failure> {
        let missing = || Failure::new(Status::RuntimeError, "there is no memory for reports");
        Ok(self.reports.as_ref().ok_or_else(missing)?.at(place * REPORT_STRIDE, REPORT_STRIDE))
    }

    /// Makes the reports of so many comparisons ready.
    pub fn make_ready(&self, work: &mut DeviceWork, count: u64) {
        let Some(reports) = &self.reports else { return };
        let mut one = vec![0; (REPORT_STRIDE / WORD_BYTES) as usize];
        one[..NO_MISMATCH.len()].copy_from_slice(&NO_MISMATCH);
        work.write(reports, 0, one.repeat(count as usize));
    }

    /// Brings the reports of so many comparisons back: [`report_words`].
    pub fn fetch_reports(&self, work: &mut DeviceWork, count: u64) {
        if let Some(reports) = &self.reports {
            work.fetch(reports.at(0, count * REPORT_STRIDE));
        }
    }

    /// Sees to room for an output of this many bytes beside the one that plans write, and copies that there.
    pub fn keep(&mut self, driver: &mut dyn DeviceDriver, bytes: u64) -> Result<(), Failure> {
        let Some(output) = &self.output else {
            return Err(Failure::new(Status::RuntimeError, "there is no output to keep: nothing is loaded"));
        };
        if self.kept.as_ref().is_none_or(|kept| kept.bytes < bytes + GUARD_BYTES) {
            self.kept = None;
            self.kept = Some(driver.buffer("kept output", bytes + GUARD_BYTES)?);
        }
        let mut work = DeviceWork::default();
        if let Some(kept) = &self.kept {
            work.copy(output.at(0, bytes), kept.at(0, bytes));
        }
        driver.run(&work).map(drop)
    }

    /// The output that plans write.
    pub fn output(&self) -> Option<&HeldBuffer> {
        self.output.as_ref()
    }

    /// What a reference has from this byte on, or what a plan of copies must equal there.
    pub fn expected_at(
        &self,
        expected: Binding,
        plan: &Plan,
        offset: u64,
        bytes: u64,
    ) -> Result<ByteRange, Failure> {
        let ByteRange { buffer, offset: start, .. } = self.resolve(expected, plan)?;
        Ok(ByteRange { buffer, offset: start + offset, bytes })
    }

    /// Sees to the buffers that cold calls on this many bytes of input rotate over. The first pair are the ordinary
    /// input and output; the others begin as copies of them.
    pub fn reserve_cold(&mut self, driver: &mut dyn DeviceDriver, bytes: u64) -> Result<(), Failure> {
        if self.cold.as_ref().is_some_and(|cold| cold.bytes == bytes) {
            return Ok(());
        }
        // The old ones go first: both together may not fit.
        self.cold = None;
        let slots = cold_slots(bytes);
        let strides = [bytes, bytes + GUARD_BYTES].map(|bytes| bytes.next_multiple_of(BINDING_ALIGNMENT));
        let total = strides.map(|stride| stride.saturating_mul(slots - 1));
        let buffers = [driver.buffer("cold input", total[0])?, driver.buffer("cold output", total[1])?];
        self.cold = Some(ColdBuffers { bytes, slots, next: 0, strides, buffers, used_by: None });
        self.renew_inputs(driver)?;
        // The first write to memory may cost more than any other.
        let mut work = DeviceWork::default();
        work.steps.extend(self.cold.iter().map(|cold| WorkStep::Clear(cold.buffers[1].whole())));
        driver.run(&work).map(drop)
    }

    /// Makes the inputs of cold calls anew, where there are any.
    pub fn renew_inputs(&mut self, driver: &mut dyn DeviceDriver) -> Result<(), Failure> {
        let (Some(cold), Some(large)) = (&self.cold, &self.large) else { return Ok(()) };
        let mut work = DeviceWork::default();
        for other in 0..cold.slots - 1 {
            work.copy(large.input.at(0, cold.bytes), cold.buffers[0].at(other * cold.strides[0], cold.bytes));
        }
        driver.run(&work).map(drop)
    }

    /// Copies the input into the output of every slot, unless the calls of this plan go on there: who works in place
    /// finds its input in its output, and what its earlier calls have made of it.
    pub fn fill_outputs(&mut self, driver: &mut dyn DeviceDriver, plan: &Plan) -> Result<(), Failure> {
        let Self { cold: Some(cold), large: Some(large), output: Some(output), .. } = self else {
            return Ok(());
        };
        if cold.used_by.as_ref() == Some(&plan.kind) {
            return Ok(());
        }
        let mut work = DeviceWork::default();
        let input = large.input.at(0, cold.bytes);
        work.copy(input, output.at(0, cold.bytes));
        for other in 0..cold.slots - 1 {
            work.copy(input, cold.buffers[1].at(other * cold.strides[1], cold.bytes));
        }
        driver.run(&work)?;
        cold.used_by = Some(plan.kind.clone());
        Ok(())
    }

    /// The calls of somebody else begin.
    pub fn renew_outputs(&mut self) {
        if let Some(cold) = &mut self.cold {
            cold.used_by = None;
        }
    }

    /// The slot of the next cold call.
    pub fn next_slot(&self) -> u64 {
        self.cold.as_ref().map_or(0, |cold| cold.next)
    }

    /// So many cold calls are recorded.
    pub fn use_slots(&mut self, calls: u64) {
        if let Some(cold) = &mut self.cold {
            cold.next = (cold.next + calls) % cold.slots;
        }
    }

    /// Input and output of a slot, modulo the number of slots. Slot 0 is the ordinary pair, which needs no others.
    pub fn slot(&self, slot: u64) -> Result<[ByteRange; 2], Failure> {
        let missing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let (large, output) = (self.large.as_ref().ok_or_else(missing)?, self.output.as_ref());
        let ordinary = [large.input.whole(), output.ok_or_else(missing)?.whole()];
        let Some(cold) = self.cold.as_ref().filter(|cold| !slot.is_multiple_of(cold.slots)) else {
            return Ok(ordinary);
        };
        let other = slot % cold.slots - 1;
        Ok([0, 1].map(|of| cold.buffers[of].at(other * cold.strides[of], cold.strides[of])))
    }

    /// The input of the first call and of every second one behind it, or that of the others where inputs alternate;
    /// and what the output of such a call must equal.
    pub fn input_and_expected(&self, plan: &Plan, other: bool) -> Result<[ByteRange; 2], Failure> {
        let loaded = self.large_or_other(other).and_then(|large| large.loaded);
        if loaded.is_none_or(|loaded| plan.n > loaded.n) {
            return Err(Failure::new(Status::RuntimeError, "the plan needs an input, and none is loaded"));
        }
        Ok([self.resolve_on(other, Binding::Input, plan)?, self.resolve_on(other, Binding::Expected, plan)?])
    }
}

/// The report of one comparison among those that were fetched.
pub(super) fn report_words(fetched: &[u32], place: u64) -> [u32; REPORT_WORDS as usize] {
    let first = (place * REPORT_STRIDE / WORD_BYTES) as usize;
    std::array::from_fn(|word| fetched[first + word])
}

/// The same of a comparison of outputs.
pub(super) fn report_at(fetched: &[u32], place: u64) -> ComparisonReport {
    ComparisonReport::of_words(&report_words(fetched, place))
}

/// What a binding shows of a range: whole vectors, no more than the device allows.
pub(super) fn shown(range: ByteRange, most: u64) -> ByteRange {
    ByteRange { bytes: range.bytes.min(most) / VECTOR_BYTES * VECTOR_BYTES, ..range }
}
