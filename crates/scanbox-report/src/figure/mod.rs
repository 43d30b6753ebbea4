//! Figures: what a plot shows, as data, which is drawn as SVG and PDF and written as CSV. What there is to show,
//! neighbours decide ([`super::html`]).

mod axis;
mod canvas;
mod heatmap;
mod histogram;
mod line_chart;
mod look;
mod pdf;
mod sheet;

pub use axis::{XAxis, YScale, power};
pub use canvas::Canvas;
pub use heatmap::{Heatmap, HeatmapRow, Square};
pub use histogram::Panel;
pub use line_chart::{LineChart, Series};
pub use look::{Look, PictureStyle, SHAPES, properties};
pub use pdf::{PDF_MARK, pdf};
pub use sheet::Multiples;

use canvas::{Align, LINE, wrapped};

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
    /// Several charts.
    Multiples(Multiples),
    /// Shaded squares in rows and columns.
    Heatmap(Heatmap),
    /// One histogram per size.
    Histograms(Vec<Panel>),
}

impl Plot {
    /// It without title.
    fn canvas(&self) -> Canvas {
        match self {
            Self::Lines(chart) => chart.canvas(&chart.range()),
            Self::Multiples(charts) => charts.canvas(),
            Self::Heatmap(heatmap) => heatmap.canvas(),
            Self::Histograms(panels) => histogram::canvas(panels),
        }
    }

    /// What it shows, in words.
    fn says(&self) -> String {
        match self {
            Self::Lines(chart) => chart.says(),
            Self::Multiples(charts) => charts.canvases().map(|(.., says)| says).collect::<Vec<_>>().join(" "),
            Self::Heatmap(heatmap) => heatmap.says(),
            Self::Histograms(panels) => panels.iter().map(Panel::says).collect::<Vec<_>>().join("; "),
        }
    }

    /// Its charts for a page, each with a title of its own if there are several, and what each says.
    pub fn pieces(&self) -> Vec<(&str, String)> {
        match self {
            Self::Lines(chart) => vec![("", chart.canvas(&chart.range()).inline(&chart.says()))],
            Self::Multiples(charts) => {
                charts.canvases().map(|(title, canvas, says)| (title, canvas.inline(&says))).collect()
            }
            Self::Histograms(panels) => {
                panels.iter().map(|panel| ("", panel.canvas().inline(&panel.says()))).collect()
            }
            // It is a table there.
            Self::Heatmap(_) => Vec::new(),
        }
    }
}

impl Figure {
    /// The plot as one SVG document.
    #[must_use]
    pub fn svg(&self, style: PictureStyle) -> String {
        let plot = self.plot.canvas();
        let framed = match style {
            PictureStyle::Screen => plot.below_title(&self.title),
            PictureStyle::Paper => plot.framed(),
        };
        marked(&framed.file(&self.title, &self.plot.says(), style))
    }

    /// What it shows, as CSV with a header.
    ///
    /// # Errors
    /// When a text has no place in CSV; there is none.
    pub fn csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        match &self.plot {
            Plot::Lines(chart) => {
                writer.write_record(chart.columns())?;
                chart.rows(None, &mut writer)?;
            }
            Plot::Multiples(charts) => {
                for (index, (title, chart)) in charts.panels.iter().enumerate() {
                    if index == 0 {
                        writer.write_record(chart.columns().into_iter().chain(["panel"]))?;
                    }
                    chart.rows(Some(title), &mut writer)?;
                }
            }
            Plot::Heatmap(heatmap) => heatmap.rows(&mut writer)?,
            Plot::Histograms(panels) => histogram::rows(panels, &mut writer)?,
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

impl Canvas {
    /// It below a title, with a margin.
    fn below_title(self, title: &str) -> Self {
        let lines = wrapped(title, self.width);
        let above = LINE * lines.len() as f64 + 10.0;
        let mut sheet = Self::new(self.width + 2.0 * MARGIN, self.height + above + 2.0 * MARGIN);
        for (index, line) in lines.iter().enumerate() {
            let y = MARGIN + LINE * (index as f64 + 0.5);
            sheet.text(line, (MARGIN, y), Align::Left, "ink b");
        }
        sheet.draw(&self, (MARGIN, MARGIN + above));
        sheet
    }

    /// It with a margin that cuts no line.
    fn framed(self) -> Self {
        let mut sheet = Self::new(self.width + 4.0, self.height + 4.0);
        sheet.draw(&self, (2.0, 2.0));
        sheet
    }
}

/// Room around a picture on a screen.
const MARGIN: f64 = 12.0;

/// What stands in the files of pictures, before the version: who made them.
pub const SVG_MARK: &str = "<!-- scanbox ";

/// A picture as a file that says who made it.
fn marked(svg: &str) -> String {
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
