//! Where an attempt at a sweep works and publishes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use scanbox_session::attempts::AttemptFolders;

use super::time::parse_limit;

/// Where an attempt at a sweep works and publishes.
#[derive(Debug, Clone, Args)]
pub struct AttemptArgs {
    /// Work in a folder of its own below this one, on the node, and publish copies (see --publish and docs/fleet.md)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "retry_failed", "accept_space"])]
    scratch: Option<PathBuf>,

    /// Publish rows, metadata and journal in this folder, which all nodes share, in files of this attempt; begin with
    /// the rows that earlier attempts at the same sweep have published there. No locks are needed
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,

    /// Time between two copies
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "30s")]
    publish_every: Duration,
}

impl AttemptArgs {
    /// The folders, if there are any.
    pub fn folders(&self) -> Option<AttemptFolders> {
        let (scratch, publish) = self.scratch.clone().zip(self.publish.clone())?;
        Some(AttemptFolders { scratch, publish, every: self.publish_every })
    }
}
