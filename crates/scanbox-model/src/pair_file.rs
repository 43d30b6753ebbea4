//! Files of pairs: base and new measured in turns, one line per four blocks (`scanbox rerun`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Status;

/// Which of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The one that made the base.
    Base,
    /// The new one.
    New,
}

impl Side {
    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::New => "new",
        }
    }
}

/// Four blocks of one config at one size, or why there are none. Times are medians of a block, in nanoseconds per call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRow {
    /// Input size in elements.
    pub n_elements: u64,
    /// The label.
    pub config_id: String,
    /// The round, from 0.
    pub round: u32,
    /// The first block of the base.
    pub base_1_ns: Option<f64>,
    /// The block of the new program beside it.
    pub new_1_ns: Option<f64>,
    /// The second block of the base.
    pub base_2_ns: Option<f64>,
    /// The block of the new program beside that.
    pub new_2_ns: Option<f64>,
    /// How it ended.
    pub status: Status,
    /// Where it is not `ok`: which program failed, `base` or `new`.
    pub failed: String,
    /// Why.
    pub reason: String,
    /// The run that the base is of, as in its rows: files of one base can be set against each other.
    pub base_run: String,
    /// The version of the program that made the base.
    pub base_version: String,
    /// The other one.
    pub new_version: String,
    /// The device.
    pub device: String,
    /// Its UUID.
    pub device_uuid: String,
    /// Its driver.
    pub driver: String,
    /// When the blocks ended.
    pub timestamp_utc: String,
    /// The run that the new sweep is of, as in its rows; files of older versions do not say it.
    #[serde(default)]
    pub new_run: String,
}

/// The columns, in the order in which they are written.
const COLUMNS: [&str; 18] = [
    "n_elements",
    "config_id",
    "round",
    "base_1_ns",
    "new_1_ns",
    "base_2_ns",
    "new_2_ns",
    "status",
    "failed",
    "reason",
    "base_run",
    "base_version",
    "new_version",
    "device",
    "device_uuid",
    "driver",
    "timestamp_utc",
    NEW_RUN,
];
/// The one that files of older versions lack.
const NEW_RUN: &str = "new_run";

impl PairRow {
    /// The times of the base and of the new program, if there are all of them.
    #[must_use]
    pub fn times(&self) -> Option<[[f64; 2]; 2]> {
        Some([[self.base_1_ns?, self.base_2_ns?], [self.new_1_ns?, self.new_2_ns?]])
    }
}

/// Why a file of pairs cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PairFileError {
    /// The file system says no.
    #[error("{path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no file of pairs, or a line of it is none.
    #[error("{path}: line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// There is no row in it: a run that measured nothing, or a copy that was cut off.
    #[error("{path}: line {line}: {reason}")]
    NoRows {
        /// The file.
        path: PathBuf,
        /// Where the first row should be, or the header before it.
        line: u64,
        /// What is not there.
        reason: &'static str,
    },
}

/// Reads a file of pairs.
///
/// # Errors
/// When it cannot be read, has no row, or a line is none or says what cannot be: a time of 0, an `ok` row without
/// times. Without a row it would seem to say that nothing could be measured.
pub fn read(path: &Path) -> Result<Vec<PairRow>, PairFileError> {
    let bytes = std::fs::read(path).map_err(|source| PairFileError::Io { path: path.to_owned(), source })?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let no_rows = |line, reason| PairFileError::NoRows { path: path.to_owned(), line, reason };
    let header = reader.headers().map_err(|error| PairFileError::Line {
        path: path.to_owned(),
        line: 1,
        reason: error.to_string(),
    })?;
    if header.is_empty() {
        return Err(no_rows(1, "the file is empty, and should have the header of a file of pairs"));
    }
    if let Some(reason) = of_another_header(header) {
        return Err(PairFileError::Line { path: path.to_owned(), line: 1, reason });
    }
    let mut rows = Vec::new();
    for (place, row) in reader.deserialize().enumerate() {
        let failed = |reason: String| PairFileError::Line {
            path: path.to_owned(),
            // The header is the first line, and no cell has a line break.
            line: place as u64 + 2,
            reason,
        };
        let row: PairRow = row.map_err(|error| failed(error.to_string()))?;
        let impossible = |ns: &f64| !ns.is_finite() || *ns <= 0.0;
        match (row.status, row.times()) {
            (Status::Ok, Some(times)) if times.iter().flatten().any(impossible) => {
                return Err(failed("a time is not above 0".to_owned()));
            }
            (Status::Ok, None) => return Err(failed("it is ok, and a time is missing".to_owned())),
            (Status::Ok, _) => {}
            _ if !["base", "new"].contains(&row.failed.as_str()) => {
                return Err(failed(format!("`{}` is neither base nor new", row.failed)));
            }
            _ => {}
        }
        if row.n_elements == 0 {
            return Err(failed("n_elements is 0".to_owned()));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(no_rows(2, "no pair follows the header"));
    }
    Ok(rows)
}

/// What a header lacks, or has too much.
fn of_another_header(header: &csv::StringRecord) -> Option<String> {
    let is_there = |column: &&str| header.iter().any(|found| found == *column);
    if let Some(column) = COLUMNS.iter().find(|column| **column != NEW_RUN && !is_there(column)) {
        return Some(format!("the header of a file of pairs has a column `{column}`, and this one has none"));
    }
    let unknown = header.iter().find(|found| !COLUMNS.contains(found))?;
    Some(format!("a file of pairs has no column `{unknown}`"))
}

/// Writes pairs, with the header.
///
/// # Errors
/// When the writer fails.
pub fn write(out: impl Write, rows: &[PairRow]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for row in rows {
        writer.serialize(row).map_err(io::Error::other)?;
    }
    writer.flush()
}
