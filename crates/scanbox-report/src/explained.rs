//! What a word of scanbox's means: names of parameters, values, labels, columns, rules and metrics.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn};
use crate::terminal::fold;

/// Everything that a word means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The word.
    pub subject: String,
    /// Its meanings, at least one.
    pub meanings: Vec<Meaning>,
}

/// One meaning of a word.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Meaning {
    /// What kind of thing it is then: `parameter`, `column`.
    pub kind: String,
    /// What it says, in sentences; empty where the list alone says it.
    pub text: String,
    /// What else is known of it: a name, and what it says.
    pub facts: Vec<(String, String)>,
    /// What it has, is made of or may be; empty where there is no list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListOfWords>,
}

/// Words below headings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListOfWords {
    /// The headings of the columns.
    pub headings: [&'static str; 3],
    /// The words: each has a cell per heading. The second column is left out where no word has one.
    pub words: Vec<[String; 3]>,
}

/// Characters per line of a document.
const MARKDOWN_WIDTH: usize = 120;

/// How far lines that go on are indented.
const INDENT: usize = 4;

impl Document for Explanation {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => write_json(out, self),
            Format::Table | Format::Markdown => self.write_text(format, width, out),
            other => other.missing("an explanation"),
        }
    }
}

impl Explanation {
    /// What a word means.
    pub fn new(subject: &str, meanings: Vec<Meaning>) -> Self {
        Self { subject: subject.to_owned(), meanings }
    }

    fn write_text(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let markdown = format == Format::Markdown;
        for (place, meaning) in self.meanings.iter().enumerate() {
            if place > 0 {
                writeln!(out)?;
            }
            if markdown {
                writeln!(out, "## `{}`: {}", self.subject, meaning.kind)?;
            } else {
                writeln!(out, "{}", fold("", &format!("{}: {}", self.subject, meaning.kind), INDENT, width))?;
            }
            if !meaning.text.is_empty() {
                writeln!(
                    out,
                    "\n{}",
                    fold("", &meaning.text, 0, if markdown { Some(MARKDOWN_WIDTH) } else { width })
                )?;
            }
            if let Some(ListOfWords { headings: [first, second, third], words }) = &meaning.list {
                let mut grid = Grid::new([
                    GridColumn::words(first),
                    GridColumn::words(second).unless_empty(),
                    GridColumn::words(third),
                ]);
                words.iter().for_each(|row| grid.push(row.clone()));
                writeln!(out, "\n{}", grid.draw(format.style(width)))?;
            }
            if !meaning.facts.is_empty() {
                writeln!(out)?;
                self.write_facts(meaning, markdown, width, out)?;
            }
        }
        Ok(())
    }

    fn write_facts(
        &self,
        meaning: &Meaning,
        markdown: bool,
        width: Option<usize>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let longest = meaning.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, text) in &meaning.facts {
            if markdown {
                writeln!(out, "- {name}: {text}")?;
            } else {
                let head = format!("{name:<longest$}  ");
                writeln!(out, "{}", fold(&head, text, longest + 2, width))?;
            }
        }
        Ok(())
    }
}
