//! Forms of calls that a benchmark times beside the ordinary one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Arguments, Kernel, Reset};
use crate::parameters::Totals;

/// What a call is that differs from the ordinary one of its config: a build of the kernel that takes more, or another
/// way by which its line of arguments comes to be what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub enum CallForm {
    /// The line never changes. Calls that find it as the one before has left it in a cache flatter: ordinary ones
    /// write the line of the next call.
    UnchangedLine,
    /// A copy in the command buffer writes the line before each call, within the time, with the two barriers that it
    /// needs.
    UpdatedLine,
    /// The number of elements stands in memory, and the call is laid out for this many times as many.
    Max(u32),
    /// Arrays may begin at any element, so that no access is one of a vector.
    AnyElement,
    /// The total is stored beside the scan.
    Total,
    /// A program records it: by the library that is handed over, out of a pack. Where its arguments stand in a line,
    /// that stays.
    Library,
    /// The same, and the library writes the line before each call, within the time.
    LibraryUpdated,
    /// The same with the number of elements in memory: as many as the call is laid out for.
    LibraryLength,
}

/// The most times as many elements that a call is laid out for.
const MOST: u32 = 1 << 20;

impl CallForm {
    /// The words, and what they mean. One of them has a number, which may be another.
    pub const WORDS: [(&str, &str); 8] = [
        (
            "unchanged-line",
            "The line of arguments never changes. This flatters: the call finds it in a cache. Ordinary calls write the \
             line of the next one.",
        ),
        (
            "updated-line",
            "A copy in the command buffer writes the line of arguments before each call, within the time, with the two \
             barriers that it needs.",
        ),
        (
            "max-4",
            "The number of elements is in memory, and the call is laid out for 4 times as many. Any number from 1 on may \
             stand there.",
        ),
        ("any-element", "Arrays may begin at any element, so that no access is one of a vector."),
        ("total", "The call stores the total beside the scan."),
        (
            "library",
            "The library that programs have records the call, out of a pack. Arguments in a line stay as they are.",
        ),
        (
            "library-updated",
            "The library records the call, and writes the line of arguments before it, within the time.",
        ),
        (
            "library-length",
            "The library records the call, which finds the number of elements in memory: as many as it is laid out for.",
        ),
    ];

    /// Whether a kernel may have such calls.
    #[must_use]
    pub fn goes_with(self, kernel: &Kernel) -> bool {
        match (self, kernel.arguments) {
            (Self::UnchangedLine | Self::UpdatedLine | Self::LibraryUpdated, arguments) => {
                arguments == Arguments::Block
            }
            (Self::Max(_) | Self::LibraryLength, Arguments::Push) => {
                // The host counts calls whose elements it knows.
                let passes_on = kernel.family.entry().totals == Totals::PassedOn;
                !passes_on || !matches!(kernel.reset, Reset::Auto | Reset::Epoch)
            }
            (Self::Max(_) | Self::LibraryLength, arguments) => arguments == Arguments::Block,
            (Self::AnyElement | Self::Total | Self::Library, _) => true,
        }
    }

    /// Whether the library records such calls, which needs a pack.
    #[must_use]
    pub fn is_of_library(self) -> bool {
        matches!(self, Self::Library | Self::LibraryUpdated | Self::LibraryLength)
    }
}

impl fmt::Display for CallForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnchangedLine => f.write_str("unchanged-line"),
            Self::UpdatedLine => f.write_str("updated-line"),
            Self::Max(factor) => write!(f, "max-{factor}"),
            Self::AnyElement => f.write_str("any-element"),
            Self::Total => f.write_str("total"),
            Self::Library => f.write_str("library"),
            Self::LibraryUpdated => f.write_str("library-updated"),
            Self::LibraryLength => f.write_str("library-length"),
        }
    }
}

impl FromStr for CallForm {
    type Err = String;

    /// # Errors
    /// A word that names none, with all that do.
    fn from_str(text: &str) -> Result<Self, String> {
        let factor = |text: &str| text.parse().ok().filter(|factor| (1..=MOST).contains(factor));
        match text {
            "unchanged-line" => Ok(Self::UnchangedLine),
            "updated-line" => Ok(Self::UpdatedLine),
            "any-element" => Ok(Self::AnyElement),
            "total" => Ok(Self::Total),
            "library" => Ok(Self::Library),
            "library-updated" => Ok(Self::LibraryUpdated),
            "library-length" => Ok(Self::LibraryLength),
            _ => text.strip_prefix("max-").and_then(factor).map(Self::Max).ok_or_else(|| {
                let shown: String = text.chars().take(40).collect();
                let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
                format!("`{shown}` is not a form of calls: {}", words.join(", "))
            }),
        }
    }
}

impl From<CallForm> for String {
    fn from(form: CallForm) -> Self {
        form.to_string()
    }
}

impl TryFrom<String> for CallForm {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for text in CallForm::WORDS.map(|(word, _)| word).into_iter().chain(["max-1", "max-64"]) {
            assert_eq!(text.parse::<CallForm>().map(|form| form.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "max", "max-", "max-0", "max--4", "max-4.5", "max-99999999", "unchanged", "Total"] {
            let error = text.parse::<CallForm>().unwrap_err();
            assert!(error.contains("is not a form of calls: unchanged-line, "), "{error}");
        }
    }
}
