//! Shards of spaces: parts that are swept one by one, on other units or at other times, and merged.
//!
//! Which points a shard has follows from the list of all points alone, so every machine that enumerates the same space
//! finds the same shards, and the hash of the list says whether it did. What belongs together (a size, or a pipeline)
//! goes into one shard: the most expensive first, each into the shard that has the least so far.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Config, Kernel};
use crate::sample::draw;
use crate::space::Point;
use crate::units::plural;

/// What a config costs beside the bytes that a call of it moves, as bytes: in the published sweeps of a GPU a row took
/// 23 to 27 ms, and 17 to 29 ms more for each GB.
const SET_UP_BYTES: u64 = 1 << 30;

/// Configs that every shard measures at each of its sizes, where sizes are split.
const ANCHORS: usize = 5;

/// By more than this, in percent, anchors are slower or faster at the end of a shard than at its start: its times are
/// on no one scale.
const DRIFT_PCT: f64 = 2.0;

/// Whether anchors that take so much longer at the end than at the start, in percent, have drifted: times from the
/// start and from the end are then on no one scale.
#[must_use]
pub fn is_drift(pct: f64) -> bool {
    pct.abs() > DRIFT_PCT
}

/// What a space is split by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShardBy {
    /// A size belongs to one shard, with all its configs: they are compared on one unit.
    #[default]
    Size,
    /// A pipeline (a kernel and a workgroup size) belongs to one shard, at all sizes.
    Pipeline,
}

impl ShardBy {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Size, Self::Pipeline];

    /// The word in metadata and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Pipeline => "pipeline",
        }
    }
}

impl FromStr for ShardBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let by = Self::ALL.into_iter().find(|by| by.word() == text);
        by.ok_or_else(|| format!("`{text}` is nothing that a space is split by: write size or pipeline"))
    }
}

/// One of several shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 0; below `count`.
    index: u32,
    /// How many there are, at least 1.
    count: u32,
}

impl Shard {
    /// Which of several; `None` where there is no such shard.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Of a list of `things` that are dealt out in turns, whether each is in this shard.
    ///
    /// # Errors
    /// How many shards there can be at most, where some would have nothing.
    pub fn in_turns(self, things: usize) -> Result<impl Iterator<Item = bool>, usize> {
        let Self { index, count } = self;
        if count as usize > things {
            return Err(things);
        }
        Ok((0..things).map(move |thing| thing % count as usize == index as usize))
    }

    /// What stands in the name of a file: `shard-3-of-16`; where pipelines are split, `shard-3-of-16-by-pipeline`.
    #[must_use]
    pub fn file_word(self, by: ShardBy) -> String {
        let by = match by {
            ShardBy::Size => String::new(),
            other => format!("-by-{}", other.word()),
        };
        format!("shard-{}-of-{}{by}", self.index, self.count)
    }

    /// The part of these points that it has. `bytes` says what a call moves at a size.
    ///
    /// # Errors
    /// When there are more shards than things to go into them.
    pub fn of(
        self,
        by: ShardBy,
        points: &[Point],
        bytes: impl Fn(u64) -> u64,
    ) -> Result<SpacePart, TooManyShards> {
        let places = places(self.count, by, points, bytes)?;
        let own =
            points.iter().zip(places).filter(|(_, place)| *place == self.index).map(|(point, _)| *point);
        let told = ShardOf {
            index: self.index,
            count: self.count,
            by,
            points: hash(points),
            of_points: points.len() as u64,
            anchor_drift_pct: None,
        };
        let own: Vec<Point> = own.collect();
        let mut anchors = if by == ShardBy::Pipeline { anchors(points) } else { BTreeMap::new() };
        let sizes: BTreeSet<u64> = own.iter().map(|point| point.n).collect();
        anchors.retain(|n, _| sizes.contains(n));
        Ok(SpacePart { points: own, anchors, told })
    }
}

/// Of each of these points the number of its shard, of `count`. `bytes` says what a call moves at a size.
///
/// # Errors
/// When there are more shards than things to go into them.
pub fn places(
    count: u32,
    by: ShardBy,
    points: &[Point],
    bytes: impl Fn(u64) -> u64,
) -> Result<Vec<u32>, TooManyShards> {
    let cost = |point: &Point| u128::from(SET_UP_BYTES.saturating_add(bytes(point.n)));
    let dealt = match by {
        ShardBy::Size => dealt(count, points, |point| point.n, |_| 0, cost),
        ShardBy::Pipeline => dealt(count, points, pipeline, |pipeline| pipeline_draw(*pipeline), cost),
    };
    dealt.map_err(|things| TooManyShards { count, things, by })
}

/// At each size the configs that every shard measures: of the pipelines that draw the smallest numbers one each, so
/// that they are the same ones at most sizes.
fn anchors(points: &[Point]) -> BTreeMap<u64, Vec<Config>> {
    let mut by_size: BTreeMap<u64, BTreeMap<(u64, Kernel, u32), Config>> = BTreeMap::new();
    for point in points {
        let (kernel, workgroup_size) = pipeline(point);
        let key = (pipeline_draw((kernel, workgroup_size)), kernel, workgroup_size);
        by_size.entry(point.n).or_default().entry(key).or_insert(point.config);
    }
    let first = |configs: BTreeMap<_, Config>| configs.into_values().take(ANCHORS).collect();
    by_size.into_iter().map(|(n, configs)| (n, first(configs))).collect()
}

/// What is compiled for a point: a kernel and a workgroup size.
fn pipeline(point: &Point) -> (Kernel, u32) {
    (point.config.kernel, point.config.workgroup_size)
}

/// The number that a pipeline draws.
fn pipeline_draw((kernel, workgroup_size): (Kernel, u32)) -> u64 {
    draw(&format!("{kernel} {workgroup_size}"), 0)
}

/// Deals things out to `count` shards, and says of each point where its `thing` is. Of things that cost the same the
/// one with the smaller number `first` comes first. The error is how many things there are, where those are too few.
fn dealt<T: Ord + Copy>(
    count: u32,
    points: &[Point],
    thing: impl Fn(&Point) -> T,
    first: impl Fn(&T) -> u64,
    cost: impl Fn(&Point) -> u128,
) -> Result<Vec<u32>, usize> {
    let mut costs: BTreeMap<T, u128> = BTreeMap::new();
    for point in points {
        *costs.entry(thing(point)).or_insert(0) += cost(point);
    }
    if count as usize > costs.len() {
        return Err(costs.len());
    }
    let mut things: Vec<(T, u128)> = costs.into_iter().collect();
    things.sort_by_cached_key(|(thing, cost)| (Reverse(*cost), first(thing), *thing));
    // The least so far, of equal ones the first.
    let mut loads: BTreeSet<(u128, u32)> = (0..count).map(|shard| (0, shard)).collect();
    let mut places: BTreeMap<T, u32> = BTreeMap::new();
    for (thing, cost) in things {
        if let Some((load, shard)) = loads.pop_first() {
            loads.insert((load + cost, shard));
            places.insert(thing, shard);
        }
    }
    Ok(points.iter().filter_map(|point| places.get(&thing(point)).copied()).collect())
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |word: &str| word.parse::<u32>().ok().filter(|_| !word.starts_with('+'));
        let numbers = text.split_once('/').and_then(|(index, count)| number(index).zip(number(count)));
        let Some((index, count)) = numbers else {
            return Err(format!(
                "`{text}` is not a shard: write I/N, for example 0/16 for the first one of 16"
            ));
        };
        match Self::new(index, count) {
            Some(shard) => Ok(shard),
            None if count == 0 => Err(format!(
                "`{text}`: 0 shards hold nothing; 0/1 is the only one of 1, which has everything"
            )),
            None => Err(format!(
                "`{text}`: shards are counted from 0, so the last one of {count} is {}/{count}",
                count - 1
            )),
        }
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The points of a shard.
#[derive(Debug, Clone, PartialEq)]
pub struct SpacePart {
    /// They, in the order of the whole.
    pub points: Vec<Point>,
    /// Where sizes are split: at each size of the shard some configs that all shards measure, whosever points they are.
    pub anchors: BTreeMap<u64, Vec<Config>>,
    /// What metadata says of it.
    pub told: ShardOf,
}

/// Which part of which points a file holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardOf {
    /// Which shard, from 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
    /// What the space is split by.
    pub by: ShardBy,
    /// Hash of the whole list of points, in hexadecimal digits: shards of one hash belong together.
    pub points: String,
    /// Points of the whole.
    pub of_points: u64,
    /// By how much longer the anchors took at the end than at the start, in percent: the median of all that one unit
    /// measured at both; of several units that of the one that changed most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_drift_pct: Option<f64>,
}

impl ShardOf {
    /// The drift of the anchors, where it is so large that times from the start and from the end are not comparable.
    #[must_use]
    pub fn drifted_pct(&self) -> Option<f64> {
        self.anchor_drift_pct.filter(|pct| is_drift(*pct))
    }

    /// Whether both are the same one of as many, whatever they are shards of.
    #[must_use]
    pub fn is_same_part(&self, other: &Self) -> bool {
        (self.index, self.count, self.by) == (other.index, other.count, other.by)
    }
}

/// As arguments: `--shard 3/16`.
impl Display for ShardOf {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "--shard {}/{}", self.index, self.count)?;
        match self.by {
            ShardBy::Size => Ok(()),
            other => write!(f, " --shard-by {}", other.word()),
        }
    }
}

/// Some shards would have nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} of {}: {}", plural(*count as usize, "shard"), self.of(), self.advice())]
pub struct TooManyShards {
    /// Shards that were asked for.
    pub count: u32,
    /// Sizes, or pipelines, that there are.
    pub things: usize,
    /// What the space was to be split by.
    pub by: ShardBy,
}

impl TooManyShards {
    fn of(&self) -> String {
        plural(self.things, self.by.word())
    }

    fn advice(&self) -> String {
        let Self { things, by, .. } = self;
        let never =
            format!("a {} is never split, so some would have nothing; make at most {things}", by.word());
        match by {
            ShardBy::Size => format!("{never}, or split the configs of each size with --shard-by pipeline"),
            ShardBy::Pipeline => never,
        }
    }
}

/// The hash of a list of points.
fn hash(points: &[Point]) -> String {
    let mut hasher = blake3::Hasher::new();
    for Point { n, config } in points {
        hasher.update(format!("{config} {n}\n").as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
