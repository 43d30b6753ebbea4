//! Formulas: what follows from the number of elements.

use std::num::NonZero;

use crate::layout::{GROUP_TILES, ROW, TICKET_BYTES};
use crate::levels::Levels;
use crate::scratch::{Scratch, ScratchContent, Tickets};

/// What of a kernel depends on the number of elements: workgroups, tickets, scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Formula {
    /// Elements of a tile.
    pub tile_elements: NonZero<u64>,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// How tiles are split over workgroups.
    pub split: Split,
    /// Tickets that a call takes.
    pub tickets: TicketRule,
    /// The states of tiles; none where workgroups pass no totals on.
    pub states: Option<StatesFormula>,
}

/// How tiles are split over workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Split {
    /// Each has one.
    Tiles,
    /// Each has one or more, and there are so many workgroups at most.
    AtMost(u32),
    /// The same; few elements are split by rows that are smaller than tiles.
    AtMostOrFew(FewSplit),
    /// One has all.
    One,
    /// Each has one, in passes over [`Levels`].
    ByLevels,
}

/// How few elements are split over workgroups that wait for nobody, and more over workgroups that have tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FewSplit {
    /// Workgroups at most, where each has one tile or more.
    pub most: u32,
    /// Elements of a row. Of few elements, each workgroup has one.
    pub row_elements: NonZero<u32>,
    /// Rows at most: more elements than they hold are not few.
    pub rows: u32,
}

impl FewSplit {
    /// Whether so many elements are few.
    #[must_use]
    pub fn is_few(&self, n: u64) -> bool {
        n <= u64::from(self.row_elements.get()) * u64::from(self.rows)
    }
}

/// How many tickets a call takes from a counter that goes on from call to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TicketRule {
    /// None.
    None,
    /// One per workgroup.
    Workgroups,
    /// One for each full tile that a workgroup scans, and one more, with which it stops.
    WorkgroupsAndFullTiles,
    /// The same without the first: workgroups whose first tile is full take as many as they scan. None where every
    /// tile is the first one of a workgroup.
    FullTilesBehindFirst,
}

/// What workgroups that pass totals on have in the scratch memory: behind the ticket, and the sums of groups that are
/// added up, a state for each tile, and behind these one for each group that is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatesFormula {
    /// What is expected there before a call.
    pub content: ScratchContent,
    /// Bytes from one state to the next.
    pub bytes: u32,
    /// Words of a state from one to the next one, as a multiple of those that it has.
    pub stride: u32,
    /// Where the states begin.
    pub begin: StatesBegin,
    /// How groups come by their totals; none where the lookback has no groups.
    pub groups: Option<GroupState>,
}

/// Where tile states begin in the scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StatesBegin {
    /// At so many bytes, whatever the number of elements is.
    At(u32),
    /// Right behind the sums of the groups that a call has, so that there is little to clear.
    BehindGroups,
}

/// How the groups of a two-level lookback come by their totals (`stages/state/group_state.glsl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum GroupState {
    /// Every tile adds its own, atomically, to words of 64 bits: sums of integers.
    Added,
    /// The last tile of the group combines those of all, and publishes that as tiles do: everything else.
    Published,
}

/// Room for so many records: their words stand in rows.
fn in_rows(records: u64) -> u64 {
    records.next_multiple_of(ROW)
}

impl Formula {
    /// Tiles of so many elements.
    #[must_use]
    pub fn tiles(&self, n: u64) -> u64 {
        n.div_ceil(self.tile_elements.get())
    }

    /// Workgroups of a call; by levels, those of the passes over the input.
    #[must_use]
    pub fn workgroups(&self, n: u64) -> u64 {
        match self.split {
            Split::Tiles | Split::ByLevels => self.tiles(n),
            Split::AtMostOrFew(few) if few.is_few(n) => n.div_ceil(u64::from(few.row_elements.get())),
            Split::AtMost(most) | Split::AtMostOrFew(FewSplit { most, .. }) => self.tiles(n).min(most.into()),
            Split::One => 1,
        }
    }

    /// Whether workgroups of a call of so many elements may wait for each other.
    #[must_use]
    pub fn is_split_by_tiles(&self, n: u64) -> bool {
        !matches!(self.split, Split::AtMostOrFew(few) if few.is_few(n))
    }

    /// Tickets of a call.
    #[must_use]
    pub fn tickets(&self, n: u64) -> Tickets {
        let full_tiles = || u32::try_from(n / self.tile_elements).unwrap_or(u32::MAX);
        match self.tickets {
            TicketRule::None => Tickets::None,
            TicketRule::Workgroups => Tickets::PerWorkgroup { more: 0 },
            TicketRule::WorkgroupsAndFullTiles => Tickets::PerWorkgroup { more: full_tiles() },
            TicketRule::FullTilesBehindFirst if self.workgroups(n) >= self.tiles(n) => Tickets::Exactly(0),
            TicketRule::FullTilesBehindFirst => Tickets::Exactly(full_tiles()),
        }
    }

    /// Words of 8 bytes that a call writes in a bank of sums of groups.
    #[must_use]
    pub fn bank_words(&self, n: u64) -> u64 {
        if self.states.is_none_or(|states| states.groups != Some(GroupState::Added)) {
            return 0;
        }
        match u64::from(self.element_bytes) {
            ..=4 => self.groups(n),
            bytes => in_rows(self.groups(n)) * (bytes / 4),
        }
    }

    fn groups(&self, n: u64) -> u64 {
        self.tiles(n).div_ceil(GROUP_TILES)
    }

    /// Where the tile states begin in the scratch memory, in bytes; 0 where there are none.
    #[must_use]
    pub fn states_offset(&self, n: u64) -> u64 {
        match self.states.map(|states| states.begin) {
            None => 0,
            Some(StatesBegin::At(offset)) => offset.into(),
            Some(StatesBegin::BehindGroups) => TICKET_BYTES + 8 * self.bank_words(n),
        }
    }

    /// Where shaders find their groups in the scratch memory, in bytes: published ones behind the states, where there
    /// is room for at least one, and what is added to behind the ticket.
    #[must_use]
    pub fn groups_offset(&self, n: u64) -> u64 {
        match self.states {
            Some(StatesFormula { groups: Some(GroupState::Published), bytes, .. }) => {
                self.states_offset(n) + in_rows(self.tiles(n)) * u64::from(bytes)
            }
            _ => TICKET_BYTES,
        }
    }

    /// Bytes of scratch memory.
    #[must_use]
    pub fn scratch_bytes(&self, n: u64) -> u64 {
        if self.split == Split::ByLevels {
            return Levels::new(self.tile_elements, n).bytes(self.element_bytes.into());
        }
        let Some(states) = self.states else { return 0 };
        let published = match states.groups {
            Some(GroupState::Published) => self.groups(n),
            Some(GroupState::Added) | None => 0,
        };
        let records = in_rows(self.tiles(n)) + in_rows(published);
        self.states_offset(n) + records * u64::from(states.bytes)
    }

    /// What is expected in the scratch memory before a call.
    #[must_use]
    pub fn content(&self, n: u64) -> ScratchContent {
        match self.states {
            Some(states) => states.content,
            None if self.scratch_bytes(n) == 0 => ScratchContent::None,
            None => ScratchContent::Overwritten,
        }
    }

    /// The scratch memory of calls of `n` elements, laid out for `most`. Where the device counts calls it is the same
    /// for all of them, who clear and write what the largest one does.
    pub(crate) fn scratch(&self, most: u64, n: u64) -> Scratch {
        let used = Scratch { bytes: self.scratch_bytes(most), content: self.content(most), ..Scratch::NONE };
        let Some(states) = self.states else { return used };
        let n = if matches!(states.content, ScratchContent::SelfTurning { .. }) { most } else { n };
        let bank_words = u32::try_from(self.bank_words(n)).unwrap_or(u32::MAX);
        Scratch { bank_words, tiles: self.tiles(n), state_stride: states.stride, ..used }
    }
}
