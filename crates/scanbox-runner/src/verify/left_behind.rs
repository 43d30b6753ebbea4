//! What a call leaves in the scratch memory: what the next one counts on. That it does not shows in a wrong element at
//! most by a race, since the states of two calls in a row are mostly alike.

use scanbox_kernels::plan::{BANK_WORDS, FIRST_TURN, Plan, ScratchContent, TICKET_BYTES, TURN_WORD};
use scanbox_model::config::TileState;
use scanbox_model::record::Status;

use crate::backend::{Backend, Failure};

/// Reads what a call has left. `before` is the turn that the call had, where that is known and the call has more than
/// one tile; returned is that of the next one, where the device counts.
///
/// # Errors
/// Where a word is not what the next call expects, or the device fails.
pub(super) fn check(
    backend: &mut dyn Backend,
    plan: &Plan,
    before: Option<u32>,
) -> Result<Option<u32>, Failure> {
    check_banks(backend, plan)?;
    let (bytes, epoch_bits) = match plan.scratch.content {
        ScratchContent::Zeros => (plan.scratch.bytes, None),
        ScratchContent::SelfTurning { epoch_bits } => (TICKET_BYTES, Some(epoch_bits)),
        _ => return Ok(None),
    };
    let Some(words) = backend.scratch_content(0, (bytes / 4) as usize)? else { return Ok(None) };
    // New memory has a turn, whoever it is for.
    let not_cleared = |(place, word): &(usize, &u32)| **word != 0 && *place as u64 != TURN_WORD;
    if let Some((place, word)) = words.iter().enumerate().find(not_cleared) {
        let reason = format!(
            "the next call would not find the scratch memory as it expects it: word {place} is {word:#x}, and must be 0"
        );
        return Err(Failure::new(Status::WrongResult, reason));
    }
    let Some(epoch_bits) = epoch_bits else { return Ok(None) };
    let (first, last) = (FIRST_TURN, (1 << epoch_bits) - 1);
    let turn = words[TURN_WORD as usize];
    let is_next = before.is_none_or(|before| turn == if before == last { first } else { before + 1 });
    if !(first..=last).contains(&turn) || !is_next {
        let behind = before.map_or_else(String::new, |before| format!(" behind {before}"));
        let reason = format!(
            "the next call would not know its turn: that is {turn:#x}{behind}, of turns from {first} to {last:#x}"
        );
        return Err(Failure::new(Status::WrongResult, reason));
    }
    Ok(Some(turn))
}

/// Reads both banks of groups to which tiles add their totals: that of the next call has to be empty, since each call
/// clears the other one.
fn check_banks(backend: &mut dyn Backend, plan: &Plan) -> Result<(), Failure> {
    let words = 2 * plan.scratch.bank_words as usize;
    let is_cleared_ahead =
        matches!(plan.scratch.content, ScratchContent::Tagged { .. } | ScratchContent::SelfTurning { .. });
    if words == 0 || !is_cleared_ahead {
        return Ok(());
    }
    for bank in 0..2 {
        let begin = TICKET_BYTES + bank * 8 * BANK_WORDS;
        let content = backend.scratch_content(begin, words)?;
        if content.is_none_or(|words| words.iter().all(|word| *word == 0)) {
            return Ok(());
        }
    }
    let reason = "the next call would not find its groups of tiles empty: both banks of them hold sums";
    Err(Failure::new(Status::WrongResult, reason))
}

/// Reads the states that the calls with the last and the first turn leave behind: there is none of another turn, since
/// one of as many turns later would take it for its own.
///
/// # Errors
/// Where there is one, or the device fails.
pub(super) fn check_epochs(backend: &mut dyn Backend, plan: &Plan, turn: u32) -> Result<(), Failure> {
    let ScratchContent::SelfTurning { epoch_bits } = plan.scratch.content else { return Ok(()) };
    let offset = plan.states_offset();
    let words = (plan.scratch.bytes - offset) / 4;
    let Some(words) = backend.scratch_content(offset, words as usize)? else { return Ok(()) };
    // The upper half of a word of 64 bits, and the upper bits of one of 32.
    let is_split = plan.build().and_then(|build| build.tile_state) == Some(TileState::Split);
    let (skip, step) = if is_split { (0, 1) } else { (1, 2) };
    let tags = words.iter().enumerate().skip(skip).step_by(step);
    let epochs = tags.map(|(place, word)| (place, word >> (u32::BITS - epoch_bits)));
    match epochs.into_iter().find(|(_, epoch)| *epoch != 0 && *epoch != turn) {
        None => Ok(()),
        Some((place, epoch)) => {
            let reason = format!(
                "a state of turn {epoch:#x} is left behind the call with turn {turn:#x}, which ends or begins the count: \
                 the next call with that turn would take it for its own (word {place} of the states)"
            );
            Err(Failure::new(Status::WrongResult, reason))
        }
    }
}
