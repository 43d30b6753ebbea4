//! How the throughput of all configs of a size is distributed: one small panel per size.

use std::io::Write;

use super::axis;
use super::canvas::{Align, Canvas};
use super::line_chart::WIDTH;
use super::look::Look;
use super::number;

/// Panels side by side in a document of their own.
const SIDE_BY_SIDE: usize = 4;
/// Width and height of a panel.
const PANEL: (f64, f64) = (168.0, 104.0);

/// The histogram of one size.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Input size in elements.
    pub n: u64,
    /// The lower end of the first bin, in GB/s.
    pub low: f64,
    /// The width of a bin, in GB/s.
    pub width: f64,
    /// Configs by bin.
    pub counts: Vec<u64>,
    /// The median in GB/s.
    pub median: f64,
    /// The part of the configs within 5 % of the best.
    pub near_best: f64,
}

/// Writes one row per bin.
///
/// # Errors
/// When it cannot be written.
pub fn rows(panels: &[Panel], writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
    writer.write_record(["n_elements", "from_gbps", "to_gbps", "configs"])?;
    for panel in panels {
        for (bin, count) in panel.counts.iter().enumerate() {
            let from = panel.low + panel.width * bin as f64;
            writer.write_record([
                panel.n.to_string(),
                number(from),
                number(from + panel.width),
                count.to_string(),
            ])?;
        }
    }
    Ok(())
}

/// All panels in one picture.
pub fn canvas(panels: &[Panel]) -> Canvas {
    let columns = SIDE_BY_SIDE.min(panels.len().max(1));
    let rows = panels.len().div_ceil(columns) as f64;
    let width = (columns as f64 * PANEL.0).max(WIDTH);
    let mut canvas = Canvas::new(width, rows * (PANEL.1 + 8.0));
    for (index, panel) in panels.iter().enumerate() {
        let place = ((index % columns) as f64 * PANEL.0, (index / columns) as f64 * (PANEL.1 + 8.0));
        canvas.at(place, |canvas| panel.draw(canvas));
    }
    canvas
}

impl Panel {
    /// The panel alone.
    pub fn canvas(&self) -> Canvas {
        let mut canvas = Canvas::new(PANEL.0, PANEL.1);
        self.draw(&mut canvas);
        canvas
    }

    /// What it shows, in words.
    pub fn says(&self) -> String {
        format!(
            "{}: median {:.0} GB/s; {:.0} % of the configs are within 5 % of the best",
            axis::size(self.n),
            self.median,
            100.0 * self.near_best
        )
    }

    fn draw(&self, canvas: &mut Canvas) {
        let title = format!("{}: {:.0} % near best", axis::size(self.n), 100.0 * self.near_best);
        canvas.text(&title, (4.0, 8.0), Align::Left, "ink");
        let (x0, x1, y0, y1) = (4.0, PANEL.0 - 12.0, PANEL.1 - 20.0, 22.0);
        let span = self.width * self.counts.len() as f64;
        let most = self.counts.iter().copied().max().unwrap_or(1).max(1);
        let x_of = |gbps: f64| x0 + (x1 - x0) * if span > 0.0 { (gbps - self.low) / span } else { 0.5 };
        let bar = (x1 - x0) / self.counts.len().max(1) as f64;
        for (bin, &count) in self.counts.iter().enumerate().filter(|bin| *bin.1 > 0) {
            let height = ((y0 - y1) * count as f64 / most as f64).max(1.0);
            let gap = if bar > 4.0 { 1.0 } else { 0.0 };
            canvas.rectangle((x0 + bar * bin as f64, y0 - height), (bar - gap, height), "f g c0");
        }
        canvas.line(&[(x0, y0), (x1, y0)], "axis");
        let median = x_of(self.median).clamp(x0, x1);
        canvas.series(&[(median, y0), (median, y1)], Look::OTHER);
        let label = |gbps: f64| if span < 10.0 { format!("{gbps:.1}") } else { format!("{gbps:.0}") };
        canvas.text(&label(self.low), (x0, y0 + 11.0), Align::Left, "ink");
        canvas.text(&label(self.low + span), (x1, y0 + 11.0), Align::Right, "ink");
    }
}
