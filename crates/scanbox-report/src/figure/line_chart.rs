//! Lines over input sizes (log2) or over counts, with their names at their ends; where names are long or many, below.

use std::io::Write;

use scanbox_model::units::size_label;

use super::axis::{Range, XAxis, YScale};
use super::canvas::{Align, Canvas, LINE, TEXT, width_of, wrapped};
use super::look::{Look, Stroke};
use super::number;

/// Width of a chart in pixels: that of a phone, so that text keeps its size there.
pub const WIDTH: f64 = 344.0;
/// Height of the plot itself.
const PLOT: f64 = 190.0;
/// Room for the labels above, right of and below it.
const ABOVE: f64 = 24.0;
const RIGHT: f64 = 14.0;
const BELOW: f64 = 38.0;
/// Names at lines are so wide at most, and so many.
const NAME: f64 = 118.0;
const NAMES: usize = 6;
/// Room between a line and its name.
const NAME_GAP: f64 = 16.0;
/// Width of the sample of a line below the plot.
const SAMPLE: f64 = 28.0;
/// With more points than that dots would be a line of their own.
const DOTS: usize = 24;

/// Lines in one frame.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// What is to the right.
    pub x: XAxis,
    /// What is upwards, for example `GB/s`.
    pub y: &'static str,
    /// How it goes upwards.
    pub scale: YScale,
    /// The lines, the most important one first.
    pub series: Vec<Series>,
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
    /// Writes one row per point, with the chart that it is of behind it where charts share a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn rows(&self, panel: Option<&str>, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
        for series in &self.series {
            for &(n, value) in &series.points {
                let place = if self.x == XAxis::Blocked { XAxis::blocked_label(n) } else { n.to_string() };
                let cells = [place.as_str(), series.name.as_str(), &number(value)];
                writer.write_record(cells.into_iter().chain(panel))?;
            }
        }
        Ok(())
    }

    /// The names of the columns of [`LineChart::rows`].
    pub fn columns(&self) -> [&str; 3] {
        let x = match self.x {
            XAxis::Sizes => "n_elements",
            XAxis::Counts(name) => name,
            XAxis::Blocked => "blocked",
        };
        [x, "series", self.y]
    }

    /// What the lines say, in words.
    pub fn says(&self) -> String {
        let place = |n: u64| match self.x {
            XAxis::Sizes => size_label(n),
            XAxis::Counts(_) => n.to_string(),
            XAxis::Blocked => XAxis::blocked_label(n),
        };
        let short = |value: f64| match value.abs() {
            large if large >= 100.0 => format!("{value:.0}"),
            middle if middle >= 10.0 => format!("{value:.1}"),
            _ => format!("{value:.2}"),
        };
        let line = |series: &Series| {
            let (first, last) = (series.points.first()?, series.points.last()?);
            let most = series.points.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
            let ends = match first == last {
                true => format!("{} at {}", short(first.1), place(first.0)),
                false => format!(
                    "{} at {}, {} at {}, at most {} at {}",
                    short(first.1),
                    place(first.0),
                    short(last.1),
                    place(last.0),
                    short(most.1),
                    place(most.0)
                ),
            };
            Some(if series.name.is_empty() { ends } else { format!("{}: {ends}", series.name) })
        };
        let lines: Vec<String> = self.series.iter().filter_map(line).collect();
        format!("{} over {}. {}.", self.y, self.x.title(), lines.join("; "))
    }

    /// The ends of its axes.
    pub fn range(&self) -> Range {
        range_of([self])
    }

    /// Draws it between these ends.
    pub fn canvas(&self, range: &Range) -> Canvas {
        let beside = self.names_stand_at_lines();
        let labels = range.values(self.scale);
        let widest = labels.iter().map(|(_, label)| width_of(label)).fold(0.0, f64::max);
        let left = (widest + 10.0).max(30.0);
        let named = self
            .series
            .iter()
            .filter(|series| beside && !series.points.is_empty() && !series.name.is_empty());
        let names = named.map(|series| width_of(&series.name) + NAME_GAP).fold(0.0, f64::max);
        let width = WIDTH - left - RIGHT.max(names);
        let mut canvas = Canvas::new(WIDTH, ABOVE + PLOT + BELOW);
        let x_of = |n: u64| left + width * range.across(self.x, n);
        let y_of = |value: f64| Some(ABOVE + PLOT * (1.0 - range.up(self.scale, value)?));
        canvas.text(self.y, (0.0, 8.0), Align::Left, "ink");
        for (value, label) in labels {
            let Some(y) = y_of(value) else { continue };
            canvas.line(&[(left, y), (left + width, y)], "rule");
            canvas.text(&label, (left - 6.0, y), Align::Right, "ink");
        }
        let bottom = ABOVE + PLOT;
        canvas.line(&[(left, bottom), (left + width, bottom)], "axis");
        for (n, label) in range.places(self.x, width) {
            let x = x_of(n);
            canvas.line(&[(x, bottom), (x, bottom + 4.0)], "axis");
            let half = width_of(&label) / 2.0;
            canvas.text(&label, (x.clamp(half, WIDTH - half), bottom + 13.0), Align::Middle, "ink");
        }
        canvas.text(self.x.title(), (left + width / 2.0, bottom + 29.0), Align::Middle, "ink");
        let mut ends = Vec::new();
        // The first line lies on top.
        for series in self.series.iter().rev() {
            let points: Vec<(f64, f64)> =
                series.points.iter().filter_map(|&(n, value)| Some((x_of(n), y_of(value)?))).collect();
            if points.len() > 1 {
                canvas.series(&points, series.look);
            }
            let is_dotted =
                points.len() > 1 && (series.look.dash == Stroke::Dotted || series.look == Look::PEAK);
            if (1..=DOTS).contains(&points.len()) && !is_dotted {
                canvas.dots(&points, series.look);
            }
            ends.extend(points.last().filter(|_| !series.name.is_empty()).map(|&end| (end, series)));
        }
        if beside {
            names_at_lines(&mut canvas, ends, left + width);
        } else {
            self.names_below(&mut canvas);
        }
        canvas
    }

    /// Whether the names have room at the ends of the lines.
    fn names_stand_at_lines(&self) -> bool {
        self.series.len() <= NAMES && self.series.iter().all(|series| width_of(&series.name) <= NAME)
    }

    /// Names with samples of their lines, below the plot, as long as they are.
    fn names_below(&self, canvas: &mut Canvas) {
        let mut y = canvas.height + 4.0;
        for series in &self.series {
            canvas.series(&[(0.0, y + LINE / 2.0), (SAMPLE, y + LINE / 2.0)], series.look);
            for line in wrapped(&series.name, WIDTH - SAMPLE - 8.0) {
                canvas.text(&line, (SAMPLE + 7.0, y + LINE / 2.0), Align::Left, "ink");
                y += LINE;
            }
            y += 2.0;
        }
        canvas.height = y + 2.0;
    }
}

/// The ends of axes that hold all charts.
pub fn range_of<'a>(charts: impl IntoIterator<Item = &'a LineChart> + Clone) -> Range {
    let first = charts.clone().into_iter().next();
    let (x, scale) = first.map_or((XAxis::Sizes, YScale::Log), |chart| (chart.x, chart.scale));
    let all: Vec<(u64, f64)> =
        charts.into_iter().flat_map(|chart| &chart.series).flat_map(|series| series.points.clone()).collect();
    Range::of(x, scale, all.iter())
}

/// Each name at the end of its line, or as near as the others leave room.
fn names_at_lines(canvas: &mut Canvas, ends: Vec<((f64, f64), &Series)>, right: f64) {
    // Where a line ends early its name has room there.
    let (early, mut ends): (Vec<_>, Vec<_>) = ends
        .into_iter()
        .partition(|((x, _), series)| x + NAME_GAP + width_of(&series.name) < right - (right - x) / 4.0);
    for ((x, y), series) in early {
        canvas.text(&series.name, (x + 7.0, y + 5.0), Align::Left, &series.look.color_class());
    }
    ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    let wanted: Vec<f64> = ends.iter().map(|end| end.0.1).collect();
    let places = spread(&wanted, TEXT + 2.0, (TEXT / 2.0, ABOVE + PLOT + TEXT / 2.0));
    for (((x, y), series), place) in ends.into_iter().zip(places) {
        let from = right + NAME_GAP - 2.0;
        if (place - y).abs() > 3.0 || x < right - 1.0 {
            let class = format!("lead {}", series.look.color_class());
            canvas.line(&[(x + 3.0, y), (from - 3.0, place)], &class);
        }
        canvas.text(&series.name, (from, place), Align::Left, &series.look.color_class());
    }
}

/// Places at least so far apart and between these ends, as near as can be to those that are wanted, which ascend.
fn spread(wanted: &[f64], apart: f64, (low, high): (f64, f64)) -> Vec<f64> {
    // Neighbours that are too near become a group around their middle, until no groups are.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let half = |count: usize| apart * (count - 1) as f64 / 2.0;
    let inside = |middle: f64, count: usize| middle.min(high - half(count)).max(low + half(count));
    for &place in wanted {
        let mut new = (inside(place, 1), 1);
        while let Some(&(middle, count)) = groups.last() {
            if middle + half(count) + apart <= new.0 - half(new.1) {
                break;
            }
            groups.pop();
            let both = count + new.1;
            new = (inside((middle * count as f64 + new.0 * new.1 as f64) / both as f64, both), both);
        }
        groups.push(new);
    }
    let places = |(middle, count): (f64, usize)| {
        (0..count).map(move |index| middle - half(count) + apart * index as f64)
    };
    groups.into_iter().flat_map(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_meet() {
        let check =
            |wanted: &[f64], expected: &[f64]| assert_eq!(spread(wanted, 10.0, (0.0, 100.0)), expected);
        check(&[], &[]);
        check(&[50.0], &[50.0]);
        check(&[20.0, 80.0], &[20.0, 80.0]);
        check(&[50.0, 50.0], &[45.0, 55.0]);
        check(&[98.0, 99.0], &[90.0, 100.0]);
        check(&[0.0, 1.0, 12.0], &[0.0, 10.0, 20.0]);
    }

    #[test]
    fn names_are_never_cut() {
        let long = "pers.b4.vec4.gather.sub.shuffle.striped.wgid.early.block.wg256.u4 at 2^22, ";
        let name = long.repeat(3);
        let series = |name: &str| Series { name: name.into(), look: Look::of(0), points: vec![(1024, 3.0)] };
        let chart = LineChart {
            x: XAxis::Sizes,
            y: "GB/s",
            scale: YScale::Log,
            series: vec![series(&name), series("b")],
        };
        let svg = chart.canvas(&chart.range()).inline("");
        let mut said = String::new();
        for part in svg.split("<text ").skip(1) {
            let (_, rest) = part.split_once('>').unwrap();
            said += rest.split_once('<').unwrap().0;
        }
        let spaceless = |text: &str| text.replace(' ', "");
        assert!(spaceless(&said).contains(&spaceless(&name)), "{said}");
    }
}
