//! `scanbox guard-browser` (internal): runs a browser as long as the process that started this one lives.

use std::ffi::OsString;
use std::io::{Write, stdout};

use clap::Args;
use scanbox_session::device::backends::guard_browser;

/// Arguments of the internal command.
#[derive(Debug, Args)]
pub struct GuardBrowserArgs {
    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs it, and prints how it ended, where it did so by itself.
///
/// # Errors
/// When nobody listens.
pub fn run(args: &GuardBrowserArgs) -> anyhow::Result<()> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(()) };
    // Whoever started this hears how it went from its output alone.
    let said = match guard_browser(program, arguments) {
        Ok(ended) => ended,
        Err(error) => Some(format!("{} does not start: {error}", program.display())),
    };
    Ok(said.map_or(Ok(()), |said| writeln!(stdout(), "{said}"))?)
}
