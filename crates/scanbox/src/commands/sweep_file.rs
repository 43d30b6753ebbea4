//! The files of a sweep: rows, metadata, journal, and the lock on all three. One process owns them.
//!
//! Whatever moment the process ends at, the files are enough to go on: rows are appended one by one, the metadata is
//! replaced by renaming, and the journal names the config in flight.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use scanbox_model::csv_file::{self, Appender};
use scanbox_model::device::DeviceProfile;
use scanbox_model::metadata::{Metadata, MetadataError, Run};
use scanbox_model::record::{Record, SCHEMA, Status};
use scanbox_model::space::{Enumeration, Point, Space};
use scanbox_runner::sweep::now_utc;

use super::complain;

/// Between two waits for the disk.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// A config at a size: what a row is found by.
pub type Key = (String, u64);

/// The key of a row.
pub fn row_key(record: &Record) -> Key {
    (record.config_id.clone(), record.n_elements)
}

/// The key of a point.
pub fn point_key(point: &Point) -> Key {
    (point.config.to_string(), point.n)
}

/// What the user allows on resuming.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resume {
    /// Go on with another unit of the same model and driver.
    pub accept_device: bool,
    /// Measure again what was not `ok`.
    pub retry_failed: bool,
}

/// The open files of a sweep.
pub struct SweepFile {
    path: PathBuf,
    appender: Appender,
    /// All rows in the file.
    pub records: Vec<Record>,
    /// What stands in the metadata file.
    pub metadata: Metadata,
    journal: Journal,
    last_sync: Instant,
    /// Held until the end; the system lets go of it when the process ends, however it ends.
    _lock: File,
}

impl SweepFile {
    /// Opens or creates the files. What they hold must be of the same device, driver, kernels and schema.
    pub fn open(
        path: &Path,
        device: &DeviceProfile,
        space: &Space,
        enumeration: &Enumeration,
        kernel_hash: &str,
        resume: Resume,
    ) -> anyhow::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .with_context(|| format!("output folder {}; choose another with --out", folder.display()))?;
        let lock = lock(path)?;
        let known = known_metadata(&Metadata::path_beside(path))?;
        if let Some(known) = &known {
            check_provenance(path, &Provenance::of(&known.device, &known.kernel_hash), device, kernel_hash, resume)?;
        }
        if path.exists() {
            check_rows(path, device, kernel_hash, resume)?;
        }
        let (appender, found) = Appender::open(path)?;
        if let Some(line) = found.torn_line {
            complain(&format!("{}: line {line} was cut off and is measured again", path.display()));
        }
        let done = found.records.iter().map(row_key).collect();
        let journal = Journal::open(&path.with_extension("journal"), &done)?;
        let (runs, copy_gbps) = known.map(|known| (known.runs, known.copy_gbps)).unwrap_or_default();
        let metadata = Metadata {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            tool_commit: env!("SCANBOX_COMMIT").to_owned(),
            device: device.clone(),
            kernel_hash: kernel_hash.to_owned(),
            space: space.clone(),
            points: enumeration.points.len() as u64,
            rejections: enumeration.rejections.clone(),
            counts: BTreeMap::new(),
            copy_gbps,
            runs,
        };
        Ok(Self {
            path: path.to_owned(),
            appender,
            records: found.records,
            metadata,
            journal,
            last_sync: Instant::now(),
            _lock: lock,
        })
    }

    /// Where the rows are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The points that have no row yet.
    pub fn points_to_do(&self, enumeration: &Enumeration) -> Vec<Point> {
        let done: HashSet<Key> = self.records.iter().map(row_key).collect();
        enumeration.points.iter().filter(|point| !done.contains(&point_key(point))).copied().collect()
    }

    /// The sizes among these points whose copy has not been measured.
    pub fn sizes_without_copy(&self, points: &[Point]) -> BTreeSet<u64> {
        points.iter().map(|point| point.n).filter(|n| !self.metadata.copy_gbps.contains_key(n)).collect()
    }

    /// How many workers a config has ended, in this run and before.
    pub fn workers_ended(&self, key: &Key) -> u32 {
        self.journal.ended.get(key).copied().unwrap_or(0)
    }

    /// Writes down that a run begins.
    pub fn begin_run(&mut self, run_id: &str, seed: u64, settings: serde_json::Value) -> anyhow::Result<()> {
        self.metadata.runs.push(Run {
            run_id: run_id.to_owned(),
            arguments: std::env::args().skip(1).collect(),
            seed,
            settings,
            started_utc: now_utc(),
            ended_utc: None,
            rows: 0,
            seconds: BTreeMap::new(),
        });
        self.write_metadata()
    }

    /// Writes down which config is about to run.
    pub fn intend(&mut self, key: &Key) -> anyhow::Result<()> {
        self.journal.write("start", key, "")
    }

    /// Writes down that a worker ended on a config.
    pub fn worker_ended(&mut self, key: &Key, cause: &str) -> anyhow::Result<()> {
        *self.journal.ended.entry(key.clone()).or_insert(0) += 1;
        self.journal.write("ended", key, cause)
    }

    /// Writes down that a config was stopped on request.
    pub fn dropped(&mut self, key: &Key) -> anyhow::Result<()> {
        self.journal.write("dropped", key, "")
    }

    /// Appends a row; it is with the operating system when this returns, and on the disk a second later.
    pub fn append(&mut self, record: Record) -> anyhow::Result<()> {
        self.appender.append(&record)?;
        if self.last_sync.elapsed() >= SYNC_INTERVAL {
            self.sync()?;
        }
        self.records.push(record);
        if let Some(run) = self.metadata.runs.last_mut() {
            run.rows += 1;
        }
        Ok(())
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        self.last_sync = Instant::now();
        self.appender.sync()?;
        self.journal.file.sync_data().with_context(|| self.journal.path.display().to_string())
    }

    /// Writes down how a run ended. A journal that nobody needs any more goes away.
    pub fn end_run(&mut self, complete: bool, seconds: &BTreeMap<String, f64>) -> anyhow::Result<()> {
        if let Some(run) = self.metadata.runs.last_mut() {
            run.ended_utc = Some(now_utc());
            run.seconds = seconds.iter().map(|(phase, time)| (phase.clone(), (time * 100.0).round() / 100.0)).collect();
        }
        self.sync()?;
        self.write_metadata()?;
        if complete && self.journal.ended.is_empty() {
            let _ = fs::remove_file(&self.journal.path);
        }
        Ok(())
    }

    /// Replaces the metadata file.
    pub fn write_metadata(&mut self) -> anyhow::Result<()> {
        self.metadata.counts = counts(&self.records);
        Ok(self.metadata.write(&Metadata::path_beside(&self.path))?)
    }
}

/// Rows by status.
pub fn counts(records: &[Record]) -> BTreeMap<Status, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.status).or_insert(0) += 1;
    }
    counts
}

/// The metadata beside a file, if there is any that can be read. A torn one is made anew: the rows have what matters.
fn known_metadata(path: &Path) -> anyhow::Result<Option<Metadata>> {
    if !path.exists() {
        return Ok(None);
    }
    match Metadata::read(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(MetadataError::Malformed { reason, .. }) => {
            complain(&format!("{}: {reason}; it is made anew", path.display()));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Where rows come from: what must not change within a file.
struct Provenance<'a> {
    device: &'a str,
    device_uuid: &'a str,
    driver: &'a str,
    kernel_hash: &'a str,
}

impl<'a> Provenance<'a> {
    fn of(device: &'a DeviceProfile, kernel_hash: &'a str) -> Self {
        Self { device: &device.name, device_uuid: &device.uuid, driver: &device.driver, kernel_hash }
    }
}

/// Checks the rows of a file, and takes out those that are to be measured again.
fn check_rows(path: &Path, device: &DeviceProfile, kernel_hash: &str, resume: Resume) -> anyhow::Result<()> {
    let records = match csv_file::read(path) {
        Ok(found) => found.records,
        // An empty file is what a run leaves that ends before its first byte.
        Err(csv_file::CsvError::Empty { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for record in &records {
        let before = Provenance {
            device: &record.device,
            device_uuid: &record.device_uuid,
            driver: &record.driver,
            kernel_hash: &record.kernel_hash,
        };
        check_provenance(path, &before, device, kernel_hash, resume)?;
    }
    if resume.retry_failed && records.iter().any(|record| record.status != Status::Ok) {
        let partial = path.with_extension("csv.partial");
        let failed = || format!("{}; choose another place with --out", partial.display());
        let mut file = File::create(&partial).with_context(failed)?;
        csv_file::write(&mut file, true, records.iter().filter(|record| record.status == Status::Ok)).with_context(failed)?;
        file.sync_all().with_context(failed)?;
        fs::rename(&partial, path).with_context(failed)?;
    }
    Ok(())
}

fn check_provenance(
    path: &Path,
    before: &Provenance<'_>,
    device: &DeviceProfile,
    kernel_hash: &str,
    resume: Resume,
) -> anyhow::Result<()> {
    let now = Provenance::of(device, kernel_hash);
    let fields = [
        ("device", before.device, now.device),
        ("driver", before.driver, now.driver),
        ("kernel_hash", before.kernel_hash, now.kernel_hash),
    ];
    for (field, before, now) in fields {
        if before != now {
            bail!(
                "{}: its rows have {field} `{before}`, this run has `{now}`; write to another place with --out",
                path.display()
            );
        }
    }
    if before.device_uuid != now.device_uuid && !resume.accept_device {
        bail!(
            "{}: its rows have device_uuid `{}`, this run has `{}`, another unit of the same model and driver; \
             go on with --accept-device, or write to another place with --out",
            path.display(),
            before.device_uuid,
            now.device_uuid
        );
    }
    Ok(())
}

/// Takes the lock of a sweep file, or says who holds it.
fn lock(csv: &Path) -> anyhow::Result<File> {
    let path = csv.with_extension("lock");
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("{}; choose another place with --out", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            bail!(
                "{} is being written by another sweep ({}); wait for it, or choose another file with --out",
                csv.display(),
                holder.trim()
            );
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("lock {}", path.display())),
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}, since {}", std::process::id(), now_utc())?;
    Ok(file)
}

/// What was about to happen, line by line: `start CONFIG SIZE` before a config runs, `ended CONFIG SIZE CAUSE` when it
/// took its worker with it, `dropped CONFIG SIZE` when it was stopped on request.
struct Journal {
    path: PathBuf,
    file: File,
    /// Workers that each config has ended. One that was in flight when a run died counts: nobody knows better.
    ended: HashMap<Key, u32>,
}

impl Journal {
    fn open(path: &Path, done: &HashSet<Key>) -> anyhow::Result<Self> {
        let failed = || format!("{}; choose another place with --out", path.display());
        let mut file = File::options().read(true).append(true).create(true).open(path).with_context(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(failed)?;
        let text = String::from_utf8_lossy(&bytes);
        // A last line without its end was cut off before its config ran.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(file).with_context(failed)?;
        }
        let mut in_flight: HashMap<Key, u32> = HashMap::new();
        let mut ended: HashMap<Key, u32> = HashMap::new();
        for line in complete.lines() {
            let mut words = line.splitn(4, ' ');
            let (Some(verb), Some(config), Some(Ok(n))) = (words.next(), words.next(), words.next().map(str::parse))
            else {
                continue;
            };
            let flying = in_flight.entry((config.to_owned(), n)).or_insert(0);
            match verb {
                "start" => *flying += 1,
                "dropped" => *flying = flying.saturating_sub(1),
                "ended" => {
                    *flying = flying.saturating_sub(1);
                    *ended.entry((config.to_owned(), n)).or_insert(0) += 1;
                }
                _ => {}
            }
        }
        for (key, flying) in in_flight.into_iter().filter(|(key, flying)| *flying > 0 && !done.contains(key)) {
            *ended.entry(key).or_insert(0) += flying;
        }
        Ok(Self { path: path.to_owned(), file, ended })
    }

    fn write(&mut self, verb: &str, (config, n): &Key, cause: &str) -> anyhow::Result<()> {
        let cause = cause.replace(['\n', '\r'], " ");
        let line = format!("{verb} {config} {n} {cause}");
        writeln!(self.file, "{}", line.trim_end()).with_context(|| self.path.display().to_string())
    }
}
