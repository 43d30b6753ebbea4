//! `scanbox`: finds the fastest prefix scan for a GPU at every input size, proves it right, and hands it over.
//!
//! [`cli`] is what the user may type, [`args`] what several commands have of that, [`commands`] is what happens then.
//! Below them, [`inputs`] are the files that commands read, [`output`] is where they may write, [`answer`] how an
//! answer gets to its reader, and [`mod@exit`] how the process ends.

mod answer;
mod args;
mod cli;
mod commands;
mod exit;
mod inputs;
mod output;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches};
use scanbox_model::api::Api;
use scanbox_session::process::DEVICE_LAYER_OFF;
use scanbox_session::tools::Tools;

use crate::args::needs;
use crate::args::speech::{colour_of, has_colour, wrapped};
use crate::cli::{Cli, Command};
use crate::commands::{
    analyze, bench, compare, devices, doctor, explain, export, help_files, import, merge, overview, pack,
    report, rerun, serve, space, sweep, tune, verify, worker,
};

fn main() -> ExitCode {
    let line = cli::with_values(std::env::args_os());
    let colour = colour_of(&line);
    let matches = Cli::command().color(colour).try_get_matches_from(line);
    let matches = matches.unwrap_or_else(|error| refuse(&error, colour));
    needs::check(&matches, &mut Cli::command().color(colour)).unwrap_or_else(|error| refuse(&error, colour));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| refuse(&error, colour));
    cli.speech.begin();
    let given = || cli::arguments_without(&matches, "device");
    match run(&cli, &given) {
        Ok(exit) => exit,
        Err(error) if answer::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let message = inputs::missing::with_use(&error, &matches);
            scanbox_session::notes::note(&message);
            exit::exit_of(&error).into()
        }
    }
}

/// Ends the process with what is wrong with a command line, which has the width of the terminal; or with help.
fn refuse(error: &clap::Error, colour: ColorChoice) -> ! {
    if error.use_stderr() && std::io::stderr().is_terminal() {
        let text = match has_colour(colour, true) {
            true => error.render().ansi().to_string(),
            false => error.render().to_string(),
        };
        drop(write!(std::io::stderr(), "{}", wrapped(&text)));
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Runs the command. `given` are its arguments but for `--device`.
fn run(cli: &Cli, given: &dyn Fn() -> Vec<OsString>) -> anyhow::Result<ExitCode> {
    cli.check_api()?;
    let tools = &cli.tools();
    if cli.command.as_ref().is_none_or(looks_for_devices) {
        begin_without_layer(tools);
    }
    let Some(command) = &cli.command else { return Ok(overview::run(tools)?.into()) };
    check_forced_family(command)?;
    match command {
        Command::Devices(args) => Ok(devices::run(args, tools)?.into()),
        Command::Space(args) => Ok(space::run(args, tools)?.into()),
        Command::Sweep(args) => Ok(sweep::run(args, tools, given)?.into()),
        Command::Verify(args) => Ok(verify::run(args, tools)?.into()),
        Command::Bench(args) => Ok(bench::run(args, tools)?.into()),
        Command::Import(args) => Ok(import::run(args)?.into()),
        Command::Merge(args) => Ok(merge::run(args)?.into()),
        Command::Analyze(args) => analyze::run(args),
        Command::Report(args) => Ok(report::run(args)?.into()),
        Command::Compare(args) => Ok(compare::run(args)?.into()),
        Command::Rerun(args) => Ok(rerun::run(args, tools)?.into()),
        Command::Explain(args) => Ok(explain::run(args, tools, &Cli::command())?.into()),
        Command::Export(args) => Ok(export::run(args, tools)?.into()),
        Command::Pack(args) => Ok(pack::run(args, tools)?.into()),
        Command::Tune(args) => Ok(tune::run(args, tools)?.into()),
        Command::Doctor(args) => Ok(doctor::run(args, tools)?.into()),
        Command::Completions(args) => Ok(help_files::completions(args, Cli::command())?.into()),
        Command::Man(args) => Ok(help_files::man(args, Cli::command())?.into()),
        Command::Serve(args) => serve::run(args, tools).map(|()| ExitCode::SUCCESS),
        Command::Worker(args) => worker::run(args, tools).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "webgpu")]
        Command::GuardBrowser(args) => commands::guard_browser::run(args).map(|()| ExitCode::SUCCESS),
    }
}

/// Set for the process that asks first whether there are devices.
const IS_FIRST: &str = "SCANBOX_ASKS_FOR_DEVICES";

/// Through WebGPU, begins anew without the layer of Mesa that looks for a display and prints that there is none: a
/// process finds what it was started with in its environment. Where that is not possible, a line is printed.
fn begin_without_layer(tools: &Tools) {
    #[cfg(unix)]
    if tools.api == Api::WebGpu && std::env::var_os(DEVICE_LAYER_OFF).is_none() {
        use std::os::unix::process::CommandExt;
        let mut words = std::env::args_os();
        if let (Ok(program), Some(name)) = (std::env::current_exe(), words.next()) {
            let _ =
                std::process::Command::new(program).arg0(name).args(words).env(DEVICE_LAYER_OFF, "1").exec();
        }
    }
    #[cfg(not(unix))]
    let _ = tools;
}

/// Whether a command that a user gives looks for devices.
fn looks_for_devices(command: &Command) -> bool {
    match command {
        Command::Serve(_) | Command::Worker(_) => false,
        #[cfg(feature = "webgpu")]
        Command::GuardBrowser(_) => false,
        Command::Completions(_) | Command::Man(_) => false,
        Command::Import(_) | Command::Merge(_) => false,
        Command::Analyze(_) | Command::Report(_) | Command::Compare(_) => false,
        Command::Explain(args) if !args.asks_a_device() => false,
        Command::Space(args) if !args.asks_a_device() => false,
        _ => std::env::var_os(IS_FIRST).is_none(),
    }
}

/// Whether the driver of a chip that is not there knows it, of commands that look for devices.
fn check_forced_family(command: &Command) -> anyhow::Result<()> {
    if !looks_for_devices(command) {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let mut asking = std::process::Command::new(program);
    asking.args(["devices", "--format", "json"]).env(IS_FIRST, "1");
    scanbox_session::device::check_forced_family(&mut asking)
        .map_err(|error| exit::UsageError(format!("{error:#}")).into())
}
