//! One module per command, and what they share: devices by selector, spaces by name, exit codes.

pub mod analyze;
pub mod bench;
pub mod bench_blocking;
pub mod bench_select;
pub mod compare;
pub mod devices;
pub mod doctor;
pub mod export;
pub mod files;
pub mod import;
pub mod report;
pub mod rerun;
pub mod serve;
pub mod space;
pub mod sweep;
pub mod sweep_estimate;
pub mod sweep_many;
pub mod verify;
pub mod worker;

use std::io::{self, BufWriter, Write, stdout};
use std::process::ExitCode;

use anyhow::Context;
use scanbox_model::problem::Problem;
use scanbox_model::space::Space;
use scanbox_report::document::{Document, Format};
use scanbox_report::terminal;
pub use scanbox_session::notes::complain;

use crate::cli::{Cli, Command};
pub use crate::exit::{Exit, UsageError};

/// Runs the command.
pub fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let tools = &cli.tools();
    match &cli.command {
        Command::Devices(args) => Ok(devices::run(args)?.into()),
        Command::Space(args) => Ok(space::run(args, tools)?.into()),
        Command::Sweep(args) => Ok(sweep::run(args, tools)?.into()),
        Command::Verify(args) => Ok(verify::run(args, tools)?.into()),
        Command::Bench(args) => Ok(bench::run(args, tools)?.into()),
        Command::Import(args) => Ok(import::run(args)?.into()),
        Command::Analyze(args) => analyze::run(args),
        Command::Report(args) => Ok(report::run(args)?.into()),
        Command::Compare(args) => Ok(compare::run(args)?.into()),
        Command::Rerun(args) => Ok(rerun::run(args, tools)?.into()),
        Command::Export(args) => Ok(export::run(args)?.into()),
        Command::Doctor(args) => Ok(doctor::run(args, tools)?.into()),
        Command::Serve(args) => serve::run(args, tools).map(|()| ExitCode::SUCCESS),
        Command::Worker(args) => worker::run(args, tools).map(|()| ExitCode::SUCCESS),
    }
}

/// Whether whoever read our output went away: no error, there is just nobody to talk to.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// How a command ends that has written its answer to stdout: where whoever read it went away, as it would have otherwise.
///
/// # Errors
/// What else kept the answer from being written.
pub fn answered<T>(written: io::Result<()>, exit: T) -> anyhow::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit),
        written => Ok(written.map(|()| exit).context("standard output")?),
    }
}

/// Writes an answer to stdout.
///
/// # Errors
/// When stdout fails.
pub fn print(answer: &dyn Document, format: Format) -> io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    answer.write(format, terminal::width(), &mut out)?;
    out.flush()
}

/// The spaces that need no file.
const BUILT_IN_SPACES: &[(&str, &str)] = &[
    ("thesis", include_str!("../../../../configs/thesis.toml")),
    ("quick", include_str!("../../../../configs/quick.toml")),
    ("full", include_str!("../../../../configs/full.toml")),
    ("problems", include_str!("../../../../configs/problems.toml")),
    ("nightly", include_str!("../../../../configs/nightly.toml")),
    ("families", include_str!("../../../../configs/families.toml")),
];

/// Whether a space is named by a file.
fn is_space_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// A space that was one of its own, and what has its configs now.
const FORMER_SPACES: &[(&str, &str)] =
    &[("full64", "--space full has the shapes for elements of 8 and 16 bytes with --type u64, i64 or f64")];

/// A space by name, or from a file (anything with a slash or the ending `.toml`), as it is for the elements of a problem.
fn load_space(name: &str, problem: &Problem) -> anyhow::Result<Space> {
    let space = if is_space_file(name) {
        let text = std::fs::read_to_string(name).with_context(|| format!("space file {name}"))?;
        Space::from_toml(&text, name)?
    } else {
        built_in_space(name)?
    };
    space
        .for_elements(problem.element().bytes())
        .map_err(|error| UsageError(format!("{error}; this run is of {}", problem.element())).into())
}

fn built_in_space(name: &str) -> anyhow::Result<Space> {
    if let Some((former, now)) = FORMER_SPACES.iter().find(|(former, _)| *former == name) {
        return Err(UsageError(format!("there is no space `{former}` any more: {now}")).into());
    }
    match BUILT_IN_SPACES.iter().find(|(built_in, _)| *built_in == name) {
        Some((_, text)) => Ok(Space::from_toml(text, name)?),
        None => {
            let names: Vec<_> = BUILT_IN_SPACES.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "there is no space `{name}`: give one of {}, or the path of a .toml file",
                names.join(", ")
            );
            Err(UsageError(message).into())
        }
    }
}
