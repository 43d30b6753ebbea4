//! Charts side by side with one pair of axes for all, each below its title: small multiples.

use super::axis::Range;
use super::canvas::{Align, Canvas, LINE, wrapped};
use super::line_chart::{LineChart, WIDTH, range_of};

/// Distance of charts.
const GAP: f64 = 24.0;

/// Charts with their titles.
#[derive(Debug, Clone)]
pub struct Multiples {
    /// The charts: what stands above each, and it.
    pub panels: Vec<(String, LineChart)>,
    /// How many stand side by side in a file.
    pub columns: usize,
    /// Whether all have the same axes.
    pub same_axes: bool,
}

impl Multiples {
    /// Charts with the same axes.
    #[must_use]
    pub fn alike(panels: Vec<(String, LineChart)>) -> Self {
        Self { columns: panels.len().clamp(1, 3), panels, same_axes: true }
    }

    fn range(&self, chart: &LineChart) -> Range {
        if self.same_axes { range_of(self.panels.iter().map(|panel| &panel.1)) } else { chart.range() }
    }

    /// Each chart without its title, and what it says.
    pub fn canvases(&self) -> impl Iterator<Item = (&str, Canvas, String)> {
        self.panels.iter().map(|(title, chart)| {
            (title.as_str(), chart.canvas(&self.range(chart)), format!("{title}: {}", chart.says()))
        })
    }

    /// All in one picture.
    pub fn canvas(&self) -> Canvas {
        let columns = self.columns.max(1).min(self.panels.len().max(1));
        let mut sheet = Canvas::new(columns as f64 * (WIDTH + GAP) - GAP, 0.0);
        let panels: Vec<(&str, Canvas, String)> = self.canvases().collect();
        for row in panels.chunks(columns) {
            let titles: Vec<Vec<String>> = row.iter().map(|(title, ..)| wrapped(title, WIDTH)).collect();
            let above = LINE * titles.iter().map(Vec::len).max().unwrap_or(0) as f64 + 8.0;
            for (column, (title, (_, chart, _))) in titles.iter().zip(row).enumerate() {
                let left = column as f64 * (WIDTH + GAP);
                for (line, text) in title.iter().enumerate() {
                    let y = sheet.height + LINE * (line as f64 + 0.5);
                    sheet.text(text, (left, y), Align::Left, "ink b");
                }
                let top = sheet.height + above;
                sheet.draw(chart, (left, top));
            }
            sheet.height += above + row.iter().map(|(_, chart, _)| chart.height).fold(0.0, f64::max) + 8.0;
        }
        sheet
    }
}
