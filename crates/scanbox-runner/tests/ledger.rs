//! The bookkeeping of the scratch memory, against a model of the memory itself.

use proptest::prelude::*;
use scanbox_kernels::plan::{Scratch, ScratchFormat};
use scanbox_runner::ledger::Ledger;

fn scratch(format: ScratchFormat, fill_each_call: bool) -> Scratch {
    Scratch { bytes: 1024, format, fill_each_call }
}

proptest! {
    /// Whatever is called in whatever order: no call sees a tag of an earlier call, a word of another format, or a
    /// ticket other than the one it expects.
    #[test]
    fn no_call_sees_what_an_earlier_one_left(
        start in (1u32 << 30) - 40..(1 << 30) - 1,
        calls in prop::collection::vec((any::<bool>(), any::<bool>(), 1u32..u32::MAX, any::<bool>()), 1..200),
    ) {
        let mut ledger = Ledger::default();
        // The model: the ticket, the format of the words, and the tags that may stand among them.
        let turn = ledger.turn(&scratch(ScratchFormat::Word64, false), 1);
        prop_assert!(turn.adopt, "fresh memory is adopted");
        ledger.advance_to(start, 0);
        let (mut ticket, mut format, mut tags) = (0u32, ScratchFormat::Word64, vec![start]);
        for (packed, fill, workgroups, forget) in calls {
            if forget {
                ledger.forget();
            }
            let kind = if packed { ScratchFormat::Packed } else { ScratchFormat::Word64 };
            let turn = ledger.turn(&scratch(kind, fill || packed), workgroups);
            if turn.adopt {
                ticket = 0;
                tags = vec![0];
                format = kind;
            }
            prop_assert_eq!(format, kind);
            if fill || packed {
                // The part of the memory that this call reads is cleared; the rest keeps its tags.
                ticket = 0;
            } else {
                prop_assert!(!tags.contains(&turn.epoch), "epoch {} came before", turn.epoch);
            }
            prop_assert!(turn.epoch < 1 << 30);
            prop_assert_eq!(turn.ticket_base, ticket);
            tags.push(turn.epoch);
            ticket = ticket.wrapping_add(workgroups);
        }
    }
}

#[test]
fn plans_without_scratch_memory_leave_it_alone() {
    let mut ledger = Ledger::default();
    let before = ledger.clone();
    assert!(!ledger.turn(&scratch(ScratchFormat::None, false), 5).adopt);
    assert_eq!(ledger, before);
}
