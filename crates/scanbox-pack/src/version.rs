//! The version of the format of packs.

use crate::contents::{PackData, ScanMode};

/// The part that must not be higher than that of a reader. A pack has the lowest that has all of it, so that older
/// readers take what they know.
pub const MAJOR: u32 = 2;
/// The part that may be.
pub const MINOR: u32 = 0;

/// The first version.
pub(crate) const FIRST: u32 = 1;

/// The major version of a pack: 2 has scans from the last element on, and initial values of all modes.
pub(crate) fn major(data: &PackData) -> u32 {
    let mut scans = data.problems.iter().map(|problem| &problem.scan);
    let is_new =
        scans.any(|scan| scan.reverse || (scan.mode != ScanMode::Exclusive && !scan.init.is_empty()));
    if is_new { MAJOR } else { FIRST }
}
