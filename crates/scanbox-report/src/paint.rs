//! Colours of what is printed to a terminal: headings, statuses and verdicts, by the words that they are. Documents
//! know nothing of it: text is painted when it is finished, so that a column is as wide as its letters.

use std::sync::atomic::{AtomicBool, Ordering};

use scanbox_model::record::Status;

static PAINTS: AtomicBool = AtomicBool::new(false);

/// Has what is printed to stdout be painted from now on.
pub fn paint_stdout(paints: bool) {
    PAINTS.store(paints, Ordering::Relaxed);
}

/// The text as it is printed to stdout: painted, where that was asked for.
pub fn for_stdout(text: String) -> String {
    if PAINTS.load(Ordering::Relaxed) { painted(&text) } else { text }
}

const BOLD: &str = "\u{1b}[1m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

/// Words that stand for how something went, beside [`Status`].
const VERDICTS: &[(&str, &str)] = &[
    ("SAME", GREEN),
    ("FASTER", GREEN),
    ("UNCLEAR", YELLOW),
    ("SLOWER", RED),
    ("warning", YELLOW),
    ("PROBLEM", RED),
    ("failed", RED),
];

/// The first words of lines that say what to do.
const ADVICE: &[&str] = &["next", "fix"];

fn colour_of(word: &str) -> Option<&'static str> {
    let verdict = VERDICTS.iter().find(|(verdict, _)| *verdict == word).map(|(_, colour)| *colour);
    verdict.or_else(|| {
        let status = Status::ALL.into_iter().find(|status| status.word() == word)?;
        Some(match status {
            Status::Ok => GREEN,
            Status::Unsupported => YELLOW,
            _ => RED,
        })
    })
}

/// A text with colours: the heading of each table, and words for how something went where they begin a line, stand
/// alone in a cell or behind a count (`3 timeout`).
pub fn painted(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_rule = |line: &str| line.contains('─') && line.chars().all(|c| matches!(c, '─' | ' '));
    let painted = lines.iter().enumerate().map(|(at, line)| {
        if lines.get(at + 1).is_some_and(|next| is_rule(next)) {
            format!("{BOLD}{line}{PLAIN}")
        } else {
            painted_line(line)
        }
    });
    painted.collect::<Vec<_>>().join("\n")
}

fn painted_line(line: &str) -> String {
    let mut painted = String::with_capacity(line.len());
    let mut before = "";
    let mut rest = line;
    while !rest.is_empty() {
        let start = rest.find(|c: char| c != ' ').unwrap_or(rest.len());
        let (gap, behind) = rest.split_at(start);
        let end = behind.find(' ').unwrap_or(behind.len());
        let (token, next) = behind.split_at(end);
        painted += gap;
        let word = token.trim_end_matches([',', ':', ';', '.', ')']);
        let is_first = before.is_empty();
        let is_cell = (gap.len() > 1 || is_first) && (next.is_empty() || next.starts_with("  "));
        let is_counted = before.bytes().last().is_some_and(|byte| byte.is_ascii_digit());
        let colour = match colour_of(word) {
            Some(colour) if is_first || is_cell || is_counted => Some(colour),
            _ if is_first && gap.is_empty() && ADVICE.contains(&word) => Some(BOLD),
            _ => None,
        };
        match colour {
            Some(colour) => painted += &format!("{colour}{word}{PLAIN}{}", &token[word.len()..]),
            None => painted += token,
        }
        (before, rest) = (token, next);
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_how_it_went_are_painted_and_nothing_else() {
        let check = |line: &str, expected: &str| {
            let visible = |text: &str| {
                [BOLD, GREEN, YELLOW, RED, PLAIN]
                    .iter()
                    .fold(text.to_owned(), |text, code| text.replace(code, ""))
            };
            let painted = painted(line);
            assert_eq!(visible(&painted), line);
            let marked = painted.replace(PLAIN, "]").replace(GREEN, "g[").replace(RED, "r[");
            assert_eq!(marked.replace(YELLOW, "y[").replace(BOLD, "b["), expected);
        };
        check("rows       9 of 12: 5 ok, 4 timeout", "rows       9 of 12: 5 g[ok], 4 r[timeout]");
        check("timeout    b4.vec4 at 2^10: slow", "r[timeout]    b4.vec4 at 2^10: slow");
        check("the driver says ok to that", "the driver says ok to that");
        check("SLOWER: 2 sizes", "r[SLOWER]: 2 sizes");
        check("2^10  unsupported  it has no such thing", "2^10  y[unsupported]  it has no such thing");
        check("size  GB/s\n──────────\n2^10  ok\n", "b[size  GB/s]\n──────────\n2^10  g[ok]\n");
        check("next       scanbox analyze", "b[next]       scanbox analyze");
        check("", "");
    }
}
