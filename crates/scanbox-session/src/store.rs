//! The files of a sweep: rows, metadata, journal, and the lock on all three. One process owns them.
//!
//! Whatever moment the process ends at, the files are enough to go on: rows are appended one by one, the metadata is
//! replaced by renaming, and the journal names the config in flight.

mod before;
pub mod companions;
mod journal;
mod repeated;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use scanbox_analysis::anchors::drift_pct;
use scanbox_analysis::trust::Trust;
use scanbox_model::csv_file::{self, Appender};
use scanbox_model::known_issues::DeviceIssues;
use scanbox_model::metadata::{Metadata, Run, RunOutcome};
use scanbox_model::record::{Record, SCHEMA, Status};
use scanbox_model::space::{Enumeration, Point, Space};
use scanbox_model::units::plural;
use scanbox_runner::row::now_utc;

pub use self::before::{Before, FileSubject, OtherPlace, device_before, guarantees_before, rows_before};
use self::journal::Journal;
pub use self::journal::lasting;
use crate::device::known_issues;
use crate::lock::Occupied;
use crate::notes::note;
use crate::origin::this_tool;

/// Between two waits for the disk.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// A config at a size: what a row is found by.
pub type RowKey = (String, u64);

/// The key of a row.
pub fn row_key(record: &Record) -> RowKey {
    (record.config_id.clone(), record.n_elements)
}

/// The key of a point.
pub fn point_key(point: &Point) -> RowKey {
    (point.config.to_string(), point.n)
}

/// What the user allows on resuming.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resume {
    /// Go on with another unit of the same model and driver.
    pub accept_device: bool,
    /// Measure again what was not `ok`.
    pub retry_failed: bool,
    /// Show that what was wrong is right, when it is measured again.
    pub prove: bool,
    /// Go on with another definition of the space.
    pub accept_space: bool,
}

/// The open files of a sweep.
pub struct SweepFile {
    path: PathBuf,
    appender: Appender,
    /// All rows of points in the file.
    pub records: Vec<Record>,
    /// All rows of anchors.
    pub anchors: Vec<Record>,
    /// What belongs into the metadata file.
    pub metadata: Metadata,
    /// What stands there.
    metadata_on_disk: Option<Metadata>,
    /// The known issues of the device: rows that fail as they say name them.
    pub issues: DeviceIssues,
    /// Whether ceilings were measured that do not stand there.
    ceilings_changed: bool,
    journal: Journal,
    last_sync: Instant,
    /// Points that have a row and are to be measured again all the same, because they were wrong.
    again: HashSet<RowKey>,
    /// Whether their new row has to show that they are right.
    prove: bool,
    /// The device of the run, if it has begun.
    pub occupied: Option<Occupied>,
    /// Held until the end; the system lets go of it when the process ends, however it ends.
    _lock: Option<File>,
}

impl SweepFile {
    /// Opens or creates the files, whose lock the caller has. What they hold must be of the same device, driver,
    /// kernels, problem, shard and schema.
    ///
    /// # Errors
    /// When they are of something else, cannot be read or cannot be written; the message says which.
    pub fn open(
        path: &Path,
        subject: &FileSubject<'_>,
        resume: Resume,
        lock: Option<File>,
    ) -> anyhow::Result<Self> {
        let &FileSubject { device, space, enumeration, shard, kernel_hash, problem, .. } = subject;
        let journal_path = path.with_extension("journal");
        let Before { rows, anchors, taken_back, on_disk: known, metadata: before } =
            Before::check(path, subject, resume)?;
        if resume.retry_failed {
            // First the journal: it must not hold against a config what has no row any more.
            journal::forget(&journal_path)?;
        }
        let is_kept = |row: &&Record| !resume.retry_failed || stays(row);
        if taken_back > 0 || !rows.iter().all(|row| is_kept(&row)) {
            csv_file::replace(path, rows.iter().filter(is_kept).chain(&anchors))
                .with_context(|| format!("{}; choose another place with --out", path.display()))?;
        }
        if taken_back > 0 {
            note(&taken_back_words(taken_back));
        }
        let (appender, found) = Appender::open(path)?;
        // A line that was cut off is told below, with what comes of it.
        let torn = usize::from(found.torn_line.is_some());
        for warning in found.warnings(&path.display().to_string()).into_iter().skip(torn) {
            note(&format!("warning: {warning}"));
        }
        if let Some(line) = found.torn_line {
            note(&format!("{}: line {line} was cut off and is measured again", path.display()));
        }
        let (anchors, records): (Vec<Record>, Vec<Record>) =
            found.records.into_iter().partition(Record::is_anchor);
        let again = wrong_before(&records, &anchors, resume);
        let mut keys: HashSet<RowKey> = records.iter().map(row_key).collect();
        let journal = Journal::open(&journal_path, &keys)?;
        keys.extend(enumeration.points.iter().map(point_key));
        let space = with_sizes_before(space, before.as_ref());
        let (tool_version, tool_commit) = match &before {
            Some(before) => (before.tool_version.clone(), before.tool_commit.clone()),
            None => this_tool(),
        };
        let (runs, ceiling_gbps, merged) =
            before.map(|before| (before.runs, before.ceiling_gbps, before.merged)).unwrap_or_default();
        let metadata = Metadata {
            schema: SCHEMA,
            tool_version,
            tool_commit,
            device: device.clone(),
            kernel_hash: kernel_hash.to_owned(),
            problem: *problem,
            space,
            points: keys.len() as u64,
            shard: shard.cloned(),
            rejections: enumeration.rejections.clone(),
            counts: BTreeMap::new(),
            ceiling_gbps,
            runs,
            merged,
        };
        Ok(Self {
            path: path.to_owned(),
            appender,
            records,
            anchors,
            metadata,
            metadata_on_disk: known,
            ceilings_changed: false,
            issues: known_issues::of(device)?,
            journal,
            last_sync: Instant::now(),
            again,
            prove: resume.prove,
            occupied: None,
            _lock: lock,
        })
    }

    /// Where the rows are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The points that have no row yet, or are to be measured again.
    pub fn points_to_do(&self, enumeration: &Enumeration) -> Vec<Point> {
        let done: HashSet<RowKey> =
            self.records.iter().map(row_key).filter(|key| !self.again.contains(key)).collect();
        enumeration.points.iter().filter(|point| !done.contains(&point_key(point))).copied().collect()
    }

    /// Whether a row of this point says `ok` only with proof.
    pub fn is_to_be_proved(&self, key: &RowKey) -> bool {
        self.prove && self.again.contains(key)
    }

    /// Points that were wrong, and that no run has shown right since.
    pub fn distrusted(&self) -> u64 {
        distrusted(&self.records, &self.anchors).len() as u64
    }

    /// The sizes that still need a ceiling.
    pub fn sizes_without_ceiling(&self, enumeration: &Enumeration) -> BTreeSet<u64> {
        let left = self.points_to_do(enumeration);
        sizes_without_ceiling(enumeration, &left, &self.records, Some(&self.metadata))
    }

    /// Takes the ceiling of a size, or that it has none. It is on the disk with the next
    /// [`Self::write_ceilings`].
    pub fn set_ceiling(&mut self, n: u64, gbps: Option<f64>) {
        match gbps {
            Some(gbps) => drop(self.metadata.ceiling_gbps.insert(n, gbps)),
            None => drop(self.metadata.ceiling_gbps.remove(&n)),
        }
        self.ceilings_changed = true;
    }

    /// Writes down the ceilings that were measured since the last time: before any row that is measured against them.
    ///
    /// # Errors
    /// When the metadata cannot be written.
    pub fn write_ceilings(&mut self) -> anyhow::Result<()> {
        if self.ceilings_changed { self.write_metadata() } else { Ok(()) }
    }

    /// How many workers a config has ended, in this run and before.
    pub fn workers_ended(&self, key: &RowKey) -> u32 {
        self.journal.workers_ended(key)
    }

    /// Writes down that a run begins.
    ///
    /// # Errors
    /// When metadata or journal cannot be written.
    pub fn begin_run(&mut self, run_id: &str, seed: u64, settings: serde_json::Value) -> anyhow::Result<()> {
        (self.metadata.tool_version, self.metadata.tool_commit) = this_tool();
        self.metadata.runs.push(Run {
            run_id: run_id.to_owned(),
            arguments: std::env::args().skip(1).collect(),
            seed,
            settings,
            started_utc: now_utc(),
            ended_utc: None,
            rows: 0,
            seconds: BTreeMap::new(),
            outcome: None,
        });
        self.write_metadata()?;
        self.journal.run()
    }

    /// Writes down which config is about to run.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn intend(&mut self, key: &RowKey) -> anyhow::Result<()> {
        tracing::trace!(config = key.0, n = key.1, "begins");
        self.journal.start(key)
    }

    /// Writes down that a worker ended on a config.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn worker_ended(&mut self, key: &RowKey, cause: &str) -> anyhow::Result<()> {
        self.journal.ended(key, cause)
    }

    /// Writes down that a worker ended while no config ran.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn broke(&mut self, how: &str) -> anyhow::Result<()> {
        self.journal.broke(how)
    }

    /// Writes down that a config was stopped on request.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn dropped(&mut self, key: &RowKey) -> anyhow::Result<()> {
        self.journal.dropped(key)
    }

    /// Appends a row; it is with the operating system when this returns, and on the disk soon (see
    /// [`Self::sync_when_due`]).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, mut record: Record) -> anyhow::Result<()> {
        self.issues.explain(&mut record);
        record.shared_device.0 |= self.occupied.as_ref().is_some_and(Occupied::is_shared);
        let (config, status) = (&record.config_id, record.status.word());
        tracing::debug!(config, n = record.n_elements, status, reason = record.reason, "a row");
        self.appender.append(&record)?;
        if record.is_anchor() {
            self.anchors.push(record);
        } else {
            self.again.remove(&row_key(&record));
            self.records.push(record);
        }
        Ok(())
    }

    /// Changes rows that are there, and replaces the file by one with them.
    ///
    /// # Errors
    /// When the file cannot be written or read again; it is the old one then.
    pub fn change(&mut self, change: impl FnOnce(&mut [Record])) -> anyhow::Result<()> {
        self.sync()?;
        let mut records = self.records.clone();
        change(&mut records);
        csv_file::replace(&self.path, records.iter().chain(&self.anchors))
            .with_context(|| format!("{}; choose another place with --out", self.path.display()))?;
        let (appender, found) = Appender::open(&self.path)?;
        self.appender = appender;
        self.records = found.records.into_iter().filter(|record| !record.is_anchor()).collect();
        Ok(())
    }

    /// Waits for the disk if it has not been waited for in a second: what a machine that stops can lose.
    ///
    /// # Errors
    /// When the disk says so.
    pub fn sync_when_due(&mut self) -> anyhow::Result<()> {
        if self.last_sync.elapsed() >= SYNC_INTERVAL { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        self.last_sync = Instant::now();
        self.appender.sync()?;
        self.journal.sync()
    }

    /// Writes down how a run ended. A journal that nobody needs any more goes away.
    ///
    /// # Errors
    /// When rows, metadata or journal cannot be written.
    pub fn end_run(&mut self, complete: bool, seconds: &BTreeMap<String, f64>) -> anyhow::Result<()> {
        if let Some(run) = self.metadata.runs.last_mut() {
            run.ended_utc = Some(now_utc());
            run.seconds =
                seconds.iter().map(|(phase, time)| (phase.clone(), (time * 100.0).round() / 100.0)).collect();
        }
        self.sync()?;
        self.journal.end()?;
        self.settle(complete)
    }

    /// Writes down how the last run has left the file.
    ///
    /// # Errors
    /// When the metadata cannot be written.
    pub fn conclude(&mut self, outcome: RunOutcome) -> anyhow::Result<()> {
        if let Some(run) = self.metadata.runs.last_mut() {
            run.outcome = Some(outcome);
        }
        self.write_metadata()
    }

    /// Puts the metadata in order, also where the run before this one had no time to; a journal that nobody needs any
    /// more goes away.
    ///
    /// # Errors
    /// When the metadata cannot be written.
    pub fn settle(&mut self, complete: bool) -> anyhow::Result<()> {
        self.write_metadata()?;
        if complete {
            self.journal.retire();
        }
        Ok(())
    }

    /// Replaces the metadata file, unless it says the same already.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_metadata(&mut self) -> anyhow::Result<()> {
        self.ceilings_changed = false;
        self.metadata.counts = counts(&self.records);
        if let Some(shard) = &mut self.metadata.shard {
            shard.anchor_drift_pct = drift_pct(&self.anchors);
        }
        self.metadata.count_rows_of_runs(self.records.iter().chain(&self.anchors));
        if self.metadata_on_disk.as_ref() != Some(&self.metadata) {
            self.metadata.write(&Metadata::path_beside(&self.path))?;
            self.metadata_on_disk = Some(self.metadata.clone());
        }
        Ok(())
    }
}

/// The sizes of a space that still need a ceiling: a point is left there, or a row has a time to be measured against
/// it.
pub fn sizes_without_ceiling(
    enumeration: &Enumeration,
    left: &[Point],
    records: &[Record],
    metadata: Option<&Metadata>,
) -> BTreeSet<u64> {
    let asked: BTreeSet<u64> = enumeration.points.iter().map(|point| point.n).collect();
    let ok = records.iter().filter(|record| record.status == Status::Ok).map(|record| record.n_elements);
    let needed = left.iter().map(|point| point.n).chain(ok.filter(|n| asked.contains(n)));
    let has_one = |n: &u64| metadata.is_some_and(|metadata| metadata.ceiling_gbps.contains_key(n));
    needed.filter(|n| !has_one(n)).collect()
}

/// Rows by status.
pub fn counts(records: &[Record]) -> BTreeMap<Status, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.status).or_insert(0) += 1;
    }
    counts
}

/// The space of the file: a run at fewer sizes does not take away what the runs before it were asked for.
fn with_sizes_before(space: &Space, before: Option<&Metadata>) -> Space {
    let same =
        |before: &&Metadata| before.space.name == space.name && before.space.products == space.products;
    let sizes = before.filter(same).map(|before| format!("{},{}", before.space.sizes, space.sizes).parse());
    match sizes {
        Some(Ok(sizes)) => space.clone().with_sizes(sizes),
        _ => space.clone(),
    }
}

/// That rows are measured again whose times were taken back.
pub fn taken_back_words(rows: usize) -> String {
    format!(
        "the anchors of the shard drifted in a run before: {} of it are measured again",
        plural(rows, "row")
    )
}

/// Whether a row stays when what failed is measured again. A wrong one does: what is `ok` the next time was wrong all
/// the same.
pub fn stays(row: &Record) -> bool {
    matches!(row.status, Status::Ok | Status::WrongResult)
}

/// The points that were wrong and are to be measured again although they have a row: to be shown right, all that no
/// run has shown right since; else those whose last row is wrong.
pub fn wrong_before(rows: &[Record], anchors: &[Record], resume: Resume) -> HashSet<RowKey> {
    match resume {
        Resume { retry_failed: true, prove: true, .. } => distrusted(rows, anchors),
        Resume { retry_failed: true, .. } => {
            let last: HashMap<RowKey, Status> = rows.iter().map(|row| (row_key(row), row.status)).collect();
            last.into_iter()
                .filter(|(_, status)| *status == Status::WrongResult)
                .map(|(key, _)| key)
                .collect()
        }
        _ => HashSet::new(),
    }
}

/// Configs at sizes. An anchor that is wrong accuses its config as any row does.
fn distrusted(rows: &[Record], anchors: &[Record]) -> HashSet<RowKey> {
    let all = || rows.iter().chain(anchors);
    let trust = Trust::of(all());
    all().filter(|row| !trust.trusts(row)).map(row_key).collect()
}
