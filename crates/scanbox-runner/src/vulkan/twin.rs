//! The untimed twin of the timed path: its calls once more, some of them on poisoned output and compared.

use scanbox_kernels::catalog::{self, LineUse, REPORT_WORDS};
use scanbox_kernels::plan::{Binding, Plan};
use scanbox_model::record::Cache;
use scanbox_vk::Access;

use super::call::Call;
use super::commands::Recorder;
use super::line::Chain;
use super::memory::{Memory, REPORT_BYTES};
use super::timing::{MAX_DISPATCHES, VulkanSession, adopt};
use super::total::TotalCheck;
use super::watch::fetch_reports;
use crate::backend::Failure;
use crate::comparison_report::{ComparisonReport, NO_MISMATCH};
use crate::twin::{Checked, Course, TwinStep};
use scanbox_kernels::ledger::{Ledger, Turn};

/// Reports that one update of a buffer makes ready: far below its limit of 65,536 bytes.
const REPORTS_PER_UPDATE: u64 = 4096;

/// What the steps of a twin are made of.
struct Parts<'a> {
    plan: &'a Plan,
    call: Call,
    /// The same on the other input, where that is another call: one whose arguments are baked.
    other_call: Option<Call>,
    /// What calls find in their lines one after the other.
    chain: Option<Chain>,
    poison: Call,
    compare: Call,
    /// Where the plan stores a total beside its output: that of the last call.
    total: Option<TotalCheck>,
    /// Comparisons of the twin: reports of totals stand behind theirs.
    comparisons: u64,
    /// The slot of the first call; none where all calls are on the same buffers.
    first_slot: Option<u64>,
    /// Whether every second call has the other input.
    alternates: bool,
    /// Calls that were recorded.
    called: u64,
    /// Comparisons that were recorded.
    compared: u64,
}

impl VulkanSession {
    /// Goes through the steps of a twin (see [`crate::backend::Backend::twin`]).
    pub fn twin(&mut self, plan: &Plan, course: &Course<'_>) -> Result<Vec<Checked>, Failure> {
        let &Course { cache, steps, per_submission, alternates } = course;
        let mut call = self.prepare(plan)?;
        let other_call = if alternates && plan.is_baked() {
            self.memory.swap_inputs();
            let other = self.prepare_beside(plan);
            self.memory.swap_inputs();
            Some(other?)
        } else {
            None
        };
        let error_bound = self.error_bound(plan);
        // Before the outputs get what calls in place find there.
        self.try_comparison(plan, error_bound)?;
        let total = self.total_check(plan)?;
        let first_slot = match cache {
            Cache::Hot => None,
            Cache::Cold => {
                self.reserve_cold(plan)?;
                // What others have written to them must not be found here.
                self.memory.renew_inputs(self.limit)?;
                Some(self.memory.next_slot())
            }
        };
        let chain = self.chain(plan, &mut call, cache, alternates)?;
        let mut watch = self.watch(plan, alternates)?;
        let compared: Vec<u64> = steps
            .iter()
            .filter_map(|step| if let TwinStep::Compare(call) = step { Some(*call) } else { None })
            .collect();
        let count = compared.len() as u64;
        let of_watch = if total.is_some() { 2 * count } else { count };
        let mut parts = Parts {
            plan,
            call,
            other_call,
            chain,
            poison: self.helper(&catalog::poison(plan, &self.gpu.profile))?,
            compare: self.helper(&catalog::compare(plan, error_bound, &self.gpu.profile))?,
            total,
            comparisons: count,
            first_slot,
            alternates,
            called: 0,
            compared: 0,
        };
        let reports = of_watch + watch.reports();
        self.memory.reserve_reports(reports)?;

        let Self { commands, memory, ledger, limit, .. } = self;
        let mut left = steps.iter().copied().peekable();
        let mut is_first = true;
        while left.peek().is_some() {
            let mut recorder = commands.begin()?;
            if std::mem::take(&mut is_first) {
                make_ready(&mut recorder, memory, reports);
            }
            parts.enter();
            let (mut calls, mut dispatches, mut before) = (0, 0, None);
            while let Some(step) = left.next_if(|_| calls < per_submission && dispatches < MAX_DISPATCHES) {
                let independent = matches!(
                    (before, step),
                    (Some(TwinStep::Poison(_)), TwinStep::Poison(_))
                        | (Some(TwinStep::Compare(_)), TwinStep::Compare(_))
                );
                if before.is_some() && !independent {
                    recorder.barrier(Access::COMPUTE, Access::COMPUTE);
                }
                dispatches += parts.record(step, &mut recorder, memory, ledger)?;
                calls += u32::from(matches!(step, TwinStep::Call(_)));
                before = Some(step);
            }
            if left.peek().is_none() {
                watch.record(&mut recorder, memory, of_watch);
                fetch_reports(&mut recorder, memory, reports);
            }
            parts.check()?;
            recorder.submit()?;
            commands.wait(*limit)?;
        }
        if cache == Cache::Cold {
            memory.use_slots(steps.iter().filter(|step| matches!(step, TwinStep::Call(_))).count() as u64);
        }
        let reports = memory.read_reports(of_watch).chunks_exact(REPORT_WORDS as usize);
        let reports: Vec<_> = reports.map(ComparisonReport::of_words).collect();
        let (outputs, totals) = reports.split_at(compared.len());
        let checked: Vec<Checked> = (0..)
            .zip(outputs.iter().zip(compared))
            .map(|(place, (report, call))| report.checked_with(totals.get(place), call, plan))
            .collect();
        if checked.iter().any(|one| one.mismatches > 0) {
            ledger.forget();
        }
        self.judge_input(&watch, of_watch)?;
        Ok(checked)
    }
}

impl Parts<'_> {
    /// At the beginning of a submission: says which record of the chain its first call has.
    fn enter(&mut self) {
        if let Some(chain) = &self.chain {
            self.call.enter(chain, self.first_slot.unwrap_or(0) + self.called);
        }
    }

    /// Whether all that was recorded of the calls may be submitted.
    fn check(&mut self) -> Result<(), Failure> {
        self.other_call.as_mut().map_or(Ok(()), Call::check)?;
        self.call.check()
    }

    /// Records one step. Returns its dispatches.
    fn record(
        &mut self,
        step: TwinStep,
        recorder: &mut Recorder<'_>,
        memory: &Memory,
        ledger: &mut Ledger,
    ) -> Result<usize, Failure> {
        let (TwinStep::Poison(index) | TwinStep::Call(index) | TwinStep::Compare(index)) = step;
        let slot = self.first_slot.map_or(0, |first_slot| first_slot + index);
        let [mut input, output] = memory.slot(self.plan, slot)?;
        let is_other = self.alternates && !index.is_multiple_of(2);
        let [own_input, expected] = memory.input_and_expected(self.plan, is_other)?;
        if self.alternates {
            input = own_input;
        }
        let recorded = match (step, &mut self.other_call) {
            (TwinStep::Poison(_), _) => &mut self.poison,
            (TwinStep::Compare(_), _) => &mut self.compare,
            (TwinStep::Call(_), Some(other)) if !index.is_multiple_of(2) => other,
            (TwinStep::Call(_), _) => &mut self.call,
        };
        if self.chain.is_none() || !matches!(step, TwinStep::Call(_)) {
            recorded.aim(Binding::Input, input.address());
            recorded.aim(Binding::Output, output.address());
            recorded.aim(Binding::Expected, expected.address());
        }
        match step {
            TwinStep::Call(_) => {
                let turn = recorded.turns(1, ledger)[0];
                if turn.adopt {
                    recorder.barrier(Access::COMPUTE, Access::TRANSFER);
                    adopt(recorder, memory, &turn);
                    recorder.barrier(Access::TRANSFER, Access::COMPUTE);
                }
                if self.plan.line_use() == LineUse::Updated {
                    recorded.forget_lines();
                }
                recorded.tell(recorder, memory);
                recorded.record(recorder, &turn);
                self.called += 1;
            }
            TwinStep::Poison(_) => {
                recorded.record(recorder, &Turn::NONE);
                if let Some(total) = &mut self.total {
                    total.poison(recorder, memory, is_other)?;
                }
                if self.plan.in_place() {
                    recorder.barrier(Access::COMPUTE, Access::TRANSFER);
                    let bytes = self.plan.n * self.plan.problem.element_bytes();
                    recorder.copy((input.buffer, input.offset), (output.buffer, output.offset), bytes);
                    recorder.barrier(Access::TRANSFER, Access::COMPUTE);
                }
            }
            TwinStep::Compare(_) => {
                if let Some((reports, _)) = memory.reports() {
                    recorded.aim(Binding::Report, reports.address() + self.compared * REPORT_BYTES);
                }
                recorded.record(recorder, &Turn::NONE);
                if let Some(total) = &mut self.total {
                    total.compare(recorder, memory, is_other, self.comparisons + self.compared)?;
                }
                self.compared += 1;
            }
        }
        let of_total = !matches!(step, TwinStep::Call(_)) && self.total.is_some();
        Ok(recorded.dispatches() + usize::from(of_total))
    }
}

/// Makes the reports of all comparisons ready.
pub(super) fn make_ready(recorder: &mut Recorder<'_>, memory: &Memory, count: u64) {
    let Some((reports, _)) = memory.reports() else { return };
    for first in (0..count).step_by(REPORTS_PER_UPDATE as usize) {
        let words = NO_MISMATCH.repeat((count - first).min(REPORTS_PER_UPDATE) as usize);
        recorder.update(reports, first * REPORT_BYTES, &words);
    }
    recorder.barrier(Access::TRANSFER, Access::COMPUTE);
}
