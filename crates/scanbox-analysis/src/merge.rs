//! Uniting the sweeps of shards and of attempts: one set of rows, whatever the order of the files and however often
//! the same rows are among them.
//!
//! [`rows`] decides which rows of a point stay, [`differences`] whether files may stand beside each other, [`origin`]
//! what the metadata of the union says, and [`missing`] what is still to be measured.

pub mod differences;
pub mod missing;
pub mod origin;
pub mod rows;

use std::collections::BTreeSet;

use scanbox_model::merged::MergedUnit;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;

use crate::trust::Trust;

/// A file that is to be merged.
#[derive(Debug, Clone)]
pub struct MergeSource {
    /// Its name, without the folder.
    pub name: String,
    /// Its rows, in its order.
    pub records: Vec<Record>,
    /// What stands beside it, if that is about these rows.
    pub metadata: Option<Metadata>,
}

/// Points of units that were wrong, and that nobody has shown right since.
#[must_use]
pub fn wrong_points(records: &[Record]) -> u64 {
    let trust = Trust::of(records);
    let wrong = records.iter().filter(|row| !trust.trusts(row));
    let points: BTreeSet<_> =
        wrong.map(|row| (MergedUnit::of(row), row.config_id.as_str(), row.n_elements)).collect();
    points.len() as u64
}
