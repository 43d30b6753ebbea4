//! `scanbox worker` (internal): drives a device for a supervisor.

use clap::Args;
use scanbox_session::tools::Tools;
use scanbox_session::worker;

/// Arguments of the internal worker command.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The device
    #[arg(long)]
    device: String,

    /// Process id of the supervisor
    #[arg(long)]
    supervisor: u32,
}

/// Runs the worker until its supervisor has no more work or goes away.
///
/// # Errors
/// When the supervisor cannot be told what went wrong.
pub fn run(args: &WorkerArgs, tools: &Tools) -> anyhow::Result<()> {
    worker::run(&args.device, args.supervisor, tools)
}
