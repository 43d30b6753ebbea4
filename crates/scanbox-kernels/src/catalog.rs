//! Every kernel there is: its rules, its shader and defines, its memory, its plan.

use scanbox_model::config::{
    BackOff, BlockScan, Config, Family, Kernel, LoadLayout, Lookback, Parameter, Publish, Rendezvous, Reset,
    SubgroupScan, TileOrder, TileState, VectorWidth,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem, Value};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Rejection;

use crate::input::{InputKind, PACKED_MAX_TOTAL};
use crate::plan::{
    Binding, Content, Expected, GROUP_WORDS, GUARD_WORDS, Pass, Plan, STATES_OFFSET, Scratch, Shader,
    TICKET_BYTES, Tickets, Word,
};
use crate::rounding::error_bound;

/// What stands behind the last element of the output before a call, and must still stand there afterwards.
pub const GUARD_WORD: u32 = 0x5CA7_B0C5;

/// Vectors per invocation of the helper kernels, times four words: enough in flight, few enough workgroups.
const HELPER_BATCH_SIZE: u32 = 4;
const HELPER_WORKGROUP_SIZE: u32 = 256;

/// Tiles whose totals one word of the second level adds up (stages/group_state.glsl).
pub const GROUP_TILES: u64 = 32;

/// Compute units to launch workgroups for where the driver does not tell how many there are.
const ASSUMED_UNITS: u32 = 16;

/// The comparison indexes words with 32 bits, those of the guard too.
const MOST_WORDS: u64 = u32::MAX as u64 - GUARD_WORDS;

/// One workgroup, or every workgroup going over everything before it, is out of the question for more than this.
const MOST_RECOMPUTED: u64 = 1 << 20;

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
pub fn resolve(kernel: &Kernel, problem: &Problem, device: &DeviceProfile) -> Resolved {
    let tile_state = match (kernel.tile_state, device.forced.tile_state) {
        (TileState::Auto, Some(forced)) => forced,
        (TileState::Auto, None) if device.int64_atomics && problem.element().bytes() == 4 => {
            TileState::Word64
        }
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
pub fn resolved(config: &Config, problem: &Problem, device: &DeviceProfile) -> Config {
    let Resolved { tile_state, reset } = resolve(&config.kernel, problem, device);
    Config { kernel: Kernel { tile_state, reset, ..config.kernel }, ..*config }
}

/// The random input that a kernel can be verified and timed on: any, unless its tile state cannot carry it.
/// `largest_n` is the largest size of the session.
#[must_use]
pub fn input_kind(kernel: &Kernel, problem: &Problem, device: &DeviceProfile, largest_n: u64) -> InputKind {
    match resolve(kernel, problem, device).tile_state {
        TileState::Packed if passes_totals_on(kernel.family) => {
            InputKind::Bounded { n: largest_n.min(PACKED_MAX_TOTAL) }
        }
        _ => InputKind::Random,
    }
}

type Verdict = Result<(), Rejection>;

fn reject(rule: &'static str, detail: impl Into<String>) -> Verdict {
    Err(Rejection { rule: rule.into(), detail: detail.into() })
}

/// The rules: whether this config can solve the problem for `n` elements on this device, known without trying.
///
/// # Errors
/// The first rule that says no, with its numbers.
pub fn legal(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Verdict {
    combination(config)?;
    computes(config, problem, device)?;
    if passes_totals_on(config.kernel.family) {
        tile_states(config, problem, n, device)?;
    }
    guarantees(config, device)?;
    shape(config, problem, device)?;
    size(config, problem, n, device)
}

/// Whether workgroups pass the totals of their tiles on through memory.
fn passes_totals_on(family: Family) -> bool {
    matches!(family, Family::ChainedScan | Family::Persistent)
}

/// Which values go together, on any device.
fn combination(config: &Config) -> Verdict {
    let kernel = &config.kernel;
    let family = kernel.family;
    let lookbacks: &[Lookback] = match family {
        Family::ChainedScan => {
            &[Lookback::Sequential, Lookback::Parallel, Lookback::Gather, Lookback::TwoLevel]
        }
        Family::Persistent => &[Lookback::Gather, Lookback::TwoLevel],
        Family::OneWorkgroup | Family::Recompute => &[Lookback::None],
    };
    if !lookbacks.contains(&kernel.lookback) {
        return reject("family-lookback", format!("family {family} with lookback {}", kernel.lookback));
    }
    if kernel.load_layout == LoadLayout::Striped && kernel.block_scan != BlockScan::Subgroup {
        let detail = format!("load layout striped with block scan {}: rows need subgroup", kernel.block_scan);
        return reject("striped-needs-subgroup-scan", detail);
    }
    if kernel.subgroup_scan == SubgroupScan::Shuffle && kernel.block_scan != BlockScan::Subgroup {
        let detail = format!("subgroup scan by shuffles with block scan {}", kernel.block_scan);
        return reject("shuffle-needs-subgroup-scan", detail);
    }
    if kernel.publish == Publish::BeforeScan && kernel.block_scan != BlockScan::Subgroup {
        let detail = format!("the total before the scan with block scan {}", kernel.block_scan);
        return reject("before-scan-needs-subgroup-scan", detail);
    }
    if kernel.lookback_width > 1 && kernel.lookback != Lookback::Parallel {
        let detail =
            format!("a lookback width of {} with lookback {}", kernel.lookback_width, kernel.lookback);
        return reject("width-needs-parallel", detail);
    }
    let persistent = family == Family::Persistent;
    if persistent && (kernel.block_scan != BlockScan::Subgroup || kernel.publish != Publish::BeforeScan) {
        let detail = format!(
            "block scan {}, published {}: a persistent kernel publishes before the scan, by subgroups",
            kernel.block_scan, kernel.publish
        );
        return reject("persistent-publishes-before-scan", detail);
    }
    if !persistent && kernel.rendezvous != Rendezvous::Barrier {
        return reject("flags-need-persistent", format!("rendezvous flags with family {family}"));
    }
    if persistent != config.workgroups_per_unit.is_some() {
        let detail = match persistent {
            true => "a persistent kernel is launched with some workgroups per unit (.u4)".to_owned(),
            false => format!("workgroups per unit with family {family}"),
        };
        return reject("persistent-has-workgroups-per-unit", detail);
    }
    if persistent && config.workgroups.is_some() {
        return reject(
            "persistent-has-workgroups-per-unit",
            "workgroups that follow from the size".to_owned(),
        );
    }
    let orders: &[TileOrder] = match family {
        Family::ChainedScan => &[TileOrder::Ticket, TileOrder::WorkgroupId],
        Family::Persistent => &[TileOrder::Ticket, TileOrder::WorkgroupId, TileOrder::RoundRobin],
        // Nobody waits, so that the order is of no importance: the default is written.
        Family::OneWorkgroup | Family::Recompute => &[TileOrder::Ticket],
    };
    if !orders.contains(&kernel.tile_order) {
        return reject("family-tile-order", format!("family {family} with tile order {}", kernel.tile_order));
    }
    let state_parameters =
        (kernel.tile_state, kernel.reset, kernel.back_off, kernel.state_stride, kernel.publish);
    let defaults = (TileState::Auto, Reset::Auto, BackOff::None, 1, Publish::AfterScan);
    if !passes_totals_on(family) && state_parameters != defaults {
        let detail = format!("parameters of tile states with family {family}, which has none");
        return reject("family-without-states", detail);
    }
    if !(1..=scanbox_model::space::MAX_BATCH_SIZE).contains(&kernel.batch_size) {
        return reject("batch-size", format!("a batch size of {}", kernel.batch_size));
    }
    Ok(())
}

/// What kernels and devices can compute.
fn computes(config: &Config, problem: &Problem, device: &DeviceProfile) -> Verdict {
    let (kernel, element) = (&config.kernel, problem.element());
    let missing = match element {
        Element::U64 | Element::I64 => !device.int64_elements,
        Element::F64 => !device.float64_elements,
        Element::U32 | Element::I32 | Element::F32 => false,
    };
    if missing {
        return reject("element-needs-64-bit", format!("the device has no type {element} in shaders"));
    }
    let sums_32_bits = problem.operator() == Operator::Add && matches!(element, Element::U32 | Element::I32);
    if kernel.lookback == Lookback::TwoLevel && !sums_32_bits {
        let detail = format!("{problem}: groups of tiles are added up by atomics on 32-bit integers");
        return reject("two-level-needs-32-bit-sum", detail);
    }
    if problem.mode() == Mode::Reduce {
        if !matches!(kernel.family, Family::ChainedScan | Family::OneWorkgroup) {
            let detail = format!(
                "a reduction with family {}: its tiles wait for nobody, and one of them has all the work",
                kernel.family
            );
            return reject("family-reduce", detail);
        }
        if passes_totals_on(kernel.family)
            && kernel.block_scan == BlockScan::Subgroup
            && kernel.publish != Publish::BeforeScan
        {
            let detail = "a reduction scans nothing: by subgroups, totals are published at once (.early)";
            return reject("reduce-publishes-before-scan", detail);
        }
    }
    if problem.placement() == Placement::InPlace && kernel.family == Family::Recompute {
        let detail = "in place, other workgroups overwrite what each of them has to read";
        return reject("recompute-in-place", detail);
    }
    Ok(())
}

/// What tile states can carry.
fn tile_states(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Verdict {
    let Resolved { tile_state, reset } = resolve(&config.kernel, problem, device);
    if tile_state == TileState::Word64 && !device.int64_atomics {
        return reject("word64-needs-int64-atomics", "the device has no 64-bit atomics on buffers");
    }
    if tile_state == TileState::Word64 && problem.element().bytes() > 4 {
        let detail =
            format!("the 64-bit word has room for 32 bits beside epoch and state, not for {problem}");
        return reject("word64-needs-32-bit-elements", detail);
    }
    if tile_state == TileState::Packed
        && (problem.element(), problem.operator()) != (Element::U32, Operator::Add)
    {
        let detail = format!("the packed tile state carries sums of u32 below 2^30, not {problem}");
        return reject("packed-needs-u32-sum", detail);
    }
    if tile_state == TileState::Packed && reset == Reset::Epoch {
        let detail = "the packed tile state has no bits for an epoch: use reset fill or clean";
        return reject("packed-has-no-epoch", detail);
    }
    if tile_state == TileState::Packed && n > PACKED_MAX_TOTAL {
        let detail =
            format!("the packed tile state carries totals below 2^30: not even ones over {n} elements");
        return reject("packed-total", detail);
    }
    if config.kernel.lookback == Lookback::TwoLevel {
        if tile_state != TileState::Word64 {
            return reject("two-level-needs-word64", "groups are added up in 64-bit words");
        }
        if groups(config, n) > GROUP_WORDS {
            let detail = format!("{} groups of tiles, where memory holds {GROUP_WORDS}", groups(config, n));
            return reject("group-words", detail);
        }
    }
    Ok(())
}

/// Whether workgroups wait for others that have to run at the same time: persistent ones whose first tiles are not handed out
/// in the order in which they start.
fn co_resident(kernel: &Kernel) -> bool {
    kernel.family == Family::Persistent && kernel.tile_order != TileOrder::Ticket
}

/// What the device has to keep beyond what Vulkan promises.
fn guarantees(config: &Config, device: &DeviceProfile) -> Verdict {
    let kernel = &config.kernel;
    let one_subgroup = config.workgroup_size <= device.subgroup_size;
    let needs = [
        (co_resident(kernel), Guarantee::CoResidency),
        (
            kernel.tile_order == TileOrder::WorkgroupId && kernel.family != Family::Persistent,
            Guarantee::WorkgroupOrder,
        ),
        (kernel.rendezvous == Rendezvous::Flags && !one_subgroup, Guarantee::SubgroupProgress),
    ];
    match needs.iter().find(|(needed, guarantee)| *needed && !device.guarantees.contains(guarantee)) {
        Some((_, guarantee)) => Err(Rejection {
            rule: format!("needs-{guarantee}").into(),
            detail: format!(
                "{} is not known to give the guarantee {guarantee} (configs/safe_devices.toml); --assume {guarantee} \
                 runs it all the same",
                device.title()
            ),
        }),
        None => Ok(()),
    }
}

/// Whether the device can start such workgroups.
fn shape(config: &Config, problem: &Problem, device: &DeviceProfile) -> Verdict {
    let workgroup_size = config.workgroup_size;
    if workgroup_size > device.max_workgroup_size {
        let detail = format!(
            "a workgroup of {workgroup_size}, where the device has {} invocations at most",
            device.max_workgroup_size
        );
        return reject("workgroup-size-limit", detail);
    }
    if workgroup_size == 0 || !workgroup_size.is_multiple_of(device.subgroup_size) {
        let detail = format!(
            "a workgroup of {workgroup_size} is no multiple of the subgroup size {}",
            device.subgroup_size
        );
        return reject("full-subgroups", detail);
    }
    if config.kernel.block_scan == BlockScan::Blelloch && !workgroup_size.is_power_of_two() {
        let detail = format!("the Blelloch block scan with a workgroup of {workgroup_size}");
        return reject("blelloch-power-of-two", detail);
    }
    let Some(shared_bytes) = shared_bytes(config, problem, device) else {
        let detail =
            format!("no way to transpose through {} bytes of shared memory", device.max_shared_bytes);
        return reject("shared-memory", detail);
    };
    if shared_bytes > u64::from(device.max_shared_bytes) {
        let detail = format!(
            "{shared_bytes} bytes of shared memory, where the device has {}",
            device.max_shared_bytes
        );
        return reject("shared-memory", detail);
    }
    Ok(())
}

/// Whether the device can take so many elements.
fn size(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Verdict {
    if n == 0 {
        return reject("no-elements", "a scan has at least one element");
    }
    // Tiles behind the last one are counted too: by tickets, and round robin.
    let beyond = config.tile_elements() * (1 + u64::from(launched_per_call(config, device).unwrap_or(0)));
    let words = n.saturating_mul(problem.element_bytes() / 4);
    if n > u64::from(u32::MAX) - GUARD_WORDS - beyond.min(1 << 31) || words > MOST_WORDS {
        return reject("index-32-bit", format!("{n} elements, where kernels index with 32 bits"));
    }
    if config.workgroups.is_some_and(|workgroups| u64::from(workgroups) != config.tiles(n)) {
        let detail =
            format!("{config} stands for {} elements, not {n}", config.fixed_elements().unwrap_or(0));
        return reject("workgroups-fix-size", detail);
    }
    if !passes_totals_on(config.kernel.family) && n > MOST_RECOMPUTED {
        let family = config.kernel.family;
        return reject(
            "family-size",
            format!("{n} elements with family {family}: {MOST_RECOMPUTED} at most"),
        );
    }
    let most_workgroups =
        device.max_workgroup_count.iter().fold(1u64, |all, &count| all.saturating_mul(count.into()));
    if workgroups(config, n, device) > most_workgroups {
        let detail =
            format!("{} workgroups, where a dispatch has {most_workgroups}", workgroups(config, n, device));
        return reject("workgroup-count-limit", detail);
    }
    let bytes = memory_bytes(config, problem, n, device);
    if bytes > device.memory_bytes {
        let detail = format!(
            "{bytes} bytes for input, output, reference and scratch, where the device has {}",
            device.memory_bytes
        );
        return reject("device-memory", detail);
    }
    Ok(())
}

/// The rule for kernels whose workgroups all have to run at the same time, once the driver has told the registers that an
/// invocation takes.
///
/// # Errors
/// When fewer workgroups fit the device than are launched, or it is not known how many fit.
pub fn resident(
    config: &Config,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
    registers: Option<u32>,
) -> Verdict {
    if !co_resident(&config.kernel) {
        return Ok(());
    }
    let launched = workgroups(config, n, device);
    if launched == 1 {
        return Ok(());
    }
    let (Some(residency), Some(units), Some(registers)) = (device.residency, device.compute_units, registers)
    else {
        let detail =
            "how many workgroups fit the device is not known (units, registers, configs/safe_devices.toml)";
        return reject("residency-unknown", detail);
    };
    let shared_bytes = shared_bytes(config, problem, device).unwrap_or(u64::MAX);
    let per_unit =
        residency.workgroups_per_unit(config.workgroup_size, device.subgroup_size, registers, shared_bytes);
    let fit = u64::from(per_unit) * u64::from(units);
    if launched > fit {
        let detail = format!(
            "{launched} workgroups that have to run at the same time, where {fit} fit: {registers} registers per \
             invocation, {shared_bytes} bytes of shared memory"
        );
        return reject("residency", detail);
    }
    Ok(())
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
        let two_level = kernel.lookback == Lookback::TwoLevel;
        scratch = Scratch {
            bytes: scratch_bytes(config, problem, n, device),
            content: content(config, problem, device),
            groups: if two_level { groups(config, n) as u32 } else { 0 },
        };
        bindings.extend([
            Binding::Scratch(0),
            Binding::Scratch(TICKET_BYTES),
            Binding::Scratch(states_offset(config, problem, n, device)),
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
    if let Some(init) = problem.init() {
        words.extend([init.bits as u32, (init.bits >> 32) as u32].map(Word::Value));
    }
    Ok(Plan {
        label: config.to_string(),
        problem: *problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: if problem.mode() == Mode::Reduce { Expected::Total } else { Expected::Scan },
        error_bound: error_bound(problem, config, n, device),
        scratch,
        passes: vec![Pass {
            shader: shader(config, problem, device),
            bindings,
            words,
            workgroups: workgroups(config, n, device),
            tickets,
            co_resident: co_resident(kernel),
        }],
    })
}

/// Workgroups of a call.
#[must_use]
pub fn workgroups(config: &Config, n: u64, device: &DeviceProfile) -> u64 {
    match config.kernel.family {
        Family::ChainedScan | Family::Recompute => config.tiles(n),
        Family::OneWorkgroup => 1,
        Family::Persistent => config.tiles(n).min(launched_per_call(config, device).unwrap_or(1).into()),
    }
}

/// Workgroups that a config launches at most, whatever the size, where there is such a limit.
#[must_use]
pub fn launched_per_call(config: &Config, device: &DeviceProfile) -> Option<u32> {
    config.workgroups_per_unit.map(|per_unit| per_unit * device.compute_units.unwrap_or(ASSUMED_UNITS))
}

fn groups(config: &Config, n: u64) -> u64 {
    config.tiles(n).div_ceil(GROUP_TILES)
}

fn content(config: &Config, problem: &Problem, device: &DeviceProfile) -> Content {
    let Resolved { tile_state, reset } = resolve(&config.kernel, problem, device);
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
    match (content(config, problem, device), config.kernel.lookback) {
        (Content::Anything, Lookback::TwoLevel) => TICKET_BYTES + 8 * groups(config, n),
        (Content::Anything, _) => TICKET_BYTES,
        _ => STATES_OFFSET,
    }
}

/// A push constant with a number of elements, which [`legal`] has checked to have 32 bits.
fn word(n: u64) -> Word {
    Word::Value(u32::try_from(n).expect("sizes are checked against 32-bit indices"))
}

fn tile_state_bytes(config: &Config, problem: &Problem, device: &DeviceProfile) -> u64 {
    match resolve(&config.kernel, problem, device).tile_state {
        TileState::Packed => 4,
        // 2 bytes of the value in each 4.
        TileState::Split => 2 * problem.element_bytes(),
        TileState::Auto | TileState::Word64 => 8,
    }
}

fn scratch_bytes(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> u64 {
    if !passes_totals_on(config.kernel.family) {
        return 0;
    }
    let stride = u64::from(config.kernel.state_stride) * tile_state_bytes(config, problem, device);
    states_offset(config, problem, n, device) + config.tiles(n) * stride
}

/// Device memory that a session with this config needs for `n` elements: input, output, reference, scratch.
#[must_use]
pub fn memory_bytes(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> u64 {
    let elements = n * problem.element_bytes();
    3 * elements + GUARD_WORDS * 4 + scratch_bytes(config, problem, n, device)
}

/// The shader of a config for a problem on a device.
fn shader(config: &Config, problem: &Problem, device: &DeviceProfile) -> Shader {
    let kernel = &config.kernel;
    let resolved = resolve(kernel, problem, device);
    let root = match kernel.family {
        Family::ChainedScan => "chained_scan.comp",
        Family::OneWorkgroup => "one_workgroup.comp",
        Family::Recompute => "recompute_scan.comp",
        Family::Persistent => "persistent_scan.comp",
    };
    let mut defines = vec![
        ("WORKGROUP_SIZE", config.workgroup_size),
        ("SUBGROUP_SIZE", device.subgroup_size),
        ("BATCH_SIZE", kernel.batch_size),
        ("LANES", kernel.vector_width.lanes()),
        ("MODE", define(problem.mode())),
        ("ELEMENT", define(problem.element())),
        ("OPERATOR", define(problem.operator())),
        ("IN_PLACE", define(problem.placement())),
        ("LOAD_LAYOUT", define(kernel.load_layout)),
        ("TRANSPOSE_ROUNDS", transpose_rounds(config, problem, device).unwrap_or(1)),
        ("BLOCK_SCAN", define(kernel.block_scan)),
        ("SUBGROUP_SCAN", define(kernel.subgroup_scan)),
    ];
    defines.push(("INT64", u32::from(device.int64_atomics)));
    defines.push(("UNIFORM_FLOW", u32::from(device.uniform_control_flow)));
    if passes_totals_on(kernel.family) {
        defines.extend([
            ("LOOKBACK", define(kernel.lookback)),
            ("LOOKBACK_WIDTH", kernel.lookback_width),
            ("TILE_ORDER", define(kernel.tile_order)),
            ("PUBLISH", define(kernel.publish)),
            ("RENDEZVOUS", define(kernel.rendezvous)),
            ("BACK_OFF", define(kernel.back_off)),
            ("TILE_STATE", tile_state_define(resolved.tile_state)),
            ("STATE_STRIDE", kernel.state_stride),
            ("RESET", reset_define(resolved.reset)),
        ]);
    }
    Shader { root, defines, workgroup_size: config.workgroup_size, subgroup_size: device.subgroup_size }
}

// The numbers behind the names that params.glsl defines; a test compares the two.

/// The number of a value whose parameter has them in the order of its values.
fn define<P: Parameter>(value: P) -> u32 {
    P::VALUES.iter().position(|other| *other == value).map_or(0, |place| place as u32)
}

fn tile_state_define(tile_state: TileState) -> u32 {
    match tile_state {
        TileState::Auto | TileState::Word64 => 0,
        TileState::Packed => 1,
        TileState::Split => 2,
    }
}

fn reset_define(reset: Reset) -> u32 {
    match reset {
        Reset::Fill => 0,
        Reset::Auto | Reset::Epoch => 1,
        Reset::Clean => 2,
    }
}

/// Bytes of shared memory that the transposition of a tile takes in this many rounds (stages/load_store.glsl).
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
    };
    let shares = match kernel.family {
        Family::Persistent if kernel.rendezvous == Rendezvous::Flags => 4 * (subgroups + 5),
        Family::Persistent => 3 * subgroups + 4,
        Family::ChainedScan if matches!(kernel.lookback, Lookback::Gather | Lookback::TwoLevel) => subgroups,
        Family::Recompute => subgroups,
        _ => 0,
    };
    const SCALARS: u64 = 6;
    const ALIGNMENT: u64 = 64;
    element * (totals + shares + SCALARS) + ALIGNMENT
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

/// The launch shapes of the copy kernel: vectors of four per invocation, and workgroup size. The fastest of them at a
/// size is the measured copy of that size.
pub const COPY_SHAPES: &[(u32, u32)] = &[(1, 256), (2, 256), (4, 256), (1, 1024), (8, 128)];

/// The plan that copies the input of a problem to the output in one of the [`COPY_SHAPES`]: the ceiling of every scan.
#[must_use]
pub fn copy(problem: &Problem, n: u64, shape: (u32, u32), device: &DeviceProfile) -> Plan {
    let (batch_size, workgroup_size) = shape;
    let shader = helper_shader("copy.comp", batch_size, workgroup_size, device);
    let tile = u64::from(batch_size * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    let words = n * problem.element_bytes() / 4;
    Plan {
        label: format!("copy.b{batch_size}.wg{}", shader.workgroup_size),
        problem: *problem,
        n,
        bytes_moved: 2 * n * problem.element_bytes(),
        result: Expected::Copy,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            bindings: vec![Binding::Input, Binding::Output],
            words: vec![word(words)],
            workgroups: words.div_ceil(tile),
            tickets: Tickets::None,
            co_resident: false,
            shader,
        }],
    }
}

/// The plan that fills the output of a plan with what it must not hold before a call.
#[must_use]
pub fn poison(plan: &Plan, device: &DeviceProfile) -> Plan {
    let output = plan.output_words();
    let words = vec![word(output), word(output + GUARD_WORDS), Word::Value(GUARD_WORD)];
    let bindings = vec![Binding::Expected, Binding::Output];
    helper("poison.comp", output + GUARD_WORDS, plan, bindings, words, device)
}

/// Words of the report of a comparison: how many elements are wrong (0 before); the index of the first of their words
/// (`u32::MAX` before); the bits of the largest error as a 32-bit float (0 before).
pub const REPORT_WORDS: u64 = 3;

/// The plan that compares every element of the output of a plan, and the guard behind it. `error_bound` is what counts as right
/// (see [`Plan::error_bound`]).
#[must_use]
pub fn compare(plan: &Plan, error_bound: f64, device: &DeviceProfile) -> Plan {
    let output = plan.output_words();
    // Of an initial value below zero, what its magnitude is more.
    let initial = plan.problem.init().and_then(Value::float).map_or(0.0, |initial| (-2.0 * initial).max(0.0));
    let words = vec![
        word(output),
        word(output + GUARD_WORDS),
        Word::Value(GUARD_WORD),
        Word::Value((error_bound as f32).to_bits()),
        Word::Value((initial as f32).to_bits()),
    ];
    let bindings = vec![Binding::Expected, Binding::Output, Binding::Report];
    let mut helper = helper("compare.comp", output + GUARD_WORDS, plan, bindings, words, device);
    // A copy is compared word by word, as integers are.
    let floats = plan.result != Expected::Copy && plan.problem.element().is_float();
    let element = if floats { plan.problem.element() } else { Element::U32 };
    helper.passes[0].shader = compare_shader(element, device);
    helper
}

fn compare_shader(element: Element, device: &DeviceProfile) -> Shader {
    let mut shader = helper_shader("compare.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    shader.defines.push(("ELEMENT", define(element)));
    shader
}

/// The plan that fills the scratch memory of a plan with zeros: the reset of plans that need one.
#[must_use]
pub fn fill(plan: &Plan, device: &DeviceProfile) -> Plan {
    let words = plan.scratch.bytes.div_ceil(4);
    helper("fill.comp", words, plan, vec![Binding::Scratch(0)], vec![word(words), Word::Value(0)], device)
}

/// A plan of a helper that works on this many words around a call of `of`.
fn helper(
    root: &'static str,
    words: u64,
    of: &Plan,
    bindings: Vec<Binding>,
    constants: Vec<Word>,
    device: &DeviceProfile,
) -> Plan {
    let shader = helper_shader(root, HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    let tile = u64::from(HELPER_BATCH_SIZE * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    Plan {
        label: root.trim_end_matches(".comp").to_owned(),
        problem: of.problem,
        n: of.n,
        bytes_moved: 0,
        result: of.result,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            workgroups: words.div_ceil(tile),
            tickets: Tickets::None,
            co_resident: false,
            shader,
            bindings,
            words: constants,
        }],
    }
}

fn helper_shader(root: &'static str, batch_size: u32, workgroup_size: u32, device: &DeviceProfile) -> Shader {
    let workgroup_size = workgroup_size.min(device.max_workgroup_size);
    Shader {
        root,
        defines: vec![
            ("WORKGROUP_SIZE", workgroup_size),
            ("SUBGROUP_SIZE", device.subgroup_size),
            ("BATCH_SIZE", batch_size),
            ("LANES", VectorWidth::Vec4.lanes()),
        ],
        workgroup_size,
        subgroup_size: device.subgroup_size,
    }
}

/// The shaders that every session needs beside those of its configs: fill, poison, compare and the copies.
#[must_use]
pub fn helper_shaders(device: &DeviceProfile) -> Vec<Shader> {
    let helper = |root, batch_size, workgroup_size| helper_shader(root, batch_size, workgroup_size, device);
    let mut shaders = vec![
        helper("fill.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE),
        helper("poison.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE),
        compare_shader(Element::U32, device),
        compare_shader(Element::F32, device),
    ];
    if device.float64_elements {
        shaders.push(compare_shader(Element::F64, device));
    }
    shaders.extend(COPY_SHAPES.iter().map(|&(batch, size)| helper("copy.comp", batch, size)));
    shaders.sort();
    shaders.dedup();
    shaders
}
