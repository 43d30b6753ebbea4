//! The report as one HTML page: words, plots and tables in sections, without script and without anything from a
//! network.
//!
//! Each section is made as data ([`Section`]); [`Page`] turns the data into text by a template, which escapes
//! everything but the plots. The plots can be written to files of their own as well ([`figures`]).

mod across;
mod device;
mod failures;
mod portfolio;
mod provenance;
mod summary;

use std::io::{self, Write};

use askama::Template;
use scanbox_analysis::lines::Lines;

use super::analysis::AnalysisReport;
use super::document::{Document, Format};
use super::figure::{Figure, Heatmap, Plot};
use crate::evidence::Evidence;

/// A cell with more characters than that may take several lines.
const LONG: usize = 44;

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
    /// A plot.
    Figure(Figure),
    /// A table.
    Table(Table),
}

/// A table.
#[derive(Debug, Default)]
pub struct Table {
    /// What it is, and how to read it.
    pub caption: String,
    /// The columns.
    pub columns: Vec<HtmlColumn>,
    /// The rows: one cell per column.
    pub rows: Vec<Vec<HtmlCell>>,
    /// The beginning of the name of the CSV file that has all rows; empty: there is none.
    pub name: String,
    /// Rows beyond these are in that file only.
    pub shown: Option<usize>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct HtmlColumn {
    /// Its heading.
    pub name: String,
    /// Whether it has numbers.
    pub number: bool,
}

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub struct HtmlCell {
    /// What it says.
    pub text: String,
    /// Whether it is a label or a command.
    pub code: bool,
    /// Whether it stands out.
    pub flagged: bool,
}

impl HtmlColumn {
    fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: false }
    }

    fn numbers(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: true }
    }
}

impl HtmlCell {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    fn code(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: true, flagged: false }
    }

    /// What the style sheet knows it by.
    fn class(&self, column: &HtmlColumn) -> Option<String> {
        let classes = [
            column.number.then_some("n"),
            self.flagged.then_some("f"),
            (self.text.chars().count() > LONG).then_some("w"),
        ];
        let classes: Vec<&str> = classes.into_iter().flatten().collect();
        (!classes.is_empty()).then(|| classes.join(" "))
    }

    fn flagged_if(self, flagged: bool) -> Self {
        Self { flagged, ..self }
    }
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

/// All sections, in reading order.
pub fn sections(sources: &Sources<'_>) -> Vec<Section> {
    let mut devices = Vec::new();
    let mut told = Vec::new();
    for index in 0..sources.report.answers.devices.len() {
        let (section, says) = device::section(sources, index);
        devices.push(section);
        told.push(says);
    }
    let mut across = Vec::new();
    let mut says = Vec::new();
    for answer in &sources.report.answers.across {
        let (section, more) = across::section(sources, answer);
        across.push(section);
        says.extend(more);
    }
    let failures = failures::section(sources);
    let mut sections = vec![summary::section(sources, told, says)];
    sections.extend(devices);
    sections.extend(across);
    sections.extend(failures);
    sections.push(provenance::section(sources));
    sections
}

/// The figures of all sections.
pub fn figures(sections: &[Section]) -> impl Iterator<Item = &Figure> {
    sections.iter().flat_map(|section| &section.pieces).filter_map(|piece| match piece {
        Piece::Figure(figure) => Some(figure),
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

impl Table {
    /// All its rows as CSV with a header.
    ///
    /// # Errors
    /// When a text has no place in CSV; there is none.
    pub fn csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| &cell.text))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    /// A column in which no row says anything is noise.
    fn drop_empty_columns(&mut self) {
        for index in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[index].text.is_empty()) {
                self.columns.remove(index);
                self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
            }
        }
    }

    fn shown_rows(&self) -> &[Vec<HtmlCell>] {
        &self.rows[..self.shown.unwrap_or(self.rows.len()).min(self.rows.len())]
    }

    fn rows_left_out(&self) -> usize {
        self.rows.len() - self.shown_rows().len()
    }
}

/// The template with everything that goes into it.
#[derive(Template)]
#[template(path = "report.html")]
struct Filled<'a> {
    heading: &'a str,
    version: &'static str,
    files: &'a [String],
    style: &'static str,
    sections: &'a [Section],
    warnings: &'a [String],
    pictures: Vec<Picture<'a>>,
}

/// How a plot stands in the page.
struct Picture<'a> {
    figure: &'a Figure,
    /// One SVG, or one per panel of histograms; none for a heatmap, which is a table there.
    svgs: Vec<String>,
}

impl<'a> Picture<'a> {
    fn new(figure: &'a Figure) -> anyhow::Result<Self> {
        let svgs = match &figure.plot {
            Plot::Lines(_) => vec![figure.svg()?],
            Plot::Histograms(panels) => panels.iter().map(|panel| panel.svg()).collect::<Result<_, _>>()?,
            Plot::Heatmap(_) => Vec::new(),
        };
        Ok(Self { figure, svgs })
    }

    fn heatmap(&self) -> Option<&Heatmap> {
        match &self.figure.plot {
            Plot::Heatmap(heatmap) => Some(heatmap),
            _ => None,
        }
    }

    fn is_panels(&self) -> bool {
        matches!(self.figure.plot, Plot::Histograms(_))
    }
}

impl Filled<'_> {
    fn picture(&self, figure: &Figure) -> Option<&Picture<'_>> {
        self.pictures.iter().find(|picture| std::ptr::eq(picture.figure, figure))
    }
}

/// The page.
pub struct Page<'a> {
    /// What it is called.
    pub heading: &'a str,
    /// The files that it is about.
    pub files: &'a [String],
    /// What is on it.
    pub sections: &'a [Section],
    /// What has to be known to trust it.
    pub warnings: &'a [String],
}

impl Document for Page<'_> {
    fn write(&self, format: Format, _: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        if format != Format::Html {
            return format.missing("a page");
        }
        let pictures: anyhow::Result<Vec<Picture<'_>>> = figures(self.sections).map(Picture::new).collect();
        let page = Filled {
            heading: self.heading,
            version: env!("CARGO_PKG_VERSION"),
            files: self.files,
            style: include_str!("../../templates/report.css"),
            sections: self.sections,
            warnings: self.warnings,
            pictures: pictures.map_err(io::Error::other)?,
        };
        out.write_all(page.render().map_err(io::Error::other)?.as_bytes())
    }
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
