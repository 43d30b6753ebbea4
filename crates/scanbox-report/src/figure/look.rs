//! What tells lines apart: a colour that colour-blind people can tell from the others, and a dash and a marker that
//! need no colour at all.

use plotters::style::RGBColor;

/// The palette of Okabe and Ito ("Color universal design", 2008), without its yellow, which is too light on white.
const BLACK: RGBColor = RGBColor(0, 0, 0);
const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILLION: RGBColor = RGBColor(213, 94, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const PURPLE: RGBColor = RGBColor(204, 121, 167);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const SKY: RGBColor = RGBColor(86, 180, 233);
const GREY: RGBColor = RGBColor(110, 110, 110);

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Its colour.
    pub color: RGBColor,
    /// Its dashes.
    pub dash: Stroke,
    /// The mark on its points.
    pub marker: Marker,
}

/// Dashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// None.
    Solid,
    /// Long ones.
    Dashed,
    /// Short ones.
    Dotted,
}

/// Marks on points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A filled disc.
    Disc,
    /// A circle.
    Ring,
    /// A filled triangle.
    Triangle,
    /// A filled square.
    Square,
    /// A cross.
    Cross,
    /// A diamond.
    Diamond,
    /// No mark: the line has no points of its own.
    None,
}

impl Look {
    /// The best of each size.
    pub const IDEAL: Self = Self { color: BLACK, dash: Stroke::Solid, marker: Marker::Disc };
    /// The kernel that was chosen.
    pub const CHOSEN: Self = Self { color: BLUE, dash: Stroke::Dashed, marker: Marker::Triangle };
    /// The ceiling.
    pub const CEILING: Self = Self { color: GREY, dash: Stroke::Dotted, marker: Marker::None };
    /// The bandwidth that was given.
    pub const PEAK: Self = Self { color: GREY, dash: Stroke::Dashed, marker: Marker::None };

    /// The look of one of many equal lines.
    #[must_use]
    pub fn of(index: usize) -> Self {
        const COLORS: [RGBColor; 6] = [VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLUE];
        const MARKERS: [Marker; 5] =
            [Marker::Square, Marker::Diamond, Marker::Ring, Marker::Cross, Marker::Triangle];
        const DASHES: [Stroke; 3] = [Stroke::Solid, Stroke::Dashed, Stroke::Dotted];
        Self {
            color: COLORS[index % COLORS.len()],
            dash: DASHES[index % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
    }
}
