//! `scanbox`: finds the fastest prefix scan for a GPU at every input size, proves it right, and hands it over.
//!
//! [`cli`] is what the user may type, [`args`] what several commands have of that, [`commands`] is what happens then, [`mod@exit`]
//! how the process ends, [`lock`] keeps two runs from one device. A sweep
//! runs in two processes: [`supervise`] owns the files, [`worker`] drives the device; [`process`] is how the one
//! sees the other; [`signals`] is what both make of signals.

mod args;
mod cli;
mod commands;
mod exit;
mod lock;
mod output;
mod process;
mod signals;
mod supervise;
mod system;
mod worker;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(&cli) {
        Ok(exit) => exit,
        Err(error) if commands::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::complain(&format!("error: {error:#}"));
            commands::exit_of(&error).into()
        }
    }
}
