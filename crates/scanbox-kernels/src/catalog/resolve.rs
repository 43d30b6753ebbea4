//! What a config comes to on a problem, a size and a device: worked out in one place, and asked by the rules, the
//! shaders and the recipe.

use std::num::NonZero;

use scanbox_model::config::{
    Arguments, Config, Family, Kernel, Lookback, MOST_ROWS, Reset, TileOrder, TileState,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Totals;
use scanbox_model::problem::{Element, Operator, Placement, Problem};
use scanbox_pack::{FewSplit, Formula, GroupState, Split, StatesBegin, StatesFormula, TicketRule};

use crate::input::{InputKind, PACKED_MAX_TOTAL};
use crate::plan::{GUARD_WORDS, STATES_OFFSET, ScratchContent, TICKET_BYTES};

/// Compute units to launch workgroups for where the driver does not tell how many there are.
pub const ASSUMED_UNITS: u32 = 16;

/// Bits of the epoch in a 64-bit tile state, and in each word of a split one.
const WORD64_EPOCH_BITS: u32 = 30;
const SPLIT_EPOCH_BITS: u32 = 14;

/// Whether the device counts the calls of kernels that pass totals on; else the host does, or nobody has to.
pub(super) fn device_counts(reset: Reset, arguments: Arguments) -> bool {
    match reset {
        Reset::Turn => true,
        Reset::Auto | Reset::Epoch => arguments != Arguments::Push,
        Reset::Fill | Reset::Clean => false,
    }
}

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
/// handed out in the order in which they start. Who falls back waits for nobody.
pub(super) fn co_resident(kernel: &Kernel) -> bool {
    kernel.family == Family::Persistent
        && kernel.tile_order != TileOrder::Ticket
        && !kernel.lookback.falls_back()
}

/// Workgroups that a config launches at most, whatever the size, where there is such a limit.
#[must_use]
pub fn launched_per_call(config: &Config, device: &DeviceProfile) -> Option<u32> {
    config
        .workgroups_per_unit
        .map(|per_unit| per_unit * device.units().or(device.assumed_compute_units).unwrap_or(ASSUMED_UNITS))
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

    /// Invocations of a subgroup.
    #[must_use]
    pub fn subgroup_size(&self) -> u32 {
        self.device.subgroup_size_of(&self.config.kernel)
    }

    /// Workgroups of a call; of a family that goes level by level, those of the passes over the input.
    #[must_use]
    pub fn workgroups(&self) -> u64 {
        self.formula().workgroups(self.n)
    }

    /// Whether the elements are so few that a persistent kernel splits them by rows: such a call takes no turn.
    #[must_use]
    pub fn is_few(&self) -> bool {
        !self.formula().is_split_by_tiles(self.n)
    }

    /// What of it follows from the number of elements.
    pub(crate) fn formula(&self) -> Formula {
        let kernel = &self.runs.kernel;
        let passes_totals_on = passes_totals_on(kernel.family);
        Formula {
            tile_elements: NonZero::new(self.config.tile_elements()).unwrap_or(NonZero::<u64>::MIN),
            element_bytes: self.problem.element().bytes(),
            split: match kernel.family {
                Family::ChainedScan | Family::Recompute => Split::Tiles,
                Family::ReduceThenScan | Family::ScanThenPropagate => Split::ByLevels,
                Family::OneWorkgroup => Split::One,
                Family::Persistent => {
                    let most = launched_per_call(&self.config, self.device).unwrap_or(1);
                    self.row_of_few().map_or(Split::AtMost(most), |row_elements| {
                        Split::AtMostOrFew(FewSplit { most, row_elements, rows: MOST_ROWS })
                    })
                }
            },
            tickets: match (kernel.family, kernel.tile_order) {
                _ if !passes_totals_on => TicketRule::None,
                (Family::Persistent, TileOrder::Ticket) => TicketRule::WorkgroupsAndFullTiles,
                (Family::Persistent, TileOrder::WorkgroupId) => TicketRule::FullTilesBehindFirst,
                (_, TileOrder::Ticket) => TicketRule::Workgroups,
                _ => TicketRule::None,
            },
            states: passes_totals_on.then(|| self.states()),
        }
    }

    /// Elements of a row, of a persistent kernel that splits few elements by rows; `FEW_APART` and `FEW_LANES` of the
    /// kernels say the same.
    fn row_of_few(&self) -> Option<NonZero<u32>> {
        let Config { kernel, workgroup_size, .. } = self.runs;
        let transforms = self.problem.user().map(|user| user.transforms).unwrap_or_default();
        let stays = self.problem.placement() == Placement::OutOfPlace;
        let is_apart = stays && !self.problem.is_reversed() && !transforms.input && !transforms.output;
        let lanes = match kernel.vector_width.lanes() {
            4 if !self.problem.element().is_struct() => 2,
            lanes => lanes,
        };
        (self.runs.scans_few() && is_apart).then(|| NonZero::new(workgroup_size * lanes)).flatten()
    }

    fn states(&self) -> StatesFormula {
        let Kernel { tile_state, reset, state_stride: stride, .. } = self.runs.kernel;
        let content = self.content();
        let bytes = match tile_state {
            TileState::Packed => 4,
            // Half of each word is a part of the value.
            TileState::Split | TileState::Auto | TileState::Word64 => 2 * self.problem.element().bytes(),
        };
        let groups = self.group_state();
        let begin = match content {
            ScratchContent::Anything => StatesBegin::BehindGroups,
            // One that shares its memory with no other plan, and is told where its states are, has no banks that it
            // does not use.
            _ if reset == Reset::Turn && groups != Some(GroupState::Added) => {
                StatesBegin::At(TICKET_BYTES as u32)
            }
            _ => StatesBegin::At(STATES_OFFSET as u32),
        };
        StatesFormula { content, bytes: stride * bytes, stride, begin, groups }
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

    /// What the scratch memory of workgroups that pass totals on holds between calls.
    fn content(&self) -> ScratchContent {
        let Kernel { reset, tile_state, arguments, .. } = self.runs.kernel;
        let epoch_bits = match tile_state {
            TileState::Split => SPLIT_EPOCH_BITS,
            TileState::Auto | TileState::Word64 | TileState::Packed => WORD64_EPOCH_BITS,
        };
        match reset {
            Reset::Fill => ScratchContent::Anything,
            Reset::Clean => ScratchContent::Zeros,
            Reset::Auto | Reset::Epoch | Reset::Turn if device_counts(reset, arguments) => {
                ScratchContent::SelfTurning { epoch_bits }
            }
            Reset::Auto | Reset::Epoch | Reset::Turn => ScratchContent::Tagged { epoch_bits },
        }
    }

    /// Bytes of device memory that a session with this config needs: input, output, reference, scratch.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        3 * self.n * self.problem.element_bytes() + GUARD_WORDS * 4 + self.formula().scratch_bytes(self.n)
    }
}
