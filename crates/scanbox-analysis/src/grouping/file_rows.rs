//! The rows of one file, one after the other.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use scanbox_model::config::Config;
use scanbox_model::csv_file::FileRow;
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
    /// The group of the last row that has one; the next nearly always shares it.
    last: usize,
    /// Whether that goes for all rows that have the setting of the last row.
    last_has_setting: bool,
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
    /// By [`Labelled::number`].
    by_label: FxHashMap<u64, u32>,
}

impl Labels {
    /// The number of the config of a row with this label, or the column that is wrong and why.
    fn intern_row(&mut self, record: &Record, label: &Labelled) -> Result<u32, (&'static str, String)> {
        let index = match self.by_label.get(&label.number) {
            Some(&index) => index,
            None => {
                let index = self.intern_as(label.config, || label.kernel.clone());
                self.by_label.insert(label.number, index);
                index
            }
        };
        let kernel_label = &label.kernel;
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
            last_has_setting: false,
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
        self.push_of_file(&FileRow { record, own: None, has_same_setting: false })
    }

    /// Takes the next row of a file, all rows of which come here.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_of_file(&mut self, row: &FileRow<'_>) -> Result<(), AnalysisError> {
        let record = row.record;
        self.last_has_setting &= row.has_same_setting;
        self.rows += 1;
        self.trust.push(record);
        // What shows how units differ is measured beside the points.
        if record.is_anchor() {
            self.anchors += 1;
            // That of the copy has no config.
            return if record.config().is_some() { self.push_anchor_of_file(row) } else { Ok(()) };
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
        let (group, config) = self.group_of(row)?;
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
        self.last_has_setting = false;
        self.push_anchor_of_file(&FileRow { record, own: None, has_same_setting: false })
    }

    fn push_anchor_of_file(&mut self, row: &FileRow<'_>) -> Result<(), AnalysisError> {
        let (group, config) = self.group_of(row)?;
        let clock = self.clock;
        self.groups[group].push_anchor(row.record, config, clock);
        Ok(())
    }

    /// How many rows are anchors of shards: they say how units differ, and are no points.
    #[must_use]
    pub fn anchors(&self) -> u64 {
        self.anchors
    }

    /// The position of the group of a row, and the number of its config.
    fn group_of(&mut self, row: &FileRow<'_>) -> Result<(usize, u32), AnalysisError> {
        let FileRow { record, own, .. } = *row;
        let config = match own {
            Some((label, _)) => self.labels.intern_row(record, label),
            None => match Labelled::of(&record.config_id) {
                Ok(label) => self.labels.intern_row(record, &label),
                Err(reason) => Err(("config_id", reason)),
            },
        };
        let config = config.map_err(|(column, reason)| AnalysisError::Label {
            source_name: self.name.clone(),
            row: self.rows,
            column,
            reason,
        })?;
        if !self.last_has_setting {
            let problem = own.map_or_else(|| self.problem_of(record), |(_, problem)| Ok(*problem))?;
            if self.groups.get(self.last).is_none_or(|group| !group.holds(record, problem)) {
                let found = self.groups.iter().position(|group| group.holds(record, problem));
                self.last = found.unwrap_or(self.groups.len());
                if found.is_none() {
                    self.groups.push(Group::new(record, problem));
                }
            }
            self.last_has_setting = true;
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
