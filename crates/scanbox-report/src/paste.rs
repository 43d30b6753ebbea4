//! What is printed to be pasted: commands and paths as a shell reads them.

use std::borrow::Cow;
use std::path::Path;

/// A word as a shell reads it.
pub fn quoted(word: &str) -> Cow<'_, str> {
    // `2^10` as one quoted word: shlex would take it apart at the `^`.
    if word.contains('^') && !word.contains('\'') {
        return Cow::Owned(format!("'{word}'"));
    }
    // Of a word that no command line can have, what it looks like.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// A path as a shell reads it.
pub fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}

/// Words as one line.
pub fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The name that this program was called by.
pub fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "scanbox".to_owned())
}

/// The command that is running, to run it again.
pub fn this_command() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    line(words.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_by_a_shell_as_it_was() {
        for word in [
            "a.csv",
            "meß ung.csv",
            "it's",
            "a\"b",
            "$HOME",
            "a;b",
            "a|b",
            "*",
            "",
            "-x",
            "a\nb",
            "`x`",
            "\\",
            "2^10..2^20",
            "^it's",
        ] {
            assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_owned()]), "{word}");
            #[cfg(unix)]
            {
                let echo = format!("printf %s {}", quoted(word));
                let said = std::process::Command::new("sh").args(["-c", &echo]).output().expect("a shell");
                assert_eq!(String::from_utf8_lossy(&said.stdout), word);
            }
        }
        assert_eq!(line(["scanbox", "analyze", "a b.csv"]), "scanbox analyze 'a b.csv'");
        assert_eq!(line(["--sizes", "2^10..2^20"]), "--sizes '2^10..2^20'");
    }
}
