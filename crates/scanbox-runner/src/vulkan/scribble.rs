//! What is written to the scratch memory behind the back of everybody.

use scanbox_kernels::plan::TURN_WORD;

use super::buffer::WORD_BYTES;
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
