//! What earlier probes of a device have found about what it keeps beyond what Vulkan promises: whoever opens the device
//! goes by it, whatever a list says.

use scanbox_kernels::glsl::probe_hash;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::guarantee_probe::GuaranteesProbe;

use super::findings::{self, Findings, ProbeVersion};
use super::known_issues;
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
    findings::read(device, tools)
}

/// Goes by what an earlier probe of this device found.
pub fn remember(device: &mut DeviceProfile, tools: &Tools) {
    device.guarantee_facts.probe = kept(device, tools);
}

/// Goes by what earlier probes of this device, on this machine, have found against it, beside what is known of it from
/// somewhere else.
pub fn remember_refuted(device: &mut DeviceProfile, tools: &Tools) {
    let Some(kept) = kept(device, tools) else { return };
    let probe = device.guarantee_facts.probe.take();
    device.guarantee_facts.probe =
        probe.map_or_else(|| kept.refuted(), |probe| Some(probe.refuted_by(&kept)));
}

/// What asks now: what another version has found out may be otherwise. Empty where that cannot be told.
#[must_use]
pub fn version(device: &DeviceProfile, tools: &Tools) -> String {
    let version = GuaranteesProbe::version(device, tools);
    version.map_or_else(|_| String::new(), |version| version.told())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use scanbox_model::guarantee_probe::{GuaranteeFinding, ProbeVerdict};
    use scanbox_model::safe_devices::Guarantee;
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
        GuaranteesProbe { findings: vec![finding], ..GuaranteesProbe::default() }
    }

    #[test]
    fn what_is_kept_is_of_one_device_and_driver() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { cache: Some(folder.path().to_owned()), ..Tools::default() };
        let device = DeviceProfile { driver_build: "1-a".into(), ..example("GPU", 1, "driver 1") };
        assert_eq!(kept(&device, &tools), None);
        findings::write(&device, &tools, &probe()).unwrap();
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
        findings::write(&device, &tools, &probe()).unwrap();
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
        findings::write(&device, &tools, &probe()).unwrap();
        assert_eq!(kept(&device, &tools), Some(probe()));
    }
}
