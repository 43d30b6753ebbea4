//! What all plots share: text, lines and marks on a drawing area, and a document around them.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::look::{Look, Marker, Stroke};

/// Height of text in pixels.
pub const TEXT: u32 = 14;
/// Height of small text in pixels: on a phone, three quarters of it.
pub const SMALL: u32 = 13;
/// Width of a plot in pixels.
pub const WIDTH: u32 = 480;
/// The ink of text and axes.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Lines that guide the eye.
pub const FAINT: RGBColor = RGBColor(221, 221, 221);

/// An area to draw on.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What plotters says when it cannot draw.
pub type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A font of this height in pixels. (plotters divides by 1.24 on the way to SVG.)
pub fn font(pixels: u32) -> FontDesc<'static> {
    ("sans-serif", f64::from(pixels) * 1.24).into_font()
}

/// A document of this size, drawn by `draw`.
pub fn document(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> anyhow::Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn = area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present());
    drop(area);
    drawn.map_err(|error| anyhow::anyhow!("a plot cannot be drawn: {error}"))?;
    Ok(text)
}

/// Where text stands against its point.
#[derive(Debug, Clone, Copy)]
pub enum Align {
    Left,
    Middle,
    Right,
}

/// One line of text, centred in height.
pub fn text(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    align: Align,
    pixels: u32,
    color: RGBColor,
) -> Drawn {
    let horizontal = match align {
        Align::Left => HPos::Left,
        Align::Middle => HPos::Center,
        Align::Right => HPos::Right,
    };
    let style = TextStyle::from(font(pixels)).color(&color).pos(Pos::new(horizontal, VPos::Center));
    area.draw_text(text, &style, at)
}

/// The title of a plot that is so wide, at its upper left.
pub fn title(area: &Area<'_>, title: &str, width: u32) -> Drawn {
    let style = TextStyle::from(font(TEXT + 1).style(FontStyle::Bold)).color(&INK);
    let room = (width - 16) as usize;
    area.draw_text(&shortened(title, room, TEXT + 1), &style.pos(Pos::new(HPos::Left, VPos::Center)), (8, 15))
}

/// Height that a title takes.
pub const TITLE_HEIGHT: u32 = 28;

/// About how wide a text is, in pixels. Rather too wide: nothing may overlap.
pub fn width_of(text: &str, pixels: u32) -> usize {
    text.chars().count() * pixels as usize * 60 / 100
}

/// The text, or its beginning and an ellipsis where it has no room.
pub fn shortened(text: &str, room: usize, pixels: u32) -> String {
    if width_of(text, pixels) <= room {
        return text.to_owned();
    }
    let letters = (room * 100 / (pixels as usize * 60)).saturating_sub(1);
    text.chars().take(letters).chain(['…']).collect()
}

/// A line through points in pixels.
pub fn line(area: &Area<'_>, points: &[(i32, i32)], look: Look) -> Drawn {
    let style = look.color.stroke_width(2);
    let dashes = match look.dash {
        Stroke::Solid => return area.draw(&PathElement::new(points.to_vec(), style)),
        Stroke::Dashed => (9, 4),
        Stroke::Dotted => (2, 4),
    };
    area.draw(&DashedPathElement::new(points.iter().copied(), dashes.0, dashes.1, style))
}

/// A mark.
pub fn mark(area: &Area<'_>, (x, y): (i32, i32), look: Look) -> Drawn {
    let filled = look.color.filled();
    let outline = look.color.stroke_width(2);
    match look.marker {
        Marker::None => Ok(()),
        Marker::Disc => area.draw(&Circle::new((x, y), 3, filled)),
        Marker::Ring => {
            area.draw(&Circle::new((x, y), 4, WHITE.filled()))?;
            area.draw(&Circle::new((x, y), 4, outline))
        }
        Marker::Triangle => area.draw(&TriangleMarker::new((x, y), 5, filled)),
        Marker::Square => area.draw(&Rectangle::new([(x - 3, y - 3), (x + 3, y + 3)], filled)),
        Marker::Cross => area.draw(&Cross::new((x, y), 4, outline)),
        Marker::Diamond => {
            area.draw(&Polygon::new(vec![(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)], filled))
        }
    }
}

/// Where the entries of a legend stand: left ends and rows, and how many rows there are.
fn legend_places(names: &[String]) -> (Vec<(u32, u32)>, u32) {
    let (mut x, mut row) = (8, 0);
    let mut places = Vec::new();
    for name in names {
        let width = SAMPLE + 8 + width_of(name, SMALL) as u32 + 14;
        if x > 8 && x + width > WIDTH {
            (x, row) = (8, row + 1);
        }
        places.push((x, row));
        x += width;
    }
    (places, row + 1)
}

/// Width of the sample of a line in a legend.
const SAMPLE: u32 = 30;
/// Height of a row of a legend.
const LEGEND_ROW: u32 = 19;

/// Height that a legend of these names takes.
pub fn legend_height(names: &[String]) -> u32 {
    LEGEND_ROW * legend_places(&legend_names(names)).1 + 4
}

fn legend_names(names: &[String]) -> Vec<String> {
    let room = (WIDTH - SAMPLE - 30) as usize;
    names.iter().map(|name| shortened(name, room, SMALL)).collect()
}

/// A legend, below the title and above the plot: nothing overlaps it.
pub fn legend(area: &Area<'_>, names: &[String], looks: &[Look], top: u32) -> Drawn {
    let names = legend_names(names);
    let (places, _) = legend_places(&names);
    for ((name, look), (x, row)) in names.iter().zip(looks).zip(places) {
        let (x, y) = (x as i32, (top + row * LEGEND_ROW + LEGEND_ROW / 2) as i32);
        line(area, &[(x, y), (x + SAMPLE as i32, y)], *look)?;
        mark(area, (x + SAMPLE as i32 / 2, y), *look)?;
        text(area, name, (x + SAMPLE as i32 + 7, y), Align::Left, SMALL, INK)?;
    }
    Ok(())
}
