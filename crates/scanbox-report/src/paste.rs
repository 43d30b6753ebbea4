//! What is printed to be pasted: commands and paths as a shell reads them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

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

/// A file of this name with a number that no file there has.
#[must_use]
pub fn numbered(path: &Path) -> PathBuf {
    let numbered = (2..=u32::MAX).map(|number| path.with_extension(format!("{number}.csv")));
    numbered.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}

/// The command that is running, so that it writes to another file, and does so.
pub fn this_command_into(out: &Path) -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words = words.filter(|word| word != "--dry-run");
    line(with_value(words, "--out", &out.to_string_lossy()).iter().map(String::as_str))
}

/// The command that is running, with another value of an option.
pub fn this_command_with(option: &str, value: &str) -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    line(with_value(words, option, value).iter().map(String::as_str))
}

/// The words of a command with an option that has this value alone.
fn with_value(mut words: impl Iterator<Item = String>, option: &str, value: &str) -> Vec<String> {
    let (mut left, mut place) = (Vec::new(), None);
    while let Some(word) = words.next() {
        if place.is_some() {
            left.push(word);
            continue;
        }
        match word.strip_prefix(option) {
            Some("") => drop(words.next()),
            Some(rest) if rest.starts_with('=') => {}
            _ => {
                // No option follows it.
                if word == "--" {
                    place = Some(left.len());
                }
                left.push(word);
            }
        }
    }
    let place = place.unwrap_or(left.len());
    left.splice(place..place, [option.to_owned(), value.to_owned()]);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_writes_to_another_file() {
        for (given, made) in [
            ("sweep -v", "sweep -v --out b.csv"),
            ("sweep --out a -v", "sweep -v --out b.csv"),
            ("sweep --out=a -v", "sweep -v --out b.csv"),
            ("sweep -v --out a --out=c", "sweep -v --out b.csv"),
            ("sweep --outer a", "sweep --outer a --out b.csv"),
            ("compare --out a -- --out c", "compare --out b.csv -- --out c"),
        ] {
            let words = with_value(given.split(' ').map(str::to_owned), "--out", "b.csv");
            assert_eq!(words.join(" "), made, "{given}");
        }
    }

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
