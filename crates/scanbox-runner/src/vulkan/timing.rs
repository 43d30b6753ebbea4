//! Submissions of whole calls: verification of one, and samples of many between timestamps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::{self, LineUse, REPORT_WORDS};
use scanbox_kernels::input::Input;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::plan::{
    Binding, Expected, FIRST_TURN, Plan, ScratchContent, Shader, TICKET_BYTES, TURN_WORD,
};
use scanbox_kernels::rounding;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_vk::Access;

use super::asking::ProbeMemory;
use super::buffer::{Buffer, WORD_BYTES};
use super::call::Call;
use super::commands::{Commands, Recorder};
use super::device::Gpu;
use super::library::Library;
use super::line::Chain;
use super::memory::{ELEMENT_WORDS, Memory, REPORT_BYTES, is_placed};
use super::pipeline::Pipelines;
use super::timestamps::Timestamps;
use super::twin::make_ready;
use super::watch::fetch_reports;
use crate::backend::{ElementComparison, Failure, LookbackCounts, Mismatch, TickInterval};
use crate::comparison_report::{ComparisonReport, NO_MISMATCH, WrongPlace};
use scanbox_kernels::ledger::{Ledger, Turn};

/// Dispatches per submission at most, where samples can be divided among several: it bounds the memory of the command
/// buffer and the time until the fence has to answer.
pub(super) const MAX_DISPATCHES: usize = 20_000;
/// Words of one update of a buffer: what it allows (65,536 bytes).
const WORDS_PER_UPDATE: usize = 1 << 14;

/// What a session works with. Its submissions are synchronous.
pub(super) struct VulkanSession {
    pub gpu: Arc<Gpu>,
    pub memory: Memory,
    pub pipelines: Pipelines,
    pub commands: Commands,
    pub timestamps: Timestamps,
    pub ledger: Ledger,
    /// Records that follow each other in lines.
    pub records: Option<Buffer>,
    /// The pack that a run was lent, and what came of it.
    pub library: Option<Library>,
    /// The comparisons that were seen to find what is wrong: all that decides what one finds, with the bits of the
    /// error bound.
    pub tried_comparisons: BTreeSet<(Shader, Problem, Expected, u64)>,
    /// The memory of probes, once one has run.
    pub probe_memory: Option<ProbeMemory>,
    /// The operator whose laws were tried, with its file.
    pub operator: Option<OperatorFile>,
    /// How long one submission may take.
    pub limit: Duration,
}

impl VulkanSession {
    /// Fills input and reference memory for calls of up to `n` elements.
    pub fn load(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure> {
        self.load_all(problem, input, Memory::with_total(problem, n))
    }

    /// Fills it with `n` elements.
    pub(super) fn load_all(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure> {
        if self.memory.holds(problem, input, n) {
            return Ok(());
        }
        match problem.user() {
            Some(user) => self.load_by_operator(problem, &user, input, n)?,
            None => self.memory.load(problem, input, n, self.limit)?,
        }
        self.sum_input()
    }

    /// Poisons the output, runs `plan` once and compares every element.
    pub fn verify(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.verify_call(plan, |call, turn, recorder, _| call.record(recorder, turn))
    }

    /// Poisons the output, records a call of `plan` by `record`, which gets the memory too, and compares every element.
    pub(super) fn verify_call(
        &mut self,
        plan: &Plan,
        record: impl FnOnce(&mut Call, &Turn, &mut Recorder<'_>, &Memory),
    ) -> Result<ElementComparison, Failure> {
        let mut call = self.prepare(plan)?;
        let error_bound = self.error_bound(plan);
        self.try_comparison(plan, error_bound)?;
        let mut total = self.total_check(plan)?;
        let mut watch = self.watch(plan, false)?;
        let (of_total, reports) = (watch.reports(), watch.reports() + u64::from(total.is_some()));
        self.memory.reserve_reports(reports)?;
        let mut poison = self.helper(&catalog::poison(plan, &self.gpu.profile))?;
        let mut compare = self.helper(&catalog::compare(plan, error_bound, &self.gpu.profile))?;
        let turn = call.turns(1, &mut self.ledger)[0];

        let Self { commands, memory, timestamps, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.reset_queries(timestamps, 2);
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        make_ready(&mut recorder, memory, reports);
        adopt(&mut recorder, memory, &turn);
        let counted = plan.counted_tiles();
        if let Some((counts, _)) = memory.counts().filter(|_| counted.is_some()) {
            // Who writes nothing is found out.
            recorder.fill(counts, 0, u32::MAX);
        }
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        poison.record(&mut recorder, &Turn::NONE);
        if let Some(total) = &mut total {
            total.poison(&mut recorder, memory, false)?;
        }
        if let Some((input, output)) = memory.input_and_output().filter(|_| plan.in_place()) {
            // What is not written then holds its input. The guard is poisoned all the same.
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
            recorder.copy((input, memory.begin(plan)), (output, 0), plan.n * plan.problem.element_bytes());
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        }
        call.tell(&mut recorder, memory);
        recorder.timestamp(timestamps, 0);
        record(&mut call, &turn, &mut recorder, memory);
        recorder.timestamp(timestamps, 1);
        compare.record(&mut recorder, &Turn::NONE);
        if let Some(total) = &mut total {
            total.compare(&mut recorder, memory, false, of_total)?;
        }
        watch.record(&mut recorder, memory, 0);
        fetch_reports(&mut recorder, memory, reports);
        if let Some((counts, host)) = memory.counts().filter(|_| counted.is_some()) {
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
            recorder.copy((counts, 0), (host, 0), counts.bytes());
        }
        fetch_report(&mut recorder, memory);
        call.check()?;
        recorder.submit()?;
        commands.wait(self.limit)?;

        self.judge_input(&watch, 0)?;
        let Self { memory, timestamps, .. } = self;
        let counts = counted.map(|tiles| LookbackCounts::of_words(memory.read_counts(tiles))).transpose()?;
        let call = timestamps.intervals(2)?[0];
        let report = ComparisonReport::of_words(&self.memory.read_back());
        let comparison = self.read_report(plan, Binding::Expected, report)?;
        let error = report.rounding(plan, error_bound);
        let comparison = ElementComparison { error, call, counts, ..comparison };
        match &total {
            Some(total) => self.add_total(total, of_total, comparison),
            None => Ok(comparison),
        }
    }

    /// What counts as right on the input that is loaded.
    pub(super) fn error_bound(&self, plan: &Plan) -> f64 {
        rounding::bound_on(plan, self.memory.input_of(&plan.problem))
    }

    /// Keeps the output of the last call, which was one of `plan`.
    pub fn keep(&mut self, plan: &Plan) -> Result<(), Failure> {
        let bytes = plan.output_words() * WORD_BYTES;
        self.memory.reserve_kept(bytes)?;
        let Self { commands, memory, limit, .. } = self;
        let (Some(output), Some(kept)) = (memory.output(), memory.kept()) else {
            return Err(Failure::new(Status::RuntimeError, "there is no output to keep: nothing is loaded"));
        };
        let mut recorder = commands.begin()?;
        recorder.copy((output, 0), (kept, 0), bytes);
        recorder.submit()?;
        commands.wait(*limit)
    }

    /// Compares the bits of the output of the last call, which was one of `plan`, with those that were kept.
    pub fn compare_with_kept(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        let mut compare = self.helper(&catalog::compare_with_kept(plan, &self.gpu.profile))?;
        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        compare.record(&mut recorder, &Turn::NONE);
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(*limit)?;
        let report = ComparisonReport::of_words(&self.memory.read_back());
        self.read_report(plan, Binding::Kept, report)
    }

    /// What a comparison with `expected` has reported. Every comparison of a session ends here: after a mismatch nobody
    /// knows which tickets were taken and what stands in the scratch memory.
    fn read_report(
        &mut self,
        plan: &Plan,
        expected: Binding,
        report: ComparisonReport,
    ) -> Result<ElementComparison, Failure> {
        if report.mismatches > 0 {
            self.ledger.forget();
        }
        let place = report.wrong_place(plan);
        let first = place.map(|place| self.look_up(place, plan, expected)).transpose()?;
        Ok(report.comparison(plan, first))
    }

    /// Takes samples of `calls` calls each, in as few submissions as is good.
    pub fn time(
        &mut self,
        plan: &Plan,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure> {
        let mut call = self.prepare(plan)?;
        if cache == Cache::Cold {
            self.reserve_cold(plan)?;
        }
        let chain = self.chain(plan, &mut call, cache, false)?;
        let per_sample = (call.dispatches() * calls as usize).max(1);
        let per_submission = u32::try_from(MAX_DISPATCHES / per_sample).unwrap_or(u32::MAX).max(1);
        let mut intervals = Vec::with_capacity(samples as usize);
        let mut left = samples;
        while left > 0 {
            let now = left.min(per_submission);
            intervals.extend(self.time_once(plan, &mut call, chain.as_ref(), cache, calls, now)?);
            left -= now;
        }
        Ok(intervals)
    }

    /// Sees to the buffers of cold calls; where they work in place, to what they find there.
    pub(super) fn reserve_cold(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.memory.reserve_cold(plan.n * plan.problem.element_bytes(), self.limit)?;
        if plan.in_place() { self.memory.fill_outputs(plan, self.limit) } else { Ok(()) }
    }

    /// Where a call has lines: makes records of what calls work on, which follow each other in them, since nothing but
    /// the call itself may change a line within a sample. On hot memory there are two: where inputs alternate each has
    /// one of them, and otherwise they differ in nothing but their places, so that the caches hold no more than those
    /// of other kernels do, while a line that never changed would flatter.
    pub(super) fn chain(
        &mut self,
        plan: &Plan,
        call: &mut Call,
        cache: Cache,
        alternates: bool,
    ) -> Result<Option<Chain>, Failure> {
        if cache == Cache::Cold && plan.keeps_its_arrays() {
            let reason =
                format!("{} keeps its arrays, and cold calls have another input and output each", plan.label);
            return Err(Failure::new(Status::Unsupported, reason));
        }
        let lines = call.lines().count() as u64;
        if lines == 0 || plan.line_use() != LineUse::Rewritten {
            return Ok(None);
        }
        let memory = &mut self.memory;
        let slots = if cache == Cache::Hot { 2 } else { memory.slots() };
        let pair = |slot| -> Result<_, Failure> {
            let [mut input, output] = memory.slot(plan, if cache == Cache::Hot { 0 } else { slot })?;
            if alternates {
                [input, _] = memory.input_and_expected(plan, slot == 1)?;
            }
            Ok([input.address(), output.address()])
        };
        let pairs: Result<Vec<_>, Failure> = (0..slots).map(pair).collect();
        let pairs = pairs?;
        let Self { gpu, commands, records, limit, .. } = self;
        let bytes = Chain::bytes(slots, lines);
        let buffer = match records.take().filter(|records| records.bytes() >= bytes) {
            Some(records) => records,
            None => Buffer::new(gpu, "records", bytes, MemoryLocation::GpuOnly)?,
        };
        let buffer = records.insert(buffer);
        let chain = Chain::new(pairs, buffer.address());
        let mut recorder = commands.begin()?;
        for (part, words) in (0..).zip(call.records(&chain).chunks(WORDS_PER_UPDATE)) {
            recorder.update(buffer, part * WORDS_PER_UPDATE as u64 * WORD_BYTES, words);
        }
        recorder.submit()?;
        commands.wait(*limit)?;
        Ok(Some(chain))
    }

    /// Takes samples in one submission.
    fn time_once(
        &mut self,
        plan: &Plan,
        call: &mut Call,
        chain: Option<&Chain>,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure> {
        let Self { commands, memory, timestamps, ledger, limit, .. } = self;
        // Each call is told its arguments, within the time.
        let is_updated = plan.line_use() == LineUse::Updated;
        let queries = samples
            .checked_mul(2)
            .ok_or_else(|| Failure::new(Status::Unsupported, format!("{samples} samples per submission")))?;
        timestamps.reserve(queries)?;
        let mut recorder = commands.begin()?;
        recorder.reset_queries(timestamps, queries);
        if let Some(chain) = chain {
            call.enter(chain, if cache == Cache::Cold { memory.next_slot() } else { 0 });
        }
        call.tell(&mut recorder, memory);
        for sample in 0..samples {
            let turns = call.turns(calls, ledger);
            if let Some(turn) = turns.first().filter(|turn| turn.adopt) {
                recorder.barrier(Access::COMPUTE, Access::TRANSFER);
                adopt(&mut recorder, memory, turn);
                recorder.barrier(Access::TRANSFER, Access::COMPUTE);
            }
            recorder.timestamp(timestamps, 2 * sample);
            for (index, turn) in turns.iter().enumerate() {
                if index > 0 && !is_updated {
                    recorder.barrier(Access::COMPUTE, Access::COMPUTE);
                }
                if cache == Cache::Cold {
                    if chain.is_none() {
                        let [input, output] = memory.slot(plan, memory.next_slot())?;
                        call.aim(Binding::Input, input.address());
                        call.aim(Binding::Output, output.address());
                    }
                    memory.use_slots(1);
                }
                if is_updated {
                    call.forget_lines();
                    call.tell(&mut recorder, memory);
                }
                call.record(&mut recorder, turn);
            }
            recorder.timestamp(timestamps, 2 * sample + 1);
        }
        call.check()?;
        recorder.submit()?;
        commands.wait(*limit)?;
        timestamps.intervals(queries)
    }

    /// Sees to scratch memory of this size.
    pub(super) fn reserve_scratch(&mut self, bytes: u64) -> Result<(), Failure> {
        if self.memory.reserve_scratch(bytes)? {
            self.ledger.forget();
            self.pipelines.rebind(self.memory.scratch().map_or(0, Buffer::address));
        }
        Ok(())
    }

    /// Loads the inputs of a plan for its elements alone where they do not begin in what is loaded: from the last
    /// element on, where no vector may begin.
    fn load_window(&mut self, plan: &Plan) -> Result<(), Failure> {
        let most = if is_placed(&plan.problem) { plan.n } else { plan.max_n().unwrap_or(plan.n) };
        let n = most.max(plan.n);
        if !plan.problem.is_reversed() || n == 0 {
            return Ok(());
        }
        for other in [false, true] {
            let Some(input) = self.memory.without_window(&plan.problem, n, other) else { continue };
            if other {
                self.memory.swap_inputs();
            }
            let loaded = self.load(&plan.problem, &input, n);
            if other {
                self.memory.swap_inputs();
            }
            loaded?;
        }
        Ok(())
    }

    /// Sees to the memory of a plan and resolves it, its fill in front where every call has one. Calls that were
    /// prepared before may not be recorded any more.
    pub(super) fn prepare(&mut self, plan: &Plan) -> Result<Call, Failure> {
        self.pipelines.make_room();
        self.prepare_beside(plan)
    }

    /// The same, beside calls that are there already.
    pub(super) fn prepare_beside(&mut self, plan: &Plan) -> Result<Call, Failure> {
        self.load_window(plan)?;
        let loaded = self.memory.loaded();
        if plan.n > loaded {
            let reason = format!("{} needs {} elements, and {loaded} are loaded", plan.label, plan.n);
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        self.reserve_scratch(plan.scratch.bytes)?;
        if let Some(tiles) = plan.counted_tiles() {
            self.memory.reserve_counts(tiles)?;
        }
        if plan.stores_total() {
            self.memory.reserve_total()?;
        }
        if plan.is_by_library() {
            return self.prepare_by_library(plan);
        }
        let clears = plan.scratch.content == ScratchContent::Anything;
        let fill = clears.then(|| catalog::fill(plan, &self.gpu.profile));
        let plans = fill.iter().chain([plan]);
        Call::prepare(
            plans,
            plan.scratch,
            &self.memory,
            &self.pipelines,
            self.gpu.profile.max_workgroup_count,
        )
    }

    fn prepare_by_library(&mut self, plan: &Plan) -> Result<Call, Failure> {
        let missing = || {
            let reason = format!("{}: there is no pack to take it from", plan.label);
            Failure::new(Status::Unsupported, reason)
        };
        let scan = self.library.as_mut().ok_or_else(missing)?.scan_of(plan)?;
        self.reserve_scratch(scan.scratch_bytes())?;
        // What the calls of the library leave in it is nothing that the ledger knows.
        self.ledger.forget();
        let library = self.library.as_mut().ok_or_else(missing)?.prepare(scan, plan, &self.memory)?;
        Ok(Call::by_library(library, &self.pipelines))
    }

    pub(super) fn helper(&self, plan: &Plan) -> Result<Call, Failure> {
        Call::prepare(
            [plan],
            plan.scratch,
            &self.memory,
            &self.pipelines,
            self.gpu.profile.max_workgroup_count,
        )
    }

    /// Reads the element that belongs to a place, out of `expected`, and the one that is there.
    fn look_up(&mut self, wrong: WrongPlace, plan: &Plan, expected: Binding) -> Result<Mismatch, Failure> {
        let Self { commands, memory, limit, .. } = self;
        wrong.fetch(memory.expected_and_output(expected, plan)?, commands, memory, *limit)?;
        Ok(wrong.found(&memory.read_back()))
    }
}

impl WrongPlace {
    /// Copies the element that belongs here, out of the first of these buffers from its offset on, and the one that is
    /// there, out of the second, to where the host reads them.
    pub(super) fn fetch(
        &self,
        places: [(&Buffer, u64); 2],
        commands: &mut Commands,
        memory: &Memory,
        limit: Duration,
    ) -> Result<(), Failure> {
        let mut recorder = commands.begin()?;
        let places = places.into_iter().zip([REPORT_WORDS, REPORT_WORDS + ELEMENT_WORDS]);
        for ((buffer, start), place) in places.skip(usize::from(self.is_behind)) {
            let to = (memory.readback(), place * WORD_BYTES);
            recorder.copy((buffer, start + self.offset), to, self.bytes());
        }
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(limit)
    }

    /// The mismatch, of the words that were fetched.
    pub(super) fn found(&self, words: &[u32]) -> Mismatch {
        let element = |place: u64| &words[place as usize..][..(self.bytes() / WORD_BYTES) as usize];
        self.mismatch(element(REPORT_WORDS + ELEMENT_WORDS), element(REPORT_WORDS))
    }
}

/// Copies the report of a comparison to where the host reads it.
pub(super) fn fetch_report(recorder: &mut Recorder<'_>, memory: &Memory) {
    recorder.barrier(Access::COMPUTE, Access::TRANSFER);
    recorder.copy((memory.report(), 0), (memory.readback(), 0), REPORT_BYTES);
    recorder.barrier(Access::TRANSFER, Access::HOST);
}

/// Clears the scratch memory if this turn asks for it. All of it: other plans of the format use more than this one.
pub(super) fn adopt(recorder: &mut Recorder<'_>, memory: &Memory, turn: &Turn) {
    if let Some(scratch) = memory.scratch().filter(|_| turn.adopt) {
        // Those that turn themselves begin anew too.
        let mut begin = [0; (TICKET_BYTES / WORD_BYTES) as usize];
        begin[TURN_WORD as usize] = FIRST_TURN;
        recorder.update(scratch, 0, &begin);
        recorder.fill(scratch, TICKET_BYTES, 0);
    }
}
