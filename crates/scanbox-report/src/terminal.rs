//! Lines of text for a terminal: how wide it is, and breaking them there.

use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;

/// The width of the terminal: COLUMNS where it is set, else what the terminal says; `None` into a file or pipe.
pub fn width() -> Option<usize> {
    let terminal = || comfy_table::Table::new().width().filter(|_| stdout().is_terminal()).map(usize::from);
    columns().or_else(terminal)
}

/// The width of the terminal that stderr is; `None` where it is none, whatever COLUMNS says: whoever reads a log looks
/// for whole lines.
pub fn width_of_errors() -> Option<usize> {
    let terminal = || comfy_table::Table::new().use_stderr().width().map(usize::from);
    stderr().is_terminal().then(|| columns().or_else(terminal)).flatten()
}

/// The width that COLUMNS says.
fn columns() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.parse().ok()?;
    (columns > 0).then_some(columns)
}

/// A message with line breaks between words; continued lines are indented. What is pasted stays whole: what stands
/// between backquotes, and a command from its program to the end of the line.
pub fn wrapped(message: &str, width: usize) -> String {
    let lines = message.split('\n').map(|line| wrapped_line(line, width));
    lines.collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let own = line.len() - line.trim_start_matches(' ').len();
    let indent = (own + 2).min(width / 2);
    let (mut wrapped, mut used) = (" ".repeat(own), own);
    for (place, piece) in pieces(&line[own..]).into_iter().enumerate() {
        let length = shown_length(piece);
        let gap = usize::from(place > 0);
        if used + gap + length > width && used > indent.max(own) {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            used = indent;
        } else {
            wrapped.push_str(&" ".repeat(gap));
            used += gap;
        }
        wrapped.push_str(piece);
        used += length;
    }
    wrapped
}

/// What a line may be broken between.
fn pieces(line: &str) -> Vec<&str> {
    let (mut pieces, mut begin, mut is_quoted) = (Vec::new(), 0, false);
    for (place, letter) in line.char_indices() {
        match letter {
            '`' => is_quoted = !is_quoted,
            ' ' if !is_quoted => {
                pieces.push(&line[begin..place]);
                begin = place + 1;
                if is_command(line[..place].ends_with(':'), &line[begin..]) {
                    break;
                }
            }
            _ => {}
        }
    }
    // A backquote that stands alone begins nothing.
    let rest = &line[begin..];
    match is_quoted {
        true => pieces.extend(rest.split(' ')),
        false => pieces.push(rest),
    }
    pieces
}

/// Whether a text is a command of this program, which a colon announces.
fn is_command(is_announced: bool, text: &str) -> bool {
    let program = Path::new(text.split(' ').next().unwrap_or_default()).file_stem();
    is_announced && program.is_some_and(|name| name == "scanbox")
}

/// Letters that a terminal shows: none of those that change a colour.
fn shown_length(text: &str) -> usize {
    let mut is_shown = true;
    text.chars()
        .filter(|&letter| {
            let shown = is_shown && letter != '\u{1b}';
            is_shown = shown || (!is_shown && letter == 'm');
            shown
        })
        .count()
}

/// `head`, which stays as it is, and a text that is broken between words; continued lines are indented.
pub fn fold(head: &str, text: &str, indent: usize, width: Option<usize>) -> String {
    let mut folded = head.to_owned();
    let Some(width) = width else { return folded + text };
    let mut used = head.chars().count();
    let mut line_has_words = false;
    for word in text.split(' ') {
        let length = word.chars().count();
        // Behind a head too, a word that fits a line of its own gets that.
        let fits_alone =
            !line_has_words && used + length > width && used > indent && indent + length <= width;
        if fits_alone || line_has_words && used + 1 + length > width {
            folded.push('\n');
            folded.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else if line_has_words {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += length;
        line_has_words = true;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_break_between_words_and_commands_stay_whole() {
        let check = |text: &str, width, expected: &str| assert_eq!(wrapped(text, width), expected, "{text}");
        check("error: one two three", 20, "error: one two three");
        check("error: one two three", 14, "error: one two\n  three");
        check("error: a/very/long/path.csv is", 12, "error:\n  a/very/long/path.csv\n  is");
        check(
            "give `scanbox sweep --out x.csv`, or `b c`",
            20,
            "give\n  `scanbox sweep --out x.csv`,\n  or `b c`",
        );
        check("next, run: scanbox sweep --out x.csv", 16, "next, run:\n  scanbox sweep --out x.csv");
        check("run: bin/scanbox sweep x", 12, "run:\n  bin/scanbox sweep x");
        check("a scanbox file is too long", 16, "a scanbox file\n  is too long");
        check("a ` that stands alone", 10, "a ` that\n  stands\n  alone");
        check("\u{1b}[1;31merror:\u{1b}[0m one two", 14, "\u{1b}[1;31merror:\u{1b}[0m one two");
        check("first\n\n  second line here", 15, "first\n\n  second line\n    here");
    }

    #[test]
    fn lines_break_between_words_and_are_indented() {
        assert_eq!(fold("", "one two three", 2, None), "one two three");
        assert_eq!(fold("", "one two three", 2, Some(7)), "one two\n  three");
        assert_eq!(fold("", "one two three", 2, Some(6)), "one\n  two\n  three");
        assert_eq!(fold("head  ", "a bb ccc", 6, Some(10)), "head  a bb\n      ccc");
        assert_eq!(fold("a-head  ", "a-label-of and", 2, Some(14)), "a-head  \n  a-label-of\n  and");
        assert_eq!(fold("head  ", "a-word-that-fits-nowhere", 6, Some(10)), "head  a-word-that-fits-nowhere");
    }
}
