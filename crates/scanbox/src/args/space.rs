//! The flags that say which part of which space.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use scanbox_model::config::{Arguments, Reset};
use scanbox_model::device::DeviceProfile;
use scanbox_model::filter::Filter;
use scanbox_model::nearest::hint;
use scanbox_model::parameters::Value;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::{Enumeration, Point, RejectionCount, Space};
use scanbox_model::units::{plural, size_label};
use scanbox_report::paste;
use scanbox_session::device::known_issues;

use super::problem::ProblemArgs;
use super::shard::ShardArgs;
use crate::exit::UsageError;

/// So many sizes without a config are named.
const SIZES_NAMED: usize = 8;

/// Which part of which space.
#[derive(Debug, Args)]
pub struct SpaceSelection {
    /// The space: thesis, quick, full, baked, handover, nightly, problems, families, safe, thesis-webgpu, webgpu, or
    /// the path of a .toml file
    #[arg(long, default_value = "thesis", value_name = "NAME|FILE")]
    pub space: String,

    /// Only these input sizes, for example 2^10..2^20 or 1000,2^20
    #[arg(long, value_name = "SIZES")]
    pub sizes: Option<Sizes>,

    /// Only these configs, for example `lookback=parallel,workgroup_size=256|512`; deterministic=yes keeps those whose
    /// results have the same bits on every run, arguments=auto those with the arguments that are best on the device
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<Filter>,

    /// What is computed.
    #[command(flatten)]
    pub problem: ProblemArgs,

    /// Which shard of that.
    #[command(flatten)]
    pub shard: ShardArgs,
}

impl SpaceSelection {
    /// Every file that it reads.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let space = Path::new(&self.space);
        is_space_file(&self.space).then_some(space).into_iter().chain(self.problem.input())
    }

    /// Reads the space, as it is for the elements of the problem, and restricts its sizes.
    pub fn load(&self, problem: &Problem) -> anyhow::Result<Space> {
        let space = load_space(&self.space, problem)?;
        Ok(match &self.sizes {
            Some(sizes) => space.with_sizes(sizes.clone()),
            None => space,
        })
    }

    /// Whether its points depend on what is found out on the device.
    pub fn asks_device(&self, space: &Space) -> bool {
        space.asks_device() || self.filter.as_ref().is_some_and(Filter::asks_device)
    }

    /// The points of the space on a device that the filter accepts.
    pub fn enumerate(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> anyhow::Result<Enumeration> {
        let mut enumeration = known_issues::points(space, problem, device)?;
        if let Some(filter) = self.filter.as_ref().map(|filter| on(filter, device)) {
            enumeration.points.retain(|point| filter.accepts(&point.config));
        }
        Ok(enumeration)
    }

    /// What takes the place of a built-in space on a device whose workgroups make no progress, where nothing of it is
    /// left: kernels that end on every device, at the same sizes.
    ///
    /// # Errors
    /// When the space cannot be enumerated.
    pub fn instead(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> anyhow::Result<Option<Space>> {
        if is_space_file(&self.space)
            || device.gives(Guarantee::Progress)
            || !self.enumerate(space, problem, device)?.points.is_empty()
        {
            return Ok(None);
        }
        Ok(Some(load_space("safe", problem)?.with_sizes(space.sizes.clone())))
    }

    /// Those of these points of a space that are measured first where time is short: what led on devices that were
    /// swept, with its neighbours, as space `nightly` has it; at sizes without one of them what differs from them in
    /// nothing but arguments and reset.
    ///
    /// # Errors
    /// When the points cannot be enumerated.
    pub fn promising(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
        points: &[Point],
    ) -> anyhow::Result<HashSet<Point>> {
        // It has no block for elements of some sizes.
        let Ok(leaders) = load_space("nightly", problem) else { return Ok(HashSet::new()) };
        let leaders = leaders.with_sizes(space.sizes.clone());
        let leaders: HashSet<Point> =
            known_issues::points(&leaders, problem, device)?.points.into_iter().collect();
        let alike: HashSet<Point> = leaders.iter().copied().map(told_anyhow).collect();
        let exact: HashSet<Point> = points.iter().copied().filter(|point| leaders.contains(point)).collect();
        let sizes: HashSet<u64> = exact.iter().map(|point| point.n).collect();
        let is_alike = |point: &Point| !sizes.contains(&point.n) && alike.contains(&told_anyhow(*point));
        let others = points.iter().copied().filter(is_alike);
        Ok(others.chain(exact.iter().copied()).collect())
    }

    /// Which of the sizes that were asked for have no config, in words.
    pub fn sizes_without_config(&self, enumeration: &Enumeration) -> Option<String> {
        let measured: BTreeSet<u64> = enumeration.points.iter().map(|point| point.n).collect();
        let sizes = self.sizes.as_ref()?.iter();
        let without: Vec<u64> = sizes.filter(|n| !measured.contains(n)).collect();
        (!without.is_empty())
            .then(|| format!("no config is left at {} of --sizes; `scanbox space` says why", named(&without)))
    }

    /// Why no config is left. `flags`: those of the command by which the device was found ([`Tools::flags_on`]).
    ///
    /// [`Tools::flags_on`]: scanbox_session::tools::Tools::flags_on
    pub fn why_none(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
        flags: Vec<String>,
    ) -> anyhow::Result<UsageError> {
        let sizes: Option<Vec<u64>> = self.sizes.as_ref().map(|sizes| sizes.iter().collect());
        let at = sizes.map_or_else(String::new, |sizes| format!(" at {}", named(&sizes)));
        let none = format!("no config of space {} is left on {}{at}", space.name, device.title());
        let why = self.emptied_by(space, problem, device)?;
        let command = self.command_that_counts(problem, flags);
        Ok(UsageError(format!("{none}: {why}; to see what the space has, run: {command}")))
    }

    /// What has left no config: the filter, the sizes or the rules.
    ///
    /// # Errors
    /// When the space cannot be enumerated.
    pub fn emptied_by(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> anyhow::Result<String> {
        let found = known_issues::points(space, problem, device)?;
        if !found.points.is_empty() {
            return Ok(format!("--filter accepts none of its {}", plural(found.points.len(), "legal point")));
        }
        let refused = refused_by(&found.rejections);
        if self.sizes.is_some() {
            let own = known_issues::points(&load_space(&self.space, problem)?, problem, device)?.points;
            let sizes: BTreeSet<u64> = own.iter().map(|point| point.n).collect();
            if let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) {
                return Ok(format!(
                    "--sizes leaves nothing: {refused}; at the sizes of its own, from {} to {}, the space has {}",
                    size_label(*smallest),
                    size_label(*largest),
                    plural(own.len(), "legal point")
                ));
            }
        }
        Ok(refused)
    }

    /// The command that counts the points of the space, without the filter.
    fn command_that_counts(&self, problem: &Problem, flags: Vec<String>) -> String {
        let mut words = vec![paste::program(), "space".to_owned()];
        words.extend(flags);
        words.extend(["--space".to_owned(), self.space.clone()]);
        words.extend(self.sizes.iter().flat_map(|sizes| ["--sizes".to_owned(), sizes.to_string()]));
        words.extend(self.problem.flags(problem));
        paste::line(words.iter().map(String::as_str))
    }
}

/// A point as if its arguments were pushed and its reset were nobody's choice.
fn told_anyhow(mut point: Point) -> Point {
    point.config.kernel.arguments = Arguments::Push;
    point.config.kernel.reset = Reset::Auto;
    point
}

/// A filter with what its `auto` stands for on a device.
pub fn on(filter: &Filter, device: &DeviceProfile) -> Filter {
    filter.with(|parameter| device.found(parameter, Value::Auto))
}

/// Which rules have refused every point.
fn refused_by(rejections: &[RejectionCount]) -> String {
    let all: u64 = rejections.iter().map(|rejection| rejection.points).sum();
    match rejections {
        [] => "it has no point".to_owned(),
        [one] => {
            format!("rule {} refuses all {} ({})", one.rule, plural(all as usize, "point"), one.example)
        }
        several => {
            let mut several: Vec<&RejectionCount> = several.iter().collect();
            several.sort_by_key(|rejection| std::cmp::Reverse(rejection.points));
            let rules = several.iter().map(|one| format!("{} {}", one.rule, one.points));
            format!("rules refuse all {all} points ({})", rules.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The first of these sizes, and how many more there are.
fn named(sizes: &[u64]) -> String {
    let first: Vec<String> = sizes.iter().take(SIZES_NAMED).map(|&n| size_label(n)).collect();
    let more = sizes.len().checked_sub(SIZES_NAMED + 1).map(|more| format!(" and {} more", more + 1));
    first.join(", ") + &more.unwrap_or_default()
}

/// The spaces that need no file.
const BUILT_IN_SPACES: &[(&str, &str)] = &[
    ("thesis", include_str!("../../../../configs/thesis.toml")),
    ("quick", include_str!("../../../../configs/quick.toml")),
    ("full", include_str!("../../../../configs/full.toml")),
    ("baked", include_str!("../../../../configs/baked.toml")),
    ("problems", include_str!("../../../../configs/problems.toml")),
    ("nightly", include_str!("../../../../configs/nightly.toml")),
    ("families", include_str!("../../../../configs/families.toml")),
    ("handover", include_str!("../../../../configs/handover.toml")),
    ("safe", include_str!("../../../../configs/safe.toml")),
    ("thesis-webgpu", include_str!("../../../../configs/thesis-webgpu.toml")),
    ("webgpu", include_str!("../../../../configs/webgpu.toml")),
];

/// Name and description of each space that needs no file.
pub fn built_in_spaces() -> Vec<(String, String)> {
    let read = |&(name, text): &(&str, &str)| {
        let space = Space::from_toml(text, name).expect("a test reads every space that needs no file");
        (name.to_owned(), space.description)
    };
    BUILT_IN_SPACES.iter().map(read).collect()
}

/// Whether a space is named by a file.
fn is_space_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// A space that was one of its own, and what has its configs now.
const FORMER_SPACES: &[(&str, &str)] =
    &[("full64", "--space full has the shapes for elements of 8 and 16 bytes with --type u64, i64 or f64")];

/// A space by name, or from a file (anything with a slash or the ending `.toml`), as it is for the elements of a
/// problem.
pub fn load_space(name: &str, problem: &Problem) -> anyhow::Result<Space> {
    let space = if is_space_file(name) {
        let text = std::fs::read_to_string(name).with_context(|| format!("space file {name}"))?;
        Space::from_toml(&text, name)?
    } else {
        built_in_space(name)?
    };
    space
        .for_elements(problem.element().bytes())
        .map_err(|error| UsageError(format!("{error}; this run is of {}", problem.element())).into())
}

fn built_in_space(name: &str) -> anyhow::Result<Space> {
    if let Some((former, now)) = FORMER_SPACES.iter().find(|(former, _)| *former == name) {
        return Err(UsageError(format!("there is no space `{former}` any more: {now}")).into());
    }
    match BUILT_IN_SPACES.iter().find(|(built_in, _)| *built_in == name) {
        Some((_, text)) => Ok(Space::from_toml(text, name)?),
        None => {
            let names: Vec<_> = BUILT_IN_SPACES.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "there is no space `{name}`: give one of {}, or the path of a .toml file{}",
                names.join(", "),
                hint(name, &names)
            );
            Err(UsageError(message).into())
        }
    }
}
