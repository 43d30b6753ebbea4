//! What a run finds at the place of its file, and whether it may go on with that.

use std::collections::HashSet;
use std::path::Path;

use anyhow::bail;
use scanbox_analysis::anchors::{drifted_runs, is_taken_back};
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::metadata::{Metadata, MetadataError};
use scanbox_model::problem::{Problem, ProblemDifference};
use scanbox_model::record::Record;
use scanbox_model::shard::ShardOf;
use scanbox_model::space::{Enumeration, Space};
use scanbox_model::units::{plural, size_label};

use super::{Resume, RowKey, point_key, row_key};
use crate::notes::note;
use crate::system::node;

/// Where rows of something else may go, as messages say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherPlace<'a> {
    /// Of a file that every run goes on with: the command that writes another one.
    Out(&'a str),
    /// Of attempts, which publish.
    Publish,
}

impl std::fmt::Display for OtherPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Out(command) => write!(f, "write to another file: {command}"),
            Self::Publish => f.write_str("publish to another folder"),
        }
    }
}

/// What the rows of a file are of: all of them of the same.
#[derive(Debug, Clone, Copy)]
pub struct FileSubject<'a> {
    /// The device.
    pub device: &'a DeviceProfile,
    /// The space.
    pub space: &'a Space,
    /// Its points, or those of the shard.
    pub enumeration: &'a Enumeration,
    /// Which part of the space these are; `None` where they are all.
    pub shard: Option<&'a ShardOf>,
    /// Hash of all kernel sources.
    pub kernel_hash: &'a str,
    /// What is computed.
    pub problem: &'a Problem,
    /// Whether the elements are reals.
    pub real: bool,
    /// The seed, where the file is one of several that will be merged: they are of one.
    pub seed: Option<u64>,
    /// Where rows of something else may go.
    pub elsewhere: OtherPlace<'a>,
}

/// What a run finds at its place, if it may go on with that.
pub struct Before {
    /// The rows of points.
    pub rows: Vec<Record>,
    /// The rows of anchors.
    pub anchors: Vec<Record>,
    /// Rows that are there and do not count, as the anchors of their shard drifted.
    pub taken_back: usize,
    /// The metadata, as it stands there.
    pub(super) on_disk: Option<Metadata>,
    /// The same, if it is about these rows.
    pub metadata: Option<Metadata>,
}

impl Before {
    /// Looks at what is there, and writes nothing.
    ///
    /// # Errors
    /// When it is of another device, driver, kernel source, problem, schema, space, shard or seed.
    pub fn check(path: &Path, subject: &FileSubject<'_>, resume: Resume) -> anyhow::Result<Self> {
        let mut rows = rows_before(path)?;
        let on_disk = known_metadata(&Metadata::path_beside(path))?;
        let node = node();
        let now = FileOrigin { host: &node, ..FileOrigin::of_device(subject.device, subject.kernel_hash) };
        for before in rows.iter().map(FileOrigin::of_row) {
            before.check(path, &now, subject, resume)?;
        }
        for row in &rows {
            check_problem(path, row, subject)?;
        }
        let mut metadata = on_disk.clone();
        if let Some(mut known) = on_disk.clone() {
            // A run that was killed did not count its rows.
            known.count_rows_of_runs(&rows);
            let origin = FileOrigin::of_device(&known.device, &known.kernel_hash);
            let checked = origin
                .check(path, &now, subject, resume)
                .and_then(|()| check_reconvergence(path, &known.device, subject))
                .and_then(|()| check_space(path, &known.space, subject, resume))
                .and_then(|()| check_shard(path, known.shard.as_ref(), subject))
                .and_then(|()| check_seed(path, &known, subject));
            match checked {
                // Without any row, it is about a file that is gone.
                Err(_) if rows.is_empty() => metadata = None,
                checked => checked?,
            }
        }
        let there = rows.len();
        // A merged file has the anchors of several shards, which say nothing of each other.
        if subject.shard.is_some() {
            let drifted = drifted_runs(&rows);
            rows.retain(|row| !is_taken_back(row, &drifted));
        }
        let taken_back = there - rows.len();
        let (anchors, rows): (Vec<Record>, Vec<Record>) = rows.into_iter().partition(Record::is_anchor);
        // Also where nothing beside the rows says which shard they are of.
        if let Some(shard) = subject.shard {
            check_points(path, &rows, subject, shard)?;
        }
        Ok(Self { rows, anchors, taken_back, on_disk, metadata })
    }
}

/// The device of the rows that are there, where `auto` of arguments has to go on standing for what it stood for there:
/// otherwise points would change their names midway. `None` where this run is free. `asks`: whether this run asks what
/// `auto` stands for.
///
/// # Errors
/// When it asks, and nothing says what `auto` stood for in the rows that are there.
pub fn device_before(
    path: &Path,
    asks: bool,
    elsewhere: OtherPlace<'_>,
) -> anyhow::Result<Option<DeviceProfile>> {
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(None);
    }
    let beside = Metadata::path_beside(path);
    match Metadata::read(&beside) {
        Ok(before) => {
            let asked = before.device.arguments_probe.is_some() || before.space.asks_device();
            Ok(asked.then_some(before.device))
        }
        Err(error) if asks => Err(anyhow::Error::new(error).context(format!(
            "{}: what `auto` of arguments stands for in its rows is in {}, which cannot be read; put that back, or \
             {elsewhere}",
            path.display(),
            beside.display()
        ))),
        Err(_) => Ok(None),
    }
}

/// What the rows that are there were chosen by: what was found out about guarantees of this very device, under this
/// driver, by what `version` asks.
#[must_use]
pub fn guarantees_before(path: &Path, device: &DeviceProfile, version: &str) -> Option<GuaranteesProbe> {
    std::fs::metadata(path).ok().filter(|file| file.len() > 0)?;
    let before = Metadata::read(&Metadata::path_beside(path)).ok()?.device;
    let facts = |device: &DeviceProfile| {
        let DeviceProfile { name, uuid, driver, driver_build, .. } = device;
        ([name, uuid, driver, driver_build].map(String::clone), device.device_api())
    };
    let same = facts(&before) == facts(device);
    before.guarantee_facts.probe.filter(|probe| same && probe.answers(version))
}

/// Whether the kernels of the rows that are there asked the device for maximal reconvergence if those of this run do:
/// it is other code. No row says so.
fn check_reconvergence(path: &Path, before: &DeviceProfile, subject: &FileSubject<'_>) -> anyhow::Result<()> {
    let &FileSubject { device: now, elsewhere, .. } = subject;
    let differ = match (before.maximal_reconvergence, now.maximal_reconvergence) {
        (false, true) => "its kernels did not ask for maximal reconvergence, and those of this run do",
        (true, false) => "its kernels asked for maximal reconvergence, and those of this run do not",
        (true, true) | (false, false) => return Ok(()),
    };
    bail!("{}: {differ}; {elsewhere}", path.display())
}

/// Whether the rows that are there are of the space of this run: a file of two spaces would be of a union that nobody
/// swept.
fn check_space(path: &Path, before: &Space, subject: &FileSubject<'_>, resume: Resume) -> anyhow::Result<()> {
    let &FileSubject { space: now, elsewhere, .. } = subject;
    let same = before.name == now.name && before.products == now.products;
    if same || resume.accept_space {
        return Ok(());
    }
    let [was, is] =
        [before, now].map(|space| format!("`{}` (definition {})", space.name, space.definition()));
    let name = if before.name == now.name { "give the space another name, " } else { "" };
    let accept = match elsewhere {
        OtherPlace::Out(_) => "let the file become one of the space of this run with --accept-space, or ",
        OtherPlace::Publish => "",
    };
    bail!(
        "{}: its rows are of the space {was}, this run sweeps {is}; {name}{accept}{elsewhere}",
        path.display()
    )
}

/// Whether the rows that are there are of the seed of this run, where that matters.
fn check_seed(path: &Path, before: &Metadata, subject: &FileSubject<'_>) -> anyhow::Result<()> {
    let &FileSubject { seed, elsewhere, .. } = subject;
    let Some(now) = seed else { return Ok(()) };
    match before.runs.iter().find(|run| run.rows > 0 && run.seed != now) {
        None => Ok(()),
        Some(run) => bail!(
            "{}: its rows are of seed {}, this run has {now}, and `scanbox merge` refuses to join them; go on with --seed {}, or \
             {elsewhere}",
            path.display(),
            run.seed,
            run.seed
        ),
    }
}

/// Whether the rows that are there are of the shard of this run.
fn check_shard(path: &Path, before: Option<&ShardOf>, subject: &FileSubject<'_>) -> anyhow::Result<()> {
    let &FileSubject { shard: now, elsewhere, .. } = subject;
    let words =
        |shard: Option<&ShardOf>| shard.map_or("the whole space".to_owned(), |shard| format!("`{shard}`"));
    match (before, now) {
        (None, None) => Ok(()),
        (Some(before), Some(now)) if before.is_same_part(now) => {
            if before.points == now.points {
                return Ok(());
            }
            let [was, is] = [before, now].map(|shard| {
                format!("{} (hash {})", plural(shard.of_points as usize, "point"), shard.points)
            });
            bail!(
                "{}: its rows are of `{now}` of {was}, and this run enumerates {is}: another space, --sizes, --filter or \
                 problem, or what this device can do has changed; shards of different points do not belong together. Give the \
                 arguments of before, or {elsewhere}",
                path.display()
            )
        }
        _ => bail!(
            "{}: its rows are of {}, this run is of {}; a file holds one part of a space: give the arguments of before, or \
             {elsewhere}",
            path.display(),
            words(before),
            words(now)
        ),
    }
}

/// Whether each row is a point of the shard.
fn check_points(
    path: &Path,
    rows: &[Record],
    subject: &FileSubject<'_>,
    shard: &ShardOf,
) -> anyhow::Result<()> {
    let &FileSubject { enumeration, elsewhere, .. } = subject;
    let own: HashSet<RowKey> = enumeration.points.iter().map(point_key).collect();
    match rows.iter().find(|row| !own.contains(&row_key(row))) {
        None => Ok(()),
        Some(row) => bail!(
            "{}: its row of {} at {} is not in `{shard}`; {elsewhere}",
            path.display(),
            row.config_id,
            size_label(row.n_elements)
        ),
    }
}

/// The rows that the runs before this one have written. None in an empty file: a run that ends before its first byte
/// leaves that.
///
/// # Errors
/// When what is there cannot be read.
pub fn rows_before(path: &Path) -> anyhow::Result<Vec<Record>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    match csv_file::read(path) {
        Ok(found) => Ok(found.records),
        Err(csv_file::CsvError::Empty { .. }) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// The metadata beside a file, if there is any that can be read. A torn one is made anew: the rows have what matters.
fn known_metadata(path: &Path) -> anyhow::Result<Option<Metadata>> {
    if !path.exists() {
        return Ok(None);
    }
    match Metadata::read(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(MetadataError::Malformed { reason, .. }) => {
            note(&format!("{}: {reason}; it is made anew", path.display()));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Where rows come from: what must not change within a file.
struct FileOrigin<'a> {
    device: &'a str,
    api: DeviceApi,
    device_uuid: &'a str,
    driver: &'a str,
    kernel_hash: &'a str,
    /// Empty where it is not known.
    pci_address: &'a str,
    /// Empty where it is not known.
    host: &'a str,
}

impl<'a> FileOrigin<'a> {
    fn of_device(device: &'a DeviceProfile, kernel_hash: &'a str) -> Self {
        let pci_address = device.pci_address.as_deref().unwrap_or_default();
        Self {
            device: &device.name,
            api: device.device_api(),
            device_uuid: &device.uuid,
            driver: &device.driver,
            kernel_hash,
            pci_address,
            host: "",
        }
    }

    fn of_row(record: &'a Record) -> Self {
        Self {
            device: &record.device,
            api: DeviceApi::of(record),
            device_uuid: &record.device_uuid,
            driver: &record.driver,
            kernel_hash: &record.kernel_hash,
            pci_address: &record.pci_address,
            host: &record.host,
        }
    }

    /// Whether rows from here may stand beside rows of this run, which are from `now`.
    fn check(
        &self,
        path: &Path,
        now: &Self,
        subject: &FileSubject<'_>,
        resume: Resume,
    ) -> anyhow::Result<()> {
        let elsewhere = subject.elsewhere;
        if self.api != now.api {
            bail!(
                "{}: its rows are of {}, this run is of {}: a file holds rows of one interface to a device; {elsewhere}",
                path.display(),
                self.api.words(),
                now.api.words()
            );
        }
        let fields = [
            ("device", self.device, now.device),
            ("driver", self.driver, now.driver),
            ("kernel_hash", self.kernel_hash, now.kernel_hash),
        ];
        if let Some((field, before, now)) = fields.iter().find(|(_, before, now)| before != now) {
            bail!("{}: its rows have {field} `{before}`, this run has `{now}`; {elsewhere}", path.display());
        }
        // Some drivers give all units of a model the same UUID, on every host.
        let units = [
            ("device_uuid", self.device_uuid, now.device_uuid),
            ("pci_address", self.pci_address, now.pci_address),
            ("host", self.host, now.host),
        ];
        let other = units.iter().find(|(field, before, now)| {
            let unknown = *field != "device_uuid" && (before.is_empty() || now.is_empty());
            before != now && !unknown
        });
        if let Some((field, before, now)) = other.filter(|_| !resume.accept_device) {
            bail!(
                "{}: its rows have {field} `{before}`, this run has `{now}`, another unit of the same model and driver; \
                 go on with --accept-device, or {elsewhere}",
                path.display()
            );
        }
        Ok(())
    }
}

/// Whether a row that is there is of the problem, and of the input, of this run.
fn check_problem(path: &Path, row: &Record, subject: &FileSubject<'_>) -> anyhow::Result<()> {
    let &FileSubject { problem, real, elsewhere, .. } = subject;
    let before = Problem::of_row(row).map_err(|reason| anyhow::anyhow!("{}: {reason}", path.display()))?;
    let refuse = |column: &str, flag: &str, before: &str, now: &str| {
        bail!(
            "{}: its rows have {column} `{before}`, this run has `{now}` ({flag}); a file holds one problem: \
             {elsewhere}",
            path.display()
        )
    };
    if let Some(ProblemDifference { column, flag, own, others }) = before.difference(problem) {
        return refuse(column, flag, &own, &others);
    }
    if (row.input == "real") != real {
        return refuse("input", "--input", &row.input, if real { "real" } else { "random" });
    }
    Ok(())
}
