//! The report as one HTML page: words, plots and tables in sections, without script and without anything from a
//! network.
//!
//! Each section is made as data ([`Section`]); [`Page`] turns the data into text by a template, which escapes
//! everything but the plots. The plots can be written to files of their own as well ([`figures`]). First comes what
//! most readers came for: a number per device, then what to launch at which size, then why.

mod across;
mod device;
mod failures;
mod headline;
mod launch;
mod page;
mod portability;
mod portfolio;
mod provenance;
mod summary;
mod table;

pub use headline::{Card, Cards, heading};
pub use page::Page;
pub use table::{HtmlCell, HtmlColumn, Table};

use scanbox_analysis::lines::Lines;

use super::analysis::AnalysisReport;
use super::figure::Figure;
use crate::evidence::Evidence;

/// A part of the page.
#[derive(Debug)]
pub struct Section {
    /// What links go to.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// What is in it.
    pub pieces: Vec<Piece>,
}

/// A piece of a section.
#[derive(Debug)]
pub enum Piece {
    /// A heading of its own.
    Heading(String),
    /// A paragraph.
    Says(String),
    /// Statements.
    List(Vec<String>),
    /// What there is to say of each device, in short.
    Cards(Cards),
    /// A plot.
    Figure(Figure),
    /// A table.
    Table(Table),
}

/// What the sections are made from.
pub struct Sources<'a> {
    /// The answers.
    pub report: &'a AnalysisReport<'a>,
    /// The lines behind them, in the order of the devices.
    pub lines: &'a [Lines<'a>],
    /// What else the files say.
    pub evidence: &'a Evidence,
    /// What each device is called, in their order: no two are called the same.
    pub titles: Vec<String>,
    /// The beginning of the file names of each device.
    pub names: Vec<String>,
}

/// All sections, in reading order. `warnings` has to be known to trust them.
pub fn sections(sources: &Sources<'_>, warnings: &[String]) -> Vec<Section> {
    let devices = (0..sources.report.answers.devices.len()).map(|index| device::section(sources, index));
    let across = sources.report.answers.across.iter().map(|answer| across::section(sources, answer));
    let mut sections = vec![headline::section(sources)];
    if !warnings.is_empty() {
        let pieces = vec![Piece::List(warnings.to_vec())];
        sections.push(Section { id: "warnings".into(), heading: "Warnings".into(), pieces });
    }
    sections.extend(devices);
    sections.extend(across);
    sections.extend(failures::section(sources));
    sections.push(provenance::section(sources));
    sections
}

/// The figures of all sections.
pub fn figures(sections: &[Section]) -> impl Iterator<Item = &Figure> {
    sections.iter().flat_map(|section| &section.pieces).filter_map(|piece| match piece {
        Piece::Figure(figure) => Some(figure),
        Piece::Cards(cards) => cards.figure.as_ref(),
        _ => None,
    })
}

/// The tables that have files of their own.
pub fn tables(sections: &[Section]) -> impl Iterator<Item = &Table> {
    sections.iter().flat_map(|section| &section.pieces).filter_map(|piece| match piece {
        Piece::Table(table) if !table.name.is_empty() => Some(table),
        _ => None,
    })
}

/// A text from a file as XML can hold it and people can read it: without control characters, and without those that
/// turn the direction of what follows.
pub fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_bad = |c: char| c.is_control() || turns(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if is_bad(c) { '\u{fffd}' } else { c }).collect()
}

/// A value of a parameter as it stands in a row: an open one has no word of its own.
fn value_name(value: &str) -> String {
    if value.is_empty() { "open".to_owned() } else { value.to_owned() }
}
