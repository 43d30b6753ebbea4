//! What is found out on a device by measuring, and kept: what `auto` of arguments stands for, here, and what the device
//! keeps beyond what Vulkan promises ([`guarantees`]).
//!
//! It is measured once for each device, build of its driver, and version of the kernels, when somebody asks for it, by
//! a worker of its own: what it leaves in memory and clocks is gone before anything else runs, and a device that it
//! does not survive costs no run. The answer is a file of the cache folder. Software devices are not probed, because
//! their times say nothing; `auto` is `push` there, and wherever a probe failed. That is not kept: the next run tries
//! again.

pub mod guarantees;
mod hearing;
mod kept;

use std::time::Duration;

use scanbox_model::api::Api;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::probe::ArgumentsProbe;

use self::hearing::{Heard, hear};
use crate::device;
use crate::device::findings::{self, Findings, ProbeVersion};
use crate::failure::SessionError;
use crate::lock::Sharing;
use crate::notes::note;
use crate::process::{RunLimits, Worker, WorkerCommand};
use crate::protocol::{Message, Work};
use crate::tools::Tools;

/// How long a probe may take, with the compilation of its copies. It is given up with its worker.
const LIMIT: Duration = Duration::from_secs(30);

impl Findings for ArgumentsProbe {
    const NAME: &'static str = "arguments";

    fn is_possible(&self) -> bool {
        self.is_sound()
    }

    fn version(_: &DeviceProfile, tools: &Tools) -> anyhow::Result<ProbeVersion> {
        Ok(ProbeVersion { kernel_hash: tools.compiler()?.kernel_hash(), scanbox: None, threads: None })
    }
}

/// Whether a device is probed at all.
#[must_use]
pub fn is_probed(device: &DeviceProfile) -> bool {
    device.kind == DeviceKind::Hardware && device.api == Api::Vulkan
}

/// What an earlier probe of this device found. A file that cannot be read, or says that it is of something else, is
/// none: it is replaced by the next probe.
#[must_use]
pub fn kept(device: &DeviceProfile, tools: &Tools) -> Option<ArgumentsProbe> {
    if !is_probed(device) {
        return None;
    }
    findings::read(device, tools)
}

/// The worker, whose profile has what a probe of its device found: an earlier one, or one that is made now. Then it is
/// another worker, and the device is taken for the time between.
///
/// # Errors
/// When another run has the device, the run has to stop, or the device cannot be opened again.
pub fn inform(
    mut worker: Worker,
    command: &WorkerCommand,
    sharing: &Sharing,
    limits: &RunLimits<'_>,
) -> anyhow::Result<Worker> {
    if !is_probed(&worker.profile) || recalls(&mut worker, &command.tools) {
        return Ok(worker);
    }
    // Workers of this run have no part in that: the run takes the device for itself, later.
    let mut alone = command.clone();
    let (mut worker, occupied) = sharing.occupy(worker, &mut alone, limits)?;
    if recalls(&mut worker, &command.tools) {
        // By whoever had the device before.
        return Ok(worker);
    }
    let device = worker.profile.clone();
    note(&format!("{}: measuring how kernels best get their arguments", device.title()));
    let probed = hear(&mut worker, Work::Probe, LIMIT, limits, &mut |message| match message {
        Message::Probed(probed) => Heard::All(probed),
        _ => Heard::Nothing,
    })?;
    drop(worker);
    drop(occupied);
    let probe = probed.unwrap_or_else(|cut_short| Err(cut_short.why));
    match &probe {
        Ok(probe) => kept::tell(sharing, kept::keep(&device, &command.tools, sharing, probe)),
        Err(reason) => note(&format!("warning: that came to nothing: {reason}")),
    }
    let mut worker = command.start_again(limits)?;
    worker.profile.arguments_probe = probe.ok();
    Ok(worker)
}

/// Whether an earlier probe of the device of a worker found something, which its profile has then.
fn recalls(worker: &mut Worker, tools: &Tools) -> bool {
    worker.profile.arguments_probe = kept(&worker.profile, tools);
    worker.profile.arguments_probe.is_some()
}

/// The same for those who measure nothing else: where another run has the device, nothing is found out.
///
/// # Errors
/// As [`inform`].
pub fn inform_if_free(
    worker: Worker,
    command: &WorkerCommand,
    limits: &RunLimits<'_>,
) -> anyhow::Result<Worker> {
    match inform(worker, command, &Sharing::default(), limits) {
        Err(error) if matches!(error.downcast_ref(), Some(SessionError::InUse { .. })) => {
            note("warning: the device is in use by another run, so that nothing is measured there now");
            command.start(limits)
        }
        informed => informed,
    }
}

/// The profile of the selected device with what a probe of it found: an earlier one, or one that is made now.
///
/// # Errors
/// As [`device::profile`] and [`inform`].
pub fn informed_profile(selector: &str, tools: &Tools) -> anyhow::Result<DeviceProfile> {
    let mut device = device::profile(selector, tools)?;
    device.arguments_probe = kept(&device, tools);
    if device.arguments_probe.is_some() || !is_probed(&device) {
        return Ok(device);
    }
    let (command, limits) = (WorkerCommand::new(selector, None, tools), RunLimits::of_run(None)?);
    Ok(inform_if_free(command.start(&limits)?, &command, &limits)?.profile)
}

/// Says what `auto` of arguments stands for on a device, for a sweep that began with it: `as_where`.
pub fn tell_of_sweep(device: &DeviceProfile, as_where: &str) {
    note(&format!("auto of arguments is {}, {as_where}", device.arguments()));
}

/// Says what `auto` of arguments stands for on a device.
pub fn tell(device: &DeviceProfile) {
    let why = match &device.arguments_probe {
        Some(_) => "as measured on this device",
        None if is_probed(device) => "since nothing is known of this device yet",
        None if device.api == Api::WebGpu => "as everywhere through WebGPU",
        None => "as on every software device",
    };
    note(&format!("auto of arguments is {}, {why}", device.arguments()));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use scanbox_model::config::Arguments;
    use scanbox_model::probe::ProbedSize;
    use scanbox_testing::device::example;

    use super::*;

    fn probe() -> ArgumentsProbe {
        ArgumentsProbe::of(vec![ProbedSize { n: 1024, push_ns: 1900.0, block_ns: 1740.5 }])
    }

    #[test]
    fn what_is_kept_is_of_one_device_and_driver() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { cache: Some(folder.path().join("not there yet")), ..Tools::default() };
        let device = DeviceProfile { driver_build: "1-a".into(), ..example("GPU", 1, "driver 1") };
        assert_eq!(probe().arguments, Arguments::Block);
        assert_eq!(kept(&device, &tools), None);
        findings::write(&device, &tools, &probe()).unwrap();
        assert_eq!(kept(&device, &tools), Some(probe()));
        for other in [
            DeviceProfile { uuid: "another".into(), ..device.clone() },
            DeviceProfile { driver: "driver 2".into(), ..device.clone() },
            DeviceProfile { driver_build: "1-b".into(), ..device.clone() },
            DeviceProfile { kind: DeviceKind::Software, ..device.clone() },
        ] {
            assert_eq!(kept(&other, &tools), None, "{other:?}");
        }
        // What else a profile says does not matter.
        assert_eq!(kept(&DeviceProfile { memory_bytes: 1, ..device.clone() }, &tools), Some(probe()));
        // Other kernels.
        let kernels = tempfile::tempdir().unwrap();
        fs::write(kernels.path().join("a.comp"), "").unwrap();
        let other = Tools { kernels: Some(kernels.path().to_owned()), ..tools.clone() };
        assert_eq!(kept(&device, &other), None);
        assert_eq!(kept(&device, &Tools::default()), None);
        findings::write(&device, &Tools::default(), &probe()).unwrap();
    }

    #[test]
    fn damaged_files_are_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { cache: Some(folder.path().to_owned()), ..Tools::default() };
        let device = example("GPU", 1, "driver 1");
        findings::write(&device, &tools, &probe()).unwrap();
        let entries: Vec<_> = fs::read_dir(folder.path().join("probes")).unwrap().flatten().collect();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        let text = fs::read_to_string(entry.path()).unwrap();
        for damaged in [
            "".to_owned(),
            text[..text.len() / 2].to_owned(),
            text.replace("\"block\"", "\"baked\""),
            text.replace("\"block\"", "\"push\""),
            text.replace("driver 1", "driver 2"),
            text.replace("1740.5", "1900.5"),
        ] {
            assert_ne!(damaged, text);
            fs::write(entry.path(), &damaged).unwrap();
            assert_eq!(kept(&device, &tools), None, "{damaged}");
            findings::write(&device, &tools, &probe()).unwrap();
            assert_eq!(kept(&device, &tools), Some(probe()));
        }
    }

    /// Whoever writes at the same time writes a whole file.
    #[test]
    fn many_may_keep_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { cache: Some(folder.path().to_owned()), ..Tools::default() };
        let device = example("GPU", 1, "driver 1");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        findings::write(&device, &tools, &probe()).unwrap();
                        assert_eq!(kept(&device, &tools), Some(probe()));
                    }
                });
            }
        });
    }
}
