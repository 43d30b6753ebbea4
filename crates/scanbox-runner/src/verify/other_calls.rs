//! The calls of a case on arrays between guards, and those of other builds of the config.

use std::sync::Arc;

use scanbox_kernels::cases::{Builds, Circumstance, Item};
use scanbox_kernels::catalog::Variant;
use scanbox_kernels::plan::{Plan, ScratchContent};
use scanbox_model::record::Status;

use super::{Ended, Tally, Verification, VerifyEvent, left_behind};
use crate::backend::Failure;

impl<E: From<Failure>> Verification<'_, E> {
    /// The build of a config that takes calls which the one that is verified does not, of all sizes of the item.
    pub(super) fn varied(&self, item: &Item) -> Option<Variant> {
        let max_n = item.sizes.iter().copied().max()?;
        let device = self.session.backend.profile();
        self.has_others()
            .then(|| Circumstance::varied(&item.config, &self.job.problem, max_n, device))
            .flatten()
    }

    /// The build of a config whose workgroups are late.
    pub(super) fn late(&self, item: &Item, n: u64) -> Option<Variant> {
        let device = self.session.backend.profile();
        self.has_others().then(|| Circumstance::late(&item.config, &self.job.problem, n, device)).flatten()
    }

    /// Whether the build that is verified is the one of sweeps.
    fn is_plain(&self) -> bool {
        self.job.variant == Variant::default()
    }

    /// Whether other builds are verified beside it: it has some, and they are asked for.
    fn has_others(&self) -> bool {
        self.is_plain() && self.job.builds == Builds::All
    }

    /// Makes them, of `n` elements. `plan` is that of the build which is verified.
    pub(super) fn other_calls(
        &mut self,
        item: &Item,
        n: u64,
        plan: &Plan,
        tally: &mut Tally,
    ) -> Result<(), Ended<E>> {
        if self.is_plain()
            && Circumstance::may_be_between_guards(&item.config, self.session.backend.profile())
        {
            let plan = Ok(plan.clone());
            self.call_elsewhere(plan, n, Circumstance::BetweenGuards, tally)?;
        }
        if let Some(variant) = self.late(item, n) {
            self.late_call(item, variant, n, tally)?;
        }
        let Some((variant, max_n)) = self.varied(item).and_then(|one| Some((one, one.max_n?))) else {
            return Ok(());
        };
        for circumstance in Circumstance::VARIED {
            if let Some(told) = circumstance.told(n, max_n) {
                let plan = self.session.ready(&item.config, variant, told);
                self.call_elsewhere(plan, n, circumstance, tally)?;
            }
        }
        if n == max_n { self.across_the_end(item, variant, n, tally) } else { Ok(()) }
    }

    /// The calls across the end of the count. That states of other calls are gone shows in the memory: in a wrong
    /// element it would after thousands of millions of calls.
    fn across_the_end(
        &mut self,
        item: &Item,
        variant: Variant,
        max_n: u64,
        tally: &mut Tally,
    ) -> Result<(), Ended<E>> {
        let (device, circumstance) = (Arc::clone(self.session.backend.profile()), Circumstance::AcrossTheEnd);
        let failed = |failure: Failure| Ended::because(&failure, &device, max_n, Some(circumstance));
        let largest = self.session.ready(&item.config, variant, max_n).map_err(failed)?;
        let ScratchContent::SelfTurning { epoch_bits } = largest.scratch.content else { return Ok(()) };
        let problem = &self.job.problem;
        let Some(calls) = Circumstance::across_the_end(&item.config, problem, max_n, epoch_bits, &device)
        else {
            return Ok(());
        };
        self.scribble(circumstance.garbage(&largest)).map_err(failed)?;
        for (n, turn) in calls {
            let plan = self.session.ready(&item.config, variant, n).map_err(failed)?;
            if !self.call_elsewhere(Ok(plan.clone()), max_n, circumstance, tally)? {
                break;
            }
            let backend = &mut *self.session.backend;
            let left = left_behind::check(backend, &plan, Some(turn)).and_then(|_| match n < max_n {
                true => left_behind::check_epochs(backend, &plan, turn),
                false => Ok(()),
            });
            left.map_err(failed)?;
        }
        Ok(())
    }

    /// A call on two more arrays than any other has. That these do not fit says nothing of the config: whether it was
    /// made.
    fn call_elsewhere(
        &mut self,
        plan: Result<Plan, Failure>,
        n: u64,
        circumstance: Circumstance,
        tally: &mut Tally,
    ) -> Result<bool, Ended<E>> {
        (self.observer)(VerifyEvent::Calling { n, circumstance }).map_err(Ended::ByObserver)?;
        match plan.and_then(|plan| self.session.backend.verify_at(&plan, circumstance.begin(&plan))) {
            Err(failure) if failure.status == Status::OutOfMemory => return Ok(false),
            Err(failure) => {
                let device = self.session.backend.profile();
                return Err(Ended::because(&failure, device, n, Some(circumstance)));
            }
            Ok(compared) => tally.elements += compared,
        }
        tally.calls += 1;
        Ok(true)
    }

    /// Calls of the build with late workgroups, in either order of subgroups. It takes more registers: that fewer of
    /// its workgroups fit than have to run together says nothing of the config.
    fn late_call(
        &mut self,
        item: &Item,
        variant: Variant,
        n: u64,
        tally: &mut Tally,
    ) -> Result<(), Ended<E>> {
        let (device, circumstance) = (Arc::clone(self.session.backend.profile()), Circumstance::Late);
        let failed = |failure: Failure| Ended::because(&failure, &device, n, Some(circumstance));
        (self.observer)(VerifyEvent::Calling { n, circumstance }).map_err(Ended::ByObserver)?;
        let plan = match self.session.ready(&item.config, variant, n) {
            Err(failure) if failure.status == Status::Unsupported => return Ok(()),
            plan => plan.map_err(failed)?,
        };
        for plan in Circumstance::in_other_order(&plan, &device).into_iter().chain([plan]) {
            let comparison = self.call(&plan, circumstance).map_err(failed)?;
            tally.calls += 1;
            tally.elements += comparison.compared;
            Ended::unless_right(&comparison, &plan, n, circumstance)?;
            left_behind::check(self.session.backend, &plan, None).map(|_| ()).map_err(failed)?;
        }
        Ok(())
    }
}
