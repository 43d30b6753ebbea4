//! The rows of one file, one after the other.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use scanbox_model::config::Config;
use scanbox_model::record::{Clock, Record};
use scanbox_model::row_rules::Labelled;

use super::OWN_SUBJECT;
use super::group::Group;
use crate::AnalysisError;
use crate::bench::{baseline_gbps, own_gbps};
use crate::problem::Problem;
use crate::table::{DeviceIdentity, FastestBaseline};
use crate::trust::{Distrusted, Trust};

/// What its rows of a benchmark are called, which are no part of a sweep.
const OWN_BENCHMARK: &str = "scanbox (benchmark)";

/// Scans of benchmarks by device and problem, then size and run.
pub(super) type Baselines = BTreeMap<(DeviceIdentity, Problem), BTreeMap<(u64, String), BenchmarkRun>>;

/// What a run of a benchmark has at a size, on hot buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct BenchmarkRun {
    /// The fastest scan of another implementation.
    pub baseline: Option<FastestBaseline>,
    /// The fastest one of scanbox, in GB/s.
    pub own_gbps: Option<f64>,
}

impl BenchmarkRun {
    /// Takes in what other rows of the run say.
    pub fn merge(&mut self, other: &Self) {
        if let Some(baseline) = &other.baseline
            && self.baseline.as_ref().is_none_or(|old| is_better(baseline, old))
        {
            self.baseline = Some(baseline.clone());
        }
        self.own_gbps = self.own_gbps.into_iter().chain(other.own_gbps).reduce(f64::max);
    }
}

/// The rows of one file, taken one by one. Several files can be read at the same time;
/// [`super::Builder::add_rows`] puts them together.
#[derive(Debug)]
pub struct FileRows {
    pub(super) name: String,
    pub(super) clock: Clock,
    pub(super) labels: Labels,
    pub(super) groups: Vec<Group>,
    /// The group of the last row, which the next nearly always shares.
    pub(super) last: usize,
    /// Rows so far.
    pub(super) rows: usize,
    /// Those that are anchors.
    anchors: u64,
    pub(super) other_subjects: BTreeMap<String, u64>,
    pub(super) baselines: Baselines,
    pub(super) trust: Trust,
}

/// Configs by number, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Each with the label of its kernel.
    pub(super) configs: Vec<(Config, String)>,
    pub(super) by_config: FxHashMap<Config, u32>,
    pub(super) by_label: FxHashMap<String, u32>,
}

impl Labels {
    /// The number of the config of a row, or the column that is wrong and why.
    fn intern_row(&mut self, record: &Record) -> Result<u32, (&'static str, String)> {
        let index = match self.by_label.get(&record.config_id) {
            Some(&index) => index,
            None => {
                let labelled = Labelled::of(&record.config_id).map_err(|reason| ("config_id", reason))?;
                let index = self.intern_as(labelled.config, || labelled.kernel.clone());
                self.by_label.insert(record.config_id.clone(), index);
                index
            }
        };
        let kernel_label = &self.configs[index as usize].1;
        if *kernel_label != record.kernel_id {
            let found: String = record.kernel_id.chars().take(80).collect();
            return Err((
                "kernel_id",
                format!("`{found}` where {} belongs to {kernel_label}", record.config_id),
            ));
        }
        Ok(index)
    }

    /// The size and the number of the config of a point that rows have.
    pub(super) fn point(&self, point: &Distrusted) -> Option<(u64, u32)> {
        let config: Config = point.config.parse().ok()?;
        Some((point.n, *self.by_config.get(&config)?))
    }

    pub(super) fn intern(&mut self, config: Config) -> u32 {
        self.intern_as(config, || config.kernel.to_string())
    }

    /// The same where the label of the kernel is known.
    fn intern_as(&mut self, config: Config, kernel: impl FnOnce() -> String) -> u32 {
        *self.by_config.entry(config).or_insert_with(|| {
            self.configs.push((config, kernel()));
            (self.configs.len() - 1) as u32
        })
    }
}

impl FileRows {
    /// A file without rows so far; `name` is for messages, throughput is taken from `clock`.
    #[must_use]
    pub fn new(name: &str, clock: Clock) -> Self {
        Self {
            name: name.to_owned(),
            clock,
            labels: Labels::default(),
            groups: Vec::new(),
            last: 0,
            rows: 0,
            anchors: 0,
            other_subjects: BTreeMap::new(),
            baselines: BTreeMap::new(),
            trust: Trust::default(),
        }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// When a row of scanbox's own has labels that are none or do not belong together.
    pub fn push(&mut self, record: &Record) -> Result<(), AnalysisError> {
        self.rows += 1;
        self.trust.push(record);
        // What shows how units differ is measured beside the points.
        if record.is_anchor() {
            self.anchors += 1;
            // That of the copy has no config.
            return if record.config().is_some() { self.push_anchor(record) } else { Ok(()) };
        }
        // Rows of a benchmark are no part of a sweep.
        if record.subject != OWN_SUBJECT || record.is_of_benchmark() {
            let subject = if record.subject == OWN_SUBJECT { OWN_BENCHMARK } else { &record.subject };
            match self.other_subjects.get_mut(subject) {
                Some(rows) => *rows += 1,
                None => drop(self.other_subjects.insert(subject.to_owned(), 1)),
            }
            return self.note_baseline(record);
        }
        let (group, config) = self.group_of(record)?;
        let clock = self.clock;
        self.groups[group].push(record, config, clock);
        Ok(())
    }

    /// Takes a row that is no point of a sweep and was measured by every unit of a fleet: it says how much units differ
    /// as a whole, and enters no answer otherwise.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_anchor(&mut self, record: &Record) -> Result<(), AnalysisError> {
        let (group, config) = self.group_of(record)?;
        let clock = self.clock;
        self.groups[group].push_anchor(record, config, clock);
        Ok(())
    }

    /// How many rows are anchors of shards: they say how units differ, and are no points.
    #[must_use]
    pub fn anchors(&self) -> u64 {
        self.anchors
    }

    /// The position of the group of a row, and the number of its config.
    fn group_of(&mut self, record: &Record) -> Result<(usize, u32), AnalysisError> {
        let config = self.labels.intern_row(record).map_err(|(column, reason)| AnalysisError::Label {
            source_name: self.name.clone(),
            row: self.rows,
            column,
            reason,
        })?;
        let problem = self.problem_of(record)?;
        if self.groups.get(self.last).is_none_or(|group| !group.holds(record, problem)) {
            let found = self.groups.iter().position(|group| group.holds(record, problem));
            self.last = found.unwrap_or(self.groups.len());
            if found.is_none() {
                self.groups.push(Group::new(record, problem));
            }
        }
        Ok((self.last, config))
    }

    /// Keeps the throughput of a scan of another implementation, and of one of scanbox beside it.
    fn note_baseline(&mut self, record: &Record) -> Result<(), AnalysisError> {
        let baseline = baseline_gbps(record, self.clock).map(|gbps| FastestBaseline {
            subject: record.subject.clone(),
            gbps,
            own_gbps: None,
        });
        let found = BenchmarkRun { baseline, own_gbps: own_gbps(record, self.clock) };
        if found.baseline.is_some() || found.own_gbps.is_some() {
            let device = DeviceIdentity::of(record);
            let problem = self.problem_of(record)?;
            let of_device = self.baselines.entry((device, problem)).or_default();
            of_device.entry((record.n_elements, record.run_id.clone())).or_default().merge(&found);
        }
        Ok(())
    }

    fn problem_of(&self, record: &Record) -> Result<Problem, AnalysisError> {
        Problem::of_row(record).map_err(|reason| AnalysisError::Label {
            source_name: self.name.clone(),
            row: self.rows,
            column: "op",
            reason,
        })
    }
}

/// Takes in what a run has at a size, where it says more: of runs with scans of scanbox's own that with the fastest of
/// them, else that with the fastest baseline.
pub(super) fn keep_best(best: &mut BTreeMap<u64, FastestBaseline>, n: u64, run: BenchmarkRun) {
    let Some(baseline) = run.baseline else { return };
    let baseline = FastestBaseline { own_gbps: run.own_gbps, ..baseline };
    if best.get(&n).is_none_or(|old| is_better(&baseline, old)) {
        best.insert(n, baseline);
    }
}

/// Of equally fast ones the first by name stays.
fn is_better(new: &FastestBaseline, old: &FastestBaseline) -> bool {
    let own = |baseline: &FastestBaseline| baseline.own_gbps.unwrap_or(0.0);
    let order = own(new).total_cmp(&own(old)).then(new.gbps.total_cmp(&old.gbps));
    order.then_with(|| old.subject.cmp(&new.subject)).is_gt()
}
