//! The version of the format of packs.

use crate::contents::{PackData, ScanMode, ScanProblem};
use crate::formula::Split;

/// The part that must not be higher than that of a reader. A pack has the lowest that has all of it, so that older
/// readers take what they know.
pub const MAJOR: u32 = 5;
/// The part that may be.
pub const MINOR: u32 = 0;

/// The first version.
pub(crate) const FIRST: u32 = 1;

/// The major version of a pack: 2 has scans from the last element on, and initial values of all modes; 3 has elements
/// of 12 bytes; 4 has users' operators that allow calls in parts; 5 has kernels that split few elements by rows.
pub(crate) fn major(data: &PackData) -> u32 {
    if data.recipes.iter().any(|one| matches!(one.recipe.formula.split, Split::AtMostOrFew(_))) {
        return MAJOR;
    }
    if data.problems.iter().any(|problem| problem.splittable) {
        return 4;
    }
    let scans = || data.problems.iter().map(|problem| &problem.scan);
    let elements = data.recipes.iter().map(|one| one.recipe.formula.element_bytes);
    if scans().map(|scan| scan.element_bytes).chain(elements).any(|bytes| bytes == 12) {
        return 3;
    }
    let begins = |scan: &ScanProblem| scan.mode != ScanMode::Exclusive && !scan.init.is_empty();
    if scans().any(|scan| scan.reverse || begins(scan)) { 2 } else { FIRST }
}
