//! Shards of spaces: parts that are swept one by one, on other units or at other times, and merged.

use serde::{Deserialize, Serialize};

/// What a space is split by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardBy {
    /// A size belongs to one shard, with all its configs: they are compared on one unit.
    #[default]
    Size,
    /// A pipeline (a kernel and a workgroup size) belongs to one shard, at all sizes.
    Pipeline,
}

/// Which part of which points a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}
