//! What a device keeps beyond what Vulkan promises: asked once for each device, build of its driver and version of
//! scanbox, when a run has configs that need something of which nothing is known.
//!
//! Workers of their own ask, one guarantee after the other. One that hangs or dies of a guarantee is a finding about
//! that one, kept like the others, because asking again costs a device its next reset; another worker goes on with the
//! rest. On software devices too: what they find there is what runs there.

use std::time::{Duration, Instant};

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::probe_hash;
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::guarantee_probe::{GuaranteesProbe, ProbeVerdict};
use scanbox_model::parameters::Parameter;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::guarantees::Found;
use scanbox_runner::replay::Script;

use super::kept::{self, Findings, ProbeVersion};
use crate::device::{known_issues, replay_script};
use crate::failure::SessionError;
use crate::lock::Sharing;
use crate::notes::note;
use crate::process::{RunLimits, Silence, Worker, WorkerCommand, describe};
use crate::protocol::{Message, Order, Work};
use crate::tools::Tools;

/// What says how many threads lavapipe has.
const THREADS_VARIABLE: &str = "LP_NUM_THREADS";

impl Findings for GuaranteesProbe {
    const NAME: &'static str = "guarantees";

    fn is_possible(&self) -> bool {
        self.is_sound()
    }

    fn version(device: &DeviceProfile, _: &Tools) -> anyhow::Result<ProbeVersion> {
        let threads = match device.kind {
            DeviceKind::Software => {
                let set = std::env::var(THREADS_VARIABLE).ok();
                let forced = known_issues::worker_environment()?.remove(THREADS_VARIABLE);
                let cores = std::thread::available_parallelism().map_or(0, usize::from);
                Some(set.or(forced).unwrap_or_default() + "/" + &cores.to_string())
            }
            DeviceKind::Hardware | DeviceKind::Null => None,
        };
        let scanbox = Some(env!("CARGO_PKG_VERSION").to_owned());
        Ok(ProbeVersion { kernel_hash: probe_hash(), scanbox, threads })
    }
}

/// What an earlier probe of this device found.
#[must_use]
pub fn kept(device: &DeviceProfile, tools: &Tools) -> Option<GuaranteesProbe> {
    kept::read(device, tools)
}

/// Whether one of these configs needs something of the device of which nothing is known.
pub fn is_wanted<'a>(configs: impl IntoIterator<Item = &'a Config>, device: &DeviceProfile) -> bool {
    configs
        .into_iter()
        .any(|config| catalog::needed(config, device).any(|guarantee| !device.is_settled(guarantee)))
}

/// The device as if nothing had spoken against any guarantee: what would run there if it kept all of them.
#[must_use]
pub fn with_all(device: &DeviceProfile) -> DeviceProfile {
    let mut all = device.clone();
    all.guarantee_facts.assumed = Guarantee::VALUES.to_vec();
    all
}

/// Whether there is something to ask: a script of the replay device may have no answers.
fn can_be_asked(selector: &str) -> bool {
    replay_script(selector).is_none_or(|path| Script::read(path).is_ok_and(|script| script.probe.is_some()))
}

/// The worker goes by this from here on, and so do those that replace it.
pub fn tell(worker: &mut Worker, command: &mut WorkerCommand, probe: Option<GuaranteesProbe>) {
    worker.profile.guarantee_facts.probe.clone_from(&probe);
    command.guarantees = probe;
}

/// The worker as it is, unless one of these configs needs something of which nothing is known: then as [`inform`] has
/// it.
///
/// # Errors
/// As [`inform`].
pub fn inform_for<'a>(
    configs: impl IntoIterator<Item = &'a Config>,
    worker: Worker,
    command: &mut WorkerCommand,
    sharing: &Sharing,
    timeout: Duration,
    limits: &RunLimits<'_>,
) -> anyhow::Result<Worker> {
    match is_wanted(configs, &worker.profile) {
        true => inform(worker, command, sharing, timeout, limits),
        false => Ok(worker),
    }
}

/// The worker, which goes by what a probe of its device found about guarantees: an earlier one, or one that is made
/// now. Then it is another worker, and the device is taken for the time between. No guarantee may take longer than
/// `timeout`.
///
/// # Errors
/// When another run has the device, the run has to stop, or the device cannot be opened again.
pub fn inform(
    worker: Worker,
    command: &mut WorkerCommand,
    sharing: &Sharing,
    timeout: Duration,
    limits: &RunLimits<'_>,
) -> anyhow::Result<Worker> {
    inform_by(worker, command, sharing, timeout, limits, false)
}

/// The same, whatever an earlier probe found.
///
/// # Errors
/// As [`inform`].
pub fn ask_anew(
    worker: Worker,
    command: &mut WorkerCommand,
    sharing: &Sharing,
    timeout: Duration,
    limits: &RunLimits<'_>,
) -> anyhow::Result<Worker> {
    inform_by(worker, command, sharing, timeout, limits, true)
}

fn inform_by(
    mut worker: Worker,
    command: &mut WorkerCommand,
    sharing: &Sharing,
    timeout: Duration,
    limits: &RunLimits<'_>,
    anew: bool,
) -> anyhow::Result<Worker> {
    let known = |device: &DeviceProfile, tools: &Tools| if anew { None } else { kept(device, tools) };
    if let Some(probe) = known(&worker.profile, &command.tools) {
        tell(&mut worker, command, Some(probe));
        return Ok(worker);
    }
    if !can_be_asked(&command.device) {
        return Ok(worker);
    }
    // Workers of this run have no part in that: the run takes the device for itself, later.
    let mut alone = command.clone();
    let (mut worker, occupied) = sharing.occupy(worker, &mut alone, limits)?;
    if let Some(probe) = known(&worker.profile, &command.tools) {
        // By whoever had the device before.
        tell(&mut worker, command, Some(probe));
        return Ok(worker);
    }
    let device = worker.profile.clone();
    note(&format!("{}: asking it what it keeps beyond what Vulkan promises", device.title()));
    let probe = ask_all(worker, &alone, timeout, limits)?;
    drop(occupied);
    for finding in &probe.findings {
        if finding.verdict != ProbeVerdict::NotRefuted {
            note(&format!("{} is {}: {}", finding.guarantee, word(finding.verdict), finding.detail));
        }
    }
    let found = probe.is_sound();
    if !found {
        note("warning: that came to nothing");
    } else if sharing.share_device {
        note("it is not kept, since the device may have been shared");
    } else if let Err(error) = kept::write(&device, &command.tools, &probe) {
        note(&format!("warning: it cannot be kept, and is asked again by the next run: {error:#}"));
    }
    let mut worker = command.start_again(limits)?;
    tell(&mut worker, command, found.then_some(probe));
    Ok(worker)
}

/// What came of a probe, in words.
#[must_use]
pub fn word(verdict: ProbeVerdict) -> &'static str {
    match verdict {
        ProbeVerdict::Refuted => "refuted",
        ProbeVerdict::NotRefuted => "not refuted",
        ProbeVerdict::Unknown => "unknown",
    }
}

/// Asks for one guarantee after the other, with as many workers as that takes.
///
/// # Errors
/// When the run has to stop, or the device cannot be opened again.
fn ask_all(
    worker: Worker,
    command: &WorkerCommand,
    timeout: Duration,
    limits: &RunLimits<'_>,
) -> anyhow::Result<GuaranteesProbe> {
    let lacks = &worker.profile.guarantee_facts.lacks;
    let mut left: Vec<Guarantee> =
        Guarantee::VALUES.iter().copied().filter(|guarantee| !lacks.contains(guarantee)).collect();
    left.reverse();
    let mut probe = GuaranteesProbe::default();
    let mut worker = Some(worker);
    while !left.is_empty() {
        let mut asked = match worker.take() {
            Some(worker) => worker,
            None => command.start_again(limits)?,
        };
        if let Some(why) = ask_some(&mut asked, &mut left, &mut probe, timeout, limits)? {
            // Whoever was being asked for, that is what it did.
            if let Some(guarantee) = left.pop() {
                add(&mut probe, Found::unknown(guarantee, why));
            }
        }
    }
    Ok(probe)
}

/// Lets a worker ask for those that are left, the last one first. Returns what ended it before its time.
///
/// # Errors
/// When the run has to stop.
fn ask_some(
    worker: &mut Worker,
    left: &mut Vec<Guarantee>,
    probe: &mut GuaranteesProbe,
    timeout: Duration,
    limits: &RunLimits<'_>,
) -> Result<Option<String>, SessionError> {
    let work = Box::new(Work::Guarantees { asked: left.iter().rev().copied().collect() });
    worker.process.order(&Order::Work { work, operator: None, guarantees: None, device_lock: None });
    let mut deadline = Instant::now() + timeout;
    loop {
        match worker.process.next_message() {
            Ok(Message::Found(found)) => {
                left.retain(|guarantee| *guarantee != found.finding.guarantee);
                add(probe, *found);
                deadline = Instant::now() + timeout;
            }
            Ok(Message::Ended { .. }) => return Ok(None),
            Ok(Message::Failed { reason, .. } | Message::Broke { reason }) => return Ok(Some(reason)),
            Ok(_) => {}
            Err(Silence::Waiting) if Instant::now() < deadline => limits.pause(Duration::ZERO)?,
            Err(Silence::Waiting) => {
                worker.process.condemn();
                let limit = timeout.as_secs_f64();
                return Ok(Some(format!("it hangs: no answer within {limit} s; its worker was killed")));
            }
            Err(Silence::Dead(status)) => {
                // Whoever ended the worker may have meant this process too.
                limits.pause(Duration::ZERO)?;
                return Ok(Some(format!("the worker ended: {}", describe(status))));
            }
        }
    }
}

fn add(probe: &mut GuaranteesProbe, Found { finding, residents }: Found) {
    probe.findings.push(finding);
    probe.residents.extend(residents);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use scanbox_model::guarantee_probe::GuaranteeFinding;
    use scanbox_testing::device::example;

    use super::*;

    fn probe() -> GuaranteesProbe {
        let finding = GuaranteeFinding {
            guarantee: Guarantee::Progress,
            verdict: ProbeVerdict::Refuted,
            calls: 3,
            detail: "round 3 of 40".to_owned(),
            date: "2026-11-23T21:00:00Z".to_owned(),
        };
        GuaranteesProbe { findings: vec![finding], residents: Vec::new() }
    }

    #[test]
    fn what_is_kept_is_of_one_device_and_driver() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { cache: Some(folder.path().to_owned()), ..Tools::default() };
        let device = DeviceProfile { driver_build: "1-a".into(), ..example("GPU", 1, "driver 1") };
        assert_eq!(kept(&device, &tools), None);
        kept::write(&device, &tools, &probe()).unwrap();
        assert_eq!(kept(&device, &tools), Some(probe()));
        for other in [
            DeviceProfile { uuid: "another".into(), ..device.clone() },
            DeviceProfile { driver: "driver 2".into(), ..device.clone() },
            DeviceProfile { driver_build: "1-b".into(), ..device.clone() },
            // It has threads, which are a part of what was asked.
            DeviceProfile { kind: DeviceKind::Software, ..device.clone() },
        ] {
            assert_eq!(kept(&other, &tools), None, "{other:?}");
        }
        assert_eq!(kept(&device, &Tools::default()), None);
    }

    #[test]
    fn damaged_files_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { cache: Some(folder.path().to_owned()), ..Tools::default() };
        let device = example("GPU", 1, "driver 1");
        kept::write(&device, &tools, &probe()).unwrap();
        let entries: Vec<_> = fs::read_dir(folder.path().join("probes")).unwrap().flatten().collect();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        let text = fs::read_to_string(entry.path()).unwrap();
        for damaged in [
            String::new(),
            text[..text.len() / 2].to_owned(),
            text.replace("refuted", "proved"),
            text.replace("round 3 of 40", ""),
            text.replace("\"calls\": 3", "\"calls\": 0"),
            text.replace("driver 1", "driver 2"),
            text.replace(env!("CARGO_PKG_VERSION"), "0.0.1"),
            text.replace("\"progress\"", "\"co-residency\"").replace("\"refuted\"", "\"not-refuted\""),
        ] {
            assert_ne!(damaged, text);
            fs::write(entry.path(), &damaged).unwrap();
            assert_eq!(kept(&device, &tools), None, "{damaged}");
        }
        kept::write(&device, &tools, &probe()).unwrap();
        assert_eq!(kept(&device, &tools), Some(probe()));
    }
}
