//! `scanbox serve` (internal): configs on request, for another version of scanbox that measures itself against this
//! one.
//!
//! What it reads and writes is the protocol of baselines, which is kept: a binary of today has to answer a later one.

use std::io::{stdin, stdout};

use clap::Args;
use scanbox_runner::serve;
use scanbox_session::tools::Tools;
use scanbox_session::{device, lock};

use crate::args::problem::ProblemArgs;

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
pub fn run(args: &ServeArgs, tools: &Tools) -> anyhow::Result<()> {
    let (problem, operator) = args.problem.problem()?;
    let mut compiler = tools.compiler()?;
    let mut backend = device::open(&args.device, &compiler, tools)?;
    lock::share_with_others(&args.device, backend.profile())?;
    if let Some(file) = operator {
        compiler = compiler.with_operator(file);
    }
    let (requests, mut replies) = (stdin().lock(), stdout().lock());
    serve::serve(backend.as_mut(), &compiler, problem, VERSION, requests, &mut replies)?;
    Ok(())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
