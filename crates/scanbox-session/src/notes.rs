//! What a run says on stderr.

use std::io::Write;

use scanbox_model::units::printable;

/// A line on stderr. A closed stderr is nobody's problem.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable(line));
}
