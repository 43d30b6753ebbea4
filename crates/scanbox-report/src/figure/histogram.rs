//! How the throughput of all configs of a size is distributed: one small panel per size.

use std::io::Write;

use plotters::prelude::*;
use scanbox_model::units::size_label;

use super::drawing::{self, Align, Area, Drawn, FAINT, INK, SMALL, TITLE_HEIGHT, WIDTH};
use super::line_chart::power;
use super::number;

/// Panels side by side in a document of their own.
const SIDE_BY_SIDE: usize = 3;
/// Width and height of a panel.
pub const PANEL: (u32, u32) = (WIDTH / SIDE_BY_SIDE as u32, 132);
const BARS: RGBColor = RGBColor(86, 180, 233);
const MEDIAN: RGBColor = RGBColor(213, 94, 0);

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

/// All panels in one document.
///
/// # Errors
/// When it cannot be drawn.
pub fn svg(title: &str, panels: &[Panel]) -> anyhow::Result<String> {
    let rows = panels.len().div_ceil(SIDE_BY_SIDE) as u32;
    drawing::document((WIDTH, TITLE_HEIGHT + rows * PANEL.1), |area| {
        drawing::title(area, title, WIDTH)?;
        for (index, panel) in panels.iter().enumerate() {
            let column = (index % SIDE_BY_SIDE) as u32 * PANEL.0;
            let row = TITLE_HEIGHT + (index / SIDE_BY_SIDE) as u32 * PANEL.1;
            panel.draw(area, (column as i32, row as i32))?;
        }
        Ok(())
    })
}

impl Panel {
    /// The panel alone.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn svg(&self) -> anyhow::Result<String> {
        drawing::document(PANEL, |area| self.draw(area, (0, 0)))
    }

    fn draw(&self, area: &Area<'_>, (left, top): (i32, i32)) -> Drawn {
        let label = if self.n.is_power_of_two() { power(self.n.ilog2()) } else { size_label(self.n) };
        let title = format!("{label}: {:.0} % near best", 100.0 * self.near_best);
        drawing::text(area, &title, (left + 8, top + 12), Align::Left, SMALL - 1, INK)?;
        let (x0, x1) = (left + 10, left + PANEL.0 as i32 - 14);
        let (y0, y1) = (top + PANEL.1 as i32 - 26, top + 26);
        let span = self.width * self.counts.len() as f64;
        let most = self.counts.iter().copied().max().unwrap_or(1).max(1);
        let x_of = |gbps: f64| {
            let part = if span > 0.0 { (gbps - self.low) / span } else { 0.5 };
            x0 + (f64::from(x1 - x0) * part).round() as i32
        };
        let y_of = |count: u64| y0 - (f64::from(y0 - y1) * count as f64 / most as f64).round() as i32;
        let mut outline = vec![(x0, y0)];
        for (bin, &count) in self.counts.iter().enumerate() {
            let ends = if span > 0.0 {
                [bin, bin + 1].map(|edge| x_of(self.low + self.width * edge as f64))
            } else {
                [x0, x1]
            };
            outline.extend(ends.map(|x| (x, y_of(count))));
        }
        outline.push((x1, y0));
        area.draw(&Polygon::new(outline, BARS.filled()))?;
        area.draw(&PathElement::new(vec![(x0, y0), (x1, y0)], INK.stroke_width(1)))?;
        let median = x_of(self.median);
        area.draw(&PathElement::new(vec![(median, y0 + 3), (median, y1)], MEDIAN.stroke_width(2)))?;
        area.draw(&PathElement::new(vec![(x1, y0), (x1, y0 + 4)], FAINT.stroke_width(1)))?;
        let ends = [(x0, self.low, Align::Left), (x1, self.low + span, Align::Right)];
        // So many that the ends differ.
        let decimals = if span > 0.0 { (2.0 - span.log10().floor()).clamp(0.0, 6.0) as usize } else { 1 };
        let decimals = if span >= 20.0 { 0 } else { decimals };
        for (x, gbps, align) in ends.into_iter().take(if span > 0.0 { 2 } else { 1 }) {
            drawing::text(area, &format!("{gbps:.decimals$}"), (x, y0 + 13), align, SMALL - 1, INK)?;
        }
        drawing::text(area, "GB/s", ((x0 + x1) / 2, y0 + 13), Align::Middle, SMALL - 1, INK)
    }
}
