//! What a recipe has to be like so that no formula overflows and every step finds what it names.

use super::{Soundness, ensure, within};
use crate::formula::{FewSplit, Formula, GroupState, Split, StatesBegin, StatesFormula, TicketRule};
use crate::layout::{ARGUMENT_WORDS, BANK_WORDS, FIRST_TURN, STATES_OFFSET, TICKET_BYTES};
use crate::recipe::{
    ArgumentKind, CallSizes, FillRecipe, Place, Prepare, Recipe, RecipePass, RecipePasses, RecipeWord,
    ScratchPart,
};
use crate::scratch::{PushWord, ScratchContent};

/// Bytes of push constants that every device takes.
const PUSH_BYTES: usize = 128;
/// Bytes from one tile state to the next at most: elements of 16 bytes twice, far apart.
const MOST_STATE_BYTES: u32 = 1 << 14;

pub(super) fn recipe(recipe: &Recipe<u16>, modules: usize) -> Soundness {
    let Recipe { formula, min_n, max_n, alignment, co_resident, arguments, fill, prepare: first, .. } =
        recipe;
    ensure(min_n <= max_n && (1..=u64::from(u32::MAX)).contains(max_n), || {
        format!("it takes {min_n} to {max_n} elements; words of 32 bits count them")
    })?;
    ensure((4..=256).contains(alignment) && alignment.is_power_of_two(), || {
        format!("an alignment of {alignment} bytes")
    })?;
    self::formula(formula, *max_n)?;
    ensure(!co_resident || matches!(formula.split, Split::AtMost(_) | Split::AtMostOrFew(_)), || {
        "all workgroups run at the same time, however many there are".to_owned()
    })?;
    ensure(!co_resident || *arguments != ArgumentKind::Baked, || {
        "workgroups that have to run at the same time, of which fewer fit with another number of elements baked"
            .to_owned()
    })?;
    let content = formula.content(*max_n);
    ensure(fill.is_some() == (content == ScratchContent::Anything), || {
        format!("a fill {}, where scratch memory has {content:?}", fill.is_some())
    })?;
    if let Some(fill) = fill {
        self::fill(fill, modules, *arguments)?;
    }
    ensure(first.is_some() != content.is_stateless(), || {
        format!("something in front of first calls {}, where scratch memory has {content:?}", first.is_some())
    })?;
    if let Some(first) = first {
        prepare(first, content, modules)?;
    }
    let by_levels = matches!(recipe.passes, RecipePasses::ByLevels(_));
    ensure(by_levels == (formula.split == Split::ByLevels), || "passes of another kind".to_owned())?;
    for one in recipe.all_passes() {
        pass(one, modules, *arguments)?;
        for place in &one.places {
            let is_there = match place {
                Place::Scratch(ScratchPart::Level | ScratchPart::LevelAbove) => by_levels,
                Place::Scratch(ScratchPart::All | ScratchPart::Groups | ScratchPart::States) => {
                    formula.states.is_some()
                }
                Place::Elements => {
                    recipe.call_sizes == CallSizes::InMemory && *arguments == ArgumentKind::Pushed
                }
                Place::Counts | Place::Scratch(ScratchPart::Turn) => false,
                Place::Source | Place::Target | Place::Total | Place::Initial => true,
            };
            ensure(is_there, || format!("a pass works on {place:?}, which it does not have"))?;
        }
    }
    Ok(())
}

fn fill(fill: &FillRecipe<u16>, modules: usize, arguments: ArgumentKind) -> Soundness {
    ensure(fill.words_per_workgroup > 0, || "a fill that fills nothing".to_owned())?;
    pass(&fill.pass, modules, arguments)?;
    ensure(fill.pass.places.iter().all(|place| *place == Place::Scratch(ScratchPart::All)), || {
        "a fill of something else than the scratch memory".to_owned()
    })
}

/// A first call needs zeros, and the first turn where the device counts.
fn prepare(prepare: &Prepare<u16>, content: ScratchContent, modules: usize) -> Soundness {
    let Prepare { zeros, turn } = prepare;
    let value = |value| RecipeWord::Same(PushWord::Value(value));
    fill(zeros, modules, ArgumentKind::Pushed)?;
    ensure(zeros.pass.words == [RecipeWord::Elements, value(0)], || {
        "something else than zeros in front of first calls".to_owned()
    })?;
    ensure(turn.is_some() == matches!(content, ScratchContent::SelfTurning { .. }), || {
        format!("a first turn {}, where scratch memory has {content:?}", turn.is_some())
    })?;
    let Some(turn) = turn else { return Ok(()) };
    pass(turn, modules, ArgumentKind::Pushed)?;
    let places = [Place::Scratch(ScratchPart::Turn)];
    ensure(turn.places == places && turn.words == [value(1), value(FIRST_TURN)], || {
        "a first turn that is another one, or elsewhere".to_owned()
    })
}

fn formula(formula: &Formula, max_n: u64) -> Soundness {
    let Formula { tile_elements, element_bytes, split, tickets, states } = formula;
    ensure(tile_elements.get() <= u64::from(u32::MAX), || format!("tiles of {tile_elements} elements"))?;
    super::element_bytes(*element_bytes)?;
    let no_workgroups = match split {
        Split::AtMost(most) => *most == 0,
        Split::AtMostOrFew(FewSplit { most, rows, .. }) => *most == 0 || *rows == 0,
        Split::Tiles | Split::One | Split::ByLevels => false,
    };
    ensure(!no_workgroups, || "no workgroups".to_owned())?;
    if *split == Split::ByLevels {
        ensure(tile_elements.get() > 1, || "levels without end".to_owned())?;
        ensure(states.is_none() && *tickets == TicketRule::None, || "levels with tile states".to_owned())?;
    }
    let Some(StatesFormula { content, bytes, stride, begin, groups }) = states else { return Ok(()) };
    ensure(bytes.is_multiple_of(4) && (4..=MOST_STATE_BYTES).contains(bytes), || {
        format!("tile states of {bytes} bytes")
    })?;
    ensure((1..=bytes / 4).contains(stride), || format!("{stride} as the stride of {bytes} bytes"))?;
    match content {
        ScratchContent::Anything | ScratchContent::Zeros => {}
        ScratchContent::SelfTurning { epoch_bits } => {
            ensure((1..=32).contains(epoch_bits), || format!("epochs of {epoch_bits} bits"))?;
        }
        ScratchContent::Tagged { .. } => {
            return Err(
                "the host counts its calls, so that a recording is good for one submission".to_owned()
            );
        }
        ScratchContent::None | ScratchContent::Overwritten => {
            return Err(format!("tile states in scratch memory with {content:?}"));
        }
    }
    let added = *groups == Some(GroupState::Added);
    match begin {
        StatesBegin::BehindGroups => {
            ensure(*content == ScratchContent::Anything, || "states that move with the size stay".to_owned())
        }
        StatesBegin::At(offset) => {
            let offset = u64::from(*offset);
            let least = if added { STATES_OFFSET } else { TICKET_BYTES };
            ensure(offset.is_multiple_of(4) && (least..=1 << 30).contains(&offset), || {
                format!("tile states begin at {offset}, and {least} bytes are others'")
            })?;
            let words = formula.bank_words(max_n);
            ensure(words <= BANK_WORDS, || format!("{words} words of groups, and a bank has {BANK_WORDS}"))
        }
    }
}

fn pass(pass: &RecipePass<u16>, modules: usize, arguments: ArgumentKind) -> Soundness {
    let RecipePass { module, places, words } = pass;
    ensure(usize::from(*module) < modules, || format!("it names module {module}, and there are {modules}"))?;
    match arguments {
        // Workgroups in a row and in all, addresses, words.
        ArgumentKind::Pushed => {
            within("bytes of arguments", 8 + 8 * places.len() + 4 * words.len(), PUSH_BYTES)?;
        }
        // Source and target, a record, the other addresses, workgroups in a row, words but for the length.
        ArgumentKind::Line | ArgumentKind::Baked => {
            ensure(places.len() >= 2 && words.first() == Some(&RecipeWord::Elements), || {
                "a line without source, target and length".to_owned()
            })?;
            within("words of a line", 2 * places.len() + 4 + words.len(), ARGUMENT_WORDS)?;
        }
    }
    Ok(())
}
