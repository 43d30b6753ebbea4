//! What a config comes to on a problem, a size and a device: worked out in one place, and asked by the rules, the
//! shaders and the plan.

use scanbox_model::config::{Arguments, Config, Family, Kernel, Lookback, Reset, TileOrder, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Totals;
use scanbox_model::problem::{Element, Operator, Problem};

use super::levels;
use crate::input::{InputKind, PACKED_MAX_TOTAL};
use crate::plan::{GROUP_TILES, GUARD_WORDS, ROW, STATES_OFFSET, ScratchContent, TICKET_BYTES};

/// Compute units to launch workgroups for where the driver does not tell how many there are.
const ASSUMED_UNITS: u32 = 16;

/// Bits of the epoch in a 64-bit tile state, and in each word of a split one.
const WORD64_EPOCH_BITS: u32 = 30;
const SPLIT_EPOCH_BITS: u32 = 14;

/// The config with the values that `auto` stands for on this device: what a known issue forces, else what suits the
/// device.
#[must_use]
pub fn resolved(config: &Config, device: &DeviceProfile) -> Config {
    Config { kernel: resolve(&config.kernel, device), ..*config }
}

fn resolve(kernel: &Kernel, device: &DeviceProfile) -> Kernel {
    let tile_state = match (kernel.tile_state, device.forced.tile_state) {
        (TileState::Auto, Some(forced)) => forced,
        (TileState::Auto, None) if device.int64_atomics => TileState::Word64,
        (TileState::Auto, None) => TileState::Split,
        (given, _) => given,
    };
    let reset = match (kernel.reset, device.forced.reset) {
        (Reset::Auto, Some(forced)) => forced,
        (Reset::Auto, None) if tile_state == TileState::Packed => Reset::Fill,
        (Reset::Auto, None) => Reset::Epoch,
        (given, _) => given,
    };
    Kernel { tile_state, reset, ..*kernel }
}

/// The random input that a kernel can be verified and timed on: any, unless its tile state cannot carry it.
/// `largest_n` is the largest size of the session.
#[must_use]
pub fn input_kind(kernel: &Kernel, device: &DeviceProfile, largest_n: u64) -> InputKind {
    match resolve(kernel, device).tile_state {
        TileState::Packed if passes_totals_on(kernel.family) => {
            InputKind::Bounded { n: largest_n.min(PACKED_MAX_TOTAL) }
        }
        _ => InputKind::Random,
    }
}

/// Whether workgroups pass the totals of their tiles on through memory.
pub(super) fn passes_totals_on(family: Family) -> bool {
    family.entry().totals == Totals::PassedOn
}

/// Whether passes wait for each other instead of workgroups: the totals of tiles are an array that is scanned in
/// between.
pub(super) fn has_levels(family: Family) -> bool {
    family.entry().totals == Totals::ByLevels
}

/// Whether workgroups wait for others that have to run at the same time: persistent ones whose first tiles are not
/// handed out in the order in which they start.
pub(super) fn co_resident(kernel: &Kernel) -> bool {
    kernel.family == Family::Persistent && kernel.tile_order != TileOrder::Ticket
}

/// Workgroups that a config launches at most, whatever the size, where there is such a limit.
#[must_use]
pub fn launched_per_call(config: &Config, device: &DeviceProfile) -> Option<u32> {
    config.workgroups_per_unit.map(|per_unit| per_unit * device.compute_units.unwrap_or(ASSUMED_UNITS))
}

/// How the groups of a two-level lookback come by their totals (`stages/state/group_state.glsl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupState {
    /// Every tile adds its own, atomically, to words of 64 bits: sums of integers.
    Added,
    /// The last tile of the group combines those of all, and publishes that as tiles do: everything else.
    Published,
}

/// Room for so many records: their words stand in rows.
pub(super) fn in_rows(records: u64) -> u64 {
    records.next_multiple_of(ROW)
}

/// A config on a problem of a size on a device, and what follows from them. Whether it is legal is another question
/// (`rules`), whose answer needs these numbers.
#[derive(Debug, Clone, Copy)]
pub struct Resolved<'a> {
    /// The config as it was asked for.
    pub config: Config,
    /// The same without `auto`: what runs.
    pub runs: Config,
    /// What is computed.
    pub problem: Problem,
    /// Elements.
    pub n: u64,
    /// Where.
    pub device: &'a DeviceProfile,
}

impl<'a> Resolved<'a> {
    /// A config on a problem of `n` elements on a device.
    #[must_use]
    pub fn new(config: &Config, problem: &Problem, n: u64, device: &'a DeviceProfile) -> Self {
        Self { config: *config, runs: resolved(config, device), problem: *problem, n, device }
    }

    /// Workgroups of a call; of a family that goes level by level, those of the passes over the input.
    #[must_use]
    pub fn workgroups(&self) -> u64 {
        match self.config.kernel.family {
            Family::ChainedScan | Family::Recompute | Family::ReduceThenScan | Family::ScanThenPropagate => {
                self.tiles()
            }
            Family::OneWorkgroup => 1,
            Family::Persistent => {
                self.tiles().min(launched_per_call(&self.config, self.device).unwrap_or(1).into())
            }
        }
    }

    /// Tiles of the input.
    pub(super) fn tiles(&self) -> u64 {
        self.config.tiles(self.n)
    }

    /// `None` where the lookback has no groups.
    pub(super) fn group_state(&self) -> Option<GroupState> {
        let Kernel { lookback, tile_state, .. } = self.runs.kernel;
        let sums = self.problem.user().is_none()
            && self.problem.operator() == Operator::Add
            && matches!(self.problem.element(), Element::U32 | Element::I32 | Element::U64 | Element::I64);
        (lookback == Lookback::TwoLevel).then_some(if sums && tile_state == TileState::Word64 {
            GroupState::Added
        } else {
            GroupState::Published
        })
    }

    fn groups(&self) -> u64 {
        self.tiles().div_ceil(GROUP_TILES)
    }

    /// Words of 8 bytes that a call writes in a bank.
    pub(super) fn bank_words(&self) -> u64 {
        match self.group_state() {
            Some(GroupState::Added) if self.problem.element_bytes() > 4 => {
                in_rows(self.groups()) * (self.problem.element_bytes() / 4)
            }
            Some(GroupState::Added) => self.groups(),
            Some(GroupState::Published) | None => 0,
        }
    }

    /// What the scratch memory of workgroups that pass totals on holds between calls.
    pub(super) fn content(&self) -> ScratchContent {
        let Kernel { reset, tile_state, arguments, .. } = self.runs.kernel;
        let epoch_bits = match tile_state {
            TileState::Split => SPLIT_EPOCH_BITS,
            TileState::Auto | TileState::Word64 | TileState::Packed => WORD64_EPOCH_BITS,
        };
        match (reset, arguments) {
            (Reset::Fill, _) => ScratchContent::Anything,
            (Reset::Clean, _) => ScratchContent::Zeros,
            (Reset::Auto | Reset::Epoch, Arguments::Push) => ScratchContent::Tagged { epoch_bits },
            (Reset::Auto | Reset::Epoch, Arguments::Block | Arguments::Baked) | (Reset::Turn, _) => {
                ScratchContent::SelfTurning { epoch_bits }
            }
        }
    }

    /// Where the tile states begin in the scratch memory. A plan that clears its memory before each call has them
    /// right behind the words of its own groups, so that it has little to clear. One that shares its memory with no
    /// other plan, and is told where its states are, has no banks that it does not use.
    pub(super) fn states_offset(&self) -> u64 {
        match self.content() {
            ScratchContent::Anything => TICKET_BYTES + 8 * self.bank_words(),
            _ if self.runs.kernel.reset == Reset::Turn && self.bank_words() == 0 => TICKET_BYTES,
            _ => STATES_OFFSET,
        }
    }

    /// Bytes from one tile state to the next.
    pub(super) fn state_bytes(&self) -> u64 {
        let bytes = match self.runs.kernel.tile_state {
            TileState::Packed => 4,
            // Half of each word is a part of the value.
            TileState::Split | TileState::Auto | TileState::Word64 => 2 * self.problem.element_bytes(),
        };
        u64::from(self.config.kernel.state_stride) * bytes
    }

    /// Bytes of scratch memory.
    pub(super) fn scratch_bytes(&self) -> u64 {
        if has_levels(self.config.kernel.family) {
            return levels::scratch_bytes(&self.config, &self.problem, self.n);
        }
        if !passes_totals_on(self.config.kernel.family) {
            return 0;
        }
        let published = match self.group_state() {
            Some(GroupState::Published) => self.groups(),
            Some(GroupState::Added) | None => 0,
        };
        self.states_offset() + (in_rows(self.tiles()) + in_rows(published)) * self.state_bytes()
    }

    /// Bytes of device memory that a session with this config needs: input, output, reference, scratch.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        3 * self.n * self.problem.element_bytes() + GUARD_WORDS * 4 + self.scratch_bytes()
    }
}
