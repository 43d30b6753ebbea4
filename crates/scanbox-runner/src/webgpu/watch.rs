//! What every verdict rests on: an input that nobody has written to, and comparisons that find what is wrong. As on
//! Vulkan (see `vulkan/watch.rs`): sums of the input are made when it is loaded, and again behind what plans do; and a
//! comparison is given an output that is wrong everywhere before it is believed.

use scanbox_kernels::catalog;
use scanbox_kernels::ledger::Turn;
use scanbox_kernels::plan::{Binding, Expected, GUARD_WORDS, Plan};
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;

use super::call::BoundCall;
use super::memory::{BoundMemory, report_at, report_words};
use super::submissions::WebGpuSession;
use super::work::{DeviceWork, WORD_BYTES};
use crate::backend::Failure;

/// Elements that are watched beside twice as many as a call has: an index that is off is off by little.
const MARGIN: u64 = 1 << 16;

/// The inputs that a call may read, on watch.
pub(super) struct InputWatch {
    inputs: Vec<WatchedInput>,
}

struct WatchedInput {
    /// Whether it is the one that every second call has.
    other: bool,
    sums: BoundCall,
    compare: BoundCall,
    /// Elements behind each sum.
    run: u64,
}

impl InputWatch {
    /// Reports that it fills.
    pub fn reports(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Puts what shows a change behind calls; it reports from report `first` on.
    pub fn record(&mut self, memory: &BoundMemory, work: &mut DeviceWork, first: u64) -> Result<(), Failure> {
        for (watched, place) in self.inputs.iter_mut().zip(first..) {
            work.dispatch(watched.sums.at(&Turn::NONE));
            watched.compare.aim(Binding::Report, memory.report(place)?);
            work.dispatch(watched.compare.at(&Turn::NONE));
        }
        Ok(())
    }
}

impl WebGpuSession {
    /// Adds up what is loaded: what it has to be from now on.
    pub(super) fn sum_input(&mut self, profile: &DeviceProfile) -> Result<(), Failure> {
        let Some((problem, _, n)) = self.memory.loaded_input(false) else { return Ok(()) };
        let plan = catalog::sum_input(&problem, n, profile);
        self.memory.reserve_sums(&mut *self.driver, plan.output_words() * WORD_BYTES)?;
        let mut call = self.helper(profile, &plan)?;
        let [_, loaded, _] = self.memory.watched(false)?;
        call.aim(Binding::Output, loaded);
        let mut work = DeviceWork::default();
        work.dispatch(call.at(&Turn::NONE));
        self.driver.run(&work).map(drop)
    }

    /// Puts the input of a plan on watch, and where inputs alternate the other one.
    pub(super) fn watch(
        &mut self,
        profile: &DeviceProfile,
        plan: &Plan,
        alternates: bool,
    ) -> Result<InputWatch, Failure> {
        // Their bindings are resolved before they are aimed at other reports.
        self.memory.reserve_reports(&mut *self.driver, 1)?;
        let watched = |other: bool| {
            let Some((problem, _, loaded)) = self.memory.loaded_input(other) else { return Ok(None) };
            let whole = catalog::sum_input(&problem, loaded, profile);
            let Expected::Sums { run_words } = whole.result else { return Ok(None) };
            // Whole runs, whose sums are those that were made of more.
            let run = u64::from(run_words) * WORD_BYTES / problem.element_bytes();
            let n = (plan.n * 2 + MARGIN).next_multiple_of(run).min(loaded);
            let sums = catalog::sum_input(&problem, n, profile);
            let compare = catalog::compare_input_sums(&sums, profile);
            let (mut sums, mut compare) = (self.helper(profile, &sums)?, self.helper(profile, &compare)?);
            let [input, before, now] = self.memory.watched(other)?;
            sums.aim(Binding::Input, input);
            sums.aim(Binding::Output, now);
            compare.aim(Binding::Expected, before);
            compare.aim(Binding::Output, now);
            Ok(Some(WatchedInput { other, sums, compare, run }))
        };
        let others = if alternates { &[false, true][..] } else { &[false] };
        let inputs: Result<Vec<_>, Failure> = others.iter().map(|&other| watched(other)).collect();
        Ok(InputWatch { inputs: inputs?.into_iter().flatten().collect() })
    }

    /// See [`crate::backend::Backend::check_input`].
    pub(super) fn check_input(&mut self, profile: &DeviceProfile, plan: &Plan) -> Result<(), Failure> {
        let mut watch = self.watch(profile, plan, false)?;
        self.memory.reserve_reports(&mut *self.driver, watch.reports())?;
        let mut work = DeviceWork::default();
        self.memory.make_ready(&mut work, watch.reports());
        watch.record(&self.memory, &mut work, 0)?;
        self.memory.fetch_reports(&mut work, watch.reports());
        let done = self.driver.run(&work)?;
        done.fetched.first().map_or(Ok(()), |reports| self.judge_input(profile, &watch, reports, 0))
    }

    /// What a watch has reported, whose reports begin with `first`.
    ///
    /// # Errors
    /// `wrong_result`, where an input was written to. It is loaded again.
    pub(super) fn judge_input(
        &mut self,
        profile: &DeviceProfile,
        watch: &InputWatch,
        reports: &[u32],
        first: u64,
    ) -> Result<(), Failure> {
        let mut reason = None;
        for (watched, place) in watch.inputs.iter().zip(first..) {
            let [changed, run, _] = report_words(reports, place);
            if changed == 0 {
                continue;
            }
            let begin = u64::from(run) * watched.run;
            let (from, to) = (begin, begin + watched.run - 1);
            reason.get_or_insert_with(|| format!("it writes to its input, first in elements {from} to {to}"));
            self.reload(profile, watched.other)?;
        }
        reason.map_or(Ok(()), |reason| Err(Failure::new(Status::WrongResult, reason)))
    }

    /// Loads what is loaded once more.
    fn reload(&mut self, profile: &DeviceProfile, other: bool) -> Result<(), Failure> {
        let Some((problem, input, n)) = self.memory.loaded_input(other) else { return Ok(()) };
        if other {
            self.memory.swap_inputs();
        }
        self.memory.forget();
        let loaded = self.load(profile, &problem, &input, n);
        if other {
            self.memory.swap_inputs();
        }
        loaded
    }

    /// Sees that the comparison of outputs of this plan finds what is wrong, unless it was seen before: on an output
    /// of which every element is wrong, and a word behind it.
    ///
    /// # Errors
    /// `runtime_error`, where it finds less than that.
    pub(super) fn try_comparison(
        &mut self,
        profile: &DeviceProfile,
        plan: &Plan,
        error_bound: f64,
    ) -> Result<(), Failure> {
        let compare = catalog::compare(plan, error_bound, profile);
        let shader = compare.passes[0].shader.clone();
        let tried = (shader, plan.problem, plan.result, error_bound.to_bits());
        // The sums of a read have no right answer that poison could be the opposite of.
        if matches!(plan.result, Expected::Sums { .. }) || self.tried_comparisons.contains(&tried) {
            return Ok(());
        }
        self.memory.reserve_reports(&mut *self.driver, 1)?;
        let poison = self.helper(profile, &catalog::poison(plan, profile))?;
        let call = self.helper(profile, &compare)?;
        let mut work = DeviceWork::default();
        self.memory.copy_total(plan, false, &mut work)?;
        work.dispatch(poison.at(&Turn::NONE));
        self.driver.run(&work)?;
        let mut work = DeviceWork::default();
        self.memory.make_ready(&mut work, 1);
        if let Some(output) = self.memory.output() {
            let last = plan.output_words() + GUARD_WORDS - 1;
            work.write(output, last * WORD_BYTES, vec![!catalog::GUARD_WORD]);
        }
        work.dispatch(call.at(&Turn::NONE));
        self.memory.fetch_reports(&mut work, 1);
        let done = self.driver.run(&work)?;
        report_at(&done.fetched[0], 0).trust(plan)?;
        self.tried_comparisons.insert(tried);
        Ok(())
    }
}
