//! The bookkeeping of the scratch memory, against a model of the memory itself.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use scanbox_kernels::ledger::{Ledger, Turn};
use scanbox_kernels::plan::{Scratch, ScratchContent};

const TAGGED: ScratchContent = ScratchContent::Tagged { epoch_bits: 30 };
const TURNING: ScratchContent = ScratchContent::SelfTurning { epoch_bits: 30 };
const HALVES: ScratchContent = ScratchContent::Tagged { epoch_bits: 14 };

fn scratch(content: ScratchContent, bank_words: u32) -> Scratch {
    Scratch { bytes: 1024, content, bank_words, tiles: 7, state_stride: 1 }
}

/// What the scratch memory holds.
#[derive(Debug)]
struct Memory {
    /// Whether anything may stand anywhere.
    unknown: bool,
    ticket: u32,
    /// The epochs of the tile states, wherever they stand.
    tags: BTreeSet<u32>,
    /// Bits of those epochs: a word of another length is read as any epoch.
    epoch_bits: u32,
    /// How many words at the beginning of each bank are not zero.
    banks: [u32; 2],
    /// What calls have left that the device has counted.
    turning: Option<Scratch>,
}

impl Memory {
    const CLEARED: Self = Self {
        unknown: false,
        ticket: 0,
        tags: BTreeSet::new(),
        epoch_bits: 0,
        banks: [0; 2],
        turning: None,
    };

    /// A call that takes a turn: what it has to find, and what it leaves.
    fn call(&mut self, scratch: &Scratch, tickets: u32, turn: &Turn) -> Result<(), TestCaseError> {
        prop_assert!(turn.bank < 2);
        if turn.adopt {
            *self = Self::CLEARED;
        }
        match scratch.content {
            ScratchContent::None => prop_assert!(!turn.adopt, "memory of others is left alone"),
            ScratchContent::Anything => {
                prop_assert!(!turn.adopt, "the call clears what it uses itself");
                // In cleared memory every word has the tag 0.
                prop_assert!(turn.epoch != 0 && turn.ticket_base == 0 && turn.stale_groups == 0);
                self.unknown = true;
            }
            ScratchContent::Overwritten => {
                prop_assert!(!turn.adopt, "the call writes before it reads");
                self.unknown = true;
            }
            ScratchContent::Zeros => {
                prop_assert!(!self.unknown && self.ticket == 0 && self.tags.is_empty(), "{self:?}");
                prop_assert!(self.turning.is_none(), "{self:?}");
                prop_assert_eq!(self.banks, [0; 2]);
                prop_assert!(turn.epoch != 0 && turn.ticket_base == 0 && turn.stale_groups == 0);
            }
            ScratchContent::SelfTurning { .. } => {
                // What other calls of the same layout have left has earlier turns.
                let turning = Some(*scratch);
                prop_assert!(
                    !self.unknown && (self.turning.is_none() || self.turning == turning),
                    "{self:?}"
                );
                prop_assert!(self.tags.is_empty() && self.ticket == 0 && self.banks == [0; 2], "{self:?}");
                self.turning = turning;
            }
            ScratchContent::Tagged { epoch_bits } => {
                prop_assert!(self.turning.is_none(), "the device has counted here: {self:?}");
                prop_assert!(!self.unknown, "nobody has cleared what an earlier call left");
                prop_assert!(self.tags.is_empty() || self.epoch_bits == epoch_bits, "{self:?}");
                self.epoch_bits = epoch_bits;
                prop_assert!((1..1 << epoch_bits).contains(&turn.epoch));
                prop_assert!(self.tags.insert(turn.epoch), "epoch {} came before", turn.epoch);
                prop_assert_eq!(turn.ticket_base, self.ticket);
                self.ticket = self.ticket.wrapping_add(tickets);
                if scratch.bank_words > 0 {
                    let [own, other] = [turn.bank, 1 - turn.bank].map(|bank| bank as usize);
                    prop_assert_eq!(self.banks[own], 0, "bank {} has sums of an earlier call", own);
                    prop_assert!(turn.stale_groups >= self.banks[other], "{turn:?} on {self:?}");
                    self.banks[own] = scratch.bank_words;
                    self.banks[other] = 0;
                }
            }
        }
        Ok(())
    }
}

fn any_scratch() -> impl Strategy<Value = Scratch> {
    let tagged = prop_oneof![Just(0), 1u32..1 << 16].prop_map(|groups| scratch(TAGGED, groups));
    prop_oneof![
        1 => Just(Scratch::NONE),
        1 => Just(scratch(ScratchContent::Anything, 3)),
        1 => Just(scratch(ScratchContent::Overwritten, 0)),
        1 => Just(scratch(ScratchContent::Zeros, 3)),
        2 => (1u64..3, 0u32..2, 1u32..3).prop_map(|(tiles, bank_words, state_stride)| {
            Scratch { tiles, state_stride, ..scratch(TURNING, bank_words) }
        }),
        1 => Just(scratch(HALVES, 0)),
        7 => tagged,
    ]
}

proptest! {
    /// Whatever is called in whatever order: no call sees a tag of an earlier call, a ticket other than the one it
    /// expects, or a sum in its bank of group sums.
    #[test]
    fn no_call_sees_what_an_earlier_one_left(
        before_the_end in 2u32..41,
        halves in prop::bool::ANY,
        calls in prop::collection::vec((any_scratch(), 1u32..u32::MAX, prop::bool::weighted(0.05)), 1..200),
    ) {
        let (mut ledger, mut memory) = (Ledger::default(), Memory { unknown: true, ..Memory::CLEARED });
        let (content, bits) = if halves { (HALVES, 14) } else { (TAGGED, 30) };
        let start = (1u32 << bits) - before_the_end;
        let first = scratch(content, 0);
        let turn = ledger.turn(&first, 0);
        prop_assert!(turn.adopt, "fresh memory is adopted");
        memory.call(&first, 0, &turn)?;
        // Close to the last epoch.
        ledger.advance_to(start, 0);
        memory.tags.insert(start);
        for (scratch, tickets, forget) in calls {
            if forget {
                ledger.forget();
                memory.unknown = true;
            }
            let turn = ledger.turn(&scratch, tickets);
            memory.call(&scratch, tickets, &turn)?;
        }
    }
}

#[test]
fn memory_is_adopted_no_more_often_than_needed() {
    let mut ledger = Ledger::default();
    let mut check = |content, groups, adopts| {
        let turn = ledger.turn(&scratch(content, groups), 5);
        assert_eq!(turn.adopt, adopts, "{content:?}");
        turn
    };
    check(TAGGED, 0, true);
    assert_eq!(check(TAGGED, 7, false).stale_groups, 0);
    check(TAGGED, 0, false);
    check(HALVES, 0, true);
    check(HALVES, 0, false);
    assert_eq!(check(TAGGED, 7, true).stale_groups, 0);
    check(TAGGED, 0, false);
    check(ScratchContent::None, 0, false);
    assert_eq!(check(TAGGED, 3, false).stale_groups, 7);
    assert_eq!(check(TAGGED, 2, false).ticket_base, 15);
    check(ScratchContent::Zeros, 0, true);
    check(ScratchContent::Zeros, 0, false);
    check(ScratchContent::Anything, 0, false);
    check(ScratchContent::Zeros, 0, true);
    check(ScratchContent::Overwritten, 0, false);
    check(ScratchContent::Overwritten, 0, false);
    check(TAGGED, 0, true);
    check(ScratchContent::Zeros, 0, true);
    assert_eq!(check(TAGGED, 3, true).stale_groups, 0);
    check(TURNING, 3, true);
    check(TURNING, 3, false);
    check(ScratchContent::None, 0, false);
    check(TURNING, 3, false);
    check(TURNING, 4, true);
    check(TURNING, 4, false);
    check(ScratchContent::SelfTurning { epoch_bits: 14 }, 4, true);
    check(TAGGED, 3, true);
    check(TURNING, 4, true);
}

#[test]
fn plans_without_scratch_memory_leave_it_alone() {
    let mut ledger = Ledger::default();
    let before = ledger.clone();
    assert!(!ledger.turn(&Scratch::NONE, 5).adopt);
    assert_eq!(ledger, before);
}
