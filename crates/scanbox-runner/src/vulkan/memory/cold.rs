//! The buffers of cold calls.

use std::sync::Arc;
use std::time::Duration;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::plan::PlanKind;

use super::super::buffer::Buffer;
use super::super::device::Gpu;
use super::GUARD_BYTES;
use super::upload::Slot;
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
