//! Files that commands read: which of scanbox's own kinds one is, its rows, and the metadata beside it.

pub mod given;
pub mod metadata_fit;
pub mod missing;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use scanbox_analysis::grouping::{Builder, FileFacts, FileRows, RecordFile};
use scanbox_analysis::pairs::{self, Failed, Quad, Side};
use scanbox_kernels::operator_file::{OperatorError, OperatorFile};
use scanbox_model::csv_file::{self, CsvError};
use scanbox_model::device::DeviceProfile;
use scanbox_model::metadata::Metadata;
use scanbox_model::pair_file::PairRow;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::Point;
use scanbox_session::device::known_issues;
use scanbox_session::notes::note;

use self::given::{filtered, only_filter};
use self::metadata_fit::MetadataFit;
use crate::exit::UsageError;
use crate::output::Kind;

/// Whether an input is of one of these kinds; `why` is what the command does with it.
///
/// # Errors
/// When it is of another kind: what it is, and what it is for.
pub fn expect(path: &Path, option: &str, kinds: &[Kind], why: &str) -> anyhow::Result<()> {
    let kind = Kind::of(path).with_context(|| path.display().to_string())?;
    // Whoever reads it says more about these.
    if kinds.contains(&kind) || matches!(kind, Kind::Nothing | Kind::Stream | Kind::BrokenRows | Kind::Folder)
    {
        return Ok(());
    }
    let (option, path) = (before(option), path.display());
    let message = format!("{option}{path} is {}; {why}{}", kind.describe(), use_of(kind));
    Err(UsageError(message).into())
}

/// An option as it stands before its value.
fn before(option: &str) -> String {
    if option.is_empty() { String::new() } else { format!("{option} ") }
}

/// The operator of a file that an option names.
///
/// # Errors
/// When it cannot be read, or is none of an operator.
pub fn operator_of(option: &str, path: &Path) -> anyhow::Result<OperatorFile> {
    OperatorFile::read(path).map_err(|error| {
        let refused = format!("{}{error}", before(option));
        match error {
            OperatorError::Unreadable { source, .. } => anyhow::Error::new(source).context(refused),
            OperatorError::Wrong { .. } => anyhow::Error::msg(refused),
        }
    })
}

/// The device of a metadata file.
///
/// # Errors
/// When it is none, lacks a field, or describes what no device can be.
pub fn profile_of(path: &Path) -> anyhow::Result<DeviceProfile> {
    let kinds = [Kind::SweepMetadata, Kind::BenchmarkMetadata, Kind::TornMetadata];
    let says = "a profile is the metadata beside rows, such as results/x.meta.json";
    // Of one that somebody has changed, what is wrong says more than that scanbox did not write it.
    if !is_meant_as_metadata(path) {
        expect(path, "--profile", &kinds, says)?;
    }
    let device = Metadata::read(path).context("the profile is a metadata file")?.device;
    device.check().map_err(|wrong| anyhow!("{}: device: {wrong}", path.display()))?;
    Ok(device)
}

/// Whether a file is JSON with a device, whatever it lacks.
fn is_meant_as_metadata(path: &Path) -> bool {
    let json = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    json.is_some_and(|json| json["device"].is_object())
}

/// Why a file of rows cannot be read; of one of another kind, what it is.
pub fn unreadable(path: &Path, error: CsvError) -> anyhow::Error {
    let kind = match &error {
        CsvError::NoHeader { .. } | CsvError::MissingColumn { .. } | CsvError::Row { .. } => {
            Kind::of(path).ok()
        }
        _ => None,
    };
    match kind {
        Some(kind) if !matches!(kind, Kind::BrokenRows | Kind::Bytes | Kind::Foreign) => {
            anyhow!("{} is {}, and has no rows{}", path.display(), kind.describe(), use_of(kind))
        }
        _ => error.into(),
    }
}

/// What a file is for.
fn use_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Sweep | Kind::NoRows => ": `scanbox analyze`, `report` and `compare` read it",
        Kind::Benchmark => ": `scanbox bench --show` shows it, `scanbox report` takes it beside a sweep",
        Kind::Import => ": `scanbox bench --with` shows it, `scanbox report` takes it beside a sweep",
        Kind::Pairs => ": `scanbox compare --pairs` reads it",
        Kind::SweepMetadata | Kind::BenchmarkMetadata | Kind::TornMetadata | Kind::Journal | Kind::Lock => {
            ": name the .csv that it stands beside"
        }
        _ => "",
    }
}

/// The files, each of them once.
pub fn once<'a>(files: &'a [PathBuf], warnings: &mut Vec<String>) -> Vec<&'a PathBuf> {
    let mut seen = BTreeSet::new();
    let mut paths = Vec::new();
    for path in files {
        if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            paths.push(path);
        } else {
            warnings.push(format!("{}: named twice; it is read once", path.display()));
        }
    }
    paths
}

/// Reads a file into `builder`, with the metadata beside it.
pub fn add_file(builder: &mut Builder, path: &Path, warnings: &mut Vec<String>) -> anyhow::Result<()> {
    SweepInput::read(path, builder.clock())?.add_to(builder, "", warnings);
    Ok(())
}

/// The legal points of spaces on devices: equal ones are enumerated once, and held once.
#[derive(Debug, Default)]
pub struct KnownPlans(Mutex<HashMap<String, Arc<[Point]>>>);

impl KnownPlans {
    fn of(&self, metadata: &Metadata) -> anyhow::Result<Arc<[Point]>> {
        let Metadata { space, problem, device, rejections, .. } = metadata;
        // Which unit it is, and what times decided what it can do, changes nothing.
        let mut model = DeviceProfile { uuid: String::new(), pci_address: None, ..device.clone() };
        if let Some(probe) = &mut model.arguments_probe {
            probe.sizes.clear();
        }
        let rules: Vec<&str> = rejections.iter().map(|rejection| rejection.rule.as_str()).collect();
        let filter = only_filter(std::iter::once(metadata));
        let key = format!("{space:?} {problem:?} {model:?} {rules:?} {filter:?}");
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(points) = known.get(&key) {
            return Ok(Arc::clone(points));
        }
        let points = known_issues::points_before(space, problem, &model, rejections)?.points;
        // Nobody has asked for what a filter leaves out.
        let points = filtered(&points, filter.and_then(|text| text.parse().ok()), &model);
        let same = known.values().find(|other| ***other == *points);
        let points = same.map_or_else(|| points.as_slice().into(), Arc::clone);
        known.insert(key, Arc::clone(&points));
        Ok(points)
    }
}

/// One file with what the metadata beside it says.
pub struct SweepInput {
    rows: FileRows,
    metadata: Option<Metadata>,
    planned: Option<Arc<[Point]>>,
    warnings: Vec<String>,
}

impl SweepInput {
    /// Reads it.
    ///
    /// # Errors
    /// When it is no file of rows.
    pub fn read(path: &Path, clock: Clock) -> anyhow::Result<Self> {
        Self::read_with(path, clock, &KnownPlans::default())
    }

    /// Reads one of several.
    ///
    /// # Errors
    /// When it is no file of rows.
    pub fn read_with(path: &Path, clock: Clock, plans: &KnownPlans) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let mut warnings = Vec::new();
        let metadata = metadata_beside(path)?;
        let mut fit = metadata.as_ref().map(MetadataFit::new);
        let mut rows = FileRows::new(&name, clock);
        let shape = csv_file::for_each(path, |row| -> anyhow::Result<()> {
            fit.iter_mut().for_each(|fit| fit.see(row.record));
            Ok(rows.push_of_file(row)?)
        })
        .map_err(|error| match error.downcast() {
            Ok(error) => unreadable(path, error),
            Err(other) => other,
        })?;
        warnings.extend(shape.warnings(&name));
        let stranger = fit.and_then(|fit| fit.stranger());
        let metadata = metadata.filter(|_| is_own(path, stranger, &mut warnings));
        let planned = metadata.as_ref().map(|metadata| plans.of(metadata)).transpose()?;
        Ok(Self { planned, rows, metadata, warnings })
    }

    /// The metadata beside it, where that is about its rows.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// How many of its rows are anchors of shards.
    pub fn anchors(&self) -> u64 {
        self.rows.anchors()
    }

    /// Adds its rows to what is analysed; `label` is what the user calls it.
    pub fn add_to(self, builder: &mut Builder, label: &str, warnings: &mut Vec<String>) {
        warnings.extend(self.warnings);
        let merged = self.metadata.as_ref().and_then(|metadata| metadata.merged.as_ref());
        let facts = FileFacts {
            planned: self.planned.as_ref(),
            problem: self.metadata.as_ref().map_or_else(Problem::default, |metadata| metadata.problem),
            kind: self.metadata.as_ref().map(|metadata| metadata.device.kind),
            ceiling_gbps: self.metadata.as_ref().map(|metadata| &metadata.ceiling_gbps),
            ceiling_counts: merged.map(|merged| &merged.copies),
            inputs: merged.map(|merged| &merged.inputs[..]).unwrap_or_default(),
            label,
        };
        builder.add_rows(self.rows, &facts);
    }
}

fn metadata_beside(path: &Path) -> anyhow::Result<Option<Metadata>> {
    let beside = Metadata::path_beside(path);
    if beside.exists() { Ok(Some(Metadata::read(&beside)?)) } else { Ok(None) }
}

/// Whether metadata is to be used; that it is about something else is told.
fn is_own(path: &Path, stranger: Option<String>, warnings: &mut Vec<String>) -> bool {
    if let Some(other) = &stranger {
        let beside = Metadata::path_beside(path);
        warnings.push(format!("{}: it is {other}; it is not used", beside.display()));
    }
    stranger.is_none()
}

/// The metadata beside a file; `None` where there is none, or where it is not about these rows.
pub fn metadata_of(
    path: &Path,
    records: &[Record],
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<Metadata>> {
    let metadata = metadata_beside(path)?;
    let stranger = metadata.as_ref().and_then(|metadata| {
        let mut fit = MetadataFit::new(metadata);
        records.iter().for_each(|record| fit.see(record));
        fit.stranger()
    });
    Ok(metadata.filter(|_| is_own(path, stranger, warnings)))
}

/// The rows of a file of pairs as what is judged.
pub fn pairs_of(rows: &[PairRow]) -> pairs::Pairs {
    let mut pairs = pairs::Pairs::default();
    for row in rows {
        let (n, config, round) = (row.n_elements, row.config_id.clone(), row.round);
        match row.times().filter(|_| row.status == Status::Ok) {
            Some([base_ns, new_ns]) => pairs.quads.push(Quad { n, config, round, base_ns, new_ns }),
            None => {
                let side = if row.failed == Side::Base.word() { Side::Base } else { Side::New };
                let (status, reason) = (row.status, row.reason.clone());
                pairs.failed.push(Failed { n, config, round, side, status, reason });
            }
        }
    }
    pairs
}

/// A sweep that is judged, and its metadata.
pub struct JudgedSweep {
    /// What it was named.
    pub name: String,
    /// Its rows.
    pub records: Vec<Record>,
    metadata: Option<Metadata>,
}

impl JudgedSweep {
    /// Reads it.
    ///
    /// # Errors
    /// When it is no file of a sweep.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let found = csv_file::read(path).map_err(|error| unreadable(path, error))?;
        expect(path, "", &[Kind::Sweep, Kind::NoRows], "`compare` judges one sweep by another")?;
        let mut warnings = found.warnings(&name);
        let metadata = metadata_of(path, &found.records, &mut warnings)?;
        if metadata.is_none() {
            warnings.push(format!(
                "{name}: there is no metadata beside it, so no copies tell drift from a slow-down of all scans"
            ));
        }
        for warning in warnings {
            note(&format!("warning: {warning}"));
        }
        Ok(Self { name, records: found.records, metadata })
    }

    /// Which scanbox made it, in words, where the metadata says so.
    pub fn tool(&self) -> Option<String> {
        let Metadata { tool_version, tool_commit, .. } = self.metadata.as_ref()?;
        let commit = Some(tool_commit).filter(|commit| !["", "unknown"].contains(&commit.as_str()));
        let commit = commit.map_or_else(String::new, |commit| format!(", commit {commit}"));
        Some(format!("version {tool_version}{commit}"))
    }

    /// Whether the run ended before its space did.
    pub fn is_cut(&self) -> bool {
        let points = self.metadata.as_ref().map_or(0, |metadata| metadata.points);
        (self.records.len() as u64) < points
    }

    /// The same for an analysis.
    pub fn source(&self) -> RecordFile<'_> {
        RecordFile {
            name: &self.name,
            records: &self.records,
            planned: None,
            problem: self.metadata.as_ref().map_or_else(Problem::default, |metadata| metadata.problem),
            kind: self.metadata.as_ref().map(|metadata| metadata.device.kind),
            ceiling_gbps: self.metadata.as_ref().map(|metadata| &metadata.ceiling_gbps),
        }
    }
}
