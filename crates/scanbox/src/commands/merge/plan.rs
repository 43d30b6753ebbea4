//! What a merged file would have to hold, and how what is missing is measured.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use scanbox_analysis::merge::MergeSource;
use scanbox_analysis::merge::missing::{self, Missing};
use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::{Enumeration, Point, RejectionCount};
use scanbox_session::store::sizes_without_ceiling;
use scanbox_session::sweep::Ceilings;

/// What there has to be.
pub struct Plan {
    /// The points.
    pub points: Vec<Point>,
    /// What the space leaves out, by rule.
    pub rejections: Vec<RejectionCount>,
    /// The parts that the points were split into, each with what chooses it; none where they were not split.
    parts: Vec<(Vec<String>, Vec<Point>)>,
    /// The command that measures them, without what chooses a part.
    pub command: Vec<String>,
}

impl Plan {
    /// What the space of the metadata comes to on its device.
    pub fn of(metadata: &Metadata, sources: &[MergeSource]) -> Self {
        let Enumeration { points, rejections } = enumerate(metadata);
        Self { points, rejections, parts: Vec::new(), command: command(metadata, sources) }
    }

    /// What is missing, as arguments.
    pub fn missing(&self, left: &[Point]) -> Vec<Missing> {
        match self.parts.is_empty() {
            true => missing::sizes(&self.points, left),
            false => missing::parts(&self.parts, left),
        }
    }

    /// The copies that none of the files has.
    pub fn copies(
        &self,
        metadata: &Metadata,
        sources: &[MergeSource],
        left: &[Point],
        records: &[Record],
    ) -> Ceilings {
        let enumeration = Enumeration { points: self.points.clone(), rejections: Vec::new() };
        let without = sizes_without_ceiling(&enumeration, left, records, Some(metadata));
        // Where points are missing, the run that measures them measures the copy.
        let to_come: BTreeSet<u64> = left.iter().map(|point| point.n).collect();
        let last =
            sources.iter().filter_map(|source| source.metadata.as_ref()?.runs.last()?.outcome.as_ref());
        let was_wrong: BTreeSet<u64> =
            last.flat_map(|outcome| outcome.wrong_copies.iter().copied()).collect();
        let (wrong, left) = without.difference(&to_come).partition(|n| was_wrong.contains(n));
        Ceilings { left, wrong }
    }
}

/// For each file with metadata what its space comes to on its device, as a text that tells different ones apart: there
/// the space at the sizes of all of them.
pub fn points_by_source(sources: &[MergeSource]) -> Vec<Option<String>> {
    let sizes: Vec<String> =
        sources.iter().filter_map(|source| Some(source.metadata.as_ref()?.space.sizes.to_string())).collect();
    let sizes: Option<Sizes> = sizes.join(",").parse().ok();
    let mut known: Vec<(Metadata, String)> = Vec::new();
    let mut text = |metadata: &Metadata| {
        let mut asked = without_unit(metadata);
        if let Some(sizes) = &sizes {
            asked.space = asked.space.with_sizes(sizes.clone());
        }
        if let Some((_, text)) = known.iter().find(|(other, _)| *other == asked) {
            return text.clone();
        }
        let points = enumerate(&asked).points;
        let mut hasher = DefaultHasher::new();
        points.hash(&mut hasher);
        let text = format!("{} points ({:08x})", points.len(), hasher.finish() as u32);
        known.push((asked, text.clone()));
        text
    };
    sources.iter().map(|source| source.metadata.as_ref().map(&mut text)).collect()
}

/// What points depend on: the space, the problem, and the device apart from which unit of its model it is.
fn without_unit(metadata: &Metadata) -> Metadata {
    let mut asked = metadata.clone();
    (asked.device.uuid, asked.device.pci_address) = (String::new(), None);
    asked.runs.clear();
    asked.counts.clear();
    asked.ceiling_gbps.clear();
    asked.rejections.clear();
    (asked.merged, asked.shard, asked.points) = (None, None, 0);
    asked
}

fn enumerate(metadata: &Metadata) -> Enumeration {
    let legal = |config: &_, n, device: &_| scanbox_kernels::legal(config, &metadata.problem, n, device);
    metadata.space.enumerate(&metadata.device, legal)
}

/// The command that measures points of the space.
fn command(metadata: &Metadata, sources: &[MergeSource]) -> Vec<String> {
    let mut runs = sources.iter().filter_map(|source| source.metadata.as_ref()).flat_map(|told| &told.runs);
    let given = |name: &str| runs.clone().find_map(|run| value_of(&run.arguments, name));
    let mut command = vec!["sweep".to_owned()];
    let space = given("--space").unwrap_or_else(|| metadata.space.name.clone());
    command.extend(["--space".to_owned(), space]);
    let operator = given("--operator");
    let mut flags = metadata.problem.flags();
    if let (Some(at), Some(operator)) = (flags.iter().position(|flag| flag == "--operator"), operator) {
        flags[at + 1] = operator;
    }
    command.append(&mut flags);
    if sources.iter().flat_map(|source| &source.records).any(|row| row.input == "real") {
        command.extend(["--input", "real"].map(str::to_owned));
    }
    if let Some(run) = runs.find(|run| run.rows > 0).filter(|run| run.seed != 1) {
        command.extend(["--seed".to_owned(), run.seed.to_string()]);
    }
    command
}

/// The value of an option on a command line.
fn value_of(arguments: &[String], name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument.split('=').next() == Some(name))?;
    match arguments[at].split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => arguments.get(at + 1).cloned(),
    }
}
