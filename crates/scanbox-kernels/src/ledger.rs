//! Bookkeeping of the scratch memory: which epochs and tickets it has seen.
//!
//! Epoch-tagged states need no clearing as long as no epoch comes twice and no other word is read as a tag. The ticket
//! counts on from call to call. Both are known without reading memory back, as long as every call that was recorded
//! also ran to its end; after anything else, and after plans that leave something else behind, the memory is filled
//! and the count starts anew.

use crate::plan::{Scratch, ScratchContent};

/// The epoch of calls that find zeros. No other call ever uses it.
const ZEROS_EPOCH: u32 = 1;

/// What the scratch memory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    content: ScratchContent,
    /// The memory that the device counts the turns of, as the last call had it.
    turning: Scratch,
    last_epoch: u32,
    ticket: u32,
    /// The bank that the next call uses: all zeros.
    bank: u32,
    /// Words of the other bank that are not zero.
    stale_groups: u32,
}

/// What a call has to know about the scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Fill the whole scratch memory with zeros first. Not a part of the measured time: it is needed on fresh memory,
    /// after plans that leave something else behind, and when the epochs have run out.
    pub adopt: bool,
    /// The value of [`crate::plan::PushWord::Epoch`].
    pub epoch: u32,
    /// The value of [`crate::plan::PushWord::TicketBase`].
    pub ticket_base: u32,
    /// The value of [`crate::plan::PushWord::Bank`].
    pub bank: u32,
    /// The value of [`crate::plan::PushWord::StaleGroups`].
    pub stale_groups: u32,
}

impl Turn {
    /// The turn of a plan without scratch memory.
    pub const NONE: Self = Self { adopt: false, epoch: 0, ticket_base: 0, bank: 0, stale_groups: 0 };
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            content: ScratchContent::Anything,
            turning: Scratch::NONE,
            last_epoch: ZEROS_EPOCH,
            ticket: 0,
            bank: 0,
            stale_groups: 0,
        }
    }
}

impl Ledger {
    /// Takes the next turn: a call that takes this many tickets.
    pub fn turn(&mut self, scratch: &Scratch, tickets: u32) -> Turn {
        let turn = |adopt| Turn { adopt, epoch: ZEROS_EPOCH, ..Turn::NONE };
        match scratch.content {
            ScratchContent::None => turn(false),
            // The plan clears its memory itself, or needs it as little as others can use what it leaves.
            ScratchContent::Anything | ScratchContent::Overwritten => {
                self.forget();
                turn(false)
            }
            ScratchContent::Zeros => {
                let adopt = self.content != ScratchContent::Zeros;
                *self = Self { content: ScratchContent::Zeros, ..Self::default() };
                turn(adopt)
            }
            ScratchContent::SelfTurning { .. } => {
                // A state that other calls have left, and these do not write, would meet its epoch again when epochs
                // begin anew: here nobody counts how often that happens.
                let adopt = self.turning != *scratch;
                *self = Self { content: scratch.content, turning: *scratch, ..Self::default() };
                turn(adopt)
            }
            ScratchContent::Tagged { epoch_bits } => {
                // 0 is what cleared memory holds.
                let last_epoch = (1 << epoch_bits) - 1;
                let adopt = self.content != scratch.content || self.last_epoch == last_epoch;
                if adopt {
                    *self = Self { content: scratch.content, ..Self::default() };
                }
                self.last_epoch += 1;
                let ticket_base = self.ticket;
                self.ticket = ticket_base.wrapping_add(tickets);
                let mut turn = Turn { adopt, epoch: self.last_epoch, ticket_base, ..Turn::NONE };
                if scratch.bank_words > 0 {
                    turn.bank = self.bank;
                    turn.stale_groups = std::mem::replace(&mut self.stale_groups, scratch.bank_words);
                    self.bank = 1 - self.bank;
                }
                turn
            }
        }
    }

    /// Takes the next `count` turns, of calls in a row that take so many tickets each. At most the first of them asks
    /// for cleared memory, so that it can be cleared outside of the measured time.
    pub fn turns(&mut self, count: u32, scratch: &Scratch, tickets: u32) -> Vec<Turn> {
        let take =
            |ledger: &mut Self| -> Vec<Turn> { (0..count).map(|_| ledger.turn(scratch, tickets)).collect() };
        let turns = take(self);
        if turns.iter().skip(1).any(|turn| turn.adopt) {
            // The epochs ended amid the calls: start with new ones. Turns that are not used do no harm.
            self.forget();
            return take(self);
        }
        turns
    }

    /// Forgets everything: the memory is new, or a call did not run to its end.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Pretends that this many epochs and tickets have been used, for tests of the wrap.
    pub fn advance_to(&mut self, last_epoch: u32, ticket: u32) {
        self.last_epoch = last_epoch;
        self.ticket = ticket;
    }
}
