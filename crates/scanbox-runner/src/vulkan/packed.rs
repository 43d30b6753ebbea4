//! Kernels of packs, recorded through the library that programs have.

use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::GUARD_WORD;
use scanbox_kernels::ledger::Turn;
use scanbox_kernels::plan::{GUARD_WORDS, Plan};
use scanbox_model::record::Status;
use scanbox_pack::{ArgumentKind, Promises};
use scanbox_vk::{
    Access, Bound, CallLength, DeviceRange, HandOverError, LineBuffer, Scan, ScanCall, Scanner, ScannerInfo,
};

use super::buffer::Buffer;
use super::memory::{GUARD_BYTES, INITIAL_OFFSET, N_OFFSET};
use super::timing::{NO_MISMATCH, VulkanSession, fetch_report};
use super::varied::{elsewhere, tell_of_none};
use crate::backend::{Failure, PackedKernel};

/// What ranges of scratch memory and lines begin at multiples of.
const ALIGNMENT: u64 = 256;

impl VulkanSession {
    /// See [`crate::backend::Backend::verify_packed`].
    pub fn verify_packed(
        &mut self,
        plan: &Plan,
        begin: [u64; 2],
        kernel: &PackedKernel,
    ) -> Result<u64, Failure> {
        let scan = self.scan_of(kernel)?;
        let element_bytes = plan.problem.element_bytes();
        let bytes = plan.n * element_bytes;
        let offsets = begin.map(|element| GUARD_BYTES + element * element_bytes);
        // Where only the device knows how many elements there are, there is room for the most.
        let room = if kernel.call_use.n_on_device { kernel.max_n } else { plan.n };
        let room_bytes = room * element_bytes;
        self.memory.reserve_elsewhere(offsets[0].max(offsets[1]) + room_bytes + GUARD_BYTES)?;
        self.memory.reserve_total()?;
        let [source, target] = elsewhere(&self.memory, offsets)?.map(|place| place.address());
        let new = |name, bytes: u64| Buffer::new(&self.gpu, name, bytes + ALIGNMENT, MemoryLocation::GpuOnly);
        let scratch_memory = new("scratch of a pack", scan.scratch().bytes)?;
        let line_memory = new("lines of a pack", scan.line_needs().bytes)?;
        let scratch = DeviceRange {
            address: scratch_memory.address().next_multiple_of(ALIGNMENT),
            bytes: scan.scratch().bytes,
        };
        let outputs = plan.problem.outputs(room) * element_bytes;
        let output = DeviceRange { address: target, bytes: outputs };
        let input = if plan.in_place() { output } else { DeviceRange { address: source, bytes: room_bytes } };
        let lines = self.memory.lines().address();
        let call_use = kernel.call_use;
        let in_memory = call_use.n_on_device && call_use.arguments == ArgumentKind::Pushed;
        let call = ScanCall {
            input,
            output,
            scratch,
            n: match in_memory {
                true => CallLength::Device { address: lines + N_OFFSET },
                false => CallLength::Host(plan.n),
            },
            init: call_use.init_in_memory.then_some(lines + INITIAL_OFFSET),
            total: self.memory.total().filter(|_| call_use.total).map(Buffer::address),
        };
        let bound = bound(&scan, &call, call_use.arguments, &line_memory)?;
        let mut checks = self.checks(plan, false, target)?;

        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        let filled = memory.elsewhere().into_iter().flatten().chain(memory.total());
        for buffer in filled.chain([&scratch_memory, &line_memory]) {
            recorder.fill(buffer, 0, GUARD_WORD);
        }
        recorder.barrier(Access::TRANSFER, Access::TRANSFER);
        tell_of_none(&mut recorder, memory, &plan.problem);
        let bits = plan.problem.init().map_or(0, |init| init.bits);
        recorder.update(memory.lines(), INITIAL_OFFSET, &[bits as u32, (bits >> 32) as u32]);
        recorder.update(memory.lines(), N_OFFSET, &[u32::try_from(plan.n).unwrap_or(u32::MAX)]);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        checks.iter_mut().for_each(|check| check.poison.record(&mut recorder, &Turn::NONE));
        recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        let [from, _] = memory.input_and_expected(plan, false)?;
        let to = elsewhere(memory, offsets)?[usize::from(plan.in_place())];
        recorder.copy((from.buffer, from.offset), (to.buffer, to.offset), bytes);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        // A second call finds what the first one has left in its scratch memory.
        let calls = if plan.in_place() { 1 } else { 2 };
        let raw = recorder.raw();
        // SAFETY: the command buffer is recording on the device of the scan, the memory of the call lives until the
        // submission has come to its end, and barriers stand between its parts.
        let recorded = unsafe { scan.cmd_prepare(raw, scratch) };
        recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        let recorded = recorded.and_then(|()| {
            for _ in 0..calls {
                match &bound {
                    // SAFETY: as above; only lines are told.
                    Some(bound) => unsafe {
                        if call_use.arguments == ArgumentKind::Line {
                            bound.cmd_set(raw, &call)?;
                        }
                        bound.cmd_scan(raw);
                    },
                    // SAFETY: as above.
                    None => unsafe { scan.cmd_scan(raw, &call) }?,
                }
                recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            }
            Ok(())
        });
        recorded.map_err(refused)?;
        recorder.forget_bound();
        checks.iter_mut().for_each(|check| check.compare.record(&mut recorder, &Turn::NONE));
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        if let Err(failure) = commands.wait(*limit) {
            // It may run still.
            std::mem::forget((scan, bound, scratch_memory, line_memory));
            return Err(failure);
        }
        let [wrong, first, ..] = self.memory.read_back();
        if wrong > 0 {
            let reason = format!(
                "{wrong} wrong words of a call of {} elements; the first of the output, its total or a guard is word {first}",
                plan.n
            );
            return Err(Failure::new(Status::WrongResult, reason));
        }
        Ok(plan.outputs() + GUARD_WORDS)
    }

    /// The scan of a kernel, as a program makes it.
    fn scan_of(&self, kernel: &PackedKernel) -> Result<Scan, Failure> {
        let gpu = &self.gpu;
        let info = ScannerInfo {
            instance: gpu.instance(),
            physical: gpu.physical,
            device: &gpu.raw,
            enabled: gpu.enabled,
            pipeline_cache: vk::PipelineCache::null(),
            pack: Arc::clone(&kernel.pack),
            promises: Promises::ALL,
        };
        // SAFETY: instance and device are those of the session, which outlives the scan and has enabled what it says.
        // Whoever has a pack tried trusts its code.
        let scanner = unsafe { Scanner::new(&info) }.map_err(refused)?;
        scanner.scan(&kernel.scan, kernel.max_n, kernel.call_use).map_err(refused)
    }
}

/// The scan bound to its memory, where its arguments are not pushed.
fn bound(
    scan: &Scan,
    call: &ScanCall,
    arguments: ArgumentKind,
    memory: &Buffer,
) -> Result<Option<Bound>, Failure> {
    let address = memory.address().next_multiple_of(ALIGNMENT);
    let lines = LineBuffer {
        buffer: memory.raw(),
        offset: address - memory.address(),
        range: DeviceRange { address, bytes: scan.line_needs().bytes },
    };
    let lines = match arguments {
        ArgumentKind::Pushed => return Ok(None),
        ArgumentKind::Line => Some(lines),
        ArgumentKind::Baked => None,
    };
    // SAFETY: the memory is the caller's, and outlives what is recorded.
    unsafe { scan.bind(lines, call) }.map(Some).map_err(refused)
}

/// What the library refuses: a device that cannot run the kernel is no fault of it.
fn refused(error: HandOverError) -> Failure {
    let status = match &error {
        HandOverError::NoKernel { .. } | HandOverError::Lacks { .. } | HandOverError::TooLarge { .. } => {
            Status::Unsupported
        }
        _ => Status::RuntimeError,
    };
    Failure::new(status, error.to_string())
}
