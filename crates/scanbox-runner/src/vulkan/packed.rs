//! Kernels of packs, recorded through the library that programs have.

use std::sync::Arc;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::GUARD_WORD;
use scanbox_kernels::ledger::Turn;
use scanbox_kernels::plan::{GUARD_WORDS, Plan};
use scanbox_model::record::Status;
use scanbox_pack::{ArgumentKind, CallUse, Promises};
use scanbox_vk::{Access, Bound, CallLength, DeviceRange, HandOverError, Scan, ScanCall};

use super::buffer::{Buffer, WORD_BYTES};
use super::commands::Recorder;
use super::device::Gpu;
use super::library::{ALIGNMENT, bound, refused, scanner};
use super::memory::{GUARD_BYTES, INITIAL_OFFSET, Memory, N_OFFSET};
use super::timing::{VulkanSession, fetch_report};
use super::varied::{elsewhere, tell_of_none};
use crate::backend::{Failure, PackedKernel};
use crate::comparison_report::NO_MISMATCH;

/// Memory with a guard behind it, of as many bytes as ranges begin at multiples of.
struct Guarded {
    memory: Buffer,
    /// Where what is used of it begins.
    offset: u64,
    range: DeviceRange,
}

impl Guarded {
    fn new(gpu: &Arc<Gpu>, name: &str, bytes: u64) -> Result<Self, Failure> {
        let memory = Buffer::new(gpu, name, bytes + 2 * ALIGNMENT, MemoryLocation::GpuOnly)?;
        let address = memory.address().next_multiple_of(ALIGNMENT);
        Ok(Self { offset: address - memory.address(), range: DeviceRange { address, bytes }, memory })
    }
}

/// How many elements the call has that comes before the one that is compared: as many as there may be where calls may
/// have different numbers, so that it leaves something behind wherever the other one looks.
fn n_before(kernel: &PackedKernel, n: u64) -> u64 {
    let PackedKernel { pack, call_use, max_n, .. } = kernel;
    let is_told = call_use.arguments == ArgumentKind::Pushed || call_use.n_on_device;
    let other = if n < *max_n { *max_n } else { n.div_ceil(2) };
    let takes = pack.data().recipes.first().is_some_and(|packed| packed.recipe.takes(other));
    if is_told && takes { other } else { n }
}

/// How many elements a call has.
fn length(memory: &Memory, call_use: CallUse, n: u64) -> CallLength {
    if call_use.n_on_device && call_use.arguments == ArgumentKind::Pushed {
        CallLength::Device { address: memory.lines().address() + N_OFFSET }
    } else {
        CallLength::Host(n)
    }
}

/// Whether the device says of a call of so many elements that it has more than there may be. Where calls may have
/// different numbers, it says so of the one before, too.
fn is_beyond(kernel: &PackedKernel, n: u64, is_compared: bool) -> bool {
    kernel.call_use.n_on_device && n == kernel.max_n && (kernel.is_beyond || !is_compared)
}

/// Records one call. `beyond`: the word among the lines, by its memory and its place there, that the device writes, if
/// the call has a line and is to find a number in it that is too large.
///
/// # Safety
/// The command buffer is recording on the device of the scan; the memory of the call lives until what was recorded has
/// come to its end, and barriers stand around it.
unsafe fn record_call(
    recorder: &mut Recorder<'_>,
    scan: &Scan,
    bound: Option<&Bound>,
    call: &ScanCall,
    beyond: Option<(&Buffer, u64)>,
) -> Result<(), HandOverError> {
    let Some(bound) = bound else {
        // SAFETY: the caller's.
        return unsafe { scan.cmd_scan(recorder.raw(), call) };
    };
    if scan.line_needs().bytes > 0 {
        let n = match (beyond, bound.length_address()) {
            (Some(_), Some(address)) => CallLength::Device { address },
            _ => call.n,
        };
        // SAFETY: the caller's; only lines are told.
        unsafe { bound.cmd_set(recorder.raw(), &ScanCall { n, ..*call }) }?;
        if let Some((lines, word)) = beyond {
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
            recorder.update(lines, word, &[u32::MAX]);
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        }
    }
    // SAFETY: the caller's.
    unsafe { bound.cmd_scan(recorder.raw()) };
    Ok(())
}

impl VulkanSession {
    /// See [`crate::backend::Backend::verify_packed`]. The call that is compared comes behind another one, of other
    /// elements and where it may be of another number of them, which leaves its states in the scratch memory.
    pub fn verify_packed(
        &mut self,
        plan: &Plan,
        begin: [u64; 2],
        kernel: &PackedKernel,
    ) -> Result<u64, Failure> {
        let scan = self.scan_of(kernel)?;
        let call_use = kernel.call_use;
        let element_bytes = plan.problem.element_bytes();
        let bytes = plan.n * element_bytes;
        let offsets = begin.map(|element| GUARD_BYTES + element * element_bytes);
        let n_before = n_before(kernel, plan.n);
        // Where only the device knows how many elements there are, there is room for the most.
        let room = if call_use.n_on_device { kernel.max_n } else { plan.n.max(n_before) };
        let room_bytes = room * element_bytes;
        self.memory.reserve_elsewhere(offsets[0].max(offsets[1]) + room_bytes + GUARD_BYTES)?;
        self.memory.reserve_total()?;
        let [source, target] = elsewhere(&self.memory, offsets)?.map(|place| place.address());
        let scratch = Guarded::new(&self.gpu, "scratch of a pack", scan.scratch().bytes)?;
        let lines = Guarded::new(&self.gpu, "lines of a pack", scan.line_needs().bytes)?;
        let mut guards = Buffer::new(&self.gpu, "guards of a pack", 2 * ALIGNMENT, MemoryLocation::GpuToCpu)?;
        let outputs = plan.problem.outputs(room) * element_bytes;
        let output = DeviceRange { address: target, bytes: outputs };
        let input = if plan.in_place() { output } else { DeviceRange { address: source, bytes: room_bytes } };
        let call = ScanCall {
            input,
            output,
            scratch: scratch.range,
            n: length(&self.memory, call_use, plan.n),
            init: call_use.init_in_memory.then_some(self.memory.lines().address() + INITIAL_OFFSET),
            total: self.memory.total().filter(|_| call_use.total).map(Buffer::address),
        };
        let bound = bound(&scan, &call, call_use.arguments, &lines.memory)?;
        let mut checks = self.checks(plan, false, target)?;

        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        let init = plan.problem.first_words().unwrap_or_default();
        recorder.update(memory.lines(), INITIAL_OFFSET, &init);
        for guarded in [&scratch, &lines] {
            recorder.fill(&guarded.memory, 0, GUARD_WORD);
        }
        for (n, is_compared) in [(n_before, false), (plan.n, true)] {
            // What is around the arrays; and all elements of the call before.
            for buffer in memory.elsewhere().into_iter().flatten().chain(memory.total()) {
                recorder.fill(buffer, 0, GUARD_WORD);
            }
            let is_beyond = is_beyond(kernel, n, is_compared);
            let told = if is_beyond { u32::MAX } else { u32::try_from(n).unwrap_or(u32::MAX) };
            recorder.update(memory.lines(), N_OFFSET, &[told]);
            recorder.barrier(Access::TRANSFER, Access::TRANSFER);
            tell_of_none(&mut recorder, memory, &plan.problem);
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
            let prepared = if is_compared {
                checks.iter_mut().for_each(|check| check.poison.record(&mut recorder, &Turn::NONE));
                recorder.barrier(Access::COMPUTE, Access::TRANSFER);
                let [from, _] = memory.input_and_expected(plan, false)?;
                let to = elsewhere(memory, offsets)?[usize::from(plan.in_place())];
                if bytes > 0 {
                    recorder.copy((from.buffer, from.offset), (to.buffer, to.offset), bytes);
                }
                recorder.barrier(Access::TRANSFER, Access::COMPUTE);
                Ok(())
            } else {
                // SAFETY: the command buffer is recording on the device of the scan, the memory lives until the
                // submission has come to its end, and barriers stand around.
                unsafe { scan.cmd_prepare(recorder.raw(), scratch.range) }
            };
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            let call = ScanCall { n: length(memory, call_use, n), ..call };
            let word = bound.as_ref().filter(|_| is_beyond).and_then(Bound::length_address);
            let word = word.map(|word| (&lines.memory, word - lines.memory.address()));
            let recorded = prepared.and_then(|()| {
                // SAFETY: as above.
                unsafe { record_call(&mut recorder, &scan, bound.as_ref(), &call, word) }
            });
            recorded.map_err(refused)?;
            recorder.forget_bound();
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            // What comes behind it fills, too.
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        }
        checks.iter_mut().for_each(|check| check.compare.record(&mut recorder, &Turn::NONE));
        for (place, guarded) in (0..).zip([&scratch, &lines]) {
            let behind = guarded.offset + guarded.range.bytes;
            recorder.copy((&guarded.memory, behind), (&guards, place * ALIGNMENT), ALIGNMENT);
        }
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        if let Err(failure) = commands.wait(*limit) {
            // It may run still.
            std::mem::forget((scan, bound, scratch, lines, guards));
            return Err(failure);
        }
        let [wrong, first, ..] = self.memory.read_back();
        if wrong > 0 {
            let reason = format!(
                "{wrong} wrong words of a call of {} elements behind one of {n_before}; the first of the output, its total or \
                 a guard is word {first}",
                plan.n
            );
            return Err(Failure::new(Status::WrongResult, reason));
        }
        let words = guards.words();
        if let Some(word) = words.iter().position(|word| *word != GUARD_WORD) {
            let whose = if (word as u64) < ALIGNMENT / WORD_BYTES { "scratch memory" } else { "lines" };
            let reason = format!("a call of {} elements writes behind its {whose}", plan.n);
            return Err(Failure::new(Status::WrongResult, reason));
        }
        Ok(plan.outputs() + GUARD_WORDS)
    }

    /// The scan of a kernel, as a program makes it.
    fn scan_of(&self, kernel: &PackedKernel) -> Result<Scan, Failure> {
        let scanner = scanner(&self.gpu, Arc::clone(&kernel.pack), Promises::ALL)?;
        scanner.scan(&kernel.scan, kernel.max_n, kernel.call_use).map_err(|error| match error {
            // What is tried has its use in its name, and the pack has nothing else: many have the same reason.
            HandOverError::NoKernel { why, .. } => Failure::new(Status::Unsupported, why.join("; ")),
            other => refused(other),
        })
    }
}
