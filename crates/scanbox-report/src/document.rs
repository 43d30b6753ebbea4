//! The one interface of all answers: each is a [`Document`], which can be written in some [`Format`]s.

use std::io::{self, Write};

use serde::Serialize;

use crate::grid::Style;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables and sentences for a terminal.
    Table,
    /// The same in Markdown.
    Markdown,
    /// JSON.
    Json,
    /// CSV.
    Csv,
    /// A results format of autotuners.
    T4,
    /// A page with figures.
    Html,
    /// Kernels, in a folder of files.
    Kernels,
}

/// An answer.
pub trait Document {
    /// Writes it. Lines of tables have at most `width` characters.
    ///
    /// # Errors
    /// When the writer fails, and [`io::ErrorKind::Unsupported`] where the document has no such form.
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()>;
}

impl Format {
    /// What is said of a document that has no such form.
    pub(crate) fn missing(self, document: &str) -> io::Result<()> {
        let message = format!("{document} has no form as {self:?}");
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// How grids are drawn in it.
    pub(crate) fn style(self, width: Option<usize>) -> Style {
        if self == Self::Markdown { Style::Markdown } else { Style::Text { width } }
    }
}

/// Writes an answer as JSON that people can read too.
///
/// # Errors
/// When the writer fails.
pub fn write_json(mut out: &mut dyn Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, answer)?;
    writeln!(out)
}

/// A cell of CSV, in quotes where it needs them (RFC 4180).
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
