//! Shaded squares in rows and columns: what a value of a parameter loses at a size, what a device's set reaches on
//! another.

use std::io::Write;

use plotters::prelude::*;

use super::drawing::{self, Align, Area, Drawn, INK, SMALL, TITLE_HEIGHT, width_of};
use super::number;

/// Width of the picture.
const WIDTH: u32 = 680;
/// Height of a row.
const ROW: i32 = 22;

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

/// One blue in six steps; the number in the square says the same.
pub const SHADES: [(u8, u8, u8); 6] =
    [(255, 255, 255), (222, 235, 247), (185, 214, 236), (127, 182, 217), (58, 137, 189), (8, 81, 140)];

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

    /// Draws it.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn svg(&self, title: &str) -> anyhow::Result<String> {
        let groups = self.groups().count() as u32;
        let headings = if self.has_groups() { groups } else { 0 };
        let height = TITLE_HEIGHT + (ROW as u32) * (1 + headings + self.rows.len() as u32) + 12;
        drawing::document((WIDTH, height), |area| {
            drawing::title(area, title, WIDTH)?;
            self.squares(area)
        })
    }

    fn squares(&self, area: &Area<'_>) -> Drawn {
        let widest = self.rows.iter().map(|row| width_of(&row.name, SMALL)).max().unwrap_or(0);
        let left = (widest as i32 + 20).clamp(60, WIDTH as i32 / 2);
        let width = (WIDTH as i32 - left - 8) / self.columns.len().max(1) as i32;
        let mut y = TITLE_HEIGHT as i32;
        // Names that have no room stand above every second column, or every third.
        let longest = self.columns.iter().map(|(name, _)| width_of(name, SMALL)).max().unwrap_or(0) as i32;
        let every = longest.min(8 * width).div_euclid(width.max(1)) + 1;
        for (index, (name, _)) in self.columns.iter().enumerate().step_by(every as usize) {
            let name = drawing::shortened(name, (every * width) as usize, SMALL);
            let x = left + width * index as i32 + width / 2;
            drawing::text(area, &name, (x, y + ROW / 2), Align::Middle, SMALL, INK)?;
        }
        y += ROW;
        for group in self.groups() {
            if self.has_groups() {
                drawing::text(area, &group[0].group, (8, y + ROW / 2), Align::Left, SMALL, INK)?;
                y += ROW;
            }
            for row in group {
                let name = drawing::shortened(&row.name, left as usize - 16, SMALL);
                drawing::text(area, &name, (left - 8, y + ROW / 2), Align::Right, SMALL, INK)?;
                for (index, square) in row.squares.iter().enumerate() {
                    if let Some(square) = square {
                        self.square(area, *square, (left + width * index as i32, y), width)?;
                    }
                }
                y += ROW;
            }
        }
        Ok(())
    }

    fn square(&self, area: &Area<'_>, square: Square, (x, y): (i32, i32), width: i32) -> Drawn {
        let (red, green, blue) = SHADES[square.step()];
        let corners = [(x + 1, y + 1), (x + width - 1, y + ROW - 1)];
        area.draw(&Rectangle::new(corners, RGBColor(red, green, blue).filled()))?;
        if square.marked {
            area.draw(&Rectangle::new(corners, INK.stroke_width(2)))?;
        }
        let ink = if square.step() >= 4 { WHITE } else { INK };
        drawing::text(area, &square.text(), (x + width / 2, y + ROW / 2), Align::Middle, SMALL - 2, ink)
    }
}
