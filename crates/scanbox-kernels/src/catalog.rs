//! Every kernel there is: its rules, its shader and defines, its memory, its plan.

use scanbox_model::config::{
    BlockScan, Config, Element, Kernel, LoadLayout, Lookback, Operator, Reset, TileState, VectorWidth,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::space::Rejection;

use crate::plan::{
    Binding, Expected, GUARD_WORDS, Pass, Plan, Scratch, ScratchFormat, Shader, TICKET_BYTES, Word,
};
use crate::reference::{InputKind, PACKED_MAX_TOTAL};

/// What stands behind the last element of the output before a call, and must still stand there afterwards.
pub const GUARD_WORD: u32 = 0x5CA7_B0C5;

/// Vectors per invocation of the helper kernels, times four words: enough in flight, few enough workgroups.
const HELPER_BATCH_SIZE: u32 = 4;

/// Parameters whose value `auto` depends on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resolved {
    /// The tile state that runs: never `auto`.
    pub tile_state: TileState,
    /// The reset that runs: never `auto`.
    pub reset: Reset,
}

/// What `auto` means for this kernel on this device: what a known issue forces, else what suits the device.
#[must_use]
pub fn resolve(kernel: &Kernel, device: &DeviceProfile) -> Resolved {
    let tile_state = match (kernel.tile_state, device.forced.tile_state) {
        (TileState::Auto, Some(forced)) => forced,
        (TileState::Auto, None) if device.int64_atomics => TileState::Word64,
        (TileState::Auto, None) => TileState::Packed,
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

/// The input that a kernel can be verified and timed on: full-range words, unless its tile state cannot carry them.
/// `largest_n` is the largest size of the session.
#[must_use]
pub fn input_kind(kernel: &Kernel, device: &DeviceProfile, largest_n: u64) -> InputKind {
    match resolve(kernel, device).tile_state {
        TileState::Packed => InputKind::Bounded { n: largest_n.min(PACKED_MAX_TOTAL) },
        _ => InputKind::Random,
    }
}

/// The rules: whether this config can run `n` elements on this device, known without trying.
///
/// # Errors
/// The first rule that says no, with its numbers.
pub fn legal(config: &Config, n: u64, device: &DeviceProfile) -> Result<(), Rejection> {
    let kernel = &config.kernel;
    let resolved = resolve(kernel, device);
    let reject = |rule: &'static str, detail: String| Err(Rejection { rule: rule.into(), detail });
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
    if kernel.block_scan == BlockScan::Blelloch && !workgroup_size.is_power_of_two() {
        return reject(
            "blelloch-power-of-two",
            format!("the Blelloch block scan with a workgroup of {workgroup_size}"),
        );
    }
    if !kernel.batch_size.is_power_of_two() || kernel.batch_size > scanbox_model::space::MAX_BATCH_SIZE {
        return reject("batch-size-power-of-two", format!("a batch size of {}", kernel.batch_size));
    }
    if resolved.tile_state == TileState::Word64 && !device.int64_atomics {
        return reject(
            "word64-needs-int64-atomics",
            "the device has no 64-bit atomics on buffers".to_owned(),
        );
    }
    if resolved.tile_state == TileState::Packed && resolved.reset == Reset::Epoch {
        return reject(
            "packed-has-no-epoch",
            "the packed tile state has no bits for an epoch: use reset fill".to_owned(),
        );
    }
    if resolved.tile_state == TileState::Packed && n > PACKED_MAX_TOTAL {
        let detail =
            format!("the packed tile state carries totals below 2^30: not even ones over {n} elements");
        return reject("packed-total", detail);
    }
    let Some(shared_bytes) = shared_bytes(config, device) else {
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
    if n == 0 {
        return reject("no-elements", "a scan has at least one element".to_owned());
    }
    if n > u64::from(u32::MAX) - GUARD_WORDS - config.tile_elements() {
        return reject("index-32-bit", format!("{n} elements, where kernels index with 32 bits"));
    }
    if config.workgroups.is_some_and(|workgroups| u64::from(workgroups) != config.tiles(n)) {
        let detail =
            format!("{config} stands for {} elements, not {n}", config.fixed_elements().unwrap_or(0));
        return reject("workgroups-fix-size", detail);
    }
    let most_workgroups =
        device.max_workgroup_count.iter().fold(1u64, |all, &count| all.saturating_mul(count.into()));
    if config.tiles(n) > most_workgroups {
        return reject(
            "workgroup-count-limit",
            format!("{} workgroups, where a dispatch has {most_workgroups}", config.tiles(n)),
        );
    }
    let bytes = memory_bytes(config, n, device);
    if bytes > device.memory_bytes {
        let detail = format!(
            "{bytes} bytes for input, output, reference and scratch, where the device has {}",
            device.memory_bytes
        );
        return reject("device-memory", detail);
    }
    Ok(())
}

/// The plan of a config for `n` elements on a device.
///
/// # Errors
/// The rule of [`legal`] that says no.
pub fn plan(config: &Config, n: u64, device: &DeviceProfile) -> Result<Plan, Rejection> {
    legal(config, n, device)?;
    let kernel = &config.kernel;
    let resolved = resolve(kernel, device);
    let format = match resolved.tile_state {
        TileState::Packed => ScratchFormat::Packed,
        _ => ScratchFormat::Word64,
    };
    Ok(Plan {
        label: config.to_string(),
        n,
        bytes_moved: kernel.bytes_moved(n),
        result: Expected::Scan,
        scratch: Scratch {
            bytes: scratch_bytes(config, n, device),
            format,
            fill_each_call: resolved.reset == Reset::Fill,
        },
        passes: vec![Pass {
            shader: shader(config, device),
            bindings: vec![
                Binding::Input,
                Binding::Output,
                Binding::Scratch(0),
                Binding::Scratch(TICKET_BYTES),
            ],
            words: vec![word(n), Word::Epoch, Word::TicketBase],
            workgroups: config.tiles(n),
        }],
    })
}

/// A push constant with a number of elements, which [`legal`] has checked to have 32 bits.
fn word(n: u64) -> Word {
    Word::Value(u32::try_from(n).expect("sizes are checked against 32-bit indices"))
}

fn tile_state_bytes(config: &Config, device: &DeviceProfile) -> u64 {
    match resolve(&config.kernel, device).tile_state {
        TileState::Packed => 4,
        _ => 8,
    }
}

fn scratch_bytes(config: &Config, n: u64, device: &DeviceProfile) -> u64 {
    TICKET_BYTES + config.tiles(n) * tile_state_bytes(config, device)
}

/// Device memory that a session with this config needs for `n` elements: input, output, reference, scratch.
#[must_use]
pub fn memory_bytes(config: &Config, n: u64, device: &DeviceProfile) -> u64 {
    let elements = n * u64::from(config.kernel.element().bytes());
    3 * elements + GUARD_WORDS * 4 + scratch_bytes(config, n, device)
}

/// The shader of a config on a device.
fn shader(config: &Config, device: &DeviceProfile) -> Shader {
    let kernel = &config.kernel;
    let resolved = resolve(kernel, device);
    Shader {
        root: "chained_scan.comp",
        defines: vec![
            ("WORKGROUP_SIZE", config.workgroup_size),
            ("SUBGROUP_SIZE", device.subgroup_size),
            ("BATCH_SIZE", kernel.batch_size),
            ("LANES", kernel.vector_width.lanes()),
            ("ELEMENT", element_define(kernel.element())),
            ("OPERATOR", operator_define(kernel.operator())),
            ("LOAD_LAYOUT", load_layout_define(kernel.load_layout)),
            ("TRANSPOSE_ROUNDS", transpose_rounds(config, device).unwrap_or(1)),
            ("BLOCK_SCAN", block_scan_define(kernel.block_scan)),
            ("TILE_STATE", tile_state_define(resolved.tile_state)),
            ("LOOKBACK", lookback_define(kernel.lookback)),
        ],
        workgroup_size: config.workgroup_size,
        subgroup_size: device.subgroup_size,
    }
}

// The numbers behind the names that params.glsl defines; a test compares the two.

fn element_define(element: Element) -> u32 {
    match element {
        Element::U32 => 0,
    }
}

fn operator_define(operator: Operator) -> u32 {
    match operator {
        Operator::Add => 0,
    }
}

fn load_layout_define(load_layout: LoadLayout) -> u32 {
    match load_layout {
        LoadLayout::Transposed => 0,
        LoadLayout::Direct => 1,
    }
}

fn block_scan_define(block_scan: BlockScan) -> u32 {
    match block_scan {
        BlockScan::Raking => 0,
        BlockScan::Blelloch => 1,
    }
}

fn tile_state_define(tile_state: TileState) -> u32 {
    match tile_state {
        TileState::Auto | TileState::Word64 => 0,
        TileState::Packed => 1,
    }
}

fn lookback_define(lookback: Lookback) -> u32 {
    match lookback {
        Lookback::Sequential => 0,
        Lookback::Parallel => 1,
    }
}

/// Bytes of shared memory that the transposition of a tile takes in this many rounds (stages/load_store.glsl).
fn exchange_bytes(config: &Config, rounds: u32, device: &DeviceProfile) -> u64 {
    let kernel = &config.kernel;
    let lanes = kernel.vector_width.lanes();
    let round_vectors = kernel.batch_size / rounds * device.subgroup_size;
    let pad_period = (32 / lanes).max(kernel.batch_size);
    let subgroups = config.workgroup_size / device.subgroup_size;
    u64::from(kernel.element().bytes() * lanes)
        * u64::from(subgroups)
        * u64::from(round_vectors + round_vectors / pad_period)
}

/// Bytes of shared memory of everything but the transposition (headers of the stages), with room for alignment.
fn scan_shared_bytes(config: &Config, device: &DeviceProfile) -> u64 {
    let element = u64::from(config.kernel.element().bytes());
    let size = u64::from(config.workgroup_size);
    let subgroup_size = u64::from(device.subgroup_size);
    let totals = match config.kernel.block_scan {
        BlockScan::Raking => ((size / subgroup_size) | 1) * subgroup_size,
        BlockScan::Blelloch => size + size / 32,
    };
    const SCALARS: u64 = 3;
    const ALIGNMENT: u64 = 64;
    element * (totals + SCALARS) + ALIGNMENT
}

/// The fewest rounds in which the transposition fits the shared memory; `None` where it does not in any.
fn transpose_rounds(config: &Config, device: &DeviceProfile) -> Option<u32> {
    if !transposes(config) {
        return Some(1);
    }
    let free = u64::from(device.max_shared_bytes).checked_sub(scan_shared_bytes(config, device))?;
    std::iter::successors(Some(1), |rounds| Some(rounds * 2))
        .take_while(|&rounds| rounds <= config.kernel.batch_size)
        .find(|&rounds| exchange_bytes(config, rounds, device) <= free)
}

fn transposes(config: &Config) -> bool {
    config.kernel.load_layout == LoadLayout::Transposed && config.kernel.batch_size > 1
}

/// Bytes of shared memory of a config; `None` where no number of rounds makes its transposition fit.
fn shared_bytes(config: &Config, device: &DeviceProfile) -> Option<u64> {
    let rounds = transpose_rounds(config, device)?;
    let exchange = if transposes(config) { exchange_bytes(config, rounds, device) } else { 0 };
    Some(scan_shared_bytes(config, device) + exchange)
}

/// The launch shapes of the copy kernel: vectors of four per invocation, and workgroup size. The fastest of them at a
/// size is the measured copy of that size.
pub const COPY_SHAPES: &[(u32, u32)] = &[(1, 256), (2, 256), (4, 256), (1, 1024), (8, 128)];

/// The plan that copies the input to the output in one of the [`COPY_SHAPES`]: the ceiling of every scan.
#[must_use]
pub fn copy(n: u64, shape: (u32, u32), device: &DeviceProfile) -> Plan {
    let (batch_size, workgroup_size) = shape;
    let shader = helper_shader("copy.comp", batch_size, workgroup_size, device);
    let tile = u64::from(batch_size * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    Plan {
        label: format!("copy.b{batch_size}.wg{}", shader.workgroup_size),
        n,
        bytes_moved: 2 * n * u64::from(Element::U32.bytes()),
        result: Expected::Copy,
        scratch: Scratch { bytes: 0, format: ScratchFormat::None, fill_each_call: false },
        passes: vec![Pass {
            bindings: vec![Binding::Input, Binding::Output],
            words: vec![word(n)],
            workgroups: n.div_ceil(tile),
            shader,
        }],
    }
}

/// The plan that fills the output with what it must not hold before a call of a plan with this result.
#[must_use]
pub fn poison(n: u64, result: Expected, device: &DeviceProfile) -> Plan {
    let words = vec![word(n), word(n + GUARD_WORDS), Word::Value(GUARD_WORD)];
    helper("poison.comp", n + GUARD_WORDS, result, vec![Binding::Expected, Binding::Output], words, device)
}

/// The plan that compares every element of the output, and the guard behind it. The report is two words: how many are
/// wrong (0 before), and the index of the first (`u32::MAX` before).
#[must_use]
pub fn compare(n: u64, result: Expected, device: &DeviceProfile) -> Plan {
    let words = vec![word(n), word(n + GUARD_WORDS), Word::Value(GUARD_WORD)];
    let bindings = vec![Binding::Expected, Binding::Output, Binding::Report];
    helper("compare.comp", n + GUARD_WORDS, result, bindings, words, device)
}

/// The plan that fills the first bytes of the scratch memory with zeros: the reset of plans that need one.
#[must_use]
pub fn fill(bytes: u64, device: &DeviceProfile) -> Plan {
    let words = bytes.div_ceil(4);
    helper(
        "fill.comp",
        words,
        Expected::Copy,
        vec![Binding::Scratch(0)],
        vec![word(words), Word::Value(0)],
        device,
    )
}

fn helper(
    root: &'static str,
    words: u64,
    result: Expected,
    bindings: Vec<Binding>,
    constants: Vec<Word>,
    device: &DeviceProfile,
) -> Plan {
    let shader = helper_shader(root, HELPER_BATCH_SIZE, 256, device);
    let tile = u64::from(HELPER_BATCH_SIZE * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    Plan {
        label: root.trim_end_matches(".comp").to_owned(),
        n: words,
        bytes_moved: 0,
        result,
        scratch: Scratch { bytes: 0, format: ScratchFormat::None, fill_each_call: false },
        passes: vec![Pass { workgroups: words.div_ceil(tile), shader, bindings, words: constants }],
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
    let mut plans =
        vec![fill(4, device), poison(1, Expected::Scan, device), compare(1, Expected::Scan, device)];
    plans.extend(COPY_SHAPES.iter().map(|&shape| copy(1, shape, device)));
    let mut shaders: Vec<Shader> =
        plans.into_iter().flat_map(|plan| plan.passes).map(|pass| pass.shader).collect();
    shaders.sort();
    shaders.dedup();
    shaders
}
