//! The buffers of cold calls.

use std::sync::Arc;
use std::time::Duration;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::plan::{Plan, PlanKind};
use scanbox_model::record::Status;

use super::super::buffer::{Buffer, BufferOffset};
use super::super::device::Gpu;
use super::upload::Slot;
use super::{GUARD_BYTES, Memory};
use crate::backend::{Failure, cold_slots};

/// Slots of cold buffers begin where a new allocation would: on a boundary of any cache line.
const SLOT_ALIGNMENT: u64 = 256;

/// Input and output buffers beside the ordinary ones: together they exceed any cache.
pub(super) struct Cold {
    /// Of an input.
    pub bytes: u64,
    /// Pairs, the ordinary one included.
    pub slots: u64,
    /// The pair of the next call. It is not the first of each sample: a sample of small calls ends before all slots had
    /// their turn, and the next one must not find its data in the cache.
    pub next: u64,
    /// Bytes from one input to the next.
    pub stride: u64,
    /// Bytes from one output to the next: behind each stands a guard.
    pub output_stride: u64,
    pub inputs: Buffer,
    pub outputs: Buffer,
    /// The plan whose calls in place go on in the outputs.
    pub used_by: Option<PlanKind>,
}

impl Cold {
    pub fn new(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self, Failure> {
        let slots = cold_slots(bytes);
        let stride = bytes.next_multiple_of(SLOT_ALIGNMENT);
        let output_stride = (bytes + GUARD_BYTES).next_multiple_of(SLOT_ALIGNMENT);
        let new = |name, stride: u64| {
            Buffer::new(gpu, name, stride.saturating_mul(slots - 1), MemoryLocation::GpuOnly)
        };
        let inputs = new("cold input", stride)?;
        let outputs = new("cold output", output_stride)?;
        Ok(Self { bytes, slots, next: 0, stride, output_stride, inputs, outputs, used_by: None })
    }

    /// Copies the input, from this byte on, into every slot; the memory of the outputs may be new.
    pub fn fill(
        &mut self,
        input: (&Buffer, u64),
        is_new: bool,
        slot: &mut Slot,
        limit: Duration,
    ) -> Result<(), Failure> {
        slot.wait(limit)?;
        let mut recorder = slot.commands.begin()?;
        for other in 0..self.slots - 1 {
            recorder.copy(input, (&self.inputs, other * self.stride), self.bytes);
        }
        // The first write to memory may cost more than any other.
        if is_new {
            recorder.fill(&self.outputs, 0, 0);
        }
        recorder.submit()?;
        slot.pending = true;
        slot.wait(limit)
    }
}

/// What the memory has of cold calls.
impl Memory {
    /// Sees to the buffers that cold calls on this many bytes of input rotate over. The first pair are the ordinary
    /// input and output; the others begin as copies of them.
    pub fn reserve_cold(&mut self, bytes: u64, limit: Duration) -> Result<(), Failure> {
        if self.cold.as_ref().is_some_and(|cold| cold.bytes == bytes) {
            return Ok(());
        }
        // The old ones go first: both together may not fit.
        self.cold = None;
        // An input that was made on the device needed none.
        self.reserve_staging()?;
        let (Some(large), Some(slot)) = (&self.large, self.staging.first_mut()) else {
            return Err(Failure::new(Status::RuntimeError, "a cold call needs an input, and none is loaded"));
        };
        let cold = self.cold.insert(Cold::new(&self.gpu, bytes)?);
        cold.fill((&large.input, large.end_of(bytes)), true, slot, limit)
    }

    /// Makes the inputs of cold calls anew, where there are any.
    pub fn renew_inputs(&mut self, limit: Duration) -> Result<(), Failure> {
        let Self { cold: Some(cold), large: Some(large), staging, .. } = self else { return Ok(()) };
        staging
            .first_mut()
            .map_or(Ok(()), |slot| cold.fill((&large.input, large.end_of(cold.bytes)), false, slot, limit))
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

    /// How many slots cold calls rotate over.
    pub fn slots(&self) -> u64 {
        self.cold.as_ref().map_or(1, |cold| cold.slots)
    }

    /// Input and output of a plan in a slot, modulo the number of slots. Slot 0 is the ordinary pair, which needs no
    /// others.
    pub fn slot(&self, plan: &Plan, slot: u64) -> Result<[BufferOffset<'_>; 2], Failure> {
        let missing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let (input, output) = self.input_and_output().ok_or_else(missing)?;
        let offset = self.begin(plan);
        let ordinary = [BufferOffset { buffer: input, offset }, BufferOffset { buffer: output, offset: 0 }];
        let Some(cold) = self.cold.as_ref().filter(|cold| !slot.is_multiple_of(cold.slots)) else {
            return Ok(ordinary);
        };
        let other = slot % cold.slots - 1;
        Ok([(&cold.inputs, cold.stride), (&cold.outputs, cold.output_stride)]
            .map(|(buffer, stride)| BufferOffset { buffer, offset: other * stride }))
    }

    /// Copies the input into the output of every slot, unless the calls of this plan go on there: who works in place
    /// finds its input in its output, and what its earlier calls have made of it.
    pub fn fill_outputs(&mut self, plan: &Plan, limit: Duration) -> Result<(), Failure> {
        let Self { cold: Some(cold), large: Some(large), output: Some(output), staging, .. } = self else {
            return Ok(());
        };
        let Some(slot) = staging.first_mut().filter(|_| cold.used_by.as_ref() != Some(&plan.kind)) else {
            return Ok(());
        };
        slot.wait(limit)?;
        let mut recorder = slot.commands.begin()?;
        let begin = large.end_of(cold.bytes);
        recorder.copy((&large.input, begin), (output, 0), cold.bytes);
        for other in 0..cold.slots - 1 {
            recorder.copy((&large.input, begin), (&cold.outputs, other * cold.output_stride), cold.bytes);
        }
        recorder.submit()?;
        slot.pending = true;
        slot.wait(limit)?;
        cold.used_by = Some(plan.kind.clone());
        Ok(())
    }

    /// The calls of somebody else begin.
    pub fn renew_outputs(&mut self) {
        if let Some(cold) = &mut self.cold {
            cold.used_by = None;
        }
    }
}
