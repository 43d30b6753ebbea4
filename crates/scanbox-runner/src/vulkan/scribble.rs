//! What is written to the scratch memory, and read there, behind the back of everybody.

use gpu_allocator::MemoryLocation;
use scanbox_kernels::plan::TURN_WORD;
use scanbox_model::record::Status;
use scanbox_vk::Access;

use super::buffer::{Buffer, WORD_BYTES};
use super::timing::VulkanSession;
use crate::backend::Failure;

impl VulkanSession {
    /// Sets every word of the scratch memory from byte `offset`.
    pub fn fill_scratch(&mut self, offset: u64, word: u32) -> Result<(), Failure> {
        let Self { commands, memory, limit, .. } = self;
        let Some(scratch) = memory.scratch() else { return Ok(()) };
        let mut recorder = commands.begin()?;
        recorder.fill(scratch, offset, word);
        recorder.submit()?;
        commands.wait(*limit)
    }

    /// So many words of the scratch memory, from byte `offset` on.
    pub fn scratch_words(&mut self, offset: u64, words: usize) -> Result<Vec<u32>, Failure> {
        let Self { gpu, commands, memory, .. } = self;
        let none = || Failure::new(Status::RuntimeError, "there is no scratch memory");
        let scratch = memory.scratch().ok_or_else(none)?;
        let bytes = words as u64 * WORD_BYTES;
        let mut copy = Buffer::new(gpu, "copy", bytes, MemoryLocation::GpuToCpu)?;
        let mut recorder = commands.begin()?;
        recorder.copy((scratch, offset), (&copy, 0), bytes);
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(self.limit)?;
        Ok(copy.words()[..words].to_vec())
    }

    /// Gives the scratch memory this turn, where the device counts the calls.
    pub fn set_turn(&mut self, turn: u32) -> Result<(), Failure> {
        let Self { commands, memory, limit, .. } = self;
        let Some(scratch) = memory.scratch() else { return Ok(()) };
        let mut recorder = commands.begin()?;
        recorder.update(scratch, TURN_WORD * WORD_BYTES, &[turn]);
        recorder.submit()?;
        commands.wait(*limit)
    }
}
