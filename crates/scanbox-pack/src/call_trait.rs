//! What uses may have, by words.

use std::fmt;
use std::str::FromStr;

use crate::contents::CallUse;
use crate::recipe::ArgumentKind;

/// Something that a use may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallTrait {
    /// Addresses are told with each call.
    Pushed,
    /// Arguments stand in a line of memory.
    Line,
    /// Arguments are constants of a pipeline.
    Baked,
    /// Only the device knows how many elements there are.
    NOnDevice,
    /// The total is stored beside the scan.
    Total,
    /// Memory says what an exclusive scan begins with.
    InitInMemory,
    /// Arrays begin at any element.
    AnyElement,
    /// Others overwrite the scratch memory between calls.
    ScratchOverwritten,
}

impl CallTrait {
    /// All of them, with their words.
    pub const WORDS: [(&'static str, Self); 8] = [
        ("pushed", Self::Pushed),
        ("line", Self::Line),
        ("baked", Self::Baked),
        ("n-on-device", Self::NOnDevice),
        ("total", Self::Total),
        ("init-in-memory", Self::InitInMemory),
        ("any-element", Self::AnyElement),
        ("scratch-overwritten", Self::ScratchOverwritten),
    ];

    /// What a use has, where its arguments stand first.
    pub fn of(call_use: CallUse) -> impl Iterator<Item = Self> {
        let CallUse { n_on_device, total, init_in_memory, scratch_overwritten, arguments, any_element } =
            call_use;
        let arguments = match arguments {
            ArgumentKind::Pushed => Self::Pushed,
            ArgumentKind::Line => Self::Line,
            ArgumentKind::Baked => Self::Baked,
        };
        [
            (true, arguments),
            (n_on_device, Self::NOnDevice),
            (total, Self::Total),
            (init_in_memory, Self::InitInMemory),
            (any_element, Self::AnyElement),
            (scratch_overwritten, Self::ScratchOverwritten),
        ]
        .into_iter()
        .filter_map(|(has, what)| has.then_some(what))
    }
}

impl fmt::Display for CallTrait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(_, other)| other == self).map_or("", |(word, _)| *word);
        f.write_str(word)
    }
}

impl FromStr for CallTrait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, found)| *found).ok_or_else(|| {
            let words = Self::WORDS.map(|(word, _)| word).join(", ");
            let text: String = text.chars().take(40).collect();
            format!("`{text}` is not a use: {words}")
        })
    }
}

impl fmt::Display for CallUse {
    /// The words for what it has: `pushed total`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CallTrait::of(*self)
            .enumerate()
            .try_for_each(|(place, what)| write!(f, "{}{what}", if place == 0 { "" } else { " " }))
    }
}
