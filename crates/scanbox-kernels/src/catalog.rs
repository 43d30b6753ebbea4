//! Every kernel there is: its shader and defines, its memory, its plan. `rules` say which config can run what where, `levels`
//! are the passes of the families that have several, `copy_and_check` are the kernels beside the scans.

mod copy_and_check;
mod levels;
mod rules;
mod user_operator;
mod variant;

use scanbox_model::config::{
    BlockScan, Config, Family, Kernel, LoadLayout, Lookback, Parameter, Rendezvous, Reset, TileOrder,
    TileState,
};
use scanbox_model::device::{DeviceProfile, SubgroupTotal};
use scanbox_model::parameters::{KERNEL_PARAMETERS, Scope};
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem, Value};
use scanbox_model::space::Rejection;

use crate::input::{InputKind, PACKED_MAX_TOTAL};
use crate::plan::{
    Binding, Build, Content, Expected, GROUP_TILES, GUARD_WORDS, Pass, Plan, PlanKind, ROW, STATES_OFFSET,
    Scratch, Shader, TICKET_BYTES, Tickets, Word,
};
use crate::rounding::error_bound;

pub use copy_and_check::{
    CEILING_SHAPES, REPORT_WORDS, ceiling, compare, compare_with_kept, copy, empty, fill, helper_shaders,
    poison,
};
pub use levels::LAST_LEVEL_TILES;
pub(crate) use levels::levels_of;
use rules::{co_resident, has_levels, passes_totals_on};
pub use rules::{legal, resident};
pub use user_operator::{OPERATOR_LAWS, OperatorLaw, operator_check, operator_load, operator_shaders};
pub use variant::{plan_variant, variant_legal};

pub use crate::variant::{MAX_BLOCKING, Variant};

/// What stands behind the last element of the output before a call, and must still stand there afterwards.
pub const GUARD_WORD: u32 = 0x5CA7_B0C5;

/// Compute units to launch workgroups for where the driver does not tell how many there are.
const ASSUMED_UNITS: u32 = 16;

/// Bits of the epoch in a 64-bit tile state, and in each word of a split one.
const WORD64_EPOCH_BITS: u32 = 30;
const SPLIT_EPOCH_BITS: u32 = 14;

/// Parameters whose value `auto` depends on the device and on what is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resolved {
    /// The tile state that runs: never `auto`.
    pub tile_state: TileState,
    /// The reset that runs: never `auto`.
    pub reset: Reset,
}

/// What `auto` means for this kernel on this device: what a known issue forces, else what suits the device and the type of
/// the elements.
#[must_use]
pub fn resolve(kernel: &Kernel, device: &DeviceProfile) -> Resolved {
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
    Resolved { tile_state, reset }
}

/// The config with the values that `auto` stands for on this device: what runs.
#[must_use]
pub fn resolved(config: &Config, device: &DeviceProfile) -> Config {
    let Resolved { tile_state, reset } = resolve(&config.kernel, device);
    Config { kernel: Kernel { tile_state, reset, ..config.kernel }, ..*config }
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

/// The plan of a config that solves a problem for `n` elements on a device.
///
/// # Errors
/// The rule of [`legal`] that says no.
pub fn plan(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Result<Plan, Rejection> {
    legal(config, problem, n, device)?;
    let kernel = &config.kernel;
    let source = match problem.placement() {
        Placement::OutOfPlace => Binding::Input,
        Placement::InPlace => Binding::Output,
    };
    let mut bindings = vec![source, Binding::Output];
    let mut words = vec![word(n)];
    let mut scratch = Scratch::NONE;
    let mut tickets = Tickets::None;
    if passes_totals_on(kernel.family) {
        let states = states_offset(config, problem, n, device);
        let behind_states = states + in_rows(config.tiles(n)) * state_bytes(config, problem, device);
        let bank_words = bank_words(config, problem, n, device);
        scratch = Scratch {
            bytes: scratch_bytes(config, problem, n, device),
            content: content(config, device),
            bank_words: u32::try_from(bank_words).expect("the words of a bank are checked"),
        };
        bindings.extend([
            Binding::Scratch(0),
            // Published groups stand behind the states, and there is at least one.
            Binding::Scratch(match group_state(config, problem, device) {
                Some(GroupState::Published) => behind_states,
                Some(GroupState::Added) | None => TICKET_BYTES,
            }),
            Binding::Scratch(states),
        ]);
        words.extend([Word::Epoch, Word::TicketBase, Word::Bank, Word::StaleGroups]);
        let full_tiles = n / config.tile_elements();
        let full_tiles = u32::try_from(full_tiles).expect("tiles are checked against 32-bit indices");
        tickets = match (kernel.family, kernel.tile_order) {
            // One for each full tile that a workgroup scans, and one more, with which it stops.
            (Family::Persistent, TileOrder::Ticket) => Tickets::PerWorkgroup { more: full_tiles },
            // The same without the first: those whose first tile is full take as many as they scan. None where every
            // tile is the first one of a workgroup.
            (Family::Persistent, TileOrder::WorkgroupId) => {
                let all_first = workgroups(config, n, device) == config.tiles(n);
                Tickets::Exactly(if all_first { 0 } else { full_tiles })
            }
            (_, TileOrder::Ticket) => Tickets::PerWorkgroup { more: 0 },
            _ => Tickets::None,
        };
    }
    words.extend(initial_words(problem.init()));
    let (passes, scratch) = if has_levels(kernel.family) {
        levels::passes(config, problem, n, device)
    } else {
        let pass = Pass {
            shader: shader(config, problem, device),
            bindings,
            words,
            workgroups: workgroups(config, n, device),
            tickets,
            co_resident: co_resident(kernel),
        };
        (vec![pass], scratch)
    };
    let kind = PlanKind::Config(Build {
        config: *config,
        variant: Variant::default(),
        tile_state: passes_totals_on(kernel.family).then(|| resolve(kernel, device).tile_state),
    });
    Ok(Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: if problem.mode() == Mode::Reduce { Expected::Total } else { Expected::Scan },
        error_bound: error_bound(problem, config, n, device),
        scratch,
        passes,
    })
}

/// The push constants of the initial value of an exclusive scan; none of other scans.
fn initial_words(init: Option<Value>) -> impl Iterator<Item = Word> {
    init.into_iter().flat_map(|init| [init.bits as u32, (init.bits >> 32) as u32].map(Word::Value))
}

/// Workgroups of a call; of a family that goes level by level, those of the passes over the input.
#[must_use]
pub fn workgroups(config: &Config, n: u64, device: &DeviceProfile) -> u64 {
    match config.kernel.family {
        Family::ChainedScan | Family::Recompute | Family::ReduceThenScan | Family::ScanThenPropagate => {
            config.tiles(n)
        }
        Family::OneWorkgroup => 1,
        Family::Persistent => config.tiles(n).min(launched_per_call(config, device).unwrap_or(1).into()),
    }
}

/// Workgroups that a config launches at most, whatever the size, where there is such a limit.
#[must_use]
pub fn launched_per_call(config: &Config, device: &DeviceProfile) -> Option<u32> {
    config.workgroups_per_unit.map(|per_unit| per_unit * device.compute_units.unwrap_or(ASSUMED_UNITS))
}

/// How the groups of a two-level lookback come by their totals (stages/state/group_state.glsl).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupState {
    /// Every tile adds its own, atomically, to words of 64 bits: sums of integers.
    Added,
    /// The last tile of the group combines those of all, and publishes that as tiles do: everything else.
    Published,
}

/// `None` where the lookback has no groups.
fn group_state(config: &Config, problem: &Problem, device: &DeviceProfile) -> Option<GroupState> {
    let kernel = &config.kernel;
    let sums = problem.user().is_none()
        && problem.operator() == Operator::Add
        && matches!(problem.element(), Element::U32 | Element::I32 | Element::U64 | Element::I64);
    let words = resolve(kernel, device).tile_state == TileState::Word64;
    (kernel.lookback == Lookback::TwoLevel).then_some(if sums && words {
        GroupState::Added
    } else {
        GroupState::Published
    })
}

fn groups(config: &Config, n: u64) -> u64 {
    config.tiles(n).div_ceil(GROUP_TILES)
}

/// Words of 8 bytes that a call writes in a bank.
fn bank_words(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> u64 {
    match group_state(config, problem, device) {
        Some(GroupState::Added) if problem.element_bytes() > 4 => {
            in_rows(groups(config, n)) * (problem.element_bytes() / 4)
        }
        Some(GroupState::Added) => groups(config, n),
        Some(GroupState::Published) | None => 0,
    }
}

/// Room for so many records: their words stand in rows.
fn in_rows(records: u64) -> u64 {
    records.next_multiple_of(ROW)
}

fn content(config: &Config, device: &DeviceProfile) -> Content {
    let Resolved { tile_state, reset } = resolve(&config.kernel, device);
    match (reset, tile_state) {
        (Reset::Fill, _) => Content::Anything,
        (Reset::Clean, _) => Content::Zeros,
        (Reset::Auto | Reset::Epoch, TileState::Split) => Content::Tagged { epoch_bits: SPLIT_EPOCH_BITS },
        (Reset::Auto | Reset::Epoch, _) => Content::Tagged { epoch_bits: WORD64_EPOCH_BITS },
    }
}

/// Where the tile states begin in the scratch memory. A plan that clears its memory before each call has them right behind
/// the words of its own groups, so that it has little to clear.
fn states_offset(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> u64 {
    match content(config, device) {
        Content::Anything => TICKET_BYTES + 8 * bank_words(config, problem, n, device),
        _ => STATES_OFFSET,
    }
}

/// A push constant with a number of elements, which [`legal`] has checked to have 32 bits.
fn word(n: u64) -> Word {
    Word::Value(u32::try_from(n).expect("sizes are checked against 32-bit indices"))
}

fn tile_state_bytes(config: &Config, problem: &Problem, device: &DeviceProfile) -> u64 {
    match resolve(&config.kernel, device).tile_state {
        TileState::Packed => 4,
        // Half of each word is a part of the value.
        TileState::Split | TileState::Auto | TileState::Word64 => 2 * problem.element_bytes(),
    }
}

/// Bytes from one tile state to the next.
fn state_bytes(config: &Config, problem: &Problem, device: &DeviceProfile) -> u64 {
    u64::from(config.kernel.state_stride) * tile_state_bytes(config, problem, device)
}

fn scratch_bytes(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> u64 {
    if has_levels(config.kernel.family) {
        return levels::scratch_bytes(config, problem, n);
    }
    if !passes_totals_on(config.kernel.family) {
        return 0;
    }
    let published = match group_state(config, problem, device) {
        Some(GroupState::Published) => groups(config, n),
        Some(GroupState::Added) | None => 0,
    };
    states_offset(config, problem, n, device)
        + (in_rows(config.tiles(n)) + in_rows(published)) * state_bytes(config, problem, device)
}

/// Device memory that a session with this config needs for `n` elements: input, output, reference, scratch.
#[must_use]
pub fn memory_bytes(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> u64 {
    let elements = n * problem.element_bytes();
    3 * elements + GUARD_WORDS * 4 + scratch_bytes(config, problem, n, device)
}

/// The shader of a config for a problem on a device; of a family that goes level by level, that which scans tiles.
fn shader(config: &Config, problem: &Problem, device: &DeviceProfile) -> Shader {
    let kernel = &config.kernel;
    let root = kernel.family.entry().shader;
    let mut defines = vec![
        ("WORKGROUP_SIZE", config.workgroup_size),
        ("SUBGROUP_SIZE", device.subgroup_size),
        ("MODE", define(problem.mode())),
        ("ELEMENT", define(problem.element())),
        ("OPERATOR", define(problem.operator())),
        ("IN_PLACE", define(problem.placement())),
        ("TRANSPOSE_ROUNDS", transpose_rounds(config, problem, device).unwrap_or(1)),
    ];
    let runs = resolved(config, device);
    let states = passes_totals_on(kernel.family);
    let parameters = KERNEL_PARAMETERS.iter().filter(|parameter| {
        states || parameter.define.is_some_and(|define| define.scope != Scope::TileStates)
    });
    defines.extend(parameters.filter_map(|parameter| parameter.define_of(&runs)));
    defines.extend(problem.user().iter().flat_map(user_operator::operator_defines));
    if problem.user().is_some() {
        defines.push(("SUBGROUP_TOTAL", subgroup_total(device) as u32));
    }
    defines.push(("INT64", u32::from(device.int64_atomics)));
    defines.push(("UNIFORM_FLOW", u32::from(device.uniform_control_flow)));
    defines.push(("ONE_ROW", u32::from(one_row(device))));
    if states {
        let group_state = group_state(config, problem, device);
        defines.push(("GROUP_STATE", group_state.map_or(0, |state| state as u32)));
    }
    Shader {
        root,
        defines,
        workgroup_size: config.workgroup_size,
        subgroup_size: device.subgroup_size,
        operator_file: problem.user().is_some(),
    }
}

/// Whether every dispatch is one row of workgroups: there are fewer than 2^32 elements, and a tile has at least 4.
fn one_row(device: &DeviceProfile) -> bool {
    device.max_workgroup_count[0] >= 1 << 30
}

/// How subgroups combine elements of a user's operator.
fn subgroup_total(device: &DeviceProfile) -> SubgroupTotal {
    device.forced.subgroup_total.unwrap_or_default()
}

/// The number of a value of a problem: its place.
fn define<P: Parameter>(value: P) -> u32 {
    value.place() as u32
}

/// Bytes of shared memory that the transposition of a tile takes in this many rounds (stages/tile/load_store.glsl).
fn exchange_bytes(config: &Config, problem: &Problem, rounds: u32, device: &DeviceProfile) -> u64 {
    let kernel = &config.kernel;
    let lanes = kernel.vector_width.lanes();
    let round_vectors = kernel.batch_size / rounds * device.subgroup_size;
    let pad_period = (32 / lanes).max(kernel.batch_size);
    let subgroups = config.workgroup_size / device.subgroup_size;
    problem.element_bytes()
        * u64::from(lanes)
        * u64::from(subgroups)
        * u64::from(round_vectors + round_vectors / pad_period)
}

/// Bytes of shared memory of everything but the transposition (headers of the stages), with room for alignment.
fn scan_shared_bytes(config: &Config, problem: &Problem, device: &DeviceProfile) -> u64 {
    let kernel = &config.kernel;
    let element = problem.element_bytes();
    let size = u64::from(config.workgroup_size);
    let subgroup_size = u64::from(device.subgroup_size);
    let subgroups = size / subgroup_size;
    let totals = match kernel.block_scan {
        _ if kernel.family == Family::Persistent => 0,
        BlockScan::Raking => (subgroups | 1) * subgroup_size,
        BlockScan::Blelloch => size + size / 32,
        BlockScan::Subgroup => subgroups,
        BlockScan::KoggeStone => 2 * size,
        BlockScan::Sklansky => size,
        BlockScan::BrentKung | BlockScan::ReduceScan => size + size / 32,
    };
    let shares = match kernel.family {
        Family::Persistent if kernel.rendezvous == Rendezvous::Flags => 4 * (subgroups + 5),
        Family::Persistent if kernel.lookback == Lookback::Gather => 5 * subgroups + 4,
        Family::Persistent => 3 * subgroups + 4,
        Family::ChainedScan
            if matches!(kernel.lookback, Lookback::Gather | Lookback::TwoLevel | Lookback::Fallback) =>
        {
            subgroups
        }
        Family::Recompute => subgroups,
        _ => 0,
    };
    let elements = match subgroup_total(device) {
        SubgroupTotal::SharedMemory if problem.user().is_some() => size,
        SubgroupTotal::SharedMemory | SubgroupTotal::Shuffle => 0,
    };
    const SCALARS: u64 = 6;
    const ALIGNMENT: u64 = 64;
    element * (totals + shares + elements + SCALARS) + ALIGNMENT
}

/// The fewest rounds in which the transposition fits the shared memory; `None` where it does not in any.
fn transpose_rounds(config: &Config, problem: &Problem, device: &DeviceProfile) -> Option<u32> {
    if !transposes(config) {
        return Some(1);
    }
    let free = u64::from(device.max_shared_bytes).checked_sub(scan_shared_bytes(config, problem, device))?;
    (1..=config.kernel.batch_size)
        .filter(|rounds| config.kernel.batch_size.is_multiple_of(*rounds))
        .find(|&rounds| exchange_bytes(config, problem, rounds, device) <= free)
}

fn transposes(config: &Config) -> bool {
    config.kernel.load_layout == LoadLayout::Transposed && config.kernel.batch_size > 1
}

/// Bytes of shared memory of a config, an upper bound; `None` where no number of rounds makes its transposition fit.
#[must_use]
pub fn shared_bytes(config: &Config, problem: &Problem, device: &DeviceProfile) -> Option<u64> {
    let rounds = transpose_rounds(config, problem, device)?;
    let exchange = if transposes(config) { exchange_bytes(config, problem, rounds, device) } else { 0 };
    Some(scan_shared_bytes(config, problem, device) + exchange)
}
