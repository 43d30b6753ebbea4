//! The page as text: sections through the template.

use std::io::{self, Write};

use askama::Template;

use super::{Card, Piece, Section, figures};
use crate::document::{Document, Format};
use crate::figure::{Figure, Heatmap, Plot, SHAPES, properties};

/// The template with everything that goes into it.
#[derive(Template)]
#[template(path = "report.html")]
struct Filled<'a> {
    heading: &'a str,
    version: &'static str,
    files: &'a [String],
    style: String,
    sections: &'a [Section],
    pictures: Vec<Picture<'a>>,
}

/// How a plot stands in the page.
struct Picture<'a> {
    figure: &'a Figure,
    /// Its charts, each with a title of its own where there are several; none for a heatmap, which is a table there.
    pieces: Vec<(&'a str, String)>,
}

impl<'a> Picture<'a> {
    fn new(figure: &'a Figure) -> Self {
        Self { figure, pieces: figure.plot.pieces() }
    }

    fn heatmap(&self) -> Option<&Heatmap> {
        match &self.figure.plot {
            Plot::Heatmap(heatmap) => Some(heatmap),
            _ => None,
        }
    }

    /// What the style sheet knows it by.
    fn class(&self) -> &'static str {
        match self.figure.plot {
            Plot::Histograms(_) => "small",
            _ if self.pieces.len() > 1 => "charts",
            _ => "one",
        }
    }
}

impl Filled<'_> {
    fn picture(&self, figure: &Figure) -> Option<&Picture<'_>> {
        self.pictures.iter().find(|picture| std::ptr::eq(picture.figure, figure))
    }

    /// The chart of a card.
    fn chart(&self, figure: Option<&Figure>, card: &Card) -> Option<&str> {
        let (_, svg) = self.picture(figure?)?.pieces.get(card.chart?)?;
        Some(svg)
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
}

impl Document for Page<'_> {
    fn write(&self, format: Format, _: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        if format != Format::Html {
            return format.missing("a page");
        }
        let style = format!(
            ":root{{{}}}@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}{SHAPES}{}",
            properties(false),
            properties(true),
            include_str!("../../templates/report.css")
        );
        let page = Filled {
            heading: self.heading,
            version: env!("CARGO_PKG_VERSION"),
            files: self.files,
            style,
            sections: self.sections,
            pictures: figures(self.sections).map(Picture::new).collect(),
        };
        out.write_all(page.render().map_err(io::Error::other)?.as_bytes())
    }
}
