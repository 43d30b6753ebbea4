//! Packs: contents that fit together.

use crate::check;
use crate::contents::PackData;
use crate::error::PackError;

/// A pack whose every index, count and bound has been checked: whatever is done with it stays within it, and no formula
/// of its recipes overflows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    data: PackData,
}

impl Pack {
    /// A pack of these contents, if they fit together.
    ///
    /// # Errors
    /// What does not, and in which part.
    pub fn new(data: PackData) -> Result<Self, PackError> {
        check::pack(&data)?;
        Ok(Self { data })
    }

    /// Its contents.
    #[must_use]
    pub fn data(&self) -> &PackData {
        &self.data
    }

    /// Its contents, to change them.
    #[must_use]
    pub fn into_data(self) -> PackData {
        self.data
    }
}
