//! The flags that say which shard of a space.

use std::collections::BTreeMap;

use clap::Args;
use scanbox_model::config::Config;
use scanbox_model::problem::Problem;
use scanbox_model::shard::{Shard, ShardBy, ShardOf, SpacePart};
use scanbox_model::space::Enumeration;

use crate::exit::UsageError;

/// Which shard.
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// Only shard I of N, counted from 0: 0/16 to 15/16 are the whole space. All shards cost about the same, and
    /// machines that enumerate the same points find the same ones
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// What a shard has whole: `size`, so that the configs of a size are compared on one unit, or `pipeline` (a kernel
    /// and a workgroup size), for more shards than sizes: each size is then spread over units, and every shard measures
    /// the same anchors at its start, middle and end
    #[arg(long, value_name = "WHAT", default_value = "size")]
    shard_by: ShardBy,
}

/// A space, or the part of it that is asked for.
pub struct AskedSpace {
    /// Its points; what was rejected is that of the whole.
    pub enumeration: Enumeration,
    /// What metadata says of it, where it is a part.
    pub shard: Option<ShardOf>,
    /// What is measured beside its points, where sizes are split.
    pub anchors: BTreeMap<u64, Vec<Config>>,
}

impl ShardArgs {
    /// What stands in the name of a file.
    pub fn file_word(&self) -> Option<String> {
        Some(self.shard?.file_word(self.shard_by))
    }

    /// Whether sizes are split.
    pub fn splits_sizes(&self) -> bool {
        self.shard.is_some() && self.shard_by == ShardBy::Pipeline
    }

    /// The part of these points that is asked for.
    ///
    /// # Errors
    /// When there are more shards than things to go into them.
    pub fn part(&self, whole: Enumeration, problem: &Problem) -> Result<AskedSpace, UsageError> {
        let Some(shard) = self.shard else {
            return Ok(AskedSpace { enumeration: whole, shard: None, anchors: BTreeMap::new() });
        };
        let SpacePart { points, anchors, told } = shard
            .of(self.shard_by, &whole.points, |n| problem.bytes_moved(n))
            .map_err(|error| UsageError(format!("--shard {shard}: {error}")))?;
        Ok(AskedSpace { enumeration: Enumeration { points, ..whole }, shard: Some(told), anchors })
    }
}
