//! How a file of records was made: the JSON beside the CSV.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::DeviceProfile;
use crate::merged::MergedFrom;
use crate::problem::Problem;
use crate::record::{Record, SCHEMA, Status};
use crate::shard::ShardOf;
use crate::space::{RejectionCount, Space};
use crate::whole_file;

/// Provenance, settings and totals of one sweep file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// Version of the columns of the CSV.
    pub schema: u32,
    /// scanbox's version.
    pub tool_version: String,
    /// The commit it was built from, where known.
    pub tool_commit: String,
    /// The device and its driver.
    pub device: DeviceProfile,
    /// Hash of all kernel sources.
    pub kernel_hash: String,
    /// What was computed.
    #[serde(default, skip_serializing_if = "Problem::is_default")]
    pub problem: Problem,
    /// The space that was swept.
    pub space: Space,
    /// Points of the space on this device.
    pub points: u64,
    /// Of a shard, which part of the space that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOf>,
    /// Points that the rules of the space exclude, by rule.
    pub rejections: Vec<RejectionCount>,
    /// Rows in the file by status.
    pub counts: BTreeMap<Status, u64>,
    /// The ceiling of each size in GB/s: the fastest copy, or of a reduction the fastest read, that was measured there.
    #[serde(rename = "copy_gbps")]
    pub ceiling_gbps: BTreeMap<u64, f64>,
    /// Each run that wrote to the file, the first one first.
    pub runs: Vec<Run>,
    /// Of a file that unites others, what it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<MergedFrom>,
}

/// One run of the sweep command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The identity that rows carry.
    pub run_id: String,
    /// The command line.
    pub arguments: Vec<String>,
    /// Seed of the order and the input.
    pub seed: u64,
    /// Effective settings of the measurement.
    pub settings: serde_json::Value,
    /// Start, UTC.
    pub started_utc: String,
    /// End, UTC; missing while it runs or when it was killed.
    pub ended_utc: Option<String>,
    /// Rows that this run wrote.
    pub rows: u64,
    /// Where the time went, in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// How it left the file; missing while it runs, when it was killed, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
}

/// How a run has left its file, for scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOutcome {
    /// The exit code of the process.
    pub exit_code: u8,
    /// Rows in the file by status.
    pub rows_by_status: BTreeMap<Status, u64>,
    /// Points that were asked for and have no row.
    pub points_left: u64,
    /// Rows whose result is wrong.
    pub wrong: u64,
    /// Sizes whose copy (of a reduction: read) was wrong: they have no ceiling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong_copies: Vec<u64>,
    /// Sizes whose copy, or read, is still to be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies_left: Vec<u64>,
    /// The drift of the anchors, where it is so large that the points are to be measured again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drifted_pct: Option<f64>,
    /// Why the run could not go on, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Why metadata cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The file system says no.
    #[error("{path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The JSON is no metadata.
    #[error("{path}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The metadata is of another schema.
    #[error("{path}: schema {found}, where this version of scanbox has {SCHEMA}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
    },
}

/// The part of metadata that says how to read the rest.
#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

impl Metadata {
    /// The metadata file that belongs to a CSV file: `x.csv` has `x.meta.json`.
    #[must_use]
    pub fn path_beside(csv: &Path) -> PathBuf {
        csv.with_extension("meta.json")
    }

    /// Counts the rows of each run anew: a run that was killed did not.
    pub fn count_rows_of_runs<'a>(&mut self, rows: impl IntoIterator<Item = &'a Record>) {
        let mut counts = BTreeMap::<&str, u64>::new();
        for row in rows {
            *counts.entry(&row.run_id).or_default() += 1;
        }
        for run in &mut self.runs {
            run.rows = counts.get(run.run_id.as_str()).copied().unwrap_or(0);
        }
    }

    /// Whether it is about a benchmark: those have sizes, and no space of configs.
    #[must_use]
    pub fn is_of_benchmark(&self) -> bool {
        self.space.name == "bench" && self.space.products.is_empty()
    }

    /// Reads a metadata file.
    ///
    /// # Errors
    /// When it cannot be read or is of another schema.
    pub fn read(path: &Path) -> Result<Self, MetadataError> {
        let bytes =
            std::fs::read(path).map_err(|source| MetadataError::Io { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads the bytes of a metadata file; `path` is for messages.
    ///
    /// # Errors
    /// When they are no metadata, or of another schema.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, MetadataError> {
        let malformed = |error: serde_json::Error| MetadataError::Malformed {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let version: SchemaOnly = serde_json::from_slice(bytes).map_err(malformed)?;
        if version.schema != SCHEMA {
            return Err(MetadataError::Schema { path: path.to_owned(), found: version.schema });
        }
        serde_json::from_slice(bytes).map_err(malformed)
    }

    /// The text of a metadata file.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, mut writer: impl Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut writer, self)?;
        writer.write_all(b"\n")
    }

    /// Writes the file beside its place and renames it, so that a reader sees the old or the new one.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), MetadataError> {
        whole_file::replace(path, |out| self.write_to(out))
            .map_err(|source| MetadataError::Io { path: path.to_owned(), source })
    }
}
