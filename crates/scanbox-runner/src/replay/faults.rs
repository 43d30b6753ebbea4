//! What goes wrong on a replay device, and when.

use scanbox_kernels::plan::Plan;
use scanbox_model::record::Status;

use super::Replay;
use super::blocked::hang;
use super::noise::unit_interval;
use super::script::{Fault, FaultKind};
use crate::backend::Failure;

impl Replay {
    /// The first fault of one of these kinds that hits this plan now.
    pub(super) fn fault(&mut self, plan: &Plan, kinds: &[FaultKind]) -> Option<FaultKind> {
        self.fault_at(&plan.label, plan.n, kinds)
    }

    pub(super) fn fault_at(&mut self, label: &str, n: u64, kinds: &[FaultKind]) -> Option<FaultKind> {
        let draw = unit_interval(&format!("{} {label} {n}", self.script.seed));
        let matches = |fault: &Fault| {
            // A fault of every config is none of a load.
            let own = ["load", "pipeline"].contains(&label) || label.starts_with("probe.");
            let named = !fault.config.is_empty() || !own;
            kinds.contains(&fault.kind)
                && named
                && label.starts_with(&fault.config)
                && fault.n.is_none_or(|other| other == n)
                && draw < fault.share
        };
        for (fault, happened) in
            self.script.faults.iter().zip(&mut self.happened).filter(|(fault, _)| matches(fault))
        {
            let first = fault.after;
            if *happened < first {
                *happened += 1;
            } else if fault.times.is_none_or(|times| *happened - first < times) {
                *happened += 1;
                return Some(fault.kind);
            }
        }
        None
    }

    /// What ends the session of something that is no config, if the script has that.
    pub(super) fn fail_at(&mut self, label: &str, n: u64) -> Result<(), Failure> {
        use FaultKind as F;
        self.alive()?;
        match self.fault_at(label, n, &[F::DeviceLost, F::Hang, F::Crash, F::OutOfMemory]) {
            Some(F::Crash) => std::process::abort(),
            Some(F::Hang) => hang(),
            Some(F::DeviceLost) => Err(self.lose()),
            Some(F::OutOfMemory) => Err(Failure::new(Status::OutOfMemory, "scripted")),
            _ => Ok(()),
        }
    }

    /// Loses the device.
    pub(super) fn lose(&mut self) -> Failure {
        let failure = Failure::new(Status::DeviceLost, "scripted");
        self.lost = Some(failure.clone());
        failure
    }
}
