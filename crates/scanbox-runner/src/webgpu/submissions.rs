//! Submissions of whole calls: verification of one, and samples of many between timestamps.

use std::collections::BTreeSet;

use scanbox_kernels::catalog;
use scanbox_kernels::input::Input;
use scanbox_kernels::ledger::{Ledger, Turn};
use scanbox_kernels::plan::{Binding, Expected, Module, Plan, ScratchContent, Shader};
use scanbox_kernels::rounding;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};

use super::call::{BoundCall, CallMeans, PipelineKeys};
use super::memory::{BoundMemory, report_at};
use super::work::{ByteRange, DeviceDriver, DeviceWork, WORD_BYTES};
use crate::backend::{ElementComparison, Failure, LookbackCounts, Mismatch, PipelineInfo, TickInterval};
use crate::comparison_report::{ComparisonReport, WrongPlace};

/// Dispatches per submission at most, where samples can be divided among several: it bounds the memory of the commands.
pub(super) const MAX_DISPATCHES: usize = 20_000;
/// Timed passes per submission at most: a set of queries has 4,096 timestamps.
const MAX_TIMED: u32 = 2_000;

/// What a session works with.
pub(super) struct WebGpuSession {
    pub driver: Box<dyn DeviceDriver>,
    pub memory: BoundMemory,
    pub pipelines: PipelineKeys,
    pub ledger: Ledger,
    /// The comparisons that were seen to find what is wrong: all that decides what one finds, with the bits of the
    /// error bound.
    pub tried_comparisons: BTreeSet<(Shader, Problem, Expected, u64)>,
}

impl WebGpuSession {
    /// A session without memory or pipelines.
    pub fn new(driver: Box<dyn DeviceDriver>) -> Self {
        Self {
            driver,
            memory: BoundMemory::default(),
            pipelines: PipelineKeys::default(),
            ledger: Ledger::default(),
            tried_comparisons: BTreeSet::new(),
        }
    }

    /// Makes the pipelines of these modules, but for those that are there.
    pub fn create_pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>> {
        let made = self.driver.pipelines(modules);
        let keep = |(module, made): (&Module, Result<_, Failure>)| {
            made.map(|key| {
                self.pipelines.insert(module.shader.clone(), key);
                PipelineInfo::default()
            })
        };
        modules.iter().zip(made).map(keep).collect()
    }

    pub fn drop_pipelines(&mut self) {
        self.pipelines.clear();
        self.driver.drop_pipelines();
    }

    /// Fills input and reference memory.
    pub fn load(
        &mut self,
        profile: &DeviceProfile,
        problem: &Problem,
        input: &Input,
        n: u64,
    ) -> Result<(), Failure> {
        if self.memory.holds(problem, input, n) {
            return Ok(());
        }
        if let Some(user) = problem.user() {
            let reason = format!("operator {}: its file is GLSL, which WebGPU does not take", user.name);
            return Err(Failure::new(Status::Unsupported, reason));
        }
        self.memory.load(&mut *self.driver, problem, input, n)?;
        self.sum_input(profile)
    }

    /// Poisons the output, runs `plan` once and compares every element.
    pub fn verify(&mut self, profile: &DeviceProfile, plan: &Plan) -> Result<ElementComparison, Failure> {
        let call = self.prepare(profile, plan)?;
        let error_bound = self.error_bound(plan);
        self.try_comparison(profile, plan, error_bound)?;
        let mut watch = self.watch(profile, plan, false)?;
        let reports = 1 + watch.reports();
        self.memory.reserve_reports(&mut *self.driver, reports)?;
        let poison = self.helper(profile, &catalog::poison(plan, profile))?;
        let compare = self.helper(profile, &catalog::compare(plan, error_bound, profile))?;
        let turn = call.turns(1, &mut self.ledger)[0];

        let memory = &self.memory;
        let mut work = DeviceWork::default();
        memory.make_ready(&mut work, reports);
        let counts = plan.counted_tiles().and_then(|tiles| memory.counts(tiles));
        if let Some((buffer, range)) = counts {
            // Who writes nothing is found out.
            work.write(buffer, 0, vec![u32::MAX; (range.bytes / WORD_BYTES) as usize]);
        }
        memory.copy_total(plan, false, &mut work)?;
        if turn.adopt {
            memory.adopt(&mut work);
        }
        work.dispatch(poison.at(&Turn::NONE));
        if plan.in_place() {
            // What is not written then holds its input. The guard is poisoned all the same.
            let [input, output] = memory.slot(0)?;
            let bytes = plan.n * plan.problem.element_bytes();
            work.copy(ByteRange { bytes, ..input }, ByteRange { bytes, ..output });
        }
        work.timed(call.at(&turn).collect());
        work.dispatch(compare.at(&Turn::NONE));
        watch.record(memory, &mut work, 1)?;
        memory.fetch_reports(&mut work, reports);
        if let Some((_, range)) = counts {
            work.fetch(range);
        }
        let done = self.driver.run(&work)?;
        self.judge_input(profile, &watch, &done.fetched[0], 1)?;
        let counts = done.fetched.get(1).map(|words| LookbackCounts::of_words(words)).transpose()?;
        let call = done.spans.first().copied().unwrap_or_default();
        let report = report_at(&done.fetched[0], 0);
        let comparison = self.read_report(plan, Binding::Expected, report)?;
        let error = report.rounding(plan, error_bound);
        Ok(ElementComparison { error, call, counts, ..comparison })
    }

    /// What counts as right on the input that is loaded.
    pub fn error_bound(&self, plan: &Plan) -> f64 {
        rounding::bound_on(plan, self.memory.input_of(&plan.problem))
    }

    /// Keeps the output of the last call, which was one of `plan`.
    pub fn keep(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.memory.keep(&mut *self.driver, plan.output_words() * WORD_BYTES)
    }

    /// Compares the bits of the output of the last call, which was one of `plan`, with those that were kept.
    pub fn compare_with_kept(
        &mut self,
        profile: &DeviceProfile,
        plan: &Plan,
    ) -> Result<ElementComparison, Failure> {
        self.memory.reserve_reports(&mut *self.driver, 1)?;
        let compare = self.helper(profile, &catalog::compare_with_kept(plan, profile))?;
        let mut work = DeviceWork::default();
        self.memory.make_ready(&mut work, 1);
        work.dispatch(compare.at(&Turn::NONE));
        self.memory.fetch_reports(&mut work, 1);
        let done = self.driver.run(&work)?;
        self.read_report(plan, Binding::Kept, report_at(&done.fetched[0], 0))
    }

    /// What a comparison with `expected` has reported. After a mismatch nobody knows which tickets were taken and what
    /// stands in the scratch memory.
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
        profile: &DeviceProfile,
        plan: &Plan,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure> {
        let mut call = self.prepare(profile, plan)?;
        if cache == Cache::Cold {
            self.reserve_cold(plan)?;
        }
        let per_sample = (call.dispatches() * calls as usize).max(1);
        let fitting = u32::try_from(MAX_DISPATCHES / per_sample).unwrap_or(u32::MAX);
        let per_submission = if self.driver.has_timestamps() { fitting.clamp(1, MAX_TIMED) } else { 1 };
        let mut intervals = Vec::with_capacity(samples as usize);
        let mut left = samples;
        while left > 0 {
            let now = left.min(per_submission);
            intervals.extend(self.time_once(&mut call, cache, calls, now)?);
            left -= now;
        }
        Ok(intervals)
    }

    /// Takes samples in one submission, each of them one compute pass.
    fn time_once(
        &mut self,
        call: &mut BoundCall,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure> {
        let Self { driver, memory, ledger, .. } = self;
        let mut work = DeviceWork::default();
        for _ in 0..samples {
            let turns = call.turns(calls, ledger);
            if turns.first().is_some_and(|turn| turn.adopt) {
                memory.adopt(&mut work);
            }
            let mut dispatches = Vec::with_capacity(call.dispatches() * turns.len());
            for turn in &turns {
                if cache == Cache::Cold {
                    let [input, output] = memory.slot(memory.next_slot())?;
                    call.aim(Binding::Input, input);
                    call.aim(Binding::Output, output);
                    memory.use_slots(1);
                }
                dispatches.extend(call.at(turn));
            }
            work.timed(dispatches);
        }
        Ok(driver.run(&work)?.spans)
    }

    /// Sees to the buffers of cold calls; where they work in place, to what they find there.
    pub fn reserve_cold(&mut self, plan: &Plan) -> Result<(), Failure> {
        let Self { driver, memory, .. } = self;
        memory.reserve_cold(&mut **driver, plan.n * plan.problem.element_bytes())?;
        if plan.in_place() { memory.fill_outputs(&mut **driver, plan) } else { Ok(()) }
    }

    /// Sees to scratch memory of this size.
    pub fn reserve_scratch(&mut self, bytes: u64) -> Result<(), Failure> {
        if self.memory.reserve_scratch(&mut *self.driver, bytes)? {
            self.ledger.forget();
        }
        Ok(())
    }

    /// Sees to the memory of a plan and resolves it, its fill in front where every call has one.
    pub fn prepare(&mut self, profile: &DeviceProfile, plan: &Plan) -> Result<BoundCall, Failure> {
        let loaded = self.memory.loaded();
        if plan.n > loaded {
            let reason = format!("{} needs {} elements, and {loaded} are loaded", plan.label, plan.n);
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        self.reserve_scratch(plan.scratch.bytes)?;
        if let Some(tiles) = plan.counted_tiles() {
            self.memory.reserve_counts(&mut *self.driver, tiles)?;
        }
        if plan.result == Expected::Total {
            self.memory.reserve_totals(&mut *self.driver)?;
        }
        let clears = plan.scratch.content == ScratchContent::Anything;
        let fill = clears.then(|| catalog::fill(plan, profile));
        BoundCall::prepare(fill.iter().chain([plan]), plan.scratch, self.means(profile))
    }

    /// Resolves a plan that works around the calls of another one.
    pub fn helper(&self, profile: &DeviceProfile, plan: &Plan) -> Result<BoundCall, Failure> {
        BoundCall::prepare([plan], plan.scratch, self.means(profile))
    }

    fn means<'a>(&'a self, profile: &'a DeviceProfile) -> CallMeans<'a> {
        let Self { driver, memory, pipelines, .. } = self;
        CallMeans { memory, pipelines, profile, binding_bytes: driver.binding_bytes() }
    }

    /// Reads the element that belongs to a place, out of `expected`, and the one that is there.
    fn look_up(&mut self, place: WrongPlace, plan: &Plan, expected: Binding) -> Result<Mismatch, Failure> {
        let (offset, bytes) = (place.offset, place.bytes());
        let mut work = DeviceWork::default();
        work.fetch(self.memory.expected_at(Binding::Output, plan, offset, bytes)?);
        if !place.is_behind {
            work.fetch(self.memory.expected_at(expected, plan, offset, bytes)?);
        }
        let fetched = self.driver.run(&work)?.fetched;
        Ok(place.mismatch(&fetched[0], fetched.get(1).map_or(&[], Vec::as_slice)))
    }

    /// Sets every word of the scratch memory from byte `offset`.
    pub fn fill_scratch(&mut self, offset: u64, word: u32) -> Result<(), Failure> {
        self.memory.fill_scratch(&mut *self.driver, offset, word)
    }
}
