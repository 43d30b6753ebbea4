//! The devices that come through the loader: whether each can be used, and what each can do.

use scanbox_kernels::catalog;
use scanbox_model::api::Api;
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::problem::Problem;
use scanbox_model::units::size_label;
use scanbox_runner::select::{Listed, place_of};
use scanbox_runner::vulkan::{FORCED_FAMILY, Loader, VulkanError};

use super::bytes_label;
use super::drivers::why_hidden;
use super::host::available_memory_bytes;
use scanbox_report::devices::{
    api_told, arguments_told, findings_told, guarantees_told, reconvergence_told, subgroups_told, tile_states,
};
use scanbox_report::doctor::{CheckResult, Finding};
use scanbox_session::device::{backends, inform_of_guarantees, known_issues};
use scanbox_session::probe;
use scanbox_session::tools::Tools;

/// The largest size of the thesis space: what a device is expected to hold.
const LARGEST_ELEMENTS: u64 = 1 << 29;

/// The devices that are looked at.
pub(super) struct Devices {
    /// With the index of each.
    found: Vec<(usize, Listed)>,
    /// Why there are none.
    error: Option<anyhow::Error>,
    /// Why the list of safe devices cannot be read, if it cannot.
    unreadable: Option<String>,
    /// Whether the user asked for this one.
    asked_for: bool,
    /// Whether there is a loader at all.
    has_loader: bool,
}

impl Devices {
    /// Every device, or the one that `selector` names. Without a loader there is none, and nothing more to say.
    pub fn find(loader: &Result<Loader, VulkanError>, selector: Option<&str>, tools: &Tools) -> Self {
        let mut devices = Self {
            found: Vec::new(),
            error: None,
            unreadable: None,
            asked_for: selector.is_some(),
            // A browser brings its own.
            has_loader: loader.is_ok() || tools.browser.is_some(),
        };
        if !devices.has_loader {
            return devices;
        }
        let found = backends::devices(tools).and_then(|all| {
            let selected = selector.map(|selector| place_of(&all, selector)).transpose()?;
            let wanted = |(place, _): &(usize, Listed)| selected.is_none_or(|selected| selected == *place);
            Ok(all.into_iter().enumerate().filter(wanted).collect())
        });
        match found {
            Ok(found) => devices.found = found,
            Err(error) => devices.error = Some(error),
        }
        for (_, Listed { profile, .. }) in &mut devices.found {
            profile.arguments_probe = probe::kept(profile, tools);
            let informed = inform_of_guarantees(profile, tools);
            devices.unreadable = informed.err().map(|error| format!("{error:#}"));
        }
        devices
    }

    /// Those that can be used.
    pub fn usable(&self) -> impl Iterator<Item = &DeviceProfile> {
        self.found.iter().filter(|(_, listed)| listed.is_usable()).map(|(_, listed)| &listed.profile)
    }

    /// Whether a chip, not a program, of this vendor came through the loader; with `None`, of any.
    pub fn has_hardware_of(&self, vendor_id: Option<u32>) -> bool {
        let mut profiles = self.found.iter().map(|(_, listed)| &listed.profile);
        profiles.any(|profile| {
            profile.kind == DeviceKind::Hardware
                && vendor_id.is_none_or(|vendor_id| vendor_id == profile.vendor_id)
        })
    }

    /// Whether these are all devices that a loader finds: the user asked for none, and there is a loader.
    pub fn are_all(&self) -> bool {
        self.has_loader && !self.asked_for
    }

    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        match &self.error {
            Some(error) if matches!(error.downcast_ref(), Some(VulkanError::NoDevice)) => {
                findings.push(Finding::problem("devices", "the loader finds no device", why_hidden()));
            }
            Some(error) => {
                findings.push(Finding::problem("devices", error.to_string(), "scanbox devices lists them"));
            }
            None => {}
        }
        if let Some(error) = &self.unreadable {
            let fix = "see what SCANBOX_SAFE_DEVICES names";
            findings.push(Finding::problem("safe devices", error.clone(), fix));
        }
        for (index, listed) in &self.found {
            findings.extend(self.check_device(*index, listed));
        }
        findings.extend(self.check_default());
        findings
    }

    fn check_device(&self, index: usize, Listed { profile, problems }: &Listed) -> Vec<Finding> {
        let check = format!("device {index}");
        let who = format!("{}, {}, {}", profile.title(), profile.driver, api_told(profile));
        if !problems.is_empty() {
            // Another device can be used instead.
            let verdict =
                if self.usable().next().is_some() { CheckResult::Warning } else { CheckResult::Problem };
            let fix = match profile.kind {
                DeviceKind::Null => format!("unset {FORCED_FAMILY}, and the driver looks for hardware"),
                DeviceKind::Hardware | DeviceKind::Software => {
                    "install a newer driver: kernels need Vulkan 1.3 and these features".to_owned()
                }
            };
            let one = |problem: &String| Finding {
                verdict,
                ..Finding::problem(&*check, format!("{who}: it {problem}, so it cannot be used"), &*fix)
            };
            return problems.iter().map(one).collect();
        }
        let mut findings = vec![Finding::ok(&*check, format!("{who}: it has what kernels need"))];
        findings.extend([atomics(profile), timestamps(profile), subgroups(profile), memory(profile)]);
        findings.extend(reconvergence(profile));
        findings.push(Finding::ok("guarantees", guarantees_told(profile)));
        let unasked = || match profile.api {
            Api::Vulkan => "no answer of the device is kept; scanbox devices --probe asks it".to_owned(),
            Api::WebGpu => "no probe asks devices through WebGPU; --assume says what one gives".to_owned(),
        };
        findings.push(Finding::ok("probe", findings_told(profile).unwrap_or_else(unasked)));
        findings.extend(dispatch(index, profile));
        findings.extend(untried(profile));
        findings.extend(issues(profile));
        for finding in &mut findings[1..] {
            finding.check = format!("{check}: {}", finding.check);
        }
        findings
    }

    /// Whether a sweep that names no device would run on a program.
    fn check_default(&self) -> Option<Finding> {
        let (_, first) = self.found.first().filter(|_| !self.asked_for)?;
        let finding = match first.profile.kind {
            // That it cannot be used is said of it.
            DeviceKind::Null => return None,
            DeviceKind::Hardware => Finding::ok("default device", format!("0: {}", first.profile.title())),
            DeviceKind::Software => Finding::warning(
                "default device",
                format!(
                    "0: {}: right for correctness, its times mean nothing for GPUs",
                    first.profile.title()
                ),
                format!("where there is a GPU: {}", why_hidden()),
            ),
        };
        Some(finding)
    }
}

fn atomics(profile: &DeviceProfile) -> Finding {
    match profile.int64_atomics {
        true => Finding::ok("64-bit atomics", "yes"),
        false => Finding::ok("64-bit atomics", format!("no: {}", tile_states(profile))),
    }
}

fn timestamps(profile: &DeviceProfile) -> Finding {
    let (bits, period_ns) = (profile.timestamp_valid_bits, profile.timestamp_period_ns);
    Finding::ok("timestamps", format!("{bits} bits, {period_ns} ns per tick"))
}

/// What is known of what reading arguments costs, or how to find out. On a program, there is nothing to find.
fn dispatch(index: usize, profile: &DeviceProfile) -> Option<Finding> {
    let unknown = || {
        format!(
            "not measured yet what arguments cost: `scanbox bench --dispatch --device {index}` shows it, and what auto of \
             arguments stands for"
        )
    };
    probe::is_probed(profile)
        .then(|| Finding::ok("dispatch", arguments_told(profile).unwrap_or_else(unknown)))
}

fn subgroups(profile: &DeviceProfile) -> Finding {
    let (min, max) = (profile.min_subgroup_size, profile.max_subgroup_size);
    let told = subgroups_told(profile);
    match profile.pinned_subgroups {
        None if min != max => Finding::warning(
            "subgroups",
            format!(
                "{told}: kernels are built for {}, and are wrong where it chooses another",
                profile.subgroup_size
            ),
            "none: every result is compared, and a row that is wrong says so",
        ),
        _ => Finding::ok("subgroups", format!("{told} invocations")),
    }
}

/// What kernels ask of branches. By WebGPU nobody can ask for anything.
fn reconvergence(profile: &DeviceProfile) -> Option<Finding> {
    let told = reconvergence_told(profile);
    (profile.api == Api::Vulkan).then(|| Finding::ok("reconvergence", told))
}

/// What nobody has tried yet.
fn untried(profile: &DeviceProfile) -> Option<Finding> {
    profile.driver.starts_with("MoltenVK").then(|| {
        Finding::warning(
            "portability",
            "Vulkan stands on Metal here (MoltenVK), which nobody has tried with scanbox; workgroups that wait for others may \
             hang the machine",
            "begin with kernels that wait for nobody: --space families --filter 'lookback=fallback|gather-fallback|none'",
        )
    })
}

/// Which sizes the device holds. What a software device calls its own is the memory of the machine.
fn memory(profile: &DeviceProfile) -> Finding {
    let config: Config = "b4.vec4.par.rake.wg256".parse().expect("a label");
    let available = match profile.kind {
        DeviceKind::Hardware | DeviceKind::Null => profile.memory_bytes,
        DeviceKind::Software => available_memory_bytes().unwrap_or(u64::MAX).min(profile.memory_bytes),
    };
    let largest_in = |bytes: u64| {
        let mut sizes = std::iter::successors(Some(LARGEST_ELEMENTS), |n| (*n > 1).then_some(n / 2));
        sizes
            .find(|&n| {
                catalog::Resolved::new(&config, &Problem::default(), n, profile).memory_bytes() <= bytes
            })
            .unwrap_or(1)
    };
    let (fits, fits_now) = (largest_in(profile.memory_bytes), largest_in(available));
    let memory = match profile.api {
        Api::Vulkan => bytes_label(profile.memory_bytes),
        Api::WebGpu => {
            format!("WebGPU does not report it; {} are assumed", bytes_label(profile.memory_bytes))
        }
    };
    if fits_now < fits {
        return Finding::warning(
            "memory",
            format!("{memory}, of which the machine has only {} left", bytes_label(available)),
            format!("end other programs, or keep to --sizes 2^10..{}", size_label(fits_now)),
        );
    }
    match fits {
        LARGEST_ELEMENTS => Finding::ok("memory", memory),
        _ => Finding::ok("memory", format!("{memory}: sizes above {} are left out", size_label(fits))),
    }
}

fn issues(profile: &DeviceProfile) -> Vec<Finding> {
    let issues = match known_issues::of(profile) {
        Ok(issues) => issues,
        Err(error) => {
            let fix = "see what SCANBOX_KNOWN_ISSUES names";
            return vec![Finding::problem("known issues", format!("{error:#}"), fix)];
        }
    };
    let settings = |variables: &std::collections::BTreeMap<String, String>| {
        variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    let remedied = issues.remedied.iter().map(|issue| {
        Finding::ok("known issue", format!("{}: remedied with {}", issue.id, settings(&issue.environment)))
    });
    let active = issues.active.iter().map(|issue| {
        let fix = match issue.environment.is_empty() {
            true => "none; scanbox takes it into account".to_owned(),
            false => format!("export {}", settings(&issue.environment)),
        };
        Finding::warning("known issue", format!("{}: {}", issue.id, issue.why), fix)
    });
    remedied.chain(active).collect()
}

#[cfg(test)]
mod tests {
    use scanbox_model::probe::{ArgumentsProbe, ProbedSize};
    use scanbox_runner::backend::Backend;
    use scanbox_runner::replay::{Replay, Script};

    use super::*;

    #[test]
    fn what_arguments_cost_is_told_or_how_to_find_out() {
        let profile = |hardware: bool| {
            let script = Script { hardware, ..Script::default() };
            Replay::new(script).profile().as_ref().clone()
        };
        assert_eq!(dispatch(0, &profile(false)), None);
        let found = |profile: &DeviceProfile| dispatch(3, profile).unwrap();
        let unknown = found(&profile(true));
        assert!(unknown.found.contains("scanbox bench --dispatch --device 3"), "{}", unknown.found);
        let mut known = profile(true);
        let size = ProbedSize { n: 1 << 10, push_ns: 1900.4, block_ns: 1740.0 };
        known.arguments_probe = Some(ArgumentsProbe::of(vec![size]));
        let told =
            "auto of arguments is block: a copy takes, pushed and in a block, 1900 and 1740 ns at 2^10";
        assert_eq!(found(&known).found, told);
        assert_eq!(found(&known).verdict, CheckResult::Ok);
    }
}
