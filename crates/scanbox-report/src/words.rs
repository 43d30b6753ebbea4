//! Words that several documents have.

use std::collections::BTreeSet;
use std::io::{self, Write};

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_model::device::DeviceKind;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::{Mode, Problem};
use scanbox_model::record::{Clock, Record, Selection};

/// The word for a clock on the command line and in reports.
pub fn clock_word(clock: Clock) -> &'static str {
    match clock {
        Clock::Steady => "steady",
        Clock::Span => "span",
    }
}

/// Says on which device, with which driver and by which version rows were made.
///
/// # Errors
/// When the writer fails.
pub fn write_header(metadata: &Metadata, out: &mut impl Write) -> io::Result<()> {
    let device = &metadata.device;
    writeln!(out, "{}", device.title())?;
    writeln!(out, "{}, scanbox {}", device.driver, metadata.tool_version)
}

/// The heading of shares of the ceiling (see [`Problem::ceiling`]).
pub fn ceiling_share(problem: &Problem) -> &'static str {
    match problem.mode() {
        Mode::Reduce => "read %",
        Mode::Inclusive | Mode::Exclusive => "copy %",
    }
}

/// The ceilings of several sizes (see [`Problem::ceiling`]).
pub fn ceilings(problem: &Problem) -> &'static str {
    if problem.mode() == Mode::Reduce { "reads" } else { "copies" }
}

/// What a device is called, which no other one of the tables is, with a word where its times mean nothing for GPUs.
pub fn title(device: &DeviceAnswer<'_>) -> String {
    let name = &device.table.title;
    let named = if name.is_empty() { "unnamed device" } else { name };
    match device.table.kind {
        Some(DeviceKind::Software) => format!("{named} (software)"),
        _ => named.to_owned(),
    }
}

/// What was going on when a run had to stop before its first config, as the end of a sentence.
pub(crate) fn set_up_words(set_up: Option<&str>) -> String {
    set_up.map_or_else(String::new, |doing| {
        format!(", during the set-up, while {doing} (what was compiled is kept for the next run)")
    })
}

/// Whose a subject of another implementation is: the first word of its version, if that is a name.
pub fn maker(record: &Record) -> String {
    let word = record.subject_version.split(' ').next().unwrap_or_default();
    match word.starts_with(|first: char| first.is_alphabetic()) {
        true => word.to_owned(),
        false => record.subject.clone(),
    }
}

/// What several are called together; `None`: there is none.
pub fn common_maker(makers: BTreeSet<String>) -> Option<String> {
    match makers.len() {
        0 | 1 => makers.into_iter().next(),
        _ => Some("the fastest other".to_owned()),
    }
}

/// What a subject is called: a baseline with its version, since two versions have subjects of the same name.
pub fn subject_title(record: &Record) -> String {
    let version = record.subject_version.rsplit(' ').next().unwrap_or_default();
    match record.selection.contains(&Selection::Baseline) {
        true => format!("{} {version}", record.config_id),
        false => record.config_id.clone(),
    }
}
