//! Which kernels work on scratch memory of unknown content: the contract of a library call, which knows of no call
//! before it.

use crate::config::{Family, Reset};
use crate::parameters::Totals;
use crate::record::Record;

impl Family {
    /// Whether a call needs nothing from the call before, with the reset that runs (never `auto`): it clears the
    /// memory that it needs itself, or has none that it does not write before it reads.
    #[must_use]
    pub fn is_stateless(self, reset: Reset) -> bool {
        // Clean leaves zeros for the next call, and counts on finding them.
        self.entry().totals != Totals::PassedOn || reset == Reset::Fill
    }
}

impl Record {
    /// Whether its calls needed nothing from the call before ([`Family::is_stateless`]); `None` where the row does
    /// not say.
    #[must_use]
    pub fn is_stateless(&self) -> Option<bool> {
        Some(self.parameters.family?.is_stateless(self.parameters.reset?))
    }
}
