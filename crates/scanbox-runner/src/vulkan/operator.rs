//! Input and reference of a user's operator, which the device makes: the CPU does not know it.

use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::{OPERATOR_CHECKS, operator_load};
use scanbox_kernels::input::Input;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::user_operator::UserOperator;

use super::commands::Access;
use super::memory::Buffer;
use super::timing::{NO_MISMATCH, Session, fetch_report};
use crate::backend::Failure;
use crate::ledger::Turn;

const WORD_BYTES: u64 = 4;

impl Session {
    /// Fills input and reference memory with the first `n` elements of the input of a user's operator and their answer, and sees
    /// on the device that it is the answer. All of them anew: they take less time than anything that follows.
    ///
    /// # Errors
    /// When the memory does not fit; with the status `wrong_result`, when the operator is not what its file says.
    pub(super) fn load_by_operator(
        &mut self,
        problem: &Problem,
        user: &UserOperator,
        input: &Input,
        n: u64,
    ) -> Result<(), Failure> {
        if self.memory.holds(problem, input, n) {
            return Ok(());
        }
        self.memory.reserve(problem, n)?;
        self.memory.forget();
        let mut load = self.helper(&operator_load(problem, user, input, n, &self.gpu.profile))?;
        let Self { commands, memory, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        load.record(&mut recorder, &Turn::NONE);
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(self.limit)?;
        let [failed, first, ..] = memory.read_back();
        if let Some((_, meaning)) = OPERATOR_CHECKS.iter().find(|(check, _)| failed & check != 0) {
            let reason = format!(
                "operator {} of input {input}: {meaning} element {first}, or somewhere behind it",
                user.name
            );
            return Err(Failure::new(Status::WrongResult, reason));
        }
        memory.made(problem, input, n);
        Ok(())
    }

    /// The first words of input and reference.
    pub(super) fn loaded_words(&mut self, words: usize) -> Result<[Vec<u32>; 2], Failure> {
        let Self { gpu, commands, memory, .. } = self;
        let nothing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let bytes = words as u64 * WORD_BYTES;
        let [input, reference] = memory.input_and_reference().ok_or_else(nothing)?;
        let mut copies = Buffer::new(gpu, "copies", 2 * bytes, MemoryLocation::GpuToCpu)?;
        let mut recorder = commands.begin()?;
        recorder.copy((input, 0), (&copies, 0), bytes);
        recorder.copy((reference, 0), (&copies, bytes), bytes);
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(self.limit)?;
        let all = copies.words();
        Ok([all[..words].to_vec(), all[words..2 * words].to_vec()])
    }
}
