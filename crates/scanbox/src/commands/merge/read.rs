//! The files of a merge: what each is, its rows, and whether the metadata beside it is about them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scanbox_analysis::merge::MergeSource;
use scanbox_model::csv_file::{self, CsvError, Records};
use scanbox_model::metadata::{Metadata, MetadataError};
use scanbox_model::record::Record;
use scanbox_model::units::{plural, size_label};

use crate::exit::UsageError;
use crate::inputs::metadata_fit::MetadataFit;
use crate::inputs::{expect, unreadable};
use crate::output::Kind;

/// The files of a merge.
pub struct MergeFiles {
    /// What can be merged.
    pub sources: Vec<MergeSource>,
    /// Of those that are sweeps and cannot be read, what is wrong.
    pub unreadable: Vec<String>,
}

/// Reads them. Whatever is no sweep is named, all of it at once. A sweep with a line that cannot be read is left out:
/// one file that was spoilt does not hold up a fleet.
///
/// # Errors
/// When one is no sweep, when the system does not let one be read, and when none is left.
pub fn sources(paths: &[&PathBuf], warnings: &mut Vec<String>) -> anyhow::Result<MergeFiles> {
    let mut foreign = Vec::new();
    for path in paths {
        // What is left of a header, where something else says that it was one.
        if Kind::of(path).is_ok_and(|kind| kind == Kind::Piece)
            && Kind::of(&Metadata::path_beside(path)).is_ok_and(|kind| kind == Kind::SweepMetadata)
        {
            continue;
        }
        match expect(path, "", &[Kind::Sweep, Kind::NoRows, Kind::Empty], "`merge` unites sweeps") {
            Ok(()) => {}
            Err(error) if error.downcast_ref::<UsageError>().is_some() => foreign.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
        if path.is_dir() {
            foreign.push(format!("{0} is a folder; name the sweeps in it: {0}/*.csv", path.display()));
        }
    }
    if !foreign.is_empty() {
        return Err(UsageError(foreign.join("; ")).into());
    }
    let (mut sources, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        match source(path, warnings) {
            Ok(source) => sources.push(source),
            Err(error) if Kind::of(path).is_ok_and(|kind| kind == Kind::BrokenRows) => {
                unreadable.push(format!("{error:#}"));
            }
            Err(error) => return Err(error),
        }
    }
    if sources.is_empty() {
        bail!("{}", unreadable.join("; "));
    }
    Ok(MergeFiles { sources, unreadable })
}

fn source(path: &Path, warnings: &mut Vec<String>) -> anyhow::Result<MergeSource> {
    let shown = path.display().to_string();
    let name = path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    let bytes = std::fs::read(path).with_context(|| shown.clone())?;
    let found = match csv_file::read_bytes(&bytes, path) {
        Err(CsvError::Empty { .. }) => {
            warnings.push(format!("{shown}: the file is empty"));
            Records::default()
        }
        other => other.map_err(|error| unreadable(path, error))?,
    };
    let torn = usize::from(found.torn_line.is_some());
    if let Some(line) = found.torn_line {
        let lost = torn_row(&bytes).map_or_else(String::new, |row| format!(": the row of {row}"));
        warnings.push(format!("{shown}: line {line} was cut off, and is lost{lost}"));
    }
    warnings.extend(found.warnings(&shown).into_iter().skip(torn));
    let mut metadata = beside(path, &found.records, warnings)?;
    if let Some(metadata) = &mut metadata {
        // A run that was killed did not count its rows.
        metadata.count_rows_of_runs(&found.records);
        let (told, there) = (metadata.counts.values().sum::<u64>(), found.records.len() as u64);
        if told > there {
            let told = plural(told as usize, "row");
            warnings.push(format!("{shown}: its metadata names {told}, and the file has {there}"));
        }
    }
    Ok(MergeSource { name, records: found.records, metadata })
}

/// What a last line was about that was cut off, as far as its cells are whole.
fn torn_row(bytes: &[u8]) -> Option<String> {
    let complete = bytes.iter().rposition(|&byte| byte == b'\n')? + 1;
    let cells = |line: &[u8]| {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
        reader.records().next()?.ok()
    };
    let header = cells(&bytes[..complete])?;
    let torn = cells(&bytes[complete..])?;
    // The last cell may be a part of itself.
    let cell = |name: &str| {
        let place = header.iter().position(|column| column == name)?;
        torn.get(place).filter(|_| place + 1 < torn.len())
    };
    let (config, n) = (cell("config_id")?, cell("n_elements")?.parse().ok()?);
    Some(format!("{config} at {}", size_label(n)))
}

/// The metadata beside a file, if it is about these rows.
fn beside(path: &Path, records: &[Record], warnings: &mut Vec<String>) -> anyhow::Result<Option<Metadata>> {
    let place = Metadata::path_beside(path);
    let without = "nothing says of which space and seed its rows are, and which copies were measured";
    if !place.exists() {
        if !records.is_empty() {
            warnings.push(format!("{}: there is no metadata beside it: {without}", path.display()));
        }
        return Ok(None);
    }
    let metadata = match Metadata::read(&place) {
        Ok(metadata) => metadata,
        Err(error @ MetadataError::Malformed { .. }) => {
            warnings.push(format!("{error}: {without}"));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let other = match metadata.is_of_benchmark() {
        true => Some("the metadata of a benchmark".to_owned()),
        false => {
            let mut fit = MetadataFit::new(&metadata);
            records.iter().for_each(|record| fit.see(record));
            fit.stranger()
        }
    };
    if let Some(other) = other {
        warnings.push(format!("{}: it is {other}, and is not used: {without}", place.display()));
        return Ok(None);
    }
    Ok(Some(metadata))
}
