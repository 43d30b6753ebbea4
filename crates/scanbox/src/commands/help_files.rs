//! `scanbox completions` and `scanbox man`: the command line for shells, and as pages of a manual.

use std::io::{Write, stdout};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::answer::answered;
use crate::exit::{Exit, UsageError};

/// Arguments of `scanbox completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell: bash reads it from /usr/share/bash-completion/completions/scanbox, zsh from _scanbox in a folder of
    /// $fpath, fish from ~/.config/fish/completions/scanbox.fish
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `scanbox man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command that the page is about [default: scanbox itself]
    command: Option<String>,
}

/// Writes what a shell has to know of the command line.
pub fn completions(args: &CompletionsArgs, mut program: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "scanbox", &mut script);
    answered(stdout().lock().write_all(&script), Exit::Done)
}

/// Writes a page of the manual.
pub fn man(args: &ManArgs, mut program: Command) -> anyhow::Result<Exit> {
    // Commands get what all of them have, as in --help.
    program.build();
    let page = match args.command.as_deref() {
        None => program,
        Some(name) => {
            let known = |command: &&Command| command.get_name() == name && !command.is_hide_set();
            let Some(command) = program.get_subcommands().find(known) else {
                let names: Vec<&str> = program
                    .get_subcommands()
                    .filter(|command| !command.is_hide_set())
                    .map(Command::get_name)
                    .collect();
                return Err(UsageError(format!(
                    "there is no command `{name}`: it is one of {}",
                    names.join(", ")
                ))
                .into());
            };
            command.clone().display_name(format!("scanbox-{name}")).version(env!("CARGO_PKG_VERSION"))
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    answered(stdout().lock().write_all(&text), Exit::Done)
}
