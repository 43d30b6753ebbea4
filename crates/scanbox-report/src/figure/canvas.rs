//! SVG as all figures write it: shapes and text with classes, and a style sheet that says how the classes look. In a
//! page the style of the page does, so that figures follow its colours; a file carries its own.

use std::fmt::Write;

use super::look::{Look, PictureStyle, Stroke};

/// Height of text, in pixels.
pub const TEXT: f64 = 12.0;
/// Distance of lines of text, in pixels.
pub const LINE: f64 = 16.0;

/// Where text stands against its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Middle,
    Right,
}

/// A picture that is being drawn. Places are in pixels from its upper left.
#[derive(Debug)]
pub struct Canvas {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    body: String,
}

impl Canvas {
    /// An empty one of this size.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// One line of text, centred in height. `class` is of the style sheet.
    pub fn text(&mut self, text: &str, (x, y): (f64, f64), align: Align, class: &str) {
        let anchor = match align {
            Align::Left => "",
            Align::Middle => " text-anchor=\"middle\"",
            Align::Right => " text-anchor=\"end\"",
        };
        // Browsers and converters to PDF do not agree on baselines, so that it is set by number.
        let (x, y) = (number(x), number(y + 0.35 * TEXT));
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\"{anchor} class=\"{class}\">{}</text>",
            escaped(text)
        ));
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let mut path = String::new();
        for (index, &(x, y)) in points.iter().enumerate() {
            path.push(if index == 0 { 'M' } else { 'L' });
            path += &format!("{} {}", number(x), number(y));
        }
        self.add(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// The line of a series.
    pub fn series(&mut self, points: &[(f64, f64)], look: Look) {
        self.line(points, &format!("l {}", look.class()));
    }

    /// Dots at points: strokes without length, whose ends are round.
    pub fn dots(&mut self, points: &[(f64, f64)], look: Look) {
        let dot = |&(x, y): &(f64, f64)| format!("M{} {}h.01", number(x), number(y));
        let path: String = points.iter().map(dot).collect();
        self.add(format_args!("<path class=\"d {}\" d=\"{path}\"/>", look.color_class()));
    }

    /// A filled rectangle from its upper left.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(number);
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// What `draw` draws, at this place.
    pub fn at(&mut self, (x, y): (f64, f64), draw: impl FnOnce(&mut Self)) {
        self.add(format_args!("<g transform=\"translate({} {})\">", number(x), number(y)));
        draw(self);
        self.body += "</g>";
    }

    /// Another picture at this place.
    pub fn draw(&mut self, other: &Self, place: (f64, f64)) {
        self.at(place, |canvas| canvas.body += &other.body);
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        write!(self.body, "{element}").expect("a string takes all");
    }

    /// As part of a page, which has the style. `says` is what people hear who do not see it.
    pub fn inline(&self, says: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" aria-label=\"{}\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">{}</svg>",
            escaped(says),
            self.body
        )
    }

    /// As a file.
    pub fn file(&self, title: &str, says: &str, style: PictureStyle) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let size = match style.millimetres(self.width) {
            None => format!("width=\"{width}\" height=\"{height}\""),
            Some(wide) => {
                format!(
                    "width=\"{}mm\" height=\"{}mm\"",
                    number(wide),
                    number(wide * self.height / self.width)
                )
            }
        };
        format!(
            "<svg {size} viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<style>{}</style>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{}\n</svg>\n",
            escaped(title),
            escaped(says),
            style.sheet(),
            self.body.replace("><", ">\n<")
        )
    }
}

impl Look {
    /// The class of its colour.
    pub fn color_class(self) -> String {
        format!("c{}", self.color)
    }

    /// The classes of its colour and its dashes.
    pub fn class(self) -> String {
        let dash = match self.dash {
            Stroke::Solid => "",
            Stroke::Dashed => " dash",
            Stroke::Dotted => " dot",
        };
        format!("c{}{dash}", self.color)
    }
}

/// A number in pixels: a tenth of one cannot be seen.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Text as XML has it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            other => out.push(other),
        }
    }
    out
}

/// How wide a text is at most, in pixels: in `DejaVu Sans`, which is wider than what most browsers take.
pub fn width_of(text: &str) -> f64 {
    let part = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ' ' | '\'' | '|' | 'I' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' | '⁰'..='⁹' | '¹' | '²' | '³' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '…' => 0.99,
        'a'..='z' | '0'..='9' => 0.635,
        'A'..='Z' => 0.76,
        letter if letter.is_ascii() => 0.84,
        _ => 1.0,
    };
    TEXT * text.chars().map(part).sum::<f64>()
}

/// A text in lines that are so wide at most: it breaks at spaces, and behind dots and commas, else anywhere.
pub fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut add = |piece: &str| {
        let last = lines.last_mut().expect("there is one");
        if last.is_empty() || width_of(&format!("{last}{}", piece.trim_end())) <= width {
            last.push_str(piece);
        } else {
            lines.push(piece.to_owned());
        }
    };
    for piece in text.split_inclusive([' ', '.', ',']) {
        if width_of(piece.trim_end()) <= width {
            add(piece);
        } else {
            piece.chars().for_each(|letter| add(letter.encode_utf8(&mut [0; 4])));
        }
    }
    lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_where_it_may() {
        let check = |text: &str, width: f64, expected: &[&str]| assert_eq!(wrapped(text, width), expected);
        check("", 50.0, &[]);
        check("one two", 100.0, &["one two"]);
        check("one two", 40.0, &["one", "two"]);
        check("b4.vec4.early", 60.0, &["b4.vec4.", "early"]);
        check("aaaaaaaa", 32.0, &["aaaa", "aaaa"]);
    }

    #[test]
    fn text_stays_text() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text("<a>&\"", (1.25, 2.0), Align::Right, "ink");
        let svg = canvas.file("<t>", "\"&", PictureStyle::Screen);
        assert!(svg.contains("text-anchor=\"end\" class=\"ink\">&lt;a&gt;&amp;&quot;</text>"), "{svg}");
        assert!(
            svg.contains("<title>&lt;t&gt;</title>") && svg.contains("<desc>&quot;&amp;</desc>"),
            "{svg}"
        );
    }
}
