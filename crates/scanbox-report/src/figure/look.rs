//! How figures look: colours that colour-blind readers tell apart, dashes that need no colour, and the style sheets of
//! pictures on screens and in papers.

use std::fmt::Write;

/// The colours, light and dark: own, another implementation, the ceiling, and three more, after Okabe and Ito ("Color
/// universal design", 2008), so dark, or so bright, that text of the colour can be read (contrast 4.5 to 1).
pub const COLORS: [(&str, &str); 6] = [
    ("#0068a8", "#5bb4f0"),
    ("#b84a00", "#ff9a57"),
    ("#636a70", "#a7adb3"),
    ("#00765a", "#3ecf9f"),
    ("#a03f7c", "#e79ac8"),
    ("#806000", "#e2b747"),
];
/// Paper, text, axes, guiding lines, light and dark.
pub const PAPER: (&str, &str) = ("#ffffff", "#15181b");
const INK: (&str, &str) = ("#1f2429", "#e6e8ea");
const RULE: (&str, &str) = ("#e3e6e9", "#33383d");
/// One blue in six steps, light and dark; the number in the square says the same.
pub const SHADES: [(&str, &str); 6] = [
    ("#ffffff", "#15181b"),
    ("#deebf7", "#17324a"),
    ("#b9d6ec", "#1d4a70"),
    ("#86bbdd", "#24659b"),
    ("#24719f", "#79bdee"),
    ("#08518c", "#b5dcf8"),
];

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its place in `COLORS`.
    pub color: usize,
    /// Its dashes.
    pub dash: Stroke,
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

impl Look {
    /// The best of each size.
    pub const IDEAL: Self = Self { color: 0, dash: Stroke::Solid };
    /// What stands beside the best: a chosen kernel, another contract.
    pub const CHOSEN: Self = Self { color: 0, dash: Stroke::Dashed };
    /// The fastest of other implementations.
    pub const OTHER: Self = Self { color: 1, dash: Stroke::Solid };
    /// The ceiling.
    pub const CEILING: Self = Self { color: 2, dash: Stroke::Dotted };
    /// The bandwidth that was given.
    pub const PEAK: Self = Self { color: 2, dash: Stroke::Dashed };

    /// The look of one of many equal lines: the first fifteen differ.
    #[must_use]
    pub fn of(index: usize) -> Self {
        const DASHES: [Stroke; 3] = [Stroke::Solid, Stroke::Dashed, Stroke::Dotted];
        const PLACES: [usize; 5] = [1, 3, 4, 5, 0];
        Self { color: PLACES[index % PLACES.len()], dash: DASHES[index % DASHES.len()] }
    }
}

/// Where a picture will stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PictureStyle {
    /// On a screen: sizes in pixels, light or dark as the reader has it.
    #[default]
    Screen,
    /// In a paper: a column wide, always light, letters of 8 points, no title, since a paper has a caption.
    Paper,
}

/// Millimetres of a paper that are 344 pixels here: a column of two.
const COLUMN_MM: f64 = 84.0 / 344.0;

impl PictureStyle {
    /// The width in millimetres of a picture that is so many pixels wide; `None` where pixels are what counts.
    pub fn millimetres(self, width: f64) -> Option<f64> {
        (self == Self::Paper).then_some(width * COLUMN_MM)
    }

    /// The style sheet of a file.
    pub fn sheet(self) -> String {
        let font = match self {
            Self::Screen => "system-ui, -apple-system, \"Segoe UI\", Roboto, \"DejaVu Sans\", sans-serif",
            Self::Paper => "\"DejaVu Sans\", Verdana, sans-serif",
        };
        let mut sheet = format!("text{{font-family:{font}}}{SHAPES}{}", colors(|(light, _)| light));
        if self == Self::Screen {
            write!(sheet, "@media (prefers-color-scheme:dark){{{}}}", colors(|(_, dark)| dark))
                .expect("a string takes all");
        }
        sheet
    }
}

/// What does not depend on colours, for pages too.
pub const SHAPES: &str = "text{font-size:12px;fill:currentColor}.b{font-weight:700}\
    .l{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}\
    .d{fill:none;stroke:currentColor;stroke-width:5;stroke-linecap:round}\
    .dash{stroke-dasharray:7 3}.dot{stroke-dasharray:2 3}.f{fill:currentColor;stroke:none}\
    .axis{fill:none;stroke:currentColor;stroke-width:1}.rule{fill:none;stroke-width:1}\
    .lead{fill:none;stroke:currentColor;stroke-width:1;opacity:.6}\
    .mark{fill:none;stroke-width:2;stroke:currentColor}.g{opacity:.55}";

/// Colours by class.
fn colors(of: impl Fn((&'static str, &'static str)) -> &'static str) -> String {
    let mut sheet = format!(
        ".paper{{fill:{}}}.ink,.axis,.mark{{color:{}}}.rule{{stroke:{}}}",
        of(PAPER),
        of(INK),
        of(RULE)
    );
    for (index, color) in COLORS.into_iter().enumerate() {
        sheet += &format!(".c{index}{{color:{}}}", of(color));
    }
    for (index, shade) in SHADES.into_iter().enumerate() {
        // A dark square has light text, and the other way round.
        let ink = if index >= 4 { PAPER } else { INK };
        sheet += &format!(".s{index}{{fill:{}}}.t{index}{{color:{}}}", of(shade), of(ink));
    }
    sheet
}

/// The colours as custom properties of a page, light or dark.
#[must_use]
pub fn properties(dark: bool) -> String {
    let of = |(light, night): (&'static str, &'static str)| if dark { night } else { light };
    let mut sheet = format!("--paper:{};--ink:{};--rule:{};", of(PAPER), of(INK), of(RULE));
    for (index, color) in COLORS.into_iter().enumerate() {
        sheet += &format!("--c{index}:{};", of(color));
    }
    for (index, shade) in SHADES.into_iter().enumerate() {
        sheet += &format!("--s{index}:{};", of(shade));
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours, by WCAG 2.
    fn contrast(a: &str, b: &str) -> f64 {
        let light = |color: &str| {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05
        };
        (light(a) / light(b)).max(light(b) / light(a))
    }

    #[test]
    fn colours_can_be_read() {
        for (light, dark) in COLORS.into_iter().chain([INK]) {
            assert!(contrast(light, PAPER.0) >= 4.5, "{light}");
            assert!(contrast(dark, PAPER.1) >= 4.5, "{dark}");
        }
        for (index, (light, dark)) in SHADES.into_iter().enumerate() {
            let ink = if index >= 4 { PAPER } else { INK };
            assert!(contrast(light, ink.0) >= 4.5 && contrast(dark, ink.1) >= 4.5, "{index}");
        }
    }

    #[test]
    fn equal_lines_differ() {
        let looks: Vec<Look> = (0..15).map(Look::of).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "{index}");
        }
    }
}
