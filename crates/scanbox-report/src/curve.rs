//! The ideal line as a small curve for a terminal, in Braille dots: two across and four down per character.

use scanbox_model::units::size_label;

/// Lines of text that the curve itself takes.
const ROWS: usize = 8;
/// Characters of a line at most: a wider curve says no more.
const WIDEST: usize = 80;
/// Less than this is no curve.
const NARROWEST: usize = 32;
/// Characters left of the frame.
const LABELS: usize = 8;

/// The curve of sizes, ascending, and throughput in GB/s, in at most `width` characters per line; nothing where there
/// are fewer than three sizes or there is no room.
pub fn draw(points: &[(u64, f64)], width: usize) -> Option<String> {
    let (&(first, _), &(last, _)) = (points.first()?, points.last()?);
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    if points.len() < 3 || width < NARROWEST || most <= 0.0 {
        return None;
    }
    // A label may stand out by half its length.
    let columns = width.min(WIDEST) - LABELS - 1 - 3;
    let (low, high) = ((first.max(1) as f64).log2(), (last.max(1) as f64).log2());
    let (dots_across, dots_down) = (2 * columns, 4 * ROWS);
    let x_of = |n: u64| ((n.max(1) as f64).log2() - low) / (high - low) * (dots_across - 1) as f64;
    let y_of = |gbps: f64| (1.0 - gbps / most) * (dots_down - 1) as f64;

    let mut cells = vec![0u8; columns * ROWS];
    for pair in points.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(n, gbps)| (x_of(n), y_of(gbps)));
        let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            let x = (x0 + part * (x1 - x0)).round() as usize;
            let y = (y0 + part * (y1 - y0)).round() as usize;
            cells[y / 4 * columns + x / 2] |= dot(x % 2, y % 4);
        }
    }

    let mut lines = vec![format!("{:>LABELS$}", "GB/s")];
    for (row, cells) in cells.chunks(columns).enumerate() {
        let label = match row {
            0 => number(most),
            row if row == ROWS / 2 => number(most * (1.0 - (4 * row) as f64 / (dots_down - 1) as f64)),
            _ => String::new(),
        };
        let dots = cells.iter().map(|&dots| if dots == 0 { ' ' } else { braille(dots) });
        let tick = if label.is_empty() { '│' } else { '┤' };
        lines.push(
            format!("{label:>width$}{tick}{}", dots.collect::<String>(), width = LABELS - 1)
                .trim_end()
                .to_owned(),
        );
    }
    let (axis, labels) = x_axis(points, columns, |n| x_of(n) as usize / 2);
    lines.push(format!("{:>width$}┼{axis}", 0, width = LABELS - 1));
    lines.push(labels);
    Some(lines.join("\n"))
}

/// The axis and the labels below it: sizes, as many as have room.
fn x_axis(points: &[(u64, f64)], columns: usize, column_of: impl Fn(u64) -> usize) -> (String, String) {
    let mut axis: Vec<char> = vec!['─'; columns];
    let mut labels = String::new();
    let mut end = 0;
    for &(n, _) in points {
        let label = size_label(n);
        // Centred below its tick.
        let start = (LABELS + column_of(n) + 1).saturating_sub(label.chars().count().div_ceil(2));
        if start >= end {
            axis[column_of(n)] = '┬';
            labels.extend(std::iter::repeat_n(' ', start - labels.chars().count()));
            labels.push_str(&label);
            end = labels.chars().count() + 2;
        }
    }
    (axis.into_iter().collect(), labels)
}

/// The bit of a dot, counted from the upper left (Unicode 16, section 21.1).
fn dot(x: usize, y: usize) -> u8 {
    const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    BITS[x][y]
}

fn braille(dots: u8) -> char {
    char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ')
}

fn number(gbps: f64) -> String {
    let decimals = if gbps < 10.0 { 2 } else { 0 };
    format!("{gbps:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_goes_from_corner_to_corner() {
        let points: Vec<(u64, f64)> = (0..=20).map(|step| (1024 << step, f64::from(step))).collect();
        let drawn = draw(&points, 40).unwrap();
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), ROWS + 3);
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{drawn}");
        let place = |line: &str| line.chars().position(|c| ('\u{2801}'..='\u{28ff}').contains(&c)).unwrap();
        // Each row of dots starts right of the one below.
        let starts: Vec<usize> = lines[1..=ROWS].iter().map(|line| place(line)).collect();
        assert!(starts.windows(2).all(|pair| pair[0] > pair[1]), "{drawn}");
        assert_eq!(starts[ROWS - 1], LABELS);
        assert!(lines[1].trim_start().starts_with("20┤"), "{drawn}");
        assert!(lines[ROWS + 2].contains("2^10"), "{drawn}");
    }

    #[test]
    fn what_is_no_curve_is_not_drawn() {
        assert_eq!(draw(&[], 80), None);
        assert_eq!(draw(&[(1024, 1.0), (2048, 2.0)], 80), None);
        assert_eq!(draw(&[(1024, 1.0), (2048, 2.0), (4096, 3.0)], 20), None);
        assert_eq!(draw(&[(1024, 0.0), (2048, 0.0), (4096, 0.0)], 80), None);
    }

    #[test]
    fn every_width_fits() {
        let points: Vec<(u64, f64)> =
            (0..24).map(|step| (1000 + (1 << step), 1e4 / f64::from(step + 1))).collect();
        for width in NARROWEST..200 {
            let drawn = draw(&points, width).unwrap();
            assert!(drawn.lines().all(|line| line.chars().count() <= width.min(WIDEST)), "{width}:\n{drawn}");
        }
    }
}
