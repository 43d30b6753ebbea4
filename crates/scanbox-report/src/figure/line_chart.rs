//! Lines over input sizes (log2) or over counts.

use std::io::Write;

use plotters::prelude::*;
use scanbox_model::units::size_label;

use super::drawing::{self, Align, Area, Drawn, FAINT, INK, SMALL, TITLE_HEIGHT, WIDTH};
use super::look::Look;
use super::number;

/// Height of the plot itself.
const PLOT: u32 = 260;
/// Room for the labels left of, right of and below it.
const LEFT: i32 = 62;
const RIGHT: i32 = 16;
const BELOW: i32 = 48;

/// Lines in one frame.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// What is to the right.
    pub x: XAxis,
    /// What is upwards, for example `GB/s`.
    pub y: &'static str,
    /// The lines, the most important one first.
    pub series: Vec<Series>,
    /// The least that the upper end shows: losses of a percent are not to look like mountains.
    pub at_least: f64,
}

/// What is to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XAxis {
    /// Input sizes, by their logarithm.
    Sizes,
    /// Whole numbers of these.
    Counts(&'static str),
    /// Shares of blocked tiles: 0 is none, and 32 - k is 1 in 2^k.
    Blocked,
}

impl XAxis {
    /// Where 1 in 2^k tiles blocked, or none, stands on [`XAxis::Blocked`].
    pub fn blocked(blocking: Option<u32>) -> u64 {
        blocking.map_or(0, |k| u64::from(32 - k.min(31)))
    }

    /// A place on [`XAxis::Blocked`] in words.
    fn blocked_label(place: u64) -> String {
        match place {
            0 => "none".to_owned(),
            place => format!("1/{}", 1u64 << (32 - place.min(32))),
        }
    }
}

/// One line.
#[derive(Debug, Clone)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// How it looks.
    pub look: Look,
    /// Size or count, ascending, and value.
    pub points: Vec<(u64, f64)>,
}

impl LineChart {
    /// Writes one row per point.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn rows(&self, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
        let x = match self.x {
            XAxis::Sizes => "n_elements",
            XAxis::Counts(name) => name,
            XAxis::Blocked => "blocked",
        };
        writer.write_record([x, "series", self.y])?;
        for series in &self.series {
            for &(n, value) in &series.points {
                let place = if self.x == XAxis::Blocked { XAxis::blocked_label(n) } else { n.to_string() };
                writer.write_record([place.as_str(), series.name.as_str(), &number(value)])?;
            }
        }
        Ok(())
    }

    /// Draws it.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn svg(&self, title: &str) -> anyhow::Result<String> {
        drawing::document((WIDTH, self.height()), |area| self.draw(area, title))
    }

    /// Height with title, legend and labels, in pixels.
    fn height(&self) -> u32 {
        self.top() + PLOT + BELOW as u32
    }

    /// Where the plot itself begins.
    fn top(&self) -> u32 {
        TITLE_HEIGHT + drawing::legend_height(&self.names()) + 8
    }

    fn names(&self) -> Vec<String> {
        self.series.iter().map(|series| series.name.clone()).collect()
    }

    fn draw(&self, area: &Area<'_>, title: &str) -> Drawn {
        let looks: Vec<Look> = self.series.iter().map(|series| series.look).collect();
        drawing::title(area, title, WIDTH)?;
        drawing::legend(area, &self.names(), &looks, TITLE_HEIGHT)?;
        self.plot(area, self.top() as i32)
    }

    fn position(&self, n: u64) -> f64 {
        match self.x {
            XAxis::Sizes => (n.max(1) as f64).log2(),
            XAxis::Counts(_) => n as f64,
            // None stands one step before the rarest blocking there is.
            XAxis::Blocked if n == 0 => self.rarest_blocking() - 1.0,
            XAxis::Blocked => n as f64,
        }
    }

    fn rarest_blocking(&self) -> f64 {
        let places = self.series.iter().flat_map(|series| &series.points).map(|point| point.0);
        places.filter(|&place| place > 0).min().unwrap_or(1) as f64
    }

    fn plot(&self, area: &Area<'_>, top: i32) -> Drawn {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let low = points().map(|point| self.position(point.0)).fold(f64::INFINITY, f64::min);
        let high = points().map(|point| self.position(point.0)).fold(f64::NEG_INFINITY, f64::max);
        // Half a step of room where there is one size only.
        let (low, high) = if high > low { (low, high) } else { (low - 0.5, low + 0.5) };
        let most = points().map(|point| point.1).fold(self.at_least, f64::max);
        let step = step(most);
        let steps = (most / step).ceil().max(1.0);
        let (width, bottom) = (WIDTH as i32 - LEFT - RIGHT, top + PLOT as i32);
        let x_of =
            |n: u64| LEFT + (f64::from(width) * (self.position(n) - low) / (high - low)).round() as i32;
        let y_of = |value: f64| bottom - (f64::from(PLOT) * value.max(0.0) / (step * steps)).round() as i32;
        for index in 0..=steps as u32 {
            let value = step * f64::from(index);
            let y = y_of(value);
            let rule = if index == 0 { INK } else { FAINT };
            area.draw(&PathElement::new(vec![(LEFT, y), (LEFT + width, y)], rule.stroke_width(1)))?;
            let decimals = (-step.log10()).ceil().max(0.0) as usize;
            let label = format!("{value:.decimals$}");
            drawing::text(area, &label, (LEFT - 7, y), Align::Right, SMALL, INK)?;
        }
        for (n, label) in self.ticks(low, high, width) {
            let x = x_of(n);
            area.draw(&PathElement::new(vec![(x, bottom), (x, bottom + 5)], INK.stroke_width(1)))?;
            drawing::text(area, &label, (x, bottom + 15), Align::Middle, SMALL, INK)?;
        }
        let x_title = match self.x {
            XAxis::Sizes => "input size in elements",
            XAxis::Counts(name) => name,
            XAxis::Blocked => "blocked tiles",
        };
        drawing::text(area, x_title, (LEFT + width / 2, bottom + 36), Align::Middle, SMALL, INK)?;
        let upright = TextStyle::from(drawing::font(SMALL).transform(FontTransform::Rotate270)).color(&INK);
        let upright = upright.pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            plotters::style::text_anchor::VPos::Center,
        ));
        area.draw_text(self.y, &upright, (13, top + PLOT as i32 / 2))?;
        // The first line lies below all others, the second on top.
        let first = self.series.iter().take(1);
        for series in first.chain(self.series.iter().skip(1).rev()) {
            let places: Vec<(i32, i32)> =
                series.points.iter().map(|&(n, value)| (x_of(n), y_of(value))).collect();
            drawing::line(area, &places, series.look)?;
            for place in places {
                drawing::mark(area, place, series.look)?;
            }
        }
        Ok(())
    }

    /// Sizes or counts with their labels, so few that the labels have room.
    fn ticks(&self, low: f64, high: f64, width: i32) -> Vec<(u64, String)> {
        let (low, high) = (low.ceil() as u32, high.floor() as u32);
        let room = (f64::from(width) / if self.x == XAxis::Blocked { 40.0 } else { 34.0 }) as u32;
        let step = ((high.saturating_sub(low) + 1).div_ceil(room.max(1))).max(1);
        let ticks = (low..=high).step_by(step as usize).map(|tick| match self.x {
            XAxis::Sizes => (1u64 << tick.min(63), power(tick)),
            XAxis::Counts(_) => (u64::from(tick), tick.to_string()),
            XAxis::Blocked => {
                let place = if f64::from(tick) < self.rarest_blocking() { 0 } else { u64::from(tick) };
                (place, XAxis::blocked_label(place))
            }
        });
        let ticks: Vec<_> = ticks.collect();
        if !ticks.is_empty() {
            return ticks;
        }
        // One size that is no power of two.
        let first = self.series.iter().find_map(|series| series.points.first());
        first.map(|&(n, _)| (n, size_label(n))).into_iter().collect()
    }
}

/// Charts with their titles in one document: rows of charts side by side.
///
/// # Errors
/// When it cannot be drawn.
pub fn sheet(rows: &[Vec<(String, LineChart)>]) -> anyhow::Result<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0) as u32;
    let heights = || rows.iter().map(|row| row.iter().map(|(_, chart)| chart.height()).max().unwrap_or(0));
    drawing::document((WIDTH * columns, heights().sum()), |area| {
        let mut top = 0;
        for (row, height) in rows.iter().zip(heights()) {
            for (column, (title, chart)) in row.iter().enumerate() {
                chart.draw(&area.clone().shrink((WIDTH * column as u32, top), (WIDTH, height)), title)?;
            }
            top += height;
        }
        Ok(())
    })
}

/// A power of two as people write it.
pub fn power(exponent: u32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.to_string();
    let raised = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]);
    std::iter::once('2').chain(raised).collect()
}

/// The distance of grid lines: 1, 2 or 5 times a power of ten, about five of them.
fn step(most: f64) -> f64 {
    let rough = most.max(1e-9) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_round_numbers() {
        let check = |most: f64, expected: f64| assert!((step(most) / expected - 1.0).abs() < 1e-9, "{most}");
        check(2868.8, 1000.0);
        check(5.0, 1.0);
        check(12.0, 5.0);
        check(0.037, 0.01);
        assert!(step(0.0) > 0.0);
    }

    #[test]
    fn powers_are_raised() {
        assert_eq!(power(10), "2¹⁰");
        assert_eq!(power(9), "2⁹");
    }
}
