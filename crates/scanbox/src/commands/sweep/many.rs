//! A sweep of several devices at once: the same command once per device, each in a process of its own that owns its own
//! file. What they say is passed on with the name of the device in front.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write, stdout};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use scanbox_model::device::DeviceKind;
use scanbox_runner::select::{Listed, place_of};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::{Exit, UsageError};
use scanbox_report::document::{Format, write_json};
use scanbox_report::paint;
use scanbox_session::device::{backends, replay_script};
use scanbox_session::notes::{note, pass_on_of};
use scanbox_session::signals::{stop_on_signals, with_parent};
use scanbox_session::tools::Tools;

/// The selector that means every device.
pub const ALL: &str = "all";

/// The devices that `all` stands for, by index: all hardware that can be used, or all software where there is none.
pub fn all_devices(tools: &Tools) -> anyhow::Result<Vec<String>> {
    let usable: Vec<(usize, Listed)> =
        backends::devices(tools)?.into_iter().enumerate().filter(|(_, listed)| listed.is_usable()).collect();
    let of_kind = |kind| {
        let of_kind = usable.iter().filter(move |(_, listed)| listed.profile.kind == kind);
        of_kind.map(|(index, _)| index.to_string()).collect::<Vec<_>>()
    };
    let hardware = of_kind(DeviceKind::Hardware);
    Ok(if hardware.is_empty() { of_kind(DeviceKind::Software) } else { hardware })
}

/// Whether each selector names a device of its own.
///
/// # Errors
/// When one names none, and when two name the same.
pub fn check_distinct(selectors: &[String], tools: &Tools) -> anyhow::Result<()> {
    let devices = if selectors.iter().all(|selector| replay_script(selector).is_some()) {
        Vec::new()
    } else {
        backends::devices(tools)?
    };
    let mut places: Vec<(usize, &String)> = Vec::new();
    for selector in selectors.iter().filter(|selector| replay_script(selector).is_none()) {
        let place = place_of(&devices, selector)?;
        if let Some((_, other)) = places.iter().find(|(other, _)| *other == place) {
            let message = format!("--device {other} and --device {selector} are one device, {place}");
            return Err(UsageError(message).into());
        }
        places.push((place, selector));
    }
    Ok(())
}

/// A sweep that runs.
struct SweepProcess {
    device: String,
    child: Child,
    answer: JoinHandle<String>,
    talk: JoinHandle<()>,
}

/// The sweeps of several devices, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct SweepsJson {
    /// The worst of theirs.
    exit_code: u8,
    /// By device.
    sweeps: Vec<DeviceSweepJson>,
    /// Of devices that share a space, what was merged: as of `merge --format json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    merge: Option<serde_json::Value>,
}

/// That of one of them.
#[derive(Serialize, JsonSchema)]
struct DeviceSweepJson {
    /// As it was given.
    device: String,
    /// How its process ended.
    exit_code: u8,
    /// As of one device; `null` where it did not finish.
    sweep: serde_json::Value,
}

/// What sweeps a device.
pub struct DeviceSweep {
    /// The device.
    pub device: String,
    /// The arguments of the process, but for the device.
    pub arguments: Vec<OsString>,
}

/// Sweeps devices at the same time, each by a process of its own; then merges what they wrote, where `merge` are the
/// arguments for that and every sweep has come to its end or can go on. The exit code is the worst of theirs.
pub fn run(sweeps: &[DeviceSweep], merge: Option<&[OsString]>, format: Format) -> anyhow::Result<Exit> {
    let stop = stop_on_signals()?;
    let mut sweeps = sweeps.iter().map(start).collect::<anyhow::Result<Vec<_>>>()?;
    let statuses = wait(&mut sweeps, stop)?;
    let mut worst = Exit::Done;
    let mut answers = Vec::new();
    for (sweep, status) in sweeps.into_iter().zip(statuses) {
        // Both threads end with the output that they read.
        let answer = sweep.answer.join().unwrap_or_default();
        let _ = sweep.talk.join();
        let exit = exit_of(status);
        answers.push((sweep.device, exit, answer));
        worst = worse(worst, exit);
    }
    let can_be_merged =
        answers.iter().all(|(_, exit, _)| matches!(exit, Exit::Done | Exit::Incomplete | Exit::WrongResult));
    let merged = merge.filter(|_| can_be_merged).map(merge_rows).transpose()?;
    if merge.is_some() && merged.is_none() {
        note(
            "the rows of the devices are not merged, because a sweep failed; to continue and merge them, run the same command again",
        );
    }
    if let Some((exit, _)) = &merged {
        worst = worse(worst, *exit);
    }
    let mut out = stdout().lock();
    match format {
        Format::Json => {
            // Where a sweep did not come to its answer, stderr says why.
            let read = |answer: &str| serde_json::from_str(answer).unwrap_or_default();
            let one = |(device, exit, answer): &(String, Exit, String)| DeviceSweepJson {
                device: device.clone(),
                exit_code: *exit as u8,
                sweep: read(answer),
            };
            let answer = SweepsJson {
                exit_code: worst as u8,
                sweeps: answers.iter().map(one).collect(),
                merge: merged.map(|(_, merged)| read(&merged)),
            };
            write_json(&mut out, &answer)?;
        }
        _ => {
            for (device, _, answer) in &answers {
                writeln!(out, "== device {device}\n\n{}", paint::for_stdout(answer.clone()))?;
            }
            if let Some((_, merged)) = merged {
                writeln!(out, "== merged\n\n{}", paint::for_stdout(merged))?;
            }
        }
    }
    Ok(worst)
}

/// Merges, in a process of its own, as a user would; how it ended, and its answer.
fn merge_rows(arguments: &[OsString]) -> anyhow::Result<(Exit, String)> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = Command::new(program);
    let output =
        command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("the merge of the rows cannot be started")?;
    Ok((exit_of(output.status), String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn start(DeviceSweep { device, arguments }: &DeviceSweep) -> anyhow::Result<SweepProcess> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = Command::new(program);
    command.args(arguments).args(["--device", device]).env("NO_COLOR", "1");
    // Signals reach it through its parent, exactly once, and the end of that, too.
    with_parent(&mut command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("the sweep of device {device} cannot be started"))?;
    let (answer, talk) =
        (child.stdout.take().expect("stdout is piped"), child.stderr.take().expect("stderr is piped"));
    let name = device.clone();
    Ok(SweepProcess {
        device: device.clone(),
        child,
        answer: thread::spawn(move || {
            let mut text = String::new();
            let _ = BufReader::new(answer).read_to_string(&mut text);
            text
        }),
        talk: thread::spawn(move || {
            for line in BufReader::new(talk).lines().map_while(Result::ok) {
                pass_on_of(&name, &line);
            }
        }),
    })
}

fn wait(sweeps: &mut [SweepProcess], stop: &AtomicBool) -> anyhow::Result<Vec<ExitStatus>> {
    let mut told = false;
    loop {
        if stop.load(Ordering::Relaxed) && !told {
            told = true;
            sweeps.iter().for_each(|sweep| ask_to_stop(&sweep.child));
        }
        let ended: Vec<Option<ExitStatus>> =
            sweeps.iter_mut().map(|sweep| sweep.child.try_wait()).collect::<Result<_, _>>()?;
        if let Some(statuses) = ended.into_iter().collect() {
            return Ok(statuses);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(unix)]
fn ask_to_stop(child: &Child) {
    let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        // One that has ended already needs no telling.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
}

#[cfg(not(unix))]
fn ask_to_stop(_: &Child) {}

fn exit_of(status: ExitStatus) -> Exit {
    Exit::of_code(status.code()).unwrap_or(Exit::Operational)
}

/// The one that a script has to hear about first: as long as something is left on any device, that.
fn worse(a: Exit, b: Exit) -> Exit {
    let order = [
        Exit::InterruptedTwice,
        Exit::Incomplete,
        Exit::WrongResult,
        Exit::Operational,
        Exit::Usage,
        Exit::NoDevice,
    ];
    order.into_iter().find(|exit| [a, b].contains(exit)).unwrap_or(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_exit_wins() {
        assert_eq!(worse(Exit::Done, Exit::Incomplete), Exit::Incomplete);
        assert_eq!(worse(Exit::WrongResult, Exit::Operational), Exit::WrongResult);
        assert_eq!(worse(Exit::WrongResult, Exit::Incomplete), Exit::Incomplete);
        assert_eq!(worse(Exit::Done, Exit::Done), Exit::Done);
    }
}
