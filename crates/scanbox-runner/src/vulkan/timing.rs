//! Submissions of whole calls: verification of one, and samples of many between timestamps.

use std::sync::Arc;
use std::time::Duration;

use scanbox_kernels::catalog::{self, GUARD_WORD};
use scanbox_kernels::plan::{Content, GUARD_WORDS, Plan};
use scanbox_model::record::{Cache, Status};

use super::call::Call;
use super::commands::{Access, Commands, Recorder};
use super::device::Gpu;
use super::memory::{Memory, REPORT_WORDS};
use super::pipeline::Pipelines;
use super::timestamps::Timestamps;
use crate::backend::{Comparison, Failure, Interval, Mismatch};
use crate::ledger::{Ledger, Turn};

/// Dispatches per submission at most, where samples can be divided among several: it bounds the memory of the command
/// buffer and the time until the fence has to answer.
const MAX_DISPATCHES: usize = 20_000;
const WORD_BYTES: u64 = 4;

/// What a test does to a call between poison and comparison.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tamper {
    /// The call runs as it is.
    Nothing,
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

/// What a session works with. Its submissions are synchronous.
pub(super) struct Session {
    pub gpu: Arc<Gpu>,
    pub memory: Memory,
    pub pipelines: Pipelines,
    pub commands: Commands,
    pub timestamps: Timestamps,
    pub ledger: Ledger,
    /// How long one submission may take.
    pub limit: Duration,
}

impl Session {
    /// Poisons the output, runs `plan` once and compares every element.
    pub fn verify(&mut self, plan: &Plan, tamper: Tamper) -> Result<Comparison, Failure> {
        let mut call = self.prepare(plan)?;
        let mut poison = self.helper(&catalog::poison(plan.n, plan.result, &self.gpu.profile))?;
        let mut compare = self.helper(&catalog::compare(plan.n, plan.result, &self.gpu.profile))?;
        let turn = call.turns(1, &mut self.ledger)[0];

        let Self { commands, memory, timestamps, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.reset_queries(timestamps, 2);
        recorder.update(memory.report(), 0, &[0, u32::MAX]);
        adopt(&mut recorder, memory, &turn);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        poison.record(&mut recorder, &Turn::NONE);
        recorder.timestamp(timestamps, 0);
        if tamper == Tamper::SkipCall {
            // The turn that was taken is for nothing: the tickets of the call stay where they are.
            self.ledger.forget();
        } else {
            call.record(&mut recorder, &turn);
        }
        recorder.timestamp(timestamps, 1);
        if let (Tamper::Overwrite { index, word }, Some(output)) = (tamper, memory.output()) {
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
            recorder.update(output, index * WORD_BYTES, &[word]);
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        }
        compare.record(&mut recorder, &Turn::NONE);
        recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        recorder.copy((memory.report(), 0), (memory.readback(), 0), REPORT_WORDS * WORD_BYTES);
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(self.limit)?;

        let [mismatches, first, ..] = memory.read_back();
        let call = timestamps.intervals(2)?[0];
        let first = match mismatches {
            0 => None,
            _ => Some(self.look_up(u64::from(first), plan)?),
        };
        Ok(Comparison { compared: plan.n + GUARD_WORDS, mismatches: u64::from(mismatches), first, call })
    }

    /// Takes samples of `calls` calls each, in as few submissions as is good.
    pub fn time(
        &mut self,
        plan: &Plan,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<Interval>, Failure> {
        let mut call = self.prepare(plan)?;
        if cache == Cache::Cold {
            self.memory.reserve_cold(plan.n, self.limit)?;
        }
        let per_sample = (call.dispatches() * calls as usize).max(1);
        let per_submission = u32::try_from(MAX_DISPATCHES / per_sample).unwrap_or(u32::MAX).max(1);
        let mut intervals = Vec::with_capacity(samples as usize);
        let mut left = samples;
        while left > 0 {
            let now = left.min(per_submission);
            intervals.extend(self.time_once(&mut call, cache, calls, now)?);
            left -= now;
        }
        Ok(intervals)
    }

    /// Takes samples in one submission.
    fn time_once(
        &mut self,
        call: &mut Call,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<Interval>, Failure> {
        let Self { commands, memory, timestamps, ledger, limit, .. } = self;
        let queries = samples
            .checked_mul(2)
            .ok_or_else(|| Failure::new(Status::Unsupported, format!("{samples} samples per submission")))?;
        timestamps.reserve(queries)?;
        let mut recorder = commands.begin()?;
        recorder.reset_queries(timestamps, queries);
        for sample in 0..samples {
            let turns = call.turns(calls, ledger);
            if let Some(turn) = turns.first().filter(|turn| turn.adopt) {
                recorder.barrier(Access::COMPUTE, Access::TRANSFER);
                adopt(&mut recorder, memory, turn);
                recorder.barrier(Access::TRANSFER, Access::COMPUTE);
            }
            recorder.timestamp(timestamps, 2 * sample);
            for (index, turn) in turns.iter().enumerate() {
                if index > 0 {
                    recorder.barrier(Access::COMPUTE, Access::COMPUTE);
                }
                if let Some((input, output)) = memory.next_slot().filter(|_| cache == Cache::Cold) {
                    call.aim(input, output);
                }
                call.record(&mut recorder, turn);
            }
            recorder.timestamp(timestamps, 2 * sample + 1);
        }
        recorder.submit()?;
        commands.wait(*limit)?;
        timestamps.intervals(queries)
    }

    /// Sees to the memory of a plan and resolves it, its fill in front where every call has one.
    fn prepare(&mut self, plan: &Plan) -> Result<Call, Failure> {
        let loaded = self.memory.loaded();
        if plan.n > loaded {
            let reason = format!("{} needs {} elements, and {loaded} are loaded", plan.label, plan.n);
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        if self.memory.reserve_scratch(plan.scratch.bytes)? {
            self.ledger.forget();
        }
        let clears = plan.scratch.content == Content::Anything;
        let fill = clears.then(|| catalog::fill(plan.scratch.bytes, &self.gpu.profile));
        let plans = fill.iter().chain([plan]);
        Call::prepare(
            plans,
            plan.scratch,
            &self.memory,
            &self.pipelines,
            self.gpu.profile.max_workgroup_count,
        )
    }

    fn helper(&self, plan: &Plan) -> Result<Call, Failure> {
        Call::prepare(
            [plan],
            plan.scratch,
            &self.memory,
            &self.pipelines,
            self.gpu.profile.max_workgroup_count,
        )
    }

    /// Reads what belongs at `index`, and what is there.
    fn look_up(&mut self, index: u64, plan: &Plan) -> Result<Mismatch, Failure> {
        let Self { commands, memory, limit, .. } = self;
        let (expected, output) = memory.expected_and_output(plan.result)?;
        let mut recorder = commands.begin()?;
        let words = [expected, output].into_iter().zip(REPORT_WORDS..);
        // Behind the last element only the output has something to say.
        for (buffer, place) in words.skip(usize::from(index >= plan.n)) {
            recorder.copy((buffer, index * WORD_BYTES), (memory.readback(), place * WORD_BYTES), WORD_BYTES);
        }
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(*limit)?;
        let [.., expected, got] = memory.read_back();
        Ok(Mismatch { index, expected: if index < plan.n { expected } else { GUARD_WORD }, got })
    }

    /// Sets every word of the scratch memory from byte `offset`.
    pub fn fill_scratch(&mut self, offset: u64, word: u32) -> Result<(), Failure> {
        let Self { commands, memory, limit, .. } = self;
        let Some(scratch) = memory.scratch() else { return Ok(()) };
        let mut recorder = commands.begin()?;
        recorder.fill(scratch, offset, word);
        recorder.submit()?;
        commands.wait(*limit)
    }
}

/// Clears the scratch memory if this turn asks for it. All of it: other plans of the format use more than this one.
fn adopt(recorder: &mut Recorder<'_>, memory: &Memory, turn: &Turn) {
    if let Some(scratch) = memory.scratch().filter(|_| turn.adopt) {
        recorder.fill(scratch, 0, 0);
    }
}
