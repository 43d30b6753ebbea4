//! `scanbox`: finds the fastest prefix scan for a GPU at every input size, proves it right, and hands it over.
//!
//! [`cli`] is what the user may type, [`args`] what several commands have of that, [`commands`] is what happens then, [`output`]
//! where answers may be written to, [`mod@exit`] how the process ends.

mod args;
mod cli;
mod commands;
mod exit;
mod output;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(&cli) {
        Ok(exit) => exit,
        Err(error) if commands::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            scanbox_session::notes::complain(&format!("error: {error:#}"));
            exit::exit_of(&error).into()
        }
    }
}
