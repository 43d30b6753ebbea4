//! Shaded squares in rows and columns: what a value of a parameter loses at a size, what a device's set reaches on
//! another.

use std::io::Write;

use super::canvas::{Align, Canvas, width_of, wrapped};
use super::number;

/// Width of the picture, unless many columns need more.
const WIDTH: f64 = 712.0;
/// The least width of a column.
const COLUMN: f64 = 28.0;
/// Height of a row.
const ROW: f64 = 20.0;

/// Rows of squares below the names of their columns.
#[derive(Debug, Clone)]
pub struct Heatmap {
    /// What the rows are, for CSV.
    pub row_name: &'static str,
    /// What the columns are, for CSV.
    pub column_name: &'static str,
    /// What the values are, for CSV.
    pub value_name: &'static str,
    /// The columns: what stands above them, and what they are called in CSV.
    pub columns: Vec<(String, String)>,
    /// The rows.
    pub rows: Vec<HeatmapRow>,
}

/// A row.
#[derive(Debug, Clone)]
pub struct HeatmapRow {
    /// What several rows have in common; empty where there are no groups.
    pub group: String,
    /// What it is called.
    pub name: String,
    /// One per column; `None` where nothing is known.
    pub squares: Vec<Option<Square>>,
}

/// A square.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Square {
    /// What stands in it, without decimals.
    pub value: f64,
    /// How dark it is, from 0 to 1.
    pub shade: f64,
    /// Whether it has a frame.
    pub marked: bool,
}

impl Square {
    /// What stands in it.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{:.0}", self.value)
    }

    /// The step of its shade, from 0 (white) to 5: what is drawn, here and by the style sheet of the report.
    #[must_use]
    pub fn step(&self) -> usize {
        (self.shade.clamp(0.0, 1.0) * 5.0).ceil() as usize
    }
}

impl Heatmap {
    /// Whether the rows are grouped.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.rows.iter().any(|row| !row.group.is_empty())
    }

    /// The rows by group.
    pub fn groups(&self) -> impl Iterator<Item = &[HeatmapRow]> {
        self.rows.chunk_by(|a, b| a.group == b.group)
    }

    /// Writes one row per square.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn rows(&self, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
        writer.write_record(["group", self.row_name, self.column_name, self.value_name, "marked"])?;
        for row in &self.rows {
            for ((_, column), square) in self.columns.iter().zip(&row.squares) {
                let Some(square) = square else { continue };
                let marked = if square.marked { "1" } else { "0" };
                writer.write_record([&row.group, &row.name, column, &number(square.value), marked])?;
            }
        }
        Ok(())
    }

    /// What it shows, in words.
    pub fn says(&self) -> String {
        format!("{} by {} and {}", self.value_name, self.row_name, self.column_name)
    }

    /// Draws it.
    pub fn canvas(&self) -> Canvas {
        let left =
            self.rows.iter().map(|row| width_of(&row.name)).fold(60.0, f64::max).min(WIDTH / 2.0) + 8.0;
        let count = self.columns.len().max(1) as f64;
        let column = ((WIDTH - left) / count).max(COLUMN);
        let mut canvas = Canvas::new(left + column * count, ROW);
        // Names that have no room stand above every second column, or every third.
        let longest = self.columns.iter().map(|(name, _)| width_of(name) + 6.0).fold(0.0, f64::max);
        let every = (longest / column).ceil().clamp(1.0, 8.0);
        for (index, (name, _)) in self.columns.iter().enumerate().step_by(every as usize) {
            let x = left + column * (index as f64 + 0.5);
            let half = width_of(name) / 2.0;
            let x = x.min(canvas.width - half).max(half);
            canvas.text(name, (x, ROW / 2.0), Align::Middle, "ink");
        }
        let mut y = ROW;
        for group in self.groups() {
            if self.has_groups() {
                canvas.text(&group[0].group, (0.0, y + ROW / 2.0), Align::Left, "ink b");
                y += ROW;
            }
            for row in group {
                let lines = wrapped(&row.name, left - 8.0);
                let height = ROW.max(16.0 * lines.len() as f64);
                for (line, text) in lines.iter().enumerate() {
                    let at = y + height / 2.0 + 16.0 * (line as f64 - (lines.len() - 1) as f64 / 2.0);
                    canvas.text(text, (left - 8.0, at), Align::Right, "ink");
                }
                for (index, square) in row.squares.iter().enumerate() {
                    if let Some(square) = square {
                        square.draw(&mut canvas, (left + column * index as f64, y), (column, height));
                    }
                }
                y += height;
            }
        }
        canvas.height = y + 4.0;
        canvas
    }
}

impl Square {
    fn draw(self, canvas: &mut Canvas, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let size = (width - 2.0, height - 2.0);
        canvas.rectangle((x + 1.0, y + 1.0), size, &format!("s{}", self.step()));
        if self.marked {
            canvas.rectangle((x + 2.0, y + 2.0), (width - 4.0, height - 4.0), "mark");
        }
        let class = format!("t{}", self.step());
        canvas.text(&self.text(), (x + width / 2.0, y + height / 2.0), Align::Middle, &class);
    }
}
