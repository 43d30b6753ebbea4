//! The answers about sweeps: text for people, the same in Markdown, JSON and CSV for machines.

pub mod csv;
pub mod json;
pub mod text;

use std::io::{self, Write};

use scanbox_analysis::answers::{Answers, Question};
use scanbox_analysis::table::Tables;
use scanbox_model::record::Clock;

use crate::document::{Document, Format};

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisReport<'a> {
    /// The rows, and what configs and kernels are called.
    pub tables: &'a Tables,
    /// The answers to show.
    pub answers: &'a Answers<'a>,
    /// What was asked.
    pub question: &'a Question,
    /// The time that throughput was computed from.
    pub clock: Clock,
    /// Sizes at which it is asked what to launch.
    pub at: &'a [u64],
    /// Whether formulas, rows and runners-up are shown.
    pub explain: bool,
    /// What has to be known to trust the answers.
    pub warnings: &'a [String],
}

impl Document for AnalysisReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table | Format::Markdown => text::write(self, format.style(width), &mut out),
            Format::Json => json::write(self, &mut out),
            Format::Csv => csv::write(self, &mut out),
            other => other.missing("an analysis"),
        }
    }
}
