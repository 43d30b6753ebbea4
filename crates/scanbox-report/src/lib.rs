//! Answers in, documents out: text for people, JSON and CSV for machines. Everything here writes to a given writer; nothing
//! computes an answer.

pub mod bench;
pub mod blocking;
pub mod compare;
pub mod csv;
mod curve;
pub mod devices;
pub mod doctor;
pub mod document;
pub mod evidence;
pub mod figure;
pub mod grid;
pub mod html;
pub mod json;
pub mod paste;
pub mod plot;
pub mod records;
pub mod space;
pub mod sweep;
pub mod t4;
pub mod terminal;
pub mod text;
pub mod verify;
pub mod versus;

use std::io::{self, Write};

use scanbox_analysis::answers::{Answers, DeviceAnswer, Question};
use scanbox_analysis::table::Tables;
use scanbox_model::device::DeviceKind;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::{Mode, Problem};
use scanbox_model::record::Clock;

use crate::document::{Document, Format};

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The rows, and what configs and kernels are called.
    pub tables: &'a Tables,
    /// The answers to show.
    pub answers: &'a Answers<'a>,
    /// What was asked.
    pub question: &'a Question,
    /// The time that throughput was computed from.
    pub clock: Clock,
    /// Whether formulas, rows and runners-up are shown.
    pub explain: bool,
    /// What has to be known to trust the answers.
    pub warnings: &'a [String],
}

/// The word for a clock on the command line and in reports.
pub fn clock_word(clock: Clock) -> &'static str {
    match clock {
        Clock::Steady => "steady",
        Clock::Span => "span",
    }
}

impl Document for Report<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table | Format::Markdown => text::write(self, format.style(width), &mut out),
            Format::Json => json::write(self, &mut out),
            Format::Csv => csv::write(self, &mut out),
            other => other.missing("an analysis"),
        }
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
