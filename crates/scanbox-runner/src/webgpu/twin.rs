//! The untimed twin of the timed path: its calls once more, some of them on poisoned output and compared.

use scanbox_kernels::catalog;
use scanbox_kernels::ledger::{Ledger, Turn};
use scanbox_kernels::plan::{Binding, Plan};
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Cache;

use super::call::BoundCall;
use super::memory::{BoundMemory, report_at};
use super::submissions::{MAX_DISPATCHES, WebGpuSession};
use super::work::{ByteRange, DeviceWork};
use crate::backend::Failure;
use crate::twin::{Checked, Course, TwinStep};

/// What the steps of a twin are made of.
struct TwinParts<'a> {
    plan: &'a Plan,
    call: BoundCall,
    poison: BoundCall,
    compare: BoundCall,
    /// The slot of the first call; none where all calls are on the same buffers.
    first_slot: Option<u64>,
    /// Whether every second call has the other input.
    alternates: bool,
    /// Comparisons that were put into work.
    compared: u64,
}

impl WebGpuSession {
    /// Goes through the steps of a twin (see [`crate::backend::Backend::twin`]).
    pub fn twin(
        &mut self,
        profile: &DeviceProfile,
        plan: &Plan,
        course: &Course<'_>,
    ) -> Result<Vec<Checked>, Failure> {
        let &Course { cache, steps, per_submission, alternates } = course;
        let call = self.prepare(profile, plan)?;
        let error_bound = self.error_bound(plan);
        // Before the outputs get what calls in place find there.
        self.try_comparison(profile, plan, error_bound)?;
        let first_slot = match cache {
            Cache::Hot => None,
            Cache::Cold => {
                self.reserve_cold(plan)?;
                // What others have written to them must not be found here.
                self.memory.renew_inputs(&mut *self.driver)?;
                Some(self.memory.next_slot())
            }
        };
        let mut watch = self.watch(profile, plan, alternates)?;
        let compared: Vec<u64> = steps
            .iter()
            .filter_map(|step| if let TwinStep::Compare(call) = step { Some(*call) } else { None })
            .collect();
        let count = compared.len() as u64;
        let reports = count + watch.reports();
        self.memory.reserve_reports(&mut *self.driver, reports)?;
        let mut parts = TwinParts {
            plan,
            call,
            poison: self.helper(profile, &catalog::poison(plan, profile))?,
            compare: self.helper(profile, &catalog::compare(plan, error_bound, profile))?,
            first_slot,
            alternates,
            compared: 0,
        };
        let Self { driver, memory, ledger, .. } = self;
        let mut left = steps.iter().copied().peekable();
        let mut fetched = Vec::new();
        let mut is_first = true;
        while left.peek().is_some() {
            let mut work = DeviceWork::default();
            if std::mem::take(&mut is_first) {
                memory.make_ready(&mut work, reports);
                memory.copy_total(plan, false, &mut work)?;
                if alternates {
                    memory.copy_total(plan, true, &mut work)?;
                }
            }
            let (mut calls, mut dispatches) = (0, 0);
            while let Some(step) = left.next_if(|_| calls < per_submission && dispatches < MAX_DISPATCHES) {
                dispatches += parts.record(step, &mut work, memory, ledger)?;
                calls += u32::from(matches!(step, TwinStep::Call(_)));
            }
            if left.peek().is_none() {
                watch.record(memory, &mut work, count)?;
                memory.fetch_reports(&mut work, reports);
            }
            fetched = driver.run(&work)?.fetched;
        }
        if cache == Cache::Cold {
            memory.use_slots(steps.iter().filter(|step| matches!(step, TwinStep::Call(_))).count() as u64);
        }
        let Some(reports) = fetched.first() else { return Ok(Vec::new()) };
        let outcome = |(place, call)| report_at(reports, place).checked(call, plan);
        let checked: Vec<Checked> = (0..).zip(compared).map(outcome).collect();
        if checked.iter().any(|one| one.mismatches > 0) {
            ledger.forget();
        }
        self.judge_input(profile, &watch, reports, count)?;
        Ok(checked)
    }
}

impl TwinParts<'_> {
    /// Puts one step into work. Returns its dispatches.
    fn record(
        &mut self,
        step: TwinStep,
        work: &mut DeviceWork,
        memory: &BoundMemory,
        ledger: &mut Ledger,
    ) -> Result<usize, Failure> {
        let (TwinStep::Poison(index) | TwinStep::Call(index) | TwinStep::Compare(index)) = step;
        let slot = self.first_slot.map_or(0, |first_slot| first_slot + index);
        let [mut input, output] = memory.slot(slot)?;
        let [own_input, expected] =
            memory.input_and_expected(self.plan, self.alternates && !index.is_multiple_of(2))?;
        if self.alternates {
            input = own_input;
        }
        let recorded = match step {
            TwinStep::Poison(_) => &mut self.poison,
            TwinStep::Compare(_) => &mut self.compare,
            TwinStep::Call(_) => &mut self.call,
        };
        // A comparison of sums or copies has the input for what is expected.
        recorded.aim(Binding::Input, input);
        recorded.aim(Binding::Output, output);
        recorded.aim(Binding::Expected, expected);
        match step {
            TwinStep::Call(_) => {
                let turn = recorded.turns(1, ledger)[0];
                if turn.adopt {
                    memory.adopt(work);
                }
                work.dispatch(recorded.at(&turn));
            }
            TwinStep::Poison(_) => {
                work.dispatch(recorded.at(&Turn::NONE));
                if self.plan.in_place() {
                    let bytes = self.plan.n * self.plan.problem.element_bytes();
                    work.copy(ByteRange { bytes, ..input }, ByteRange { bytes, ..output });
                }
            }
            TwinStep::Compare(_) => {
                recorded.aim(Binding::Report, memory.report(self.compared)?);
                self.compared += 1;
                work.dispatch(recorded.at(&Turn::NONE));
            }
        }
        Ok(recorded.dispatches())
    }
}
