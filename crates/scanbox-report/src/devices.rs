//! Devices: what is there, what each can do, why one cannot be used.

use std::io::{self, Write};

use scanbox_kernels::catalog::{self, ASSUMED_UNITS};
use scanbox_model::api::Api;
use scanbox_model::config::{Config, TileState};
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::guarantee_probe::{GuaranteeFinding, ProbeVerdict};
use scanbox_model::units::size_label;
use scanbox_runner::select::Listed;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::terminal::fold;

/// One device, as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DeviceRow<'a> {
    index: usize,
    name: &'a str,
    kind: DeviceKind,
    usable: bool,
    problems: &'a [String],
    profile: &'a DeviceProfile,
}

/// The devices of a machine, by index.
pub struct DeviceList<'a>(pub &'a [Listed]);

impl Document for DeviceList<'_> {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => {
                let rows = self.0.iter().enumerate().map(|(index, Listed { profile, problems })| DeviceRow {
                    index,
                    name: &profile.name,
                    kind: profile.kind,
                    usable: problems.is_empty(),
                    problems,
                    profile,
                });
                write_json(out, &rows.collect::<Vec<_>>())
            }
            Format::Table => write_table(self.0, width, out),
            other => other.missing("a list of devices"),
        }
    }
}

fn write_table(devices: &[Listed], width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    for (index, listed) in devices.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let head = format!("{index:>2}  ");
        writeln!(out, "{}", fold(&head, &listed.profile.name, INDENT, width))?;
        for (label, fact) in facts(listed) {
            let head = format!("    {label:<9}");
            writeln!(out, "{}", fold(&head, &fact, INDENT, width))?;
        }
    }
    Ok(())
}

/// Where facts begin, below the index and the labels.
const INDENT: usize = 13;

/// Through what the device is driven, with the version of that.
#[must_use]
pub fn api_told(profile: &DeviceProfile) -> String {
    match profile.api {
        Api::Vulkan => format!("Vulkan {}", profile.api_version),
        Api::WebGpu => format!("WebGPU by {}", profile.implementation),
    }
}

/// What tile states kernels have on this device where their label leaves it open, and what that means.
pub fn tile_states(profile: &DeviceProfile) -> &'static str {
    let config: Config = "b4.vec4.par.rake.wg256".parse().expect("a label");
    match catalog::resolved(&config, profile).kernel.tile_state {
        TileState::Word64 => "tile states are words of 64 bits",
        TileState::Split => "tile states are split into words of 32 bits, which carry any total",
        TileState::Packed => {
            "tile states are packed into 32 bits, so that only sums of u32 whose total is below 2^30 are scanned"
        }
        TileState::Auto => "tile states are left to the kernel",
    }
}

/// What the device gives beyond what Vulkan promises, and what that means.
pub fn guarantees_told(profile: &DeviceProfile) -> String {
    // What is listed may have been refuted.
    let given = profile.guarantees.iter().filter(|guarantee| profile.gives(**guarantee));
    let words: Vec<String> = given.map(ToString::to_string).collect();
    match words.is_empty() {
        true => "nothing is known that the device gives beyond what Vulkan promises".to_owned(),
        false => format!("beyond what Vulkan promises, the device gives {}", words.join(", ")),
    }
}

/// What is promised of invocations that have diverged, and whether kernels ask for more than Vulkan promises by itself.
#[must_use]
pub fn reconvergence_told(profile: &DeviceProfile) -> &'static str {
    if profile.maximal_reconvergence {
        "maximal: kernels ask for it, and invocations come together where the structure of the code says so"
    } else if profile.forced.maximal_reconvergence.is_some() {
        "kernels do not ask for maximal reconvergence, because of a known issue"
    } else if profile.uniform_control_flow {
        "of branches that a subgroup enters as a whole; the device has no maximal reconvergence"
    } else {
        "as Vulkan has it by itself; the device has no maximal reconvergence"
    }
}

/// What a probe of the device found about what it gives beyond what Vulkan promises, if there was one.
pub fn findings_told(profile: &DeviceProfile) -> Option<String> {
    let probe = profile.guarantee_facts.probe.as_ref()?;
    let told = probe.findings.iter().map(|finding| {
        let GuaranteeFinding { guarantee, calls, detail, .. } = finding;
        match finding.verdict {
            ProbeVerdict::Refuted => format!("{guarantee} refuted ({detail})"),
            ProbeVerdict::NotRefuted => format!("{guarantee} not refuted in {calls} calls ({detail})"),
            ProbeVerdict::Unknown => format!("{guarantee} unknown ({detail})"),
            ProbeVerdict::Hung => format!("{guarantee} hung ({detail})"),
        }
    });
    let date =
        probe.findings.first().map_or("", |finding| finding.date.split('T').next().unwrap_or_default());
    Some(format!("asked on {date}: {}", told.collect::<Vec<_>>().join("; ")))
}

/// What a probe of the device found about arguments, if there was one.
pub fn arguments_told(profile: &DeviceProfile) -> Option<String> {
    let probe = profile.arguments_probe.as_ref()?;
    let times = probe
        .sizes
        .iter()
        .map(|size| format!("{:.0} and {:.0} ns at {}", size.push_ns, size.block_ns, size_label(size.n)));
    let times = times.collect::<Vec<_>>().join(", ");
    Some(format!(
        "auto of arguments is {}: a copy takes, pushed and in a block, {times}",
        profile.arguments()
    ))
}

/// How many units run workgroups, and whether somebody knows.
fn units_told(profile: &DeviceProfile) -> String {
    match (profile.compute_units, profile.units(), profile.assumed_compute_units) {
        (Some(units), ..) => units.to_string(),
        (None, Some(units), _) => format!("{units}, as the probe counted: the driver does not tell"),
        (None, None, assumed) => {
            format!("{} assumed: the driver does not tell", assumed.unwrap_or(ASSUMED_UNITS))
        }
    }
}

/// The sizes of subgroups that kernels can be built for: the device's own choice first.
#[must_use]
pub fn subgroups_told(profile: &DeviceProfile) -> String {
    let (own, min, max) = (profile.subgroup_size, profile.min_subgroup_size, profile.max_subgroup_size);
    let others = profile.offered_subgroup_sizes().into_iter().filter(|size| *size != own);
    let others: Vec<String> = others.map(|size| size.to_string()).collect();
    match (others.is_empty(), min == max) {
        (true, true) => own.to_string(),
        (true, false) => format!("{own} (the driver may choose {min} to {max}, and a program cannot choose)"),
        (false, _) => format!("{own} (or {})", others.join(", ")),
    }
}

/// What there is to know about a device, with a label each.
fn facts(Listed { profile, problems }: &Listed) -> Vec<(&'static str, String)> {
    let kind = match profile.kind {
        DeviceKind::Hardware => "hardware",
        DeviceKind::Software => "software: right for correctness, its times mean nothing for GPUs",
        DeviceKind::Null => "a driver without a device: it makes pipelines, and runs none",
    };
    let memory = format!("{:.1} GiB", profile.memory_bytes as f64 / f64::from(1 << 30));
    let memory = match profile.api {
        Api::Vulkan => memory,
        Api::WebGpu => format!("{memory} assumed: WebGPU does not tell"),
    };
    let atomics = match profile.int64_atomics {
        true => "64-bit atomics".to_owned(),
        false => format!("no 64-bit atomics ({})", tile_states(profile)),
    };
    let reconvergence = if profile.maximal_reconvergence { ", maximal reconvergence" } else { "" };
    let usable =
        if problems.is_empty() { "yes".to_owned() } else { format!("no: it {}", problems.join("; it ")) };
    let mut facts = vec![
        ("kind", kind.to_owned()),
        ("driver", format!("{}, {}", profile.driver, api_told(profile))),
        (
            "kernels",
            format!(
                "subgroups of {}, workgroups of up to {}, {} KiB of shared memory, {atomics}{reconvergence}",
                subgroups_told(profile),
                profile.max_workgroup_size,
                profile.max_shared_bytes / 1024,
            ),
        ),
        ("units", units_told(profile)),
        ("memory", memory),
        ("promises", guarantees_told(profile)),
        ("uuid", profile.uuid.clone()),
        ("usable", usable),
    ];
    if let Some(told) = arguments_told(profile) {
        facts.insert(facts.len() - 2, ("dispatch", told));
    }
    if let Some(told) = findings_told(profile) {
        facts.insert(facts.len() - 2, ("probe", told));
    }
    if let Some(address) = &profile.pci_address {
        facts.insert(facts.len() - 1, ("pci", address.clone()));
    }
    facts
}

#[cfg(test)]
mod tests {
    use scanbox_model::device::Forced;
    use scanbox_model::guarantee_probe::GuaranteesProbe;
    use scanbox_model::probe::{ArgumentsProbe, ProbedSize};
    use scanbox_model::problem::Problem;
    use scanbox_model::safe_devices::Guarantee;
    use scanbox_runner::backend::Backend;
    use scanbox_runner::replay::{Replay, Script};

    use super::*;

    #[test]
    fn what_was_refuted_is_not_told_as_given() {
        let mut profile = Replay::new(Script::default()).profile().as_ref().clone();
        let check = |profile: &DeviceProfile, end: &str| {
            let told = guarantees_told(profile);
            assert!(told.ends_with(end), "{told}");
        };
        profile.guarantees = vec![Guarantee::Progress, Guarantee::WorkgroupOrder];
        check(&profile, "the device gives progress, workgroup-order");
        let mut probe = GuaranteesProbe::default();
        let refute = |guarantee| GuaranteeFinding {
            guarantee,
            verdict: ProbeVerdict::Refuted,
            calls: 8,
            detail: "round 1".to_owned(),
            date: "2026-11-30".to_owned(),
        };
        probe.take(refute(Guarantee::Progress), Vec::new());
        profile.guarantee_facts.probe = Some(probe.clone());
        check(&profile, "the device gives workgroup-order");
        probe.take(refute(Guarantee::WorkgroupOrder), Vec::new());
        profile.guarantee_facts.probe = Some(probe);
        check(&profile, "beyond what Vulkan promises");
        profile.guarantee_facts.assumed = vec![Guarantee::Progress];
        check(&profile, "the device gives progress");
    }

    #[test]
    fn what_a_probe_found_is_a_fact_where_there_was_one() {
        let mut profile = Replay::new(Script::default()).profile().as_ref().clone();
        let list = |profile: &DeviceProfile| {
            let mut text = Vec::new();
            let listed = Listed { profile: profile.clone(), problems: Vec::new() };
            DeviceList(&[listed]).write(Format::Table, Some(80), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert!(!list(&profile).contains("dispatch"));
        let size = ProbedSize { n: 1 << 10, push_ns: 1900.4, block_ns: 1740.0 };
        profile.arguments_probe = Some(ArgumentsProbe::of(vec![size]));
        let text = list(&profile);
        assert!(text.contains("    dispatch auto of arguments is block: a copy takes"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn reconvergence_is_told_as_kernels_ask_for_it() {
        let told = |uniform: bool, maximal: bool, forced: Option<bool>| {
            let mut profile = Replay::new(Script::default()).profile().as_ref().clone();
            (profile.uniform_control_flow, profile.maximal_reconvergence) = (uniform, maximal);
            profile.force(Forced { maximal_reconvergence: forced, ..Forced::default() });
            let kernels = facts(&Listed { profile: profile.clone(), problems: Vec::new() }).swap_remove(2).1;
            assert_eq!(
                kernels.ends_with(", maximal reconvergence"),
                maximal && forced.is_none(),
                "{kernels}"
            );
            reconvergence_told(&profile)
        };
        assert!(told(true, true, None).starts_with("maximal: kernels ask for it"));
        assert!(told(true, true, Some(false)).ends_with("because of a known issue"));
        assert!(told(true, false, None).starts_with("of branches that a subgroup enters as a whole"));
        assert!(told(false, false, None).starts_with("as Vulkan has it by itself"));
    }

    /// What is said of tile states is what kernels get, and what they can do with it.
    #[test]
    fn tile_states_are_told_as_they_are() {
        let check = |int64_atomics: bool, forced: Option<TileState>, expected: TileState, part: &str| {
            let mut profile = Replay::new(Script::default()).profile().as_ref().clone();
            profile.int64_atomics = int64_atomics;
            profile.forced.tile_state = forced;
            let told = tile_states(&profile);
            assert!(told.contains(part), "{told}");
            let config: Config = "b4.vec4.par.rake.wg256".parse().unwrap();
            assert_eq!(catalog::resolved(&config, &profile).kernel.tile_state, expected);
            // A total of 2^30 and more is what makes the difference.
            let large = catalog::legal(&config, &Problem::default(), 1 << 30, &profile);
            let fits = !large.is_err_and(|rejection| rejection.rule == "packed-total");
            assert_eq!(fits, !told.contains("2^30"), "{told}");
        };
        check(true, None, TileState::Word64, "64 bits");
        check(false, None, TileState::Split, "split into words of 32 bits, which carry any total");
        check(false, Some(TileState::Packed), TileState::Packed, "packed into 32 bits");
    }
}
