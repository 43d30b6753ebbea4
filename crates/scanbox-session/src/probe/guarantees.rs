//! What a device keeps beyond what Vulkan promises: asked once for each device, build of its driver and version of
//! scanbox, when a run has configs that need something of which nothing is known.
//!
//! Workers of their own ask, one guarantee after the other. What is found is kept as soon as it is whole, and everybody
//! goes by it who opens the device ([`crate::device::remembered`]). A device that hangs of a probe or is lost, or a
//! driver that dies of it, is a finding too, because asking again costs the next reset; another worker goes on with the
//! rest. What was cut short otherwise is asked again by the next run. On software devices too: what they find there is
//! what runs there.

use std::time::Duration;

use scanbox_kernels::catalog;
use scanbox_model::api::Api;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::{GuaranteesProbe, ProbeVerdict};
use scanbox_model::parameters::Parameter;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::guarantees::Found;
use scanbox_runner::replay::Script;
use scanbox_runner::session::Setup;

use super::hearing::{CutShort, Heard, hear};
use super::kept;
use crate::device::remembered::{kept as remembered, version};
use crate::device::replay_script;
use crate::lock::Sharing;
use crate::notes::note;
use crate::process::{RunLimits, SETUP_LIMIT, Worker, WorkerCommand};
use crate::protocol::{Message, Work};
use crate::tools::Tools;

/// How long a call of a probe may take, whose waits end after half a second.
const PATIENCE: Duration = Duration::from_secs(15);

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
pub fn tell(worker: &mut Worker, command: &mut WorkerCommand, probe: GuaranteesProbe) {
    worker.profile.guarantee_facts.probe = Some(probe.clone());
    command.guarantees = Some(probe);
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
    limits: &RunLimits<'_>,
) -> anyhow::Result<Worker> {
    match is_wanted(configs, &worker.profile) {
        true => inform(worker, command, sharing, limits, false),
        false => Ok(worker),
    }
}

/// The worker, which goes by what probes of its device found about guarantees: earlier ones, and one that is made now
/// of what they left open; `anew`: of everything. Then it is another worker, and the device is taken for the time
/// between.
///
/// # Errors
/// When another run has the device, the run has to stop, or the device cannot be opened again.
pub fn inform(
    worker: Worker,
    command: &mut WorkerCommand,
    sharing: &Sharing,
    limits: &RunLimits<'_>,
    anew: bool,
) -> anyhow::Result<Worker> {
    // The probes are GLSL.
    let can_be_asked = worker.profile.api == Api::Vulkan && can_be_asked(&command.device);
    if open(&worker.profile, anew).is_empty() || !can_be_asked {
        return Ok(worker);
    }
    let arguments = worker.profile.arguments_probe.clone();
    // Workers of this run have no part in that: the run takes the device for itself, later.
    let mut alone = command.clone();
    let (mut worker, occupied) = sharing.occupy(worker, &mut alone, limits)?;
    let left = open(&worker.profile, anew);
    if left.is_empty() {
        // Whoever had the device before has asked it.
        worker.profile.arguments_probe = arguments;
        return Ok(worker);
    }
    note(&format!("{}: asking it what it keeps beyond what Vulkan promises", worker.profile.title()));
    let mut inquiry = Inquiry::new(&worker.profile, &command.tools, sharing);
    inquiry.ask(worker, &alone, left.clone(), limits)?;
    drop(occupied);
    let Inquiry { found, is_kept, .. } = inquiry;
    for finding in left.iter().filter_map(|guarantee| found.of(*guarantee)) {
        if finding.verdict != ProbeVerdict::NotRefuted {
            note(&format!("{} is {}: {}", finding.guarantee, word(finding.verdict), finding.detail));
        }
    }
    kept::tell(sharing, is_kept);
    let mut worker = command.start_again(limits)?;
    // The worker before knew it, and this one has to be told.
    worker.profile.arguments_probe = arguments;
    if found.is_sound() {
        tell(&mut worker, command, found);
    } else {
        note("warning: that came to nothing");
    }
    Ok(worker)
}

/// What is to be asked.
fn open(device: &DeviceProfile, anew: bool) -> Vec<Guarantee> {
    let facts = &device.guarantee_facts;
    let is_open = |guarantee: &Guarantee| {
        !facts.lacks.contains(guarantee) && (anew || facts.finding(*guarantee).is_none())
    };
    Guarantee::VALUES.iter().copied().filter(is_open).collect()
}

/// What came of a probe, in words.
#[must_use]
pub fn word(verdict: ProbeVerdict) -> &'static str {
    match verdict {
        ProbeVerdict::Refuted => "refuted",
        ProbeVerdict::NotRefuted => "not refuted",
        ProbeVerdict::Unknown => "unknown",
        ProbeVerdict::Hung => "hung",
    }
}

/// Who asks a device.
struct Inquiry<'a> {
    device: DeviceProfile,
    tools: &'a Tools,
    sharing: &'a Sharing,
    /// All that is known, for this run.
    found: GuaranteesProbe,
    /// What is whole of it.
    whole: GuaranteesProbe,
    /// What became of the last attempt to keep that.
    is_kept: anyhow::Result<()>,
}

impl<'a> Inquiry<'a> {
    fn new(device: &DeviceProfile, tools: &'a Tools, sharing: &'a Sharing) -> Self {
        let before = remembered(device, tools).unwrap_or_default();
        let whole = GuaranteesProbe { version: version(device, tools), ..before };
        Self { device: device.clone(), tools, sharing, found: whole.clone(), whole, is_kept: Ok(()) }
    }

    /// What is whole is kept at once: the next probe may take the machine with it.
    fn take(&mut self, Found { finding, residents, is_whole }: Found) {
        if is_whole {
            self.whole.take(finding.clone(), residents.clone());
            self.is_kept = kept::keep(&self.device, self.tools, self.sharing, &self.whole);
        }
        self.found.take(finding, residents);
    }

    /// Asks for one guarantee after the other, with as many workers as that takes.
    ///
    /// # Errors
    /// When the run has to stop, or the device cannot be opened again.
    fn ask(
        &mut self,
        worker: Worker,
        command: &WorkerCommand,
        mut left: Vec<Guarantee>,
        limits: &RunLimits<'_>,
    ) -> anyhow::Result<()> {
        let mut worker = Some(worker);
        while !left.is_empty() {
            let mut asked = match worker.take() {
                Some(worker) => worker,
                None => command.start_again(limits)?,
            };
            let work = Work::Guarantees { asked: left.clone() };
            let ended = hear(&mut asked, work, PATIENCE, limits, &mut |message| match message {
                Message::Found(found) => {
                    left.retain(|guarantee| *guarantee != found.finding.guarantee);
                    self.take(*found);
                    Heard::Within(PATIENCE)
                }
                Message::Setup(Setup::Compiling { .. }) => Heard::Within(SETUP_LIMIT),
                Message::Doing { .. } => Heard::Within(PATIENCE),
                Message::Ended { .. } => Heard::All(()),
                _ => Heard::Nothing,
            })?;
            // Whoever was being asked for, that is what it did.
            if let (Err(CutShort { why, hung }), Some(&guarantee)) = (ended, left.first()) {
                left.remove(0);
                self.take(Found::nothing(guarantee, why, hung));
            }
        }
        Ok(())
    }
}
