//! Lines of text for a terminal: how wide it is, and breaking them there.

use std::io::{IsTerminal, stdout};

/// The width of the terminal: COLUMNS where it is set, else what the terminal says; `None` into a file or pipe.
pub fn width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || comfy_table::Table::new().width().filter(|_| stdout().is_terminal()).map(usize::from);
    columns.filter(|&columns| columns > 0).or_else(terminal)
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
    fn lines_break_between_words_and_are_indented() {
        assert_eq!(fold("", "one two three", 2, None), "one two three");
        assert_eq!(fold("", "one two three", 2, Some(7)), "one two\n  three");
        assert_eq!(fold("", "one two three", 2, Some(6)), "one\n  two\n  three");
        assert_eq!(fold("head  ", "a bb ccc", 6, Some(10)), "head  a bb\n      ccc");
        assert_eq!(fold("a-head  ", "a-label-of and", 2, Some(14)), "a-head  \n  a-label-of\n  and");
        assert_eq!(fold("head  ", "a-word-that-fits-nowhere", 6, Some(10)), "head  a-word-that-fits-nowhere");
    }
}
