//! Subjects of baselines: their input, and their rows before they ran.

use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, RoundMedians, Selection, Status};

use super::selected::plain_record;
use super::{Bench, BenchJob, Cut, RunBy, SubjectAtSize};
use crate::backend::Failure;
use crate::baseline::{BaselineResult, BaselineSubject, Greeting};
use crate::subject::Subject;

/// What the row of a subject of a baseline says before it ran.
#[must_use]
pub fn external_row(
    greeting: &Greeting,
    subject: &BaselineSubject,
    n: u64,
    job: &BenchJob,
    device: &DeviceProfile,
) -> Record {
    let BaselineSubject { name, result, .. } = subject;
    let selection = match result {
        BaselineResult::Scan => vec![Selection::Baseline],
        _ => vec![Selection::Ceiling, Selection::Baseline],
    };
    let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
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
        ..plain_record(n, &job.computation, &job.input, device, &job.origin)
    };
    if *result == BaselineResult::Scan {
        job.computation.problem.describe(n, &mut record);
    }
    record
}

/// A row of a baseline; where its program said what no row can say, that, in place of all it said.
pub(super) fn possible(record: Record) -> Record {
    let mut line = Vec::new();
    let written = csv_file::write(&mut line, false, [&record]).map_err(|error| error.to_string());
    let text = String::from_utf8_lossy(&line);
    let Err(wrong) = written.and_then(|()| csv_file::read_row(&text).map_err(|error| error.to_string()))
    else {
        return record;
    };
    Record {
        status: Status::RuntimeError,
        reason: format!("its answers contradict each other: {wrong}"),
        mismatches: None,
        first_mismatch: None,
        samples: 0,
        steady: None,
        span: None,
        sample_calls: None,
        timer_resolution_ns: None,
        rounds: None,
        round_spread_pct: None,
        round_medians_ns: RoundMedians::default(),
        max_error: None,
        error_bound: None,
        twin_calls: None,
        ..record
    }
}

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
            for subject in greeting.taking_part(&problem, &self.job.input) {
                let record = external_row(greeting, subject, n, self.job, self.session.backend.profile());
                subjects.push(SubjectAtSize::new(
                    Subject::External { name: subject.name.clone() },
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
