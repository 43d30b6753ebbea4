//! Whether files may stand beside each other in one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use scanbox_model::device_api::DeviceApi;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;

use super::MergeSource;
use crate::grouping::release;
use crate::problem::Problem;

/// Files that are named of those that have one value.
const FILES_NAMED: usize = 3;

/// What files may differ in all the same, if the user says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Acceptable {
    /// The kernel sources.
    Kernels,
    /// The driver.
    Driver,
    /// The release of scanbox.
    Version,
    /// The space, or what it comes to on a device.
    Space,
    /// The seed of order and input.
    Seed,
}

impl Acceptable {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Kernels, Self::Driver, Self::Version, Self::Space, Self::Seed];

    /// The word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Driver => "driver",
            Self::Version => "version",
            Self::Space => "space",
            Self::Seed => "seed",
        }
    }
}

impl FromStr for Acceptable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|one| one.word() == text).ok_or_else(|| {
            let words = Self::ALL.map(Self::word).join(", ");
            format!("`{text}` is nothing that files may differ in; it is one of {words}")
        })
    }
}

/// Something that files differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What, in words.
    pub what: &'static str,
    /// What it is called where a user may accept it.
    pub acceptable: Option<Acceptable>,
    /// The values, each with the files that have it.
    pub values: Vec<(String, Vec<String>)>,
}

impl fmt::Display for Difference {
    /// One line, which names files for each value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |(value, files): &(String, Vec<String>)| {
            let named = files.iter().take(FILES_NAMED).cloned().collect::<Vec<_>>().join(", ");
            match files.len().saturating_sub(FILES_NAMED) {
                0 => format!("`{value}` in {named}"),
                more => format!("`{value}` in {named} and {more} more"),
            }
        };
        let values: Vec<String> = self.values.iter().map(of).collect();
        write!(f, "they differ in {}: {}", self.what, values.join("; "))
    }
}

/// What these files differ in, each thing once. What a file does not say is no difference. `points` is for each file
/// with metadata what the points of its space come to on its device, as a text.
#[must_use]
pub fn differences(sources: &[MergeSource], points: &[Option<String>]) -> Vec<Difference> {
    type Said = fn(&Record) -> String;
    type Told = fn(&Metadata) -> Vec<String>;
    let aspects: [(&'static str, Option<Acceptable>, Option<Said>, Told); 12] = [
        ("the device", None, Some(|row| row.device.clone()), |told| vec![told.device.name.clone()]),
        ("the interface to the device", None, Some(|row| DeviceApi::of(row).words()), |told| {
            vec![told.device.device_api().words()]
        }),
        ("the problem", None, Some(problem_of), |told| vec![told.problem.to_string()]),
        ("the input", None, Some(|row| input_of(row).to_owned()), |_| Vec::new()),
        ("the kernel sources", Some(Acceptable::Kernels), Some(|row| row.kernel_hash.clone()), |told| {
            vec![told.kernel_hash.clone()]
        }),
        ("the driver", Some(Acceptable::Driver), Some(|row| row.driver.clone()), |told| {
            vec![told.device.driver.clone()]
        }),
        ("the build of the driver", Some(Acceptable::Driver), None, |told| {
            vec![told.device.driver_build.clone()]
        }),
        (
            "the version of scanbox",
            Some(Acceptable::Version),
            Some(|row| release(&row.subject_version).to_owned()),
            |told| vec![release(&told.tool_version).to_owned()],
        ),
        ("whether kernels ask for maximal reconvergence", Some(Acceptable::Version), None, |told| {
            vec![if told.device.maximal_reconvergence { "yes" } else { "no" }.to_owned()]
        }),
        ("the space", Some(Acceptable::Space), None, |told| vec![space_of(told)]),
        ("the points that were split into shards", Some(Acceptable::Space), None, split_of),
        ("the seed", Some(Acceptable::Seed), None, seeds_of),
    ];
    let mut found = Vec::new();
    for (what, acceptable, said, told) in aspects {
        let values = sources.iter().map(|source| {
            let rows = said.map(|said| source.records.iter().map(said).collect::<BTreeSet<_>>());
            let rows = rows.filter(|rows| !rows.is_empty());
            rows.unwrap_or_else(|| source.metadata.iter().flat_map(told).collect())
        });
        found.extend(difference(what, acceptable, sources, values.collect()));
    }
    let of_points = points.iter().map(|points| points.iter().cloned().collect()).collect();
    // Another space has other points, and one line is enough.
    if found.iter().all(|found: &Difference| found.acceptable != Some(Acceptable::Space)) {
        let what = "the points that the space comes to";
        found.extend(difference(what, Some(Acceptable::Space), sources, of_points));
    }
    found
}

fn difference(
    what: &'static str,
    acceptable: Option<Acceptable>,
    sources: &[MergeSource],
    mut values: Vec<BTreeSet<String>>,
) -> Option<Difference> {
    values.iter_mut().for_each(|values| values.retain(|value| !value.is_empty()));
    let mut said = values.iter().filter(|values| !values.is_empty());
    let first = said.next()?;
    if said.all(|values| values == first) {
        return None;
    }
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (source, values) in sources.iter().zip(&values) {
        for value in values {
            files.entry(value.clone()).or_default().push(source.name.clone());
        }
    }
    Some(Difference { what, acceptable, values: files.into_iter().collect() })
}

fn problem_of(row: &Record) -> String {
    Problem::of_row(row).map_or_else(|reason| reason, |problem| problem.to_string())
}

/// Whether elements are reals; which integers they are follows from the config.
fn input_of(row: &Record) -> &str {
    if row.input == "real" { "real" } else { "integers" }
}

fn space_of(metadata: &Metadata) -> String {
    format!("{} ({})", metadata.space.name, metadata.space.definition())
}

/// What shards are of: also those that a merged file is made of.
fn split_of(metadata: &Metadata) -> Vec<String> {
    let inputs = metadata.merged.iter().flat_map(|merged| &merged.inputs);
    let shards = metadata.shard.iter().chain(inputs.filter_map(|input| input.shard.as_ref()));
    shards.map(|shard| format!("{} points ({})", shard.of_points, shard.points)).collect()
}

/// Those of the runs that have written rows.
fn seeds_of(metadata: &Metadata) -> Vec<String> {
    metadata.runs.iter().filter(|run| run.rows > 0).map(|run| run.seed.to_string()).collect()
}
