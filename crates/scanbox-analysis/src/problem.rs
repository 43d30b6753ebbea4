//! What was scanned: rows of different modes, element types or operators are about different problems, and no answer
//! mixes them.

use std::fmt;

use scanbox_model::config::{Config, Element, Mode, Operator};
use scanbox_model::record::Record;

/// Mode, element type and operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Problem {
    /// Which prefixes are written.
    pub mode: Mode,
    /// The type of an element.
    pub element: Element,
    /// The operator.
    pub op: Operator,
}

impl Problem {
    /// The problem that a config solves.
    #[must_use]
    pub fn of_config(config: &Config) -> Self {
        Self { mode: config.kernel.mode(), element: config.kernel.element(), op: config.kernel.operator() }
    }

    /// The problem of a row: what its columns say, and where they are empty what `otherwise` says.
    #[must_use]
    pub fn of_record(record: &Record, otherwise: Self) -> Self {
        Self {
            mode: record.mode.unwrap_or(otherwise.mode),
            element: record.element.unwrap_or(otherwise.element),
            op: record.op.unwrap_or(otherwise.op),
        }
    }
}

impl Default for Problem {
    /// What the protocol of baselines is about, and rows that do not say anything else.
    fn default() -> Self {
        Self { mode: Mode::Inclusive, element: Element::U32, op: Operator::Add }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.mode, self.element, self.op)
    }
}
