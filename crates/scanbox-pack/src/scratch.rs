//! What a call expects of its scratch memory, and what it is told of it.

/// Scratch memory that a plan shares with all other plans of a session: the ticket, the sums of groups, the tile
/// states; or the levels of a scan by levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scratch {
    /// Bytes in use, ticket included; 0: none.
    pub bytes: u64,
    /// What the plan expects there before a call, and what it leaves.
    pub content: ScratchContent,
    /// Words of a bank that a call writes.
    pub bank_words: u32,
    /// Tile states that a call writes.
    pub tiles: u64,
    /// Words of a state from one to the next one, as a multiple of those that it has.
    pub state_stride: u32,
}

impl Scratch {
    /// No scratch memory.
    pub const NONE: Self =
        Self { bytes: 0, content: ScratchContent::None, bank_words: 0, tiles: 0, state_stride: 0 };
}

/// What scratch memory holds between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ScratchContent {
    /// There is none.
    None,
    /// Anything: the plan clears its memory before each call, as a part of the call.
    Anything,
    /// Tile states that carry the epoch of an earlier call, or zero; a ticket that has counted on; and two banks of
    /// sums of groups, at most one of which is not all zeros. States with epochs of different length do not stand
    /// side by side.
    Tagged {
        /// Bits of an epoch.
        epoch_bits: u32,
    },
    /// The same, but the device counts: the epoch of the next call stands in the memory, the ticket is zero
    /// between calls, and a call clears the sums that the one before it has left.
    SelfTurning {
        /// Bits of an epoch.
        epoch_bits: u32,
    },
    /// Zeros, which the last workgroup of a call leaves behind.
    Zeros,
    /// Anything: the plan reads nothing there that it has not written in the same call, and leaves nothing of use to
    /// others.
    Overwritten,
}

impl ScratchContent {
    /// Whether a call works whatever stands in the memory, because it clears or writes what it reads.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        matches!(self, Self::None | Self::Anything | Self::Overwritten)
    }
}

/// How many tickets a pass takes from the counter that goes on from call to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Tickets {
    /// None.
    None,
    /// One per workgroup that starts, and so many beside.
    PerWorkgroup {
        /// Beside them.
        more: u32,
    },
    /// So many, however many workgroups start.
    Exactly(u32),
}

/// A word of push constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PushWord {
    /// This value.
    Value(u32),
    /// The epoch of the call (see [`ScratchContent::Tagged`]): different from all that the scratch memory has seen.
    Epoch,
    /// The value of the ticket before the call.
    TicketBase,
    /// Which bank the call uses: one that is all zeros.
    Bank,
    /// How many words of the other bank the call has to clear.
    StaleGroups,
}
