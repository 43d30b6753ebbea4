//! What a merged file would have to hold, and how what is missing is measured.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

use scanbox_analysis::merge::MergeSource;
use scanbox_analysis::merge::missing::{self, Missing};
use scanbox_model::api::Api;
use scanbox_model::metadata::{Metadata, Run};
use scanbox_model::record::Record;
use scanbox_model::shard::{Shard, ShardBy, ShardOf};
use scanbox_model::sizes::Sizes;
use scanbox_model::space::{Enumeration, Point, RejectionCount};
use scanbox_model::units::plural;
use scanbox_session::device::known_issues;
use scanbox_session::store::sizes_without_ceiling;
use scanbox_session::sweep::Ceilings;

use crate::inputs::given::{filtered, only_filter, value_of, values_of};

/// Options of a run that say which kernels run through what: whatever is missing is measured the same way.
const BEFORE_THE_REST: [&str; 4] = ["--kernels", "--api", "--browser", "--robustness"];

/// What there has to be.
pub struct MergePlan {
    /// The points.
    pub points: Vec<Point>,
    /// What the space leaves out, by rule.
    pub rejections: Vec<RejectionCount>,
    /// The parts that the points were split into, each with what chooses it; none where they were not split.
    parts: Vec<(Vec<String>, Vec<Point>)>,
    /// Why the points are others than those that were split, if they are.
    pub doubt: Option<String>,
    /// The command that measures them, without what chooses a part.
    pub command: Vec<String>,
}

/// The points that were split, and what they were split into.
type SplitPoints = (Vec<Point>, Vec<(Vec<String>, Vec<Point>)>);

impl MergePlan {
    /// What the space of the metadata comes to on its device.
    ///
    /// # Errors
    /// When the list of known issues cannot be read.
    pub fn of(metadata: &Metadata, sources: &[MergeSource], records: &[Record]) -> anyhow::Result<Self> {
        let rejections: Vec<RejectionCount> =
            told(sources).flat_map(|told| told.rejections.clone()).collect();
        let Enumeration { points, rejections } = enumerate(metadata, &rejections)?;
        let mut plan = Self { points, rejections, parts: Vec::new(), doubt: None, command: Vec::new() };
        let filters = filters(sources);
        let mut filter = None;
        if let Some(one) = only_filter(told(sources)) {
            // Nobody has asked for what it leaves out.
            plan.points = filtered(&plan.points, one.parse().ok(), &metadata.device);
            filter = Some(one);
        } else if let Some(shard) = split(metadata) {
            // What was split may have been what a filter has left.
            let candidates = std::iter::once(None).chain(filters.iter().map(Some));
            let found = candidates.into_iter().find_map(|filter| {
                let points =
                    filtered(&plan.points, filter.and_then(|text| text.parse().ok()), &metadata.device);
                Some((parts(&points, &shard, metadata)?, filter.cloned()))
            });
            match found {
                Some(((points, parts), of)) => (plan.points, plan.parts, filter) = (points, parts, of),
                None => {
                    plan.doubt = Some(format!(
                        "its shards are of {} (hash {}), and the space in the metadata has {} here: what is missing follows from \
                         the latter",
                        plural(shard.of_points as usize, "point"),
                        shard.points,
                        plan.points.len()
                    ));
                }
            }
        }
        plan.command = command(metadata, sources, records, &plan.parts, filter);
        Ok(plan)
    }

    /// The arguments behind the command that measure these copies, where no point is missing: the rows go on in `path`.
    pub fn of_copies(&self, copies: &BTreeSet<u64>, path: &Path) -> Vec<String> {
        let mut arguments = Vec::new();
        // The command has the sizes of shards.
        if self.parts.is_empty() {
            arguments.extend(missing::sizes_words(copies.iter().copied()));
        }
        arguments.extend(["--out".to_owned(), path.to_string_lossy().into_owned()]);
        arguments
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
///
/// # Errors
/// When the list of known issues cannot be read.
pub fn points_by_source(sources: &[MergeSource]) -> anyhow::Result<Vec<Option<String>>> {
    let sizes: Vec<String> =
        sources.iter().filter_map(|source| Some(source.metadata.as_ref()?.space.sizes.to_string())).collect();
    let sizes: Option<Sizes> = sizes.join(",").parse().ok();
    let mut known: Vec<(Metadata, String)> = Vec::new();
    let mut text = |metadata: &Metadata| -> anyhow::Result<String> {
        let mut asked = without_unit(metadata);
        if let Some(sizes) = &sizes {
            asked.space = asked.space.with_sizes(sizes.clone());
        }
        if let Some((_, text)) = known.iter().find(|(other, _)| *other == asked) {
            return Ok(text.clone());
        }
        let points = enumerate(&asked, &asked.rejections)?.points;
        let all = Shard::new(0, 1).and_then(|all| all.of(ShardBy::Size, &points, |_| 0).ok());
        let hash = all.map_or_else(String::new, |all| format!(" ({})", all.told.points));
        let text = format!("{} points{hash}", points.len());
        known.push((asked, text.clone()));
        Ok(text)
    };
    sources.iter().map(|source| source.metadata.as_ref().map(&mut text).transpose()).collect()
}

/// What points depend on: the space, the problem, and the device apart from which unit of its model it is, and from the
/// times by which it was found out what it does. So a fleet of equal devices is enumerated once.
fn without_unit(metadata: &Metadata) -> Metadata {
    let mut asked = metadata.clone();
    let device = &mut asked.device;
    (device.uuid, device.pci_address) = (String::new(), None);
    if let Some(probe) = &mut device.arguments_probe {
        probe.sizes.clear();
    }
    for finding in device.guarantee_facts.probe.iter_mut().flat_map(|probe| &mut probe.findings) {
        (finding.calls, finding.detail, finding.date) = (0, String::new(), String::new());
    }
    asked.runs.clear();
    asked.counts.clear();
    asked.ceiling_gbps.clear();
    for rejection in &mut asked.rejections {
        (rejection.points, rejection.example) = (0, String::new());
    }
    (asked.merged, asked.shard, asked.points) = (None, None, 0);
    asked
}

fn enumerate(metadata: &Metadata, rejections: &[RejectionCount]) -> anyhow::Result<Enumeration> {
    known_issues::points_before(&metadata.space, &metadata.problem, &metadata.device, rejections)
}

/// Into what the points were split of most of the files.
fn split(metadata: &Metadata) -> Option<ShardOf> {
    let inputs = metadata.merged.iter().flat_map(|merged| &merged.inputs);
    let shards: Vec<&ShardOf> = inputs.filter_map(|input| input.shard.as_ref()).collect();
    let is_of = |a: &ShardOf, b: &ShardOf| (&a.points, a.count, a.by) == (&b.points, b.count, b.by);
    let files = |one: &ShardOf| shards.iter().filter(|other| is_of(one, other)).count();
    let order = |one: &&&ShardOf| (files(one), Reverse(one.count), Reverse(one.points.clone()));
    shards.iter().max_by_key(order).map(|shard| (*shard).clone())
}

/// The parts of these points, if they are those that were split.
fn parts(points: &[Point], shard: &ShardOf, metadata: &Metadata) -> Option<SplitPoints> {
    let bytes = |n| metadata.problem.bytes_moved(n);
    let part = |index| Shard::new(index, shard.count)?.of(shard.by, points, bytes).ok();
    let is_split = part(shard.index).is_some_and(|part| part.told.points == shard.points);
    let words = |told: &ShardOf| told.to_string().split(' ').map(str::to_owned).collect();
    let all = || (0..shard.count).filter_map(part).map(|part| (words(&part.told), part.points)).collect();
    is_split.then(|| (points.to_vec(), all()))
}

/// The metadata of the files.
fn told(sources: &[MergeSource]) -> impl Iterator<Item = &Metadata> + Clone {
    sources.iter().filter_map(|source| source.metadata.as_ref())
}

/// The runs of the files.
fn runs(sources: &[MergeSource]) -> impl Iterator<Item = &Run> + Clone {
    told(sources).flat_map(|told| &told.runs)
}

/// The filters that runs were given.
fn filters(sources: &[MergeSource]) -> BTreeSet<String> {
    runs(sources).filter_map(|run| value_of(&run.arguments, "--filter")).collect()
}

/// The command that measures points of the space, of those that a filter leaves.
fn command(
    metadata: &Metadata,
    sources: &[MergeSource],
    records: &[Record],
    parts: &[(Vec<String>, Vec<Point>)],
    filter: Option<String>,
) -> Vec<String> {
    let mut runs = runs(sources);
    let given = |name: &str| runs.clone().find_map(|run| value_of(&run.arguments, name));
    let mut command = vec!["sweep".to_owned()];
    for option in BEFORE_THE_REST {
        command.extend(given(option).into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    if given("--api").is_none() && metadata.device.api != Api::default() {
        command.extend(["--api".to_owned(), metadata.device.api.to_string()]);
    }
    let assumed: BTreeSet<String> =
        runs.clone().flat_map(|run| values_of(&run.arguments, "--assume")).collect();
    command.extend(assumed.into_iter().flat_map(|guarantee| ["--assume".to_owned(), guarantee]));
    let space = given("--space").unwrap_or_else(|| metadata.space.name.clone());
    command.extend(["--space".to_owned(), space]);
    // The device that all of them were told to take.
    let devices: BTreeSet<Option<String>> =
        runs.clone().map(|run| value_of(&run.arguments, "--device")).collect();
    if let [Some(device)] = &devices.into_iter().collect::<Vec<_>>()[..] {
        command.extend(["--device".to_owned(), device.clone()]);
    }
    // Shards are of the points at all these sizes; where the points were not split, what is missing names its own.
    if let Some(sizes) = given("--sizes").filter(|_| !parts.is_empty()) {
        command.extend(["--sizes".to_owned(), sizes]);
    }
    command.extend(filter.into_iter().flat_map(|filter| ["--filter".to_owned(), filter]));
    let operator = given("--operator");
    let mut flags = metadata.problem.flags();
    if let (Some(at), Some(operator)) = (flags.iter().position(|flag| flag == "--operator"), operator) {
        flags[at + 1] = operator;
    }
    command.append(&mut flags);
    if records.iter().any(|row| row.input == "real") {
        command.extend(["--input", "real"].map(str::to_owned));
    }
    if let Some(run) = runs.find(|run| run.rows > 0).filter(|run| run.seed != 1) {
        command.extend(["--seed".to_owned(), run.seed.to_string()]);
    }
    command
}
