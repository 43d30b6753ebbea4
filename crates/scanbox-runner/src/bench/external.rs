//! Subjects of baselines: their input, and their rows before they ran.

use scanbox_model::record::{Record, Selection, Status};

use super::selected::plain_record;
use super::{Bench, BenchJob, Cut, RunBy, SubjectAtSize};
use crate::backend::Failure;
use crate::baseline::{BaselineResult, BaselineSubject};
use crate::subject::Subject;

impl<E: From<Failure>> Bench<'_, E> {
    /// Makes the input of every baseline for all sizes. One that cannot says so again at each size, or not: it may have
    /// the memory for the smaller ones.
    pub(super) fn load_baselines(&mut self, largest_n: u64) -> Result<(), Cut<E>> {
        for baseline in 0..self.baselines.len() {
            let greeting = self.baselines[baseline].greeting();
            if !greeting.lacks(&self.job.computation.problem, &self.job.input) {
                let tool = greeting.tool.clone();
                self.announce(&Subject::External { name: tool }, largest_n)?;
                let _ = self.load_baseline(baseline, largest_n);
            }
        }
        Ok(())
    }

    fn load_baseline(&mut self, place: usize, n: u64) -> Result<(), Failure> {
        let BenchJob { computation, input, .. } = self.job;
        self.baselines[place].load(n, &computation.problem, input)
    }

    /// Makes the input of every baseline for a size, where it has none yet; its subjects.
    pub(super) fn externals(&mut self, n: u64) -> Result<Vec<SubjectAtSize>, Cut<E>> {
        let mut subjects = Vec::new();
        for place in 0..self.baselines.len() {
            let greeting = self.baselines[place].greeting();
            let (tool, version) = (greeting.tool.clone(), greeting.version.clone());
            let problem = self.job.computation.problem;
            let failure = if greeting.lacks(&problem, &self.job.input) {
                let reason =
                    format!("{tool} {version} has no {} on {} elements", problem.title(), self.job.input);
                Some(Failure::new(Status::Unsupported, reason))
            } else {
                self.announce(&Subject::External { name: tool }, n)?;
                self.load_baseline(place, n).err()
            };
            let greeting = self.baselines[place].greeting();
            for BaselineSubject { name, result, .. } in greeting.taking_part(&problem, &self.job.input) {
                let selection = match result {
                    BaselineResult::Scan => vec![Selection::Baseline],
                    _ => vec![Selection::Ceiling, Selection::Baseline],
                };
                let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
                let device = self.session.backend.profile();
                let mut record = Record {
                    device: or(&greeting.device, &device.name),
                    device_uuid: or(&greeting.device_uuid, &device.uuid),
                    driver: or(&greeting.driver, &device.driver),
                    subject: name.clone(),
                    subject_version: format!("{} {}", greeting.tool, greeting.version),
                    config_id: name.clone(),
                    kernel_id: name.clone(),
                    selection,
                    // It has a clock of its own.
                    timer: None,
                    timer_resolution_ns: Some(greeting.timer_resolution_ns as f64).filter(|ns| *ns > 0.0),
                    ..plain_record(n, &self.job.computation, &self.job.input, device, &self.job.origin)
                };
                if *result == BaselineResult::Scan {
                    problem.describe(n, &mut record);
                }
                subjects.push(SubjectAtSize::new(
                    Subject::External { name: name.clone() },
                    RunBy::Baseline { place },
                    record,
                    failure.clone(),
                    self.job.caches.len(),
                ));
            }
        }
        Ok(subjects)
    }
}
