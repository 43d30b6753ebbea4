//! What is wrong with a pack, for people.

use std::error::Error;
use std::fmt;

use crate::version::{MAJOR, MINOR};

/// Why something is no pack that can be used.
///
/// Its `Debug` is its `Display`: a `main` that returns an error prints the former, and the text says what to do.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// It does not begin as packs do.
    NotAPack,
    /// It is of a version that this library is too old for.
    Newer {
        /// Its version.
        major: u32,
        /// The minor part.
        minor: u32,
    },
    /// Its end is missing.
    Cut {
        /// Bytes that are there.
        bytes: u64,
        /// Bytes that there should be.
        needed: u64,
    },
    /// There is something behind its end.
    TooLong {
        /// Bytes that are there.
        bytes: u64,
        /// Bytes that there should be.
        needed: u64,
    },
    /// Its bytes are not those that were written.
    Damaged {
        /// The checksum that the pack says.
        said: u64,
        /// That of its bytes.
        found: u64,
    },
    /// Its bytes are those that were written, and do not fit together.
    Malformed {
        /// In which part.
        part: String,
        /// What is wrong.
        wrong: String,
    },
}

impl PackError {
    pub(crate) fn malformed(part: impl Into<String>, wrong: impl Into<String>) -> Self {
        Self::Malformed { part: part.into(), wrong: wrong.into() }
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPack => f.write_str(
                "this is not a pack: it does not begin as a .scanpack file does; was another file meant, or was this one \
                 compressed or changed as text on its way?",
            ),
            Self::Newer { major, minor } => write!(
                f,
                "the pack has version {major}.{minor}, and this library reads {MAJOR}.{MINOR} and older: use a newer \
                 scanbox, or have the pack written by this one",
            ),
            Self::Cut { bytes, needed } => write!(
                f,
                "the pack is cut: {bytes} of {needed} bytes are there; copy the whole file, or have it written again",
            ),
            Self::TooLong { bytes, needed } => write!(
                f,
                "the pack has {needed} bytes, and {bytes} are there: something stands behind its end; pass it alone",
            ),
            Self::Damaged { said, found } => write!(
                f,
                "the pack is damaged: its checksum is {found:016x}, and it says {said:016x}; copy the file again, as \
                 binary, or have it written again",
            ),
            Self::Malformed { part, wrong } => write!(
                f,
                "{part} of the pack: {wrong}; it was written so, by another program or a faulty one: have it written \
                 again",
            ),
        }
    }
}

impl fmt::Debug for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for PackError {}
