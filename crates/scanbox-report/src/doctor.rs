//! What keeps scanbox from working on a machine, and what to do about it.

use std::io::{self, Write};

use scanbox_model::units::plural;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::terminal::fold;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// As it should be.
    Ok,
    /// It works, but not as well as it could.
    Warning,
    /// Something does not work.
    Problem,
}

/// One check: what was found, and what to do where it is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// How it ended.
    pub verdict: CheckResult,
    /// What was looked at; what is checked of a device begins with the device and a colon.
    pub check: String,
    /// What was found.
    pub found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    /// Something is as it should be.
    pub fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self { verdict: CheckResult::Ok, check: check.into(), found: found.into(), fix: None }
    }

    /// Something works, but not as well as it could.
    pub fn warning(check: impl Into<String>, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: CheckResult::Warning, fix: Some(fix.into()), ..Self::ok(check, found) }
    }

    /// Something does not work.
    pub fn problem(check: impl Into<String>, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: CheckResult::Problem, ..Self::warning(check, found, fix) }
    }
}

/// All findings.
#[derive(Serialize, JsonSchema)]
pub struct Diagnosis<'a> {
    /// Devices that can be used.
    pub usable_devices: usize,
    /// In the order in which things have to work.
    pub findings: &'a [Finding],
}

impl Document for Diagnosis<'_> {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => write_table(self.findings, width, out),
            Format::Json => write_json(out, self),
            other => other.missing("a diagnosis"),
        }
    }
}

fn write_table(findings: &[Finding], width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = findings.iter().map(|finding| name_in_table(&finding.check)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (finding, name) in findings.iter().zip(names) {
        let verdict = match finding.verdict {
            CheckResult::Ok => "ok",
            CheckResult::Warning => "warning",
            CheckResult::Problem => "PROBLEM",
        };
        let head = format!("{verdict:<7}  {name:<longest$}  ");
        let indent = head.chars().count();
        writeln!(out, "{}", fold(&head, &finding.found, indent, width))?;
        if let Some(fix) = &finding.fix {
            let head = format!("{:indent$}fix: ", "");
            writeln!(out, "{}", fold(&head, fix, indent + 5, width))?;
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (problems, warnings) = (count(CheckResult::Problem), count(CheckResult::Warning));
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
