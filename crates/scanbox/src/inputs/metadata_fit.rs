//! Whether metadata is about the rows that it stands beside: files are copied and renamed, and metadata of others says
//! wrong things of them.
//!
//! Rows tell model and kernel sources, and which run has written them. The unit does not matter: a file may have rows
//! of several, and metadata names one.

use std::collections::BTreeSet;

use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;

/// What the rows of a file say of the metadata beside it. They are seen one by one.
pub struct MetadataFit<'a> {
    metadata: &'a Metadata,
    /// The runs that have written rows.
    runs: BTreeSet<&'a str>,
    is_empty: bool,
    /// Whether a row is of its model and its kernel sources.
    has_subject: bool,
    /// Whether a row is of one of its runs.
    has_run: bool,
}

impl<'a> MetadataFit<'a> {
    /// Before any row.
    pub fn new(metadata: &'a Metadata) -> Self {
        // A run that was killed did not count its rows.
        let wrote = metadata.runs.iter().filter(|run| run.rows > 0 || run.ended_utc.is_none());
        let runs = wrote.map(|run| run.run_id.as_str()).collect();
        Self { metadata, runs, is_empty: true, has_subject: false, has_run: false }
    }

    /// Takes a row into account.
    pub fn see(&mut self, row: &Record) {
        let Metadata { device, kernel_hash, .. } = self.metadata;
        self.is_empty = false;
        self.has_subject = self.has_subject
            || (row.device == device.name
                && row.kernel_hash == *kernel_hash
                && device.device_api().is_of(row));
        self.has_run = self.has_run || self.runs.contains(row.run_id.as_str());
    }

    /// Whom the metadata is about, where that is not these rows; a file without rows has any.
    pub fn stranger(&self) -> Option<String> {
        let title = || self.metadata.device.title();
        match self {
            Self { is_empty: true, .. } => None,
            Self { has_subject: false, .. } => {
                Some(format!("about {} and kernel sources that have no row in the file", title()))
            }
            Self { has_run: false, .. } if !self.runs.is_empty() => {
                Some(format!("about runs on {} that have no row in the file", title()))
            }
            _ => None,
        }
    }
}
