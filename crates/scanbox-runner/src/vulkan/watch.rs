//! What every verdict rests on: an input that nobody has written to, and comparisons that find what is wrong.
//!
//! The input is everybody's: a kernel that writes to it is right until the next one reads it, and that one and all
//! others would be accused. So sums of it, made when it was loaded, are made again behind each verification and each
//! twin, in the same submission, and behind the samples of a block in one of their own, and compared. Whatever a plan
//! does is watched before another one runs: where sums differ the plan at hand is wrong, whatever its output holds,
//! and the input is loaded again. Inputs of cold calls beside the ordinary one are copies; they are not watched
//! themselves, but made anew then and before each twin on them.
//!
//! A comparison that finds nothing would make everything `ok`. So before the first use of each it is given an output
//! that is wrong everywhere.

use scanbox_kernels::catalog::{self, REPORT_WORDS};
use scanbox_kernels::plan::{Binding, Expected, GUARD_WORDS, Plan};
use scanbox_model::record::Status;
use scanbox_vk::Access;

use super::buffer::WORD_BYTES;
use super::call::Call;
use super::commands::Recorder;
use super::memory::{Memory, REPORT_BYTES};
use super::timing::{VulkanSession, fetch_report};
use super::twin::make_ready;
use crate::backend::Failure;
use crate::comparison_report::{ComparisonReport, NO_MISMATCH};
use scanbox_kernels::ledger::Turn;

/// Elements that are watched beside twice as many as a call has: an index that is off is off by little, and to read
/// all of a large input behind each small call would take longer than the call.
const MARGIN: u64 = 1 << 16;

/// The inputs that a call may read, on watch.
pub(super) struct Watch {
    inputs: Vec<Watched>,
}

struct Watched {
    /// Whether it is the one that every second call has.
    other: bool,
    sums: Call,
    compare: Call,
    /// Bytes behind each sum.
    run_bytes: u64,
    /// Bytes of an element.
    element_bytes: u64,
}

impl Watch {
    /// Reports that it fills.
    pub fn reports(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Records what shows a change, behind calls; it reports from report `first` on.
    pub fn record(&mut self, recorder: &mut Recorder<'_>, memory: &Memory, first: u64) {
        let Some((reports, _)) = memory.reports() else { return };
        recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        for watched in &mut self.inputs {
            watched.sums.record(recorder, &Turn::NONE);
        }
        recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        for (watched, place) in self.inputs.iter_mut().zip(first..) {
            watched.compare.aim(Binding::Report, reports.address() + place * REPORT_BYTES);
            watched.compare.record(recorder, &Turn::NONE);
        }
    }
}

impl VulkanSession {
    /// Adds up what is loaded: what it has to be from now on.
    pub(super) fn sum_input(&mut self) -> Result<(), Failure> {
        let Some((problem, _, n)) = self.memory.loaded_input(false) else { return Ok(()) };
        let plan = catalog::sum_input(&problem, n, &self.gpu.profile);
        self.memory.reserve_sums(plan.output_words() * WORD_BYTES)?;
        let mut call = self.helper(&plan)?;
        let Self { commands, memory, limit, .. } = self;
        let [_, loaded, _] = memory.watched(false)?;
        call.aim(Binding::Output, loaded.address());
        let mut recorder = commands.begin()?;
        call.record(&mut recorder, &Turn::NONE);
        recorder.submit()?;
        commands.wait(*limit)
    }

    /// Puts the input of a plan on watch, and where inputs alternate the other one.
    pub(super) fn watch(&mut self, plan: &Plan, alternates: bool) -> Result<Watch, Failure> {
        let watched = |other: bool| {
            let Some((problem, _, loaded)) = self.memory.loaded_input(other) else { return Ok(None) };
            let whole = catalog::sum_input(&problem, loaded, &self.gpu.profile);
            let Expected::Sums { run_words } = whole.result else { return Ok(None) };
            // Whole runs, whose sums are those that were made of more: of elements of three words too, as many as a run
            // has words.
            let n = (plan.n * 2 + MARGIN).next_multiple_of(run_words.into()).min(loaded);
            // Its elements stand at the end.
            let n = if problem.is_reversed() { loaded } else { n };
            let sums = catalog::sum_input(&problem, n, &self.gpu.profile);
            let compare = catalog::compare_input_sums(&sums, &self.gpu.profile);
            let (mut sums, mut compare) = (self.helper(&sums)?, self.helper(&compare)?);
            let [input, before, now] = self.memory.watched(other)?;
            sums.aim(Binding::Input, input.address());
            sums.aim(Binding::Output, now.address());
            compare.aim(Binding::Expected, before.address());
            compare.aim(Binding::Output, now.address());
            let run_bytes = u64::from(run_words) * WORD_BYTES;
            Ok(Some(Watched { other, sums, compare, run_bytes, element_bytes: problem.element_bytes() }))
        };
        let others = if alternates { &[false, true][..] } else { &[false] };
        let inputs: Result<Vec<_>, Failure> = others.iter().map(|&other| watched(other)).collect();
        Ok(Watch { inputs: inputs?.into_iter().flatten().collect() })
    }

    /// See [`crate::backend::Backend::check_input`].
    pub(super) fn check_input(&mut self, plan: &Plan) -> Result<(), Failure> {
        let mut watch = self.watch(plan, false)?;
        self.memory.reserve_reports(watch.reports())?;
        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        make_ready(&mut recorder, memory, watch.reports());
        watch.record(&mut recorder, memory, 0);
        fetch_reports(&mut recorder, memory, watch.reports());
        recorder.submit()?;
        commands.wait(*limit)?;
        self.judge_input(&watch, 0)
    }

    /// What a watch has reported, whose reports begin with `first` and were copied to the host.
    ///
    /// # Errors
    /// `wrong_result`, where an input was written to. It is loaded again.
    pub(super) fn judge_input(&mut self, watch: &Watch, first: u64) -> Result<(), Failure> {
        let reports = self.memory.read_reports(first + watch.reports());
        let reports = reports.chunks_exact(REPORT_WORDS as usize).skip(first as usize);
        let changed: Vec<(&Watched, u32)> = watch
            .inputs
            .iter()
            .zip(reports)
            .filter(|(_, report)| report[0] > 0)
            .map(|(watched, report)| (watched, report[1]))
            .collect();
        let mut reason = None;
        for (watched, run) in changed {
            let begin = u64::from(run) * watched.run_bytes;
            let [from, to] = [begin, begin + watched.run_bytes - 1].map(|byte| byte / watched.element_bytes);
            reason.get_or_insert_with(|| format!("it writes to its input, first in elements {from} to {to}"));
            self.reload(watched.other)?;
        }
        reason.map_or(Ok(()), |reason| Err(Failure::new(Status::WrongResult, reason)))
    }

    /// Loads what is loaded once more.
    fn reload(&mut self, other: bool) -> Result<(), Failure> {
        let Some((problem, input, n)) = self.memory.loaded_input(other) else { return Ok(()) };
        if other {
            self.memory.swap_inputs();
        }
        self.memory.forget();
        let loaded = self.load_all(&problem, &input, n);
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
    pub(super) fn try_comparison(&mut self, plan: &Plan, error_bound: f64) -> Result<(), Failure> {
        let compare = catalog::compare(plan, error_bound, &self.gpu.profile);
        let shader = compare.passes[0].shader.clone();
        let tried = (shader, plan.problem, plan.result, error_bound.to_bits());
        // The sums of a read have no right answer that poison could be the opposite of.
        if matches!(plan.result, Expected::Sums { .. }) || self.tried_comparisons.contains(&tried) {
            return Ok(());
        }
        let mut poison = self.helper(&catalog::poison(plan, &self.gpu.profile))?;
        let mut call = self.helper(&compare)?;
        let Self { commands, memory, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        poison.record(&mut recorder, &Turn::NONE);
        recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        if let Some(output) = memory.output() {
            let last = plan.output_words() + GUARD_WORDS - 1;
            recorder.update(output, last * WORD_BYTES, &[!catalog::GUARD_WORD]);
        }
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        call.record(&mut recorder, &Turn::NONE);
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(self.limit)?;
        ComparisonReport::of_words(&memory.read_back()).trust(plan)?;
        self.tried_comparisons.insert(tried);
        Ok(())
    }
}

/// Copies this many reports to where the host reads them.
pub(super) fn fetch_reports(recorder: &mut Recorder<'_>, memory: &Memory, count: u64) {
    let Some((device, host)) = memory.reports() else { return };
    recorder.barrier(Access::COMPUTE, Access::TRANSFER);
    recorder.copy((device, 0), (host, 0), count * REPORT_BYTES);
    recorder.barrier(Access::TRANSFER, Access::HOST);
}
