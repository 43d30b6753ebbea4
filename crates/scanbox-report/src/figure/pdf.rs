//! A picture as PDF, with its text as text, in a font that the file carries.

use std::sync::{Arc, LazyLock};

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, TextStr};
use svg2pdf::usvg::{Options, Tree, fontdb};
use svg2pdf::{ConversionOptions, to_chunk};

/// What stands in PDF files, before the version: who made them.
pub const PDF_MARK: &str = "/Creator (scanbox ";

/// Points of a pixel: a paper has 72 to the inch, a screen 96.
const POINTS: f32 = 72.0 / 96.0;

/// `DejaVu Sans`, whose licence lets it be embedded; whatever fonts a machine has, the file is the same.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// An SVG of a figure as a PDF of one page.
///
/// # Errors
/// When it is no SVG.
pub fn pdf(svg: &str, title: &str) -> anyhow::Result<Vec<u8>> {
    let options = Options { fontdb: FONTS.clone(), font_family: "DejaVu Sans".into(), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let (picture, drawn) = to_chunk(&tree, ConversionOptions::default())
        .map_err(|error| anyhow::anyhow!("a picture cannot be written as PDF: {error}"))?;
    let mut next = Ref::new(1);
    let [catalog, pages, page, content] = std::array::from_fn(|_| next.bump());
    let info = next.bump();
    // What the picture refers to comes behind.
    let mut numbers = std::collections::HashMap::new();
    let picture = picture.renumber(|old| *numbers.entry(old).or_insert_with(|| next.bump()));
    let Some(&drawn) = numbers.get(&drawn) else { anyhow::bail!("a picture is empty") };
    let (width, height) = (tree.size().width() * POINTS, tree.size().height() * POINTS);
    let mut file = Pdf::new();
    file.catalog(catalog).pages(pages);
    file.pages(pages).kids([page]).count(1);
    let name = Name(b"picture");
    let mut sheet = file.page(page);
    sheet.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(content);
    sheet.resources().x_objects().pair(name, drawn).finish();
    sheet.finish();
    // The picture is one unit wide and high.
    let mut draw = Content::new();
    draw.transform([width, 0.0, 0.0, height, 0.0, 0.0]).x_object(name);
    file.stream(content, &draw.finish());
    let creator = format!("scanbox {}", env!("CARGO_PKG_VERSION"));
    file.document_info(info).title(TextStr(title)).creator(TextStr(&creator)).finish();
    file.extend(&picture);
    Ok(file.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use miniz_oxide::inflate::decompress_to_vec_zlib;

    use super::*;
    use crate::figure::{Figure, LineChart, Look, PictureStyle, Plot, Series, XAxis, YScale};

    /// The streams of a PDF, as they were before they were compressed.
    fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
        let find = |from: usize, word: &[u8]| {
            pdf[from..].windows(word.len()).position(|window| window == word).map(|at| from + at)
        };
        let mut streams = Vec::new();
        let mut at = 0;
        while let Some(begin) = find(at, b"\nstream\n") {
            let begin = begin + b"\nstream\n".len();
            let end = find(begin, b"endstream").unwrap();
            let bytes = &pdf[begin..end];
            streams.push(decompress_to_vec_zlib(bytes).unwrap_or_else(|_| bytes.to_vec()));
            at = end + b"endstream".len();
        }
        streams
    }

    /// What a reader of the PDF gets who copies its text: each glyph by the table of its font, of which there is one.
    fn text(pdf: &[u8]) -> String {
        let hex = |word: &str| u32::from_str_radix(word.trim_matches(['<', '>']), 16).unwrap();
        let mut letters = BTreeMap::new();
        let mut glyphs = Vec::new();
        for stream in streams(pdf) {
            let words = String::from_utf8_lossy(&stream).into_owned();
            for table in words.split("beginbfchar").skip(1) {
                let pairs: Vec<&str> =
                    table.split("endbfchar").next().unwrap_or_default().split_whitespace().collect();
                for pair in pairs.chunks_exact(2) {
                    letters.insert(hex(pair[0]), char::from_u32(hex(pair[1])).unwrap());
                }
            }
            let mut before: &[u8] = &stream;
            while let Some(at) = before.windows(3).position(|window| window == b" Tj") {
                glyphs.push(glyph(&before[..at]));
                before = &before[at + 3..];
            }
        }
        glyphs.into_iter().map(|glyph| letters[&glyph]).collect()
    }

    /// The two bytes at the end of this, which are in brackets, perhaps escaped.
    fn glyph(before: &[u8]) -> u32 {
        if before.ends_with(b">") {
            let text = std::str::from_utf8(&before[before.len() - 5..before.len() - 1]).unwrap();
            return u32::from_str_radix(text, 16).unwrap();
        }
        // The first byte of the glyphs of a picture is always 0.
        let begin = before.windows(5).rposition(|window| window == b"(\\000").unwrap();
        match &before[begin + 5..before.len() - 1] {
            [b'\\', octal @ ..] if octal.len() == 3 => {
                octal.iter().fold(0, |number, digit| number * 8 + u32::from(digit - b'0'))
            }
            [b'\\', b'n'] => u32::from(b'\n'),
            [b'\\', b'r'] => u32::from(b'\r'),
            [b'\\', b't'] => u32::from(b'\t'),
            [b'\\', b'b'] => 8,
            [b'\\', b'f'] => 12,
            [b'\\', other] | [other] => u32::from(*other),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_text_in_both_files() {
        let series = |name: &str, look: Look, factor: f64| Series {
            name: name.into(),
            look,
            points: (10..30).map(|power| (1u64 << power, factor * f64::from(power))).collect(),
        };
        let lines = vec![
            series("scanbox", Look::IDEAL, 9.0),
            series("CUB 3.5", Look::OTHER, 7.0),
            series("copy", Look::CEILING, 11.0),
        ];
        let chart = LineChart { x: XAxis::Sizes, y: "GB/s", scale: YScale::Log, series: lines };
        let figure = Figure {
            name: "x".into(),
            title: "Throughput of a device".into(),
            caption: String::new(),
            plot: Plot::Lines(chart),
        };
        let svg = figure.svg(PictureStyle::Paper);
        let pdf = pdf(&svg, &figure.title).unwrap();
        let said = text(&pdf);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts =
            document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
        let shown: String = texts.filter_map(|node| node.text()).collect();
        assert_eq!(said, shown, "the PDF says what the SVG says");
        for part in ["GB/s", "elements", "2¹⁰", "2²⁵", "100", "scanbox", "CUB 3.5", "copy"] {
            assert!(said.contains(part), "no `{part}` in {said}");
        }
        let has = |part: &[u8]| pdf.windows(part.len()).any(|window| window == part);
        assert!(has(PDF_MARK.as_bytes()) && has(b"/Title (Throughput of a device)") && has(b"/FontFile"));
        assert!(svg.contains("width=\"85mm\""), "a column of a paper: {}", &svg[..120]);
        assert!(pdf.len() < 60_000, "{} bytes", pdf.len());
    }
}
