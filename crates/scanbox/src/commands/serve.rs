//! `scanbox serve` (internal): configs on request, for another version of scanbox that measures itself against this one.
//!
//! What it reads and writes is the protocol of baselines, which is kept: a binary of today has to answer a later one.

use std::io::{stdin, stdout};
use std::time::Duration;

use clap::Args;
use scanbox_runner::serve;
use scanbox_runner::vulkan;

use super::problem::ProblemArgs;
use super::{cache_folder, compiler, open_device};
use crate::cli::Cli;

/// Arguments of `scanbox serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The device
    #[arg(long)]
    device: String,

    #[command(flatten)]
    problem: ProblemArgs,
}

/// Serves until its input ends.
///
/// # Errors
/// When the device cannot be opened, or nobody reads the replies.
pub fn run(args: &ServeArgs, cli: &Cli) -> anyhow::Result<()> {
    let (problem, operator) = args.problem.problem()?;
    let mut compiler = compiler(cli)?;
    let options = vulkan::Options {
        // Whoever asks has the clock, and ends the whole process.
        timeout: Duration::MAX,
        pipeline_cache: cache_folder(cli).map(|folder| folder.join("pipelines")),
        ..vulkan::Options::default()
    };
    let mut backend = open_device(&args.device, &compiler, options)?;
    if let Some(file) = operator {
        compiler = compiler.with_operator(file);
    }
    let (requests, mut replies) = (stdin().lock(), stdout().lock());
    serve::serve(backend.as_mut(), &compiler, problem, VERSION, requests, &mut replies)?;
    Ok(())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
