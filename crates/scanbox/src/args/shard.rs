//! The flags that say which shard of a space.

use clap::Args;
use scanbox_model::problem::Problem;
use scanbox_model::shard::{Shard, ShardBy, ShardOf};
use scanbox_model::space::Enumeration;

use crate::exit::UsageError;

/// Which shard.
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// Only this one of N shards, which are counted from 0: 0/16 to 15/16 are the whole. A shard has whole sizes, and all
    /// shards cost about the same; machines that enumerate the same points find the same shards
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
}

impl ShardArgs {
    /// What stands in the name of a file.
    pub fn file_word(&self) -> Option<String> {
        Some(self.shard?.file_word(ShardBy::Size))
    }

    /// The part of these points that is asked for, and what metadata says of it.
    ///
    /// # Errors
    /// When there are more shards than things to go into them.
    pub fn part(
        &self,
        whole: Enumeration,
        problem: &Problem,
    ) -> Result<(Enumeration, Option<ShardOf>), UsageError> {
        let Some(shard) = self.shard else { return Ok((whole, None)) };
        let part = shard
            .of(ShardBy::Size, &whole.points, |n| problem.bytes_moved(n))
            .map_err(|error| UsageError(format!("--shard {shard}: {error}")))?;
        Ok((Enumeration { points: part.points, ..whole }, Some(part.told)))
    }
}
