//! Bookkeeping of the scratch memory: which epochs and tickets it has seen.
//!
//! Epoch-tagged states need no clearing as long as no epoch comes twice and no word of another format is read as a
//! tag. The ticket counts on from call to call. Both are known without reading memory back, as long as every call
//! that was recorded also ran to its end; after anything else the memory is filled and the count starts anew.

use scanbox_kernels::plan::{Scratch, ScratchFormat};

/// Epochs have 30 bits in the state word; 0 is what cleared memory holds.
const LAST_EPOCH: u32 = (1 << 30) - 1;
/// The epoch of calls whose states are cleared before each of them. No other call ever uses it.
const FILLED_EPOCH: u32 = 1;

/// What the scratch memory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    format: ScratchFormat,
    last_epoch: u32,
    ticket: u32,
}

/// What a call has to know about the scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Fill the whole scratch memory with zeros first. Not a part of the measured time: it is needed when the format
    /// changes, on fresh memory, and once in 2^30 calls.
    pub adopt: bool,
    /// The value of [`scanbox_kernels::plan::Word::Epoch`].
    pub epoch: u32,
    /// The value of [`scanbox_kernels::plan::Word::TicketBase`].
    pub ticket_base: u32,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { format: ScratchFormat::None, last_epoch: FILLED_EPOCH, ticket: 0 }
    }
}

impl Ledger {
    /// Takes the next turn: a call that starts `workgroups` workgroups, each of which takes one ticket.
    pub fn turn(&mut self, scratch: &Scratch, workgroups: u32) -> Turn {
        if scratch.format == ScratchFormat::None {
            return Turn { adopt: false, epoch: FILLED_EPOCH, ticket_base: 0 };
        }
        let adopt = self.format != scratch.format || self.last_epoch == LAST_EPOCH;
        if adopt {
            *self = Self { format: scratch.format, ..Self::default() };
        }
        if scratch.fill_each_call {
            // Its fill clears the ticket too; tiles beyond its own keep words of earlier epochs.
            self.ticket = workgroups;
            return Turn { adopt, epoch: FILLED_EPOCH, ticket_base: 0 };
        }
        self.last_epoch += 1;
        let ticket_base = self.ticket;
        self.ticket = ticket_base.wrapping_add(workgroups);
        Turn { adopt, epoch: self.last_epoch, ticket_base }
    }

    /// Forgets everything: the memory is new, or a call did not run to its end.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Pretends that this many epochs and tickets have been used, for tests of the wrap.
    #[doc(hidden)]
    pub fn advance_to(&mut self, last_epoch: u32, ticket: u32) {
        self.last_epoch = last_epoch;
        self.ticket = ticket;
    }
}
