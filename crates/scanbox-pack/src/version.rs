//! The version of the format of packs.

/// The part that must not be higher than that of a reader.
pub const MAJOR: u32 = 1;
/// The part that may be.
pub const MINOR: u32 = 0;
