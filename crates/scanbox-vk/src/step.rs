//! Steps of recipes as dispatches. Nothing here allocates.

use ash::vk;
use scanbox_pack::{Place, PushWord, Step};

use crate::line::LineWords;
use crate::push::{Push, spread};
use crate::record::{Dispatch, Told};

/// The epoch of calls that find zeros, and of those that nobody counts.
const FIRST_EPOCH: u32 = 1;

/// Memory that a call works on, by address: 0 where its kernel uses none of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallMemory {
    /// What is scanned.
    pub source: u64,
    /// The scan.
    pub target: u64,
    /// The scratch memory.
    pub scratch: u64,
    /// What workgroups count in: builds for measuring alone.
    pub counts: u64,
    /// Where the total goes.
    pub total: u64,
    /// What the scan begins with.
    pub initial: u64,
    /// The word that says how many elements there are.
    pub elements: u64,
}

impl CallMemory {
    /// The address of a place.
    #[must_use]
    pub fn address(&self, place: Place) -> u64 {
        match place {
            Place::Source => self.source,
            Place::Target => self.target,
            Place::Scratch(offset) => self.scratch + offset,
            Place::Counts => self.counts,
            Place::Total => self.total,
            Place::Initial => self.initial,
            Place::Elements => self.elements,
        }
    }
}

/// A word of calls that the host does not count.
fn uncounted(word: PushWord) -> u32 {
    match word {
        PushWord::Value(value) => value,
        PushWord::Epoch => FIRST_EPOCH,
        PushWord::TicketBase | PushWord::Bank | PushWord::StaleGroups => 0,
    }
}

/// The dispatch of a step that is told by push constants, of calls that the host does not count: all but those whose
/// scratch memory is [`scanbox_pack::ScratchContent::Tagged`]. `max`: workgroups of each dimension at most.
/// `None` where there are too many workgroups or arguments.
#[must_use]
pub fn pushed<M>(
    step: &Step<'_, M>,
    pipeline: vk::Pipeline,
    memory: &CallMemory,
    max: [u32; 3],
) -> Option<Dispatch> {
    let groups = spread(step.workgroups, max)?;
    let mut push = Push::new([groups[0], groups[0] * groups[1]]);
    for place in step.places() {
        push.add_address(memory.address(place))?;
    }
    for word in step.words() {
        push.add_word(uncounted(word))?;
    }
    Some(Dispatch { pipelines: [pipeline; 2], told: Told::Pushed(push), groups })
}

/// What a step is told that reads no push constants, of calls that the host does not count, and its workgroups in a row
/// and rows. `None` where there are too many workgroups or arguments, or neither source nor length.
#[must_use]
pub fn in_line<M>(step: &Step<'_, M>, memory: &CallMemory, max: [u32; 3]) -> Option<(LineWords, [u32; 2])> {
    let groups = spread(step.workgroups, max)?;
    let mut addresses = step.places().map(|place| memory.address(place));
    let data = [addresses.next()?, addresses.next()?];
    let mut words = step.words().map(uncounted);
    let n = words.next()?;
    let line = LineWords::new(data, addresses, [groups[0], groups[0] * groups[1]], n, words)?;
    Some((line, groups))
}
