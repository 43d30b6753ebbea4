//! One module per command, and what they share: devices by selector, spaces by name, exit codes.

pub mod analyze;
pub mod bench;
pub mod bench_blocking;
pub mod bench_select;
pub mod bench_task;
pub mod compare;
pub mod devices;
pub mod doctor;
pub mod export;
pub mod files;
pub mod import;
pub mod known_issues;
pub mod paste;
pub mod problem;
pub mod progress;
pub mod report;
pub mod rerun;
pub mod safe_devices;
pub mod serve;
pub mod space;
pub mod sweep;
pub mod sweep_confirm;
pub mod sweep_estimate;
pub mod sweep_many;
pub mod sweep_summary;
pub mod sweep_file;
pub mod sweep_task;
pub mod verify;
pub mod verify_task;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use scanbox_kernels::glsl::Compiler;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::space::Space;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};
use scanbox_runner::vulkan::{self, VulkanError};
use serde::Serialize;

use crate::cli::{Cli, Command};
pub use crate::exit::Exit;
use crate::lock::InUse;
use crate::process::Stopped;
use crate::worker;

/// How a command answers that has two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Json,
}

/// The command line asks for something that there is not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A worker could not do anything; it has said why, and which exit code that calls for.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct WorkerFailed {
    /// Why.
    pub reason: String,
    /// The exit code.
    pub exit: u8,
}

/// Runs the command.
pub fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    safe_devices::assume(&cli.assume);
    match &cli.command {
        Command::Devices(args) => Ok(devices::run(args)?.into()),
        Command::Space(args) => Ok(space::run(args)?.into()),
        Command::Sweep(args) => Ok(sweep::run(args, cli)?.into()),
        Command::Verify(args) => Ok(verify::run(args, cli)?.into()),
        Command::Bench(args) => Ok(bench::run(args, cli)?.into()),
        Command::Import(args) => Ok(import::run(args)?.into()),
        Command::Analyze(args) => analyze::run(args),
        Command::Report(args) => Ok(report::run(args)?.into()),
        Command::Compare(args) => Ok(compare::run(args)?.into()),
        Command::Rerun(args) => Ok(rerun::run(args, cli)?.into()),
        Command::Export(args) => Ok(export::run(args)?.into()),
        Command::Doctor(args) => Ok(doctor::run(args, cli)?.into()),
        Command::Serve(args) => serve::run(args, cli).map(|()| ExitCode::SUCCESS),
        Command::Worker(args) => worker::run(args, cli).map(|()| ExitCode::SUCCESS),
    }
}

/// The exit code of an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if error.downcast_ref::<UsageError>().is_some() {
        return Exit::Usage;
    }
    if error.downcast_ref::<Stopped>().is_some() || error.downcast_ref::<InUse>().is_some() {
        return Exit::Incomplete;
    }
    if let Some(failed) = error.downcast_ref::<WorkerFailed>() {
        let told = [Exit::NoDevice, Exit::Usage, Exit::WrongResult];
        return told.into_iter().find(|exit| *exit as u8 == failed.exit).unwrap_or(Exit::Operational);
    }
    if let Some(worker::WorkerError::Operator(_)) = error.downcast_ref() {
        return Exit::WrongResult;
    }
    match error.downcast_ref::<VulkanError>() {
        Some(VulkanError::NotFound { .. }) => Exit::NoDevice,
        Some(VulkanError::Ambiguous { .. } | VulkanError::NoSelector { .. }) => Exit::Usage,
        Some(vulkan) if vulkan.is_no_device() => Exit::NoDevice,
        _ => Exit::Operational,
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

/// Writes an answer as JSON.
///
/// # Errors
/// When the writer fails.
pub fn write_json(out: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)
}

/// A line on stderr. A closed stderr is nobody's problem.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The prefix of a device selector that names a script of the replay device.
const REPLAY: &str = "replay:";

/// The script that a selector of the replay device names.
fn replay_script(selector: &str) -> Option<&Path> {
    selector.strip_prefix(REPLAY).map(Path::new)
}

/// The profile of the selected device, without using the device.
fn device_profile(selector: &str) -> anyhow::Result<DeviceProfile> {
    let mut profile = match selector.strip_prefix(REPLAY) {
        Some(path) => Replay::new(Script::read(Path::new(path))?).profile().as_ref().clone(),
        None => vulkan::select(selector)?.profile,
    };
    safe_devices::inform(&mut profile)?;
    Ok(profile)
}

/// The selected device, ready for work.
pub fn open_device(
    selector: &str,
    compiler: &Compiler,
    options: vulkan::Options,
) -> anyhow::Result<Box<dyn Backend>> {
    match selector.strip_prefix(REPLAY) {
        Some(path) => {
            let mut replay = Replay::new(Script::read(Path::new(path))?);
            safe_devices::inform(replay.profile_mut())?;
            Ok(Box::new(replay))
        }
        None => {
            let known = vulkan::Options {
                known_issues: known_issues::all()?,
                safe_devices: safe_devices::all()?,
                ..options
            };
            Ok(Box::new(vulkan::open(selector, compiler, known)?))
        }
    }
}

/// How many devices of the same name come before the selected one. By their order, not by their UUIDs: drivers give units of
/// one model the same.
pub fn unit_of(selector: &str) -> anyhow::Result<usize> {
    if selector.starts_with(REPLAY) {
        return Ok(0);
    }
    let devices = vulkan::devices()?;
    let names: Vec<&str> = devices.iter().map(|listed| listed.profile.name.as_str()).collect();
    Ok(same_names_before(&names, vulkan::place_of(&devices, selector)?))
}

fn same_names_before(names: &[&str], place: usize) -> usize {
    names[..place].iter().filter(|name| **name == names[place]).count()
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

/// The folder for what can be made again: SPIR-V, pipelines. `None` where the system names none.
pub fn cache_folder(cli: &Cli) -> Option<PathBuf> {
    cli.cache.clone().or_else(|| {
        directories::ProjectDirs::from("", "", "scanbox").map(|folders| folders.cache_dir().to_owned())
    })
}

/// Says, once and before anything is compiled, that nothing can be kept in the cache.
pub fn warn_of_cache(cli: &Cli) {
    let Some(folder) = cache_folder(cli) else {
        complain(
            "warning: the system names no cache folder: kernels are compiled anew in each run; choose one with --cache",
        );
        return;
    };
    let tried = ["spirv", "pipelines"].iter().try_for_each(|name| {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        tempfile::Builder::new().prefix(".scanbox-").tempfile_in(folder).map(drop)
    });
    if let Err(error) = tried {
        complain(&format!(
            "warning: the cache folder {} cannot be used ({error}): kernels are compiled anew in each run; choose another with \
             --cache",
            folder.display()
        ));
    }
}

/// The compiler that the command line asks for.
pub fn compiler(cli: &Cli) -> anyhow::Result<Compiler> {
    Ok(Compiler::new(cli.kernels.as_deref(), cache_folder(cli).map(|folder| folder.join("spirv")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_a_model_are_numbered_by_their_place() {
        // Whatever their UUIDs are: some drivers give them all the same.
        let names = ["A", "B", "A", "A", "B"];
        let units: Vec<usize> = (0..names.len()).map(|place| same_names_before(&names, place)).collect();
        assert_eq!(units, [0, 0, 1, 2, 1]);
    }

    #[test]
    fn a_device_that_is_not_named_well_is_a_matter_of_usage() {
        let text = || String::from("x");
        for (error, exit) in [
            (VulkanError::NotFound { selector: text(), devices: text() }, Exit::NoDevice),
            (VulkanError::Ambiguous { selector: text(), devices: text() }, Exit::Usage),
            (VulkanError::NoSelector { devices: text() }, Exit::Usage),
        ] {
            let code = exit as u8;
            assert_eq!(exit_of(&error.into()), exit);
            // Also where a worker has found it out.
            assert_eq!(exit_of(&WorkerFailed { reason: text(), exit: code }.into()), exit);
        }
    }
}
