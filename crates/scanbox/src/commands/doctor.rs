//! `scanbox doctor`: what is there, what keeps scanbox from working, and what to do about it. It changes nothing.
//!
//! Checks in the order in which things have to work: [`drivers`] (the loader and the files that it reads), [`devices`]
//! (what comes through it), [`machine`] (permissions, clocks, memory), [`folders`].

mod devices;
mod drivers;
mod folders;
mod machine;

use std::io::{Write, stdout};

use clap::Args;
use scanbox_model::units::plural;
use scanbox_runner::vulkan;
use serde::Serialize;

use self::devices::Devices;
use super::{Exit, Format, answered, write_json};
use scanbox_report::terminal;
use scanbox_session::tools::Tools;

/// Arguments of `scanbox doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Only this device: index, name or UUID
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but not as well as it could.
    Warning,
    /// Something does not work.
    Problem,
}

/// One check: what was found, and what to do where it is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    verdict: Verdict,
    check: String,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Ok, check: check.into(), found: found.into(), fix: None }
    }

    fn warning(check: impl Into<String>, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warning, fix: Some(fix.into()), ..Self::ok(check, found) }
    }

    fn problem(check: impl Into<String>, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Problem, ..Self::warning(check, found, fix) }
    }
}

/// The findings, as JSON.
#[derive(Serialize)]
struct Diagnosis<'a> {
    usable_devices: usize,
    findings: &'a [Finding],
}

/// Checks everything, and prints it.
pub fn run(args: &DoctorArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let loader = vulkan::loader();
    let devices = Devices::find(&loader, args.device.as_deref());
    let mut findings = drivers::check(&loader);
    findings.extend(devices.check());
    findings.extend(machine::check(&devices));
    findings.extend(folders::check(tools));
    let mut out = stdout().lock();
    let written = match args.format {
        Format::Table => write_table(&mut out, &findings),
        Format::Json => {
            let diagnosis = Diagnosis { usable_devices: devices.usable().count(), findings: &findings };
            write_json(&mut out, &diagnosis)
        }
    };
    answered(written, exit(&devices, &findings))
}

fn exit(devices: &Devices, findings: &[Finding]) -> Exit {
    if devices.usable().next().is_none() {
        return Exit::NoDevice;
    }
    match findings.iter().any(|finding| finding.verdict == Verdict::Problem) {
        true => Exit::Operational,
        false => Exit::Done,
    }
}

fn write_table(out: &mut impl Write, findings: &[Finding]) -> std::io::Result<()> {
    let width = terminal::width();
    let names: Vec<String> = findings.iter().map(|finding| name_in_table(&finding.check)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (finding, name) in findings.iter().zip(names) {
        let verdict = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Problem => "PROBLEM",
        };
        let head = format!("{verdict:<7}  {name:<longest$}  ");
        let indent = head.chars().count();
        writeln!(out, "{}", terminal::fold(&head, &finding.found, indent, width))?;
        if let Some(fix) = &finding.fix {
            let head = format!("{:indent$}fix: ", "");
            writeln!(out, "{}", terminal::fold(&head, fix, indent + 5, width))?;
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (problems, warnings) = (count(Verdict::Problem), count(Verdict::Warning));
    match (problems, warnings) {
        (0, 0) => writeln!(out, "\nall is well"),
        _ => {
            writeln!(out, "\n{}, {}", plural(problems, "problem"), plural(warnings, "warning"))
        }
    }
}

/// What is checked of a device stands below the device.
fn name_in_table(check: &str) -> String {
    check.split_once(": ").map_or_else(|| check.to_owned(), |(_, part)| format!("  {part}"))
}

/// Bytes in words that people read.
fn bytes_label(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match UNITS.iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}
