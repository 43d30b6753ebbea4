//! What only tests need of a session: calls with something amiss, and a look at what stands in its memory and its
//! books.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::{self, GUARD_WORD};
use scanbox_kernels::plan::{Binding, N_WORD, Plan, Shader};
use scanbox_model::record::Status;
use scanbox_pack::{Recipe, Step};
use scanbox_vk::Access;
use scanbox_vk::step::{self, CallMemory};

use super::Vulkan;
use super::buffer::Buffer;
use super::buffer::WORD_BYTES;
use super::commands::Commands;
use super::memory::{ELEMENT_WORDS, GUARD_BYTES, Memory, N_OFFSET};
use super::timing::{VulkanSession, adopt, fetch_report};
use super::varied::tell_of_none;
use crate::backend::{ElementComparison, Failure};
use crate::comparison_report::NO_MISMATCH;
use scanbox_kernels::ledger::{Ledger, Turn};

/// What a line is told at each call: source, target and n.
const RECORD_BYTES: u64 = (N_WORD as u64 + 1) * WORD_BYTES;

/// What is amiss with a call that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tamper {
    /// The call does not run.
    SkipCall,
    /// A word of the output is overwritten after the call.
    Overwrite {
        /// Which; at or above the input size it is in the guard.
        index: u64,
        /// With what.
        word: u32,
    },
}

impl Vulkan {
    /// What the validation layer complained about so far; empty without it. It outlives the session: for complaints
    /// about its end.
    #[must_use]
    pub fn validation_log(&self) -> Arc<Mutex<Vec<String>>> {
        self.session.gpu.validation_log()
    }

    /// [`crate::backend::Backend::verify`] with something amiss.
    ///
    /// # Errors
    /// As there.
    pub fn verify_tampered(&mut self, plan: &Plan, tamper: Tamper) -> Result<ElementComparison, Failure> {
        self.with(|session| session.verify_tampered(plan, tamper))
    }

    /// [`crate::backend::Backend::verify`] of a call that is recorded step by step from its recipe, as programs record
    /// it: what it is told is pushed, and the host counts no calls.
    ///
    /// # Errors
    /// As there, and where the recipe takes no such call.
    pub fn verify_steps(
        &mut self,
        plan: &Plan,
        recipe: &Recipe<Shader>,
    ) -> Result<ElementComparison, Failure> {
        self.with(|session| session.verify_steps(plan, recipe))
    }

    /// The first words of input and reference.
    ///
    /// # Errors
    /// When nothing is loaded, or the device fails.
    pub fn loaded_words(&mut self, words: usize) -> Result<[Vec<u32>; 2], Failure> {
        self.with(|session| session.loaded_words(words))
    }

    /// So many words of the scratch memory, from byte `offset` on.
    ///
    /// # Errors
    /// When there is none, or the device fails.
    pub fn scratch_words(&mut self, offset: u64, words: usize) -> Result<Vec<u32>, Failure> {
        self.with(|session| session.scratch_words(offset, words))
    }

    /// Makes this the turn of the next call that the device counts.
    ///
    /// # Errors
    /// When the device fails.
    pub fn set_turn(&mut self, turn: u32) -> Result<(), Failure> {
        self.with(|session| session.set_turn(turn))
    }

    /// Records `calls` calls of a plan, the last of which is compared, once, and submits that so many times. Returns
    /// the wrong elements of all comparisons.
    ///
    /// # Errors
    /// When the plan does not run to its end.
    pub fn submit_often(&mut self, plan: &Plan, calls: u32, submissions: u32) -> Result<u64, Failure> {
        self.with(|session| session.submit_often(plan, calls, submissions))
    }

    /// Records one call of a plan whose calls find in memory how many elements they have, and submits that so many
    /// times, on the two inputs that are loaded in turn. The device finds each time how many elements: these sizes, one
    /// after the other; and where the arrays are, or in one place what the input is. Returns the wrong words of all
    /// calls, guards and totals included.
    ///
    /// # Errors
    /// When the plan does not run to its end.
    pub fn submit_varied(&mut self, plan: &Plan, sizes: &[u64], submissions: u32) -> Result<u64, Failure> {
        self.with(|session| session.submit_varied(plan, sizes, submissions))
    }

    /// Records a call of each of these plans, which share their scratch memory, on poisoned output and compared, and
    /// submits that so many times. Returns the wrong elements of all of them.
    ///
    /// # Errors
    /// When they do not run to their end.
    pub fn submit_together(&mut self, plans: &[Plan], submissions: u32) -> Result<u64, Failure> {
        self.with(|session| session.submit_together(plans, submissions))
    }

    /// The account of epochs and tickets.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.session.ledger
    }
}

impl VulkanSession {
    fn verify_tampered(&mut self, plan: &Plan, tamper: Tamper) -> Result<ElementComparison, Failure> {
        let comparison = self.verify_call(plan, |call, turn, recorder, memory| match tamper {
            Tamper::SkipCall => {}
            Tamper::Overwrite { index, word } => {
                call.record(recorder, turn);
                if let Some(output) = memory.output() {
                    recorder.barrier(Access::COMPUTE, Access::TRANSFER);
                    recorder.update(output, index * WORD_BYTES, &[word]);
                    recorder.barrier(Access::TRANSFER, Access::COMPUTE);
                }
            }
        });
        if tamper == Tamper::SkipCall {
            // The turn that was taken is for nothing: the tickets of the call stay where they are.
            self.ledger.forget();
        }
        comparison
    }

    fn verify_steps(&mut self, plan: &Plan, recipe: &Recipe<Shader>) -> Result<ElementComparison, Failure> {
        let refused = |what: &str| Failure::new(Status::Unsupported, format!("{} {what}", plan.label));
        let launch = recipe.at(plan.n).ok_or_else(|| refused("takes other sizes"))?;
        let (layout, max) = (self.pipelines.layout(), self.gpu.profile.max_workgroup_count);
        let steps: Vec<Step<'_, Shader>> = launch.fill().into_iter().chain(launch.steps()).collect();
        let pipelines = steps.iter().map(|step| self.pipelines.get(step.module()));
        let pipelines = pipelines.collect::<Result<Vec<_>, _>>()?;
        let mut fits = true;
        let comparison = self.verify_call(plan, |_, _, recorder, memory| {
            let address = |binding| memory.address(binding, plan).unwrap_or_default();
            let memory = CallMemory {
                source: address(Binding::Input),
                target: address(Binding::Output),
                scratch: memory.scratch().map_or(0, Buffer::address),
                ..CallMemory::default()
            };
            let steps = steps.iter().zip(&pipelines);
            let dispatches = steps.map(|(step, pipeline)| step::pushed(step, *pipeline, &memory, max));
            match dispatches.collect::<Option<Vec<_>>>() {
                Some(dispatches) => recorder.call(layout, dispatches, 0),
                None => fits = false,
            }
        })?;
        fits.then_some(comparison).ok_or_else(|| refused("has too many workgroups or arguments"))
    }

    fn submit_often(&mut self, plan: &Plan, calls: u32, submissions: u32) -> Result<u64, Failure> {
        let mut call = self.prepare(plan)?;
        let mut poison = self.helper(&catalog::poison(plan, &self.gpu.profile))?;
        let mut compare = self.helper(&catalog::compare(plan, 0.0, &self.gpu.profile))?;
        let turn = call.turns(1, &mut self.ledger)[0];
        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        adopt(&mut recorder, memory, &turn);
        call.tell(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(*limit)?;

        let mut recorder = commands.begin_lasting()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        for index in 0..calls {
            if index + 1 == calls {
                poison.record(&mut recorder, &Turn::NONE);
                recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            }
            call.record(&mut recorder, &turn);
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        }
        compare.record(&mut recorder, &Turn::NONE);
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        mismatches_of(submissions, commands, memory, *limit)
    }

    fn submit_varied(&mut self, plan: &Plan, sizes: &[u64], submissions: u32) -> Result<u64, Failure> {
        let of = |n| Plan { n, ..plan.clone() };
        let max_n = plan.max_n().unwrap_or(plan.n);
        let mut call = self.prepare(plan)?;
        let turn = call.turns(1, &mut self.ledger)[0];
        self.memory.reserve_total()?;
        self.memory.reserve_elsewhere(max_n * plan.problem.element_bytes() + 2 * GUARD_BYTES)?;
        let mut record = Buffer::new(&self.gpu, "record", RECORD_BYTES, MemoryLocation::CpuToGpu)?;
        let mut lasting = Commands::new(&self.gpu)?;
        let Self { commands, memory, limit, .. } = self;
        let limit = *limit;
        let (Some([_, output]), Some(total)) = (memory.elsewhere(), memory.total()) else {
            return Err(Failure::new(Status::RuntimeError, "there is no memory for the call"));
        };
        let target = output.address() + GUARD_BYTES;
        // Recordings with their addresses in them: what stands there changes.
        let is_pushed = call.lines().next().is_none();
        if is_pushed {
            call.aim(Binding::Input, elsewhere_input(memory)?.address() + GUARD_BYTES);
            call.aim(Binding::Output, target);
        }
        let mut recorder = commands.begin()?;
        adopt(&mut recorder, memory, &turn);
        recorder.fill(total, 0, GUARD_WORD);
        recorder.barrier(Access::TRANSFER, Access::TRANSFER);
        tell_of_none(&mut recorder, memory, &plan.problem);
        call.tell(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(limit)?;

        let mut mismatches = 0;
        for index in 0..submissions {
            let told = sizes[index as usize % sizes.len()];
            let other = index % 2 == 1;
            let [input, _] = self.memory.input_and_expected(&of(max_n), other)?;
            if is_pushed {
                let mut recorder = self.commands.begin()?;
                let to = (elsewhere_input(&self.memory)?, GUARD_BYTES);
                recorder.copy((input.buffer, input.offset), to, max_n * plan.problem.element_bytes());
                recorder.submit()?;
                self.commands.wait(limit)?;
            }
            let words = record.words();
            for (at, address) in [input.address(), target].into_iter().enumerate() {
                words[2 * at..2 * at + 2].copy_from_slice(&[address as u32, (address >> 32) as u32]);
            }
            words[N_WORD] = u32::try_from(told).unwrap_or(u32::MAX);
            if index > 0 {
                lasting.submit_again()?;
            } else if let (Some([_, output]), Some(total)) = (self.memory.elsewhere(), self.memory.total()) {
                let mut recorder = lasting.begin_lasting()?;
                recorder.fill(output, 0, GUARD_WORD);
                recorder.update(total, 0, &[GUARD_WORD; ELEMENT_WORDS as usize]);
                let from = if is_pushed { RECORD_BYTES - WORD_BYTES } else { 0 };
                let to = if is_pushed { N_OFFSET } else { 0 };
                recorder.copy((&record, from), (self.memory.lines(), to), RECORD_BYTES - from);
                recorder.barrier(Access::TRANSFER, Access::COMPUTE);
                call.record(&mut recorder, &turn);
                recorder.barrier(Access::COMPUTE, Access::ANYTHING);
                recorder.submit()?;
            }
            lasting.wait(limit)?;
            let mut checks = self.checks(&of(told.min(max_n)), other, target)?;
            let Self { commands, memory, .. } = self;
            let mut recorder = commands.begin()?;
            recorder.update(memory.report(), 0, &NO_MISMATCH);
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
            checks.iter_mut().for_each(|check| check.compare.record(&mut recorder, &Turn::NONE));
            fetch_report(&mut recorder, memory);
            recorder.submit()?;
            commands.wait(limit)?;
            mismatches += u64::from(memory.read_back()[0]);
        }
        Ok(mismatches)
    }

    fn submit_together(&mut self, plans: &[Plan], submissions: u32) -> Result<u64, Failure> {
        let largest = plans.iter().max_by_key(|plan| plan.n);
        largest.map_or(Ok(()), |plan| self.reserve_scratch(plan.scratch.bytes))?;
        let mut calls = Vec::new();
        for plan in plans {
            let [poison, compare] =
                [catalog::poison(plan, &self.gpu.profile), catalog::compare(plan, 0.0, &self.gpu.profile)];
            calls.push((self.prepare_beside(plan)?, self.helper(&poison)?, self.helper(&compare)?));
        }
        let turns: Vec<_> = calls.iter().map(|(call, ..)| call.turns(1, &mut self.ledger)[0]).collect();
        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        turns.first().into_iter().for_each(|turn| adopt(&mut recorder, memory, turn));
        recorder.submit()?;
        commands.wait(*limit)?;

        let mut recorder = commands.begin_lasting()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        for ((call, poison, compare), turn) in calls.iter_mut().zip(&turns) {
            poison.record(&mut recorder, &Turn::NONE);
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            call.record(&mut recorder, turn);
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            compare.record(&mut recorder, &Turn::NONE);
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        }
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        mismatches_of(submissions, commands, memory, *limit)
    }

    fn loaded_words(&mut self, words: usize) -> Result<[Vec<u32>; 2], Failure> {
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

/// The input that calls find who are told where it is once.
fn elsewhere_input(memory: &Memory) -> Result<&Buffer, Failure> {
    let missing = || Failure::new(Status::RuntimeError, "there is no other input");
    memory.elsewhere().map(|[input, _]| input).ok_or_else(missing)
}

/// What so many submissions of a recording that counts mismatches have counted; the first is under way.
fn mismatches_of(
    submissions: u32,
    commands: &mut Commands,
    memory: &mut Memory,
    limit: Duration,
) -> Result<u64, Failure> {
    commands.wait(limit)?;
    let mut mismatches = u64::from(memory.read_back()[0]);
    for _ in 1..submissions {
        commands.submit_again()?;
        commands.wait(limit)?;
        mismatches += u64::from(memory.read_back()[0]);
    }
    Ok(mismatches)
}
