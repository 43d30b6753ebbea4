//! The total beside a scan: poisoned before a call, compared behind it.

use scanbox_kernels::catalog::{self, REPORT_WORDS};
use scanbox_kernels::plan::{Binding, Expected, Plan};
use scanbox_model::problem::Mode;
use scanbox_model::record::Status;

use super::call::Call;
use super::commands::Recorder;
use super::memory::{Memory, REPORT_BYTES};
use super::timing::VulkanSession;
use crate::backend::{ElementComparison, Failure, RoundingError};
use crate::comparison_report::ComparisonReport;
use scanbox_kernels::ledger::Turn;

/// The total of a plan that stores one, as a plan of its own; `None` where it is not among the answers to so many
/// elements, or nobody knows it. The next element of an exclusive scan is its total.
pub(super) fn total_of(plan: &Plan, loaded: u64) -> Option<Plan> {
    let last = plan.n + u64::from(plan.problem.mode() == Mode::Exclusive);
    let is_there = plan.stores_total() && last <= loaded && catalog::total_is_known(&plan.problem);
    is_there.then(|| Plan { n: last.max(1), result: Expected::Total, ..plan.clone() })
}

/// How the total of a plan is compared.
pub(super) struct TotalCheck {
    part: Plan,
    error_bound: f64,
    poison: Call,
    compare: Call,
}

impl TotalCheck {
    /// Poisons the place of the total, and writes the guard behind it. `other`: the call has the other input.
    pub fn poison(
        &mut self,
        recorder: &mut Recorder<'_>,
        memory: &Memory,
        other: bool,
    ) -> Result<(), Failure> {
        let [_, expected] = memory.input_and_expected(&self.part, other)?;
        self.poison.aim(Binding::Expected, expected.address());
        self.poison.record(recorder, &Turn::NONE);
        Ok(())
    }

    /// Compares it, and reports in this place among the reports.
    pub fn compare(
        &mut self,
        recorder: &mut Recorder<'_>,
        memory: &Memory,
        other: bool,
        place: u64,
    ) -> Result<(), Failure> {
        let [_, expected] = memory.input_and_expected(&self.part, other)?;
        self.compare.aim(Binding::Expected, expected.address());
        if let Some((reports, _)) = memory.reports() {
            self.compare.aim(Binding::Report, reports.address() + place * REPORT_BYTES);
        }
        self.compare.record(recorder, &Turn::NONE);
        Ok(())
    }
}

impl VulkanSession {
    /// How to compare the total of a plan; `None` where it has none, or where a build alone stores one whose answer is
    /// not loaded: [`VulkanSession::verify_at`] then says more.
    ///
    /// # Errors
    /// When the problem has a total that is not loaded.
    pub(super) fn total_check(&mut self, plan: &Plan) -> Result<Option<TotalCheck>, Failure> {
        let Some(part) = total_of(plan, self.memory.loaded()) else {
            if plan.stores_total() && plan.problem.has_total() {
                let reason = format!("{}: the total of {} elements is not loaded", plan.label, plan.n);
                return Err(Failure::new(Status::RuntimeError, reason));
            }
            return Ok(None);
        };
        let error_bound = self.error_bound(&part);
        self.try_comparison(&part, error_bound)?;
        let target = self.memory.reserve_total()?.address();
        let mut poison = self.helper(&catalog::poison(&part, &self.gpu.profile))?;
        let mut compare = self.helper(&catalog::compare(&part, error_bound, &self.gpu.profile))?;
        for helper in [&mut poison, &mut compare] {
            helper.aim(Binding::Output, target);
        }
        Ok(Some(TotalCheck { part, error_bound, poison, compare }))
    }

    /// Adds to a comparison of the output what the comparison of the total found, which reported in this place.
    pub(super) fn add_total(
        &mut self,
        total: &TotalCheck,
        place: u64,
        mut comparison: ElementComparison,
    ) -> Result<ElementComparison, Failure> {
        let words = &self.memory.read_reports(place + 1)[(place * REPORT_WORDS) as usize..];
        let report = ComparisonReport::of_words(words);
        let off = report.rounding(&total.part, total.error_bound).map_or(0.0, |error| error.max);
        comparison.error = comparison.error.map(|error| RoundingError { max: error.max.max(off), ..error });
        if report.mismatches == 0 || comparison.mismatches > 0 {
            return Ok(comparison);
        }
        self.ledger.forget();
        comparison.mismatches = report.mismatches.into();
        if let Some(wrong) = report.wrong_place(&total.part) {
            let Self { commands, memory, limit, .. } = self;
            let missing = || Failure::new(Status::RuntimeError, "there is no place for a total");
            let [_, expected] = memory.input_and_expected(&total.part, false)?;
            let got = memory.total().ok_or_else(missing)?;
            let places = [(expected.buffer, expected.offset), (got, 0)];
            wrong.fetch(places, commands, memory, *limit)?;
            comparison.total = Some(wrong.found(&self.memory.read_back()));
        }
        Ok(comparison)
    }
}
