//! `scanbox doctor`: what is there, what keeps scanbox from working, and what to do about it. It changes nothing.
//!
//! Checks in the order in which things have to work: [`drivers`] (the loader and the files that it reads), [`devices`]
//! (what comes through it), [`machine`] (permissions, clocks, memory), [`folders`].

mod devices;
mod drivers;
mod folders;
mod host;
mod machine;

use clap::Args;
use scanbox_runner::vulkan;

use self::devices::Devices;
use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::words::words;
use crate::exit::Exit;
use scanbox_report::doctor::{CheckResult, Diagnosis, Finding};
use scanbox_report::document::Format;
use scanbox_session::tools::Tools;

/// Arguments of `scanbox doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Only this device: index, name or UUID
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,

    /// Output format
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Checks everything, and prints it.
pub fn run(args: &DoctorArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let loader = vulkan::loader();
    let devices = Devices::find(&loader, args.device.as_deref(), tools);
    // A browser brings what it stands on.
    let mut findings = if tools.browser.is_none() { drivers::check(&loader) } else { Vec::new() };
    findings.extend(devices.check());
    findings.extend(machine::check(&devices));
    findings.extend(folders::check(tools));
    let diagnosis = Diagnosis { usable_devices: devices.usable().count(), findings: &findings };
    answered(print(&diagnosis, args.format), exit(&devices, &findings))
}

fn exit(devices: &Devices, findings: &[Finding]) -> Exit {
    if devices.usable().next().is_none() {
        return Exit::NoDevice;
    }
    match findings.iter().any(|finding| finding.verdict == CheckResult::Problem) {
        true => Exit::Operational,
        false => Exit::Done,
    }
}

/// Bytes in words that people read.
fn bytes_label(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match UNITS.iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}
