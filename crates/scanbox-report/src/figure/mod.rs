//! Figures: what a plot shows, as data, which is drawn as SVG and written as CSV. What there is to show, neighbours
//! decide ([`super::html`]).

mod drawing;
mod heatmap;
mod histogram;
mod line_chart;
mod look;

pub use heatmap::{Heatmap, HeatmapRow, Square};
pub use histogram::Panel;
pub use line_chart::{LineChart, Series, XAxis, power, sheet};
pub use look::Look;

/// A plot with what belongs to it.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The beginning of its file names: letters, digits, dashes and dots.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What it shows, as data.
    pub plot: Plot,
}

/// The kinds of plots.
#[derive(Debug, Clone)]
pub enum Plot {
    /// Lines over sizes or counts.
    Lines(LineChart),
    /// Shaded squares in rows and columns.
    Heatmap(Heatmap),
    /// One histogram per size.
    Histograms(Vec<Panel>),
}

impl Figure {
    /// The plot as one SVG document.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn svg(&self) -> anyhow::Result<String> {
        match &self.plot {
            Plot::Lines(chart) => chart.svg(&self.title),
            Plot::Heatmap(heatmap) => heatmap.svg(&self.title),
            Plot::Histograms(panels) => histogram::svg(&self.title, panels),
        }
    }

    /// What it shows, as CSV with a header.
    ///
    /// # Errors
    /// When a text has no place in CSV; there is none.
    pub fn csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        match &self.plot {
            Plot::Lines(chart) => chart.rows(&mut writer)?,
            Plot::Heatmap(heatmap) => heatmap.rows(&mut writer)?,
            Plot::Histograms(panels) => histogram::rows(panels, &mut writer)?,
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

/// What stands in the files of pictures, before the version: who made them.
pub const SVG_MARK: &str = "<!-- scanbox ";

/// A picture as a file of its own, which says who made it.
pub fn file(svg: &str) -> String {
    let mark = format!("{SVG_MARK}{} -->", env!("CARGO_PKG_VERSION"));
    match svg.split_once('\n') {
        Some((begin, rest)) => format!("{begin}\n{mark}\n{rest}"),
        None => svg.to_owned(),
    }
}

/// A number in CSV.
fn number(value: f64) -> String {
    format!("{value:.6}")
}
