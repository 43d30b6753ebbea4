//! Stages alone on a real device: each in a small shader around the stage file that kernels use.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use std::fs;
use std::path::Path;

use super::harness::{Bench, compiler_of_folder};
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{
    Binding, Expected, GROUP_TILES, Pass, Plan, PlanKind, PushWord, STATES_OFFSET, Scratch, ScratchContent,
    Shader, TICKET_BYTES, Tickets,
};
use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::{KERNEL_PARAMETERS, Value};
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_runner::backend::Backend;
use scanbox_testing::folder::copy_folder;

/// Calls of each litmus test in a row.
const LITMUS_CALLS: u32 = 50;

/// The kernel sources, and the shaders of these tests among them.
fn compiler() -> Compiler {
    let folder = tempfile::tempdir().unwrap();
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy_folder(&crate_folder.join("../../kernels/glsl"), folder.path());
    copy_folder(&crate_folder.join("tests/shaders"), folder.path());
    compiler_of_folder(folder.path())
}

/// Which alternative of each stage a test shader has.
#[derive(Debug, Clone, Copy)]
struct Choice {
    workgroup_size: u32,
    block_scan: u32,
    subgroup_scan: u32,
    publish: u32,
    tile_state: u32,
    lookback: u32,
    lookback_width: u32,
    back_off: u32,
    state_stride: u32,
    group_state: u32,
    element: Element,
}

const RAKING: u32 = 0;
const BLELLOCH: u32 = 1;
const SUBGROUP: u32 = 2;
const KOGGE_STONE: u32 = 3;
const SKLANSKY: u32 = 4;
const BRENT_KUNG: u32 = 5;
const REDUCE_SCAN: u32 = 6;
const OPERATION: u32 = 0;
const SHUFFLE: u32 = 1;
const AFTER_SCAN: u32 = 0;
const BEFORE_SCAN: u32 = 1;
const WORD64: u32 = 0;
const PACKED: u32 = 1;
const SPLIT: u32 = 2;
const SEQUENTIAL: u32 = 0;
const PARALLEL: u32 = 1;
const GATHER: u32 = 2;
const TWO_LEVEL: u32 = 3;
const ADDED: u32 = 0;
const PUBLISHED: u32 = 1;
const CHAIN: u32 = 5;
const RESET_FILL: u32 = 0;
const RESET_EPOCH: u32 = 1;

impl Default for Choice {
    fn default() -> Self {
        Self {
            workgroup_size: 0,
            block_scan: RAKING,
            subgroup_scan: OPERATION,
            publish: AFTER_SCAN,
            tile_state: WORD64,
            lookback: SEQUENTIAL,
            lookback_width: 1,
            back_off: 0,
            state_stride: 1,
            group_state: ADDED,
            element: Element::U32,
        }
    }
}

impl Choice {
    fn shader(&self, root: &'static str, device: &DeviceProfile) -> Shader {
        let mut defines = vec![
            ("WORKGROUP_SIZE", self.workgroup_size),
            ("SUBGROUP_SIZE", device.subgroup_size),
            ("BATCH_SIZE", 1),
            ("LANES", 1),
            ("MODE", 0),
            ("ELEMENT", self.element.place() as u32),
            ("OPERATOR", 0),
            ("IN_PLACE", 0),
            ("LOAD_LAYOUT", 0),
            ("TRANSPOSE_ROUNDS", 1),
            ("BLOCK_SCAN", self.block_scan),
            ("SUBGROUP_SCAN", self.subgroup_scan),
            ("UNIFORM_FLOW", u32::from(device.uniform_control_flow)),
            ("LOOKBACK", self.lookback),
            ("LOOKBACK_WIDTH", self.lookback_width),
            ("TILE_ORDER", 0),
            ("PUBLISH", self.publish),
            ("RENDEZVOUS", 0),
            ("BACK_OFF", self.back_off),
            ("TILE_STATE", self.tile_state),
            ("STATE_STRIDE", self.state_stride),
            ("RESET", if self.tile_state == PACKED { RESET_FILL } else { RESET_EPOCH }),
            ("GROUP_STATE", self.group_state),
        ];
        // Numbers that these shaders do not choose have their default.
        let others = KERNEL_PARAMETERS.iter().filter_map(|parameter| {
            match (parameter.define?.name, parameter.default?) {
                (name, Value::Number(number)) => Some((name, number)),
                _ => None,
            }
        });
        let chosen = defines.clone();
        defines.extend(others.filter(|(name, _)| chosen.iter().all(|(other, _)| other != name)));
        Shader {
            root,
            defines,
            workgroup_size: self.workgroup_size,
            subgroup_size: device.subgroup_size,
            operator_file: false,
        }
    }

    fn problem(&self) -> Problem {
        Problem::new(Mode::Inclusive, self.element, Operator::Add, None, Placement::OutOfPlace).unwrap()
    }

    /// The plan of a shader with tiles: one per element.
    fn tiles(
        &self,
        root: &'static str,
        n: u64,
        more: &[PushWord],
        result: Expected,
        device: &DeviceProfile,
    ) -> Plan {
        let groups = if self.lookback == TWO_LEVEL { n.div_ceil(GROUP_TILES) } else { 0 };
        let (bank_words, published) = if self.group_state == ADDED { (groups, 0) } else { (0, groups) };
        let element_bytes = u64::from(self.element.bytes());
        let (content, state_bytes, states_offset) = match self.tile_state {
            PACKED => (ScratchContent::Anything, element_bytes, TICKET_BYTES),
            SPLIT => (ScratchContent::Tagged { epoch_bits: 14 }, 2 * element_bytes, STATES_OFFSET),
            _ => (ScratchContent::Tagged { epoch_bits: 30 }, 2 * element_bytes, STATES_OFFSET),
        };
        let state_bytes = u64::from(self.state_stride) * state_bytes;
        // Words stand in rows of 32.
        let in_rows = |records: u64| records.next_multiple_of(32);
        let turn = [PushWord::Epoch, PushWord::TicketBase, PushWord::Bank, PushWord::StaleGroups];
        let words = [&[PushWord::Value(n as u32)], &turn[..], more].concat();
        Plan {
            kind: PlanKind::Helper(root),
            label: format!("{root} {self:?}"),
            problem: self.problem(),
            n,
            bytes_moved: 2 * element_bytes * n,
            error_bound: 0.0,
            result,
            scratch: Scratch {
                tiles: 0,
                state_stride: 1,
                bytes: states_offset + (in_rows(n) + in_rows(published)) * state_bytes,
                content,
                bank_words: bank_words as u32,
            },
            passes: vec![Pass {
                shader: self.shader(root, device),
                bindings: vec![
                    Binding::Input,
                    Binding::Output,
                    Binding::Scratch(0),
                    Binding::Scratch(if published > 0 {
                        states_offset + in_rows(n) * state_bytes
                    } else {
                        TICKET_BYTES
                    }),
                    Binding::Scratch(states_offset),
                ],
                words,
                // Some of them find no tile left.
                workgroups: n + 3,
                tickets: Tickets::PerWorkgroup { more: 0 },
                co_resident: false,
            }],
        }
    }
}

/// Runs a plan some times in a row; each time every element has to be right.
fn check(bench: &mut Bench, plan: &Plan, input: &Input, calls: u32) {
    let module = bench.compiler.compile(&plan.passes[0].shader).unwrap_or_else(|error| panic!("{error}"));
    let device = bench.device();
    for created in device.create_pipelines(&[module]) {
        created.unwrap_or_else(|failure| panic!("{}: {failure}", plan.label));
    }
    device.load(&plan.problem, input, plan.n).unwrap_or_else(|failure| panic!("{}: {failure}", plan.label));
    for call in 0..calls {
        let comparison = device.verify(plan).unwrap_or_else(|failure| panic!("{}: {failure}", plan.label));
        let found = (comparison.mismatches, comparison.first);
        assert_eq!(found, (0, None), "{} at {} on {input}, call {call}", plan.label, plan.n);
    }
}

/// Workgroup sizes from one subgroup to the limit of the device.
fn workgroup_sizes(device: &DeviceProfile) -> Vec<u32> {
    let sizes = std::iter::successors(Some(device.subgroup_size), |size| Some(size * 2));
    sizes.take_while(|&size| size <= device.max_workgroup_size).collect()
}

fn check_block_scan(
    [block_scan, subgroup_scan, publish]: [u32; 3],
    workgroup_sizes: impl Fn(&DeviceProfile) -> Vec<u32>,
) {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    for workgroup_size in workgroup_sizes(&profile) {
        let choice = Choice { workgroup_size, block_scan, subgroup_scan, publish, ..Choice::default() };
        let size = u64::from(workgroup_size);
        for n in [1, 2, size / 2, size - 1, size] {
            let plan = Plan {
                kind: PlanKind::Helper("test_block_scan.comp"),
                label: format!("block scan {choice:?}"),
                problem: Problem::default(),
                n,
                bytes_moved: 8 * n,
                error_bound: 0.0,
                result: Expected::Scan,
                scratch: Scratch::NONE,
                passes: vec![Pass {
                    shader: choice.shader("test_block_scan.comp", &profile),
                    bindings: vec![Binding::Input, Binding::Output],
                    words: vec![PushWord::Value(n as u32)],
                    workgroups: 1,
                    tickets: Tickets::None,
                    co_resident: false,
                }],
            };
            for kind in [InputKind::Random, InputKind::Ones, InputKind::Maximum] {
                check(&mut bench, &plan, &Input { kind, seed: 3 }, 2);
            }
        }
    }
}

/// Multiples of the subgroup size that are no power of two too.
fn all_workgroup_sizes(device: &DeviceProfile) -> Vec<u32> {
    let odd = [3, 5].map(|subgroups| subgroups * device.subgroup_size);
    [workgroup_sizes(device), odd.to_vec()].concat()
}

#[test]
fn raking_scans_a_workgroup() {
    check_block_scan([RAKING, OPERATION, AFTER_SCAN], all_workgroup_sizes);
}

#[test]
fn blelloch_scans_a_workgroup() {
    check_block_scan([BLELLOCH, OPERATION, AFTER_SCAN], workgroup_sizes);
}

#[test]
fn levels_of_all_invocations_scan_a_workgroup() {
    // Powers of two and others, whole runs of a reduce-scan and parts of one behind them.
    let small = |device: &DeviceProfile| {
        let sizes = [1, 3, 8, 9].map(|subgroups| subgroups * device.subgroup_size);
        sizes.into_iter().filter(|&size| size <= device.max_workgroup_size).collect()
    };
    for block_scan in [KOGGE_STONE, SKLANSKY, BRENT_KUNG, REDUCE_SCAN] {
        check_block_scan([block_scan, OPERATION, AFTER_SCAN], small);
    }
}

#[test]
fn subgroups_scan_a_workgroup() {
    // Up to more subgroups than one of them has invocations. All of it is unrolled, so few sizes are enough.
    let some = |device: &DeviceProfile| {
        let sizes = [1, 3, 8, device.subgroup_size + 1].map(|subgroups| subgroups * device.subgroup_size);
        sizes.into_iter().filter(|&size| size <= device.max_workgroup_size).collect()
    };
    check_block_scan([SUBGROUP, OPERATION, AFTER_SCAN], some);
    check_block_scan([SUBGROUP, SHUFFLE, BEFORE_SCAN], some);
}

/// The tile states that the device can do.
fn tile_states(device: &DeviceProfile) -> Vec<u32> {
    if device.int64_atomics { vec![WORD64, PACKED, SPLIT] } else { vec![PACKED, SPLIT] }
}

#[test]
fn lookbacks_find_what_comes_before() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    // Lookbacks with their width, back-off and stride, and how groups get their totals.
    let all = [
        (SEQUENTIAL, 1, 0, 1, ADDED),
        (PARALLEL, 1, 0, 1, ADDED),
        (PARALLEL, 3, 2, 1, ADDED),
        (GATHER, 1, 1, 16, ADDED),
        (TWO_LEVEL, 1, 2, 3, ADDED),
        (TWO_LEVEL, 1, 2, 3, PUBLISHED),
        (CHAIN, 1, 2, 3, ADDED),
    ];
    for tile_state in tile_states(&profile) {
        for (lookback, lookback_width, back_off, state_stride, group_state) in all {
            if lookback == TWO_LEVEL && group_state == ADDED && tile_state != WORD64 {
                continue;
            }
            for subgroups in [1, 4] {
                let workgroup_size = subgroups * profile.subgroup_size;
                let choice = Choice {
                    workgroup_size,
                    tile_state,
                    lookback,
                    lookback_width,
                    back_off,
                    state_stride,
                    group_state,
                    ..Choice::default()
                };
                let window = match lookback {
                    TWO_LEVEL => GROUP_TILES,
                    _ => u64::from(profile.subgroup_size * lookback_width),
                };
                for n in [1, 2, window - 1, window, window + 1, 2 * window + 1, 1000] {
                    for delay in [0, 300] {
                        let more = [PushWord::Value(delay), PushWord::Value(1)];
                        let plan = choice.tiles("test_lookback.comp", n, &more, Expected::Scan, &profile);
                        let kind = match tile_state {
                            PACKED => InputKind::Bounded { n: 1000 },
                            _ => InputKind::Random,
                        };
                        check(&mut bench, &plan, &Input { kind, seed: 5 }, 3);
                    }
                }
            }
        }
    }
}

#[test]
fn lookbacks_go_back_to_the_last_prefix() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    // Those that look for an inclusive prefix further back than the tile before, with their widths.
    for (lookback, lookback_width) in
        [(SEQUENTIAL, 1), (PARALLEL, 1), (PARALLEL, 2), (PARALLEL, 3), (PARALLEL, 4)]
    {
        let workgroup_size = profile.subgroup_size;
        let choice =
            Choice { workgroup_size, tile_state: SPLIT, lookback, lookback_width, ..Choice::default() };
        let window = profile.subgroup_size * lookback_width;
        // Several prefixes in a window, one, none; and none in two windows one after the other, and in three. Tiles
        // behind a prefix are as far from it as the next one is, and nearer: all places in a window have their turn.
        for apart in [2, window / 2 + 1, window, window + 1, 2 * window + 1, 3 * window + 1] {
            let more = [PushWord::Value(0), PushWord::Value(apart)];
            let n = u64::from(2 * apart + 2);
            let plan = choice.tiles("test_lookback.comp", n, &more, Expected::Scan, &profile);
            check(&mut bench, &plan, &Input { kind: InputKind::Random, seed: 5 }, 2);
        }
    }
}

#[test]
fn a_message_arrives_whole_and_in_order() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    // A split state tells apart what is published once per state and call, as tiles do: here every state has many
    // values.
    for tile_state in tile_states(&profile).into_iter().filter(|&tile_state| tile_state != SPLIT) {
        let choice = Choice { workgroup_size: profile.subgroup_size, tile_state, ..Choice::default() };
        for n in [2, 64, 511] {
            let plan = choice.tiles("test_messages.comp", n, &[], Expected::Copy, &profile);
            check(&mut bench, &plan, &Input { kind: InputKind::Random, seed: 9 }, LITMUS_CALLS);
            // Words of earlier calls are there already; these look like messages and belong to nobody.
            let garbage = match tile_state {
                PACKED => Garbage::Unnoticed(0x8000_0006),
                _ => Garbage::InTileStates { word: 6, from: STATES_OFFSET },
            };
            bench.device().scribble_scratch(garbage).unwrap();
            check(&mut bench, &plan, &Input { kind: InputKind::Random, seed: 9 }, 1);
            bench.device().scribble_scratch(Garbage::InNewMemory(10)).unwrap();
        }
    }
}

#[test]
fn states_are_ordered_as_numbers() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    for tile_state in tile_states(&profile) {
        for state_stride in [1, 3] {
            let workgroup_size = profile.subgroup_size;
            let choice = Choice { workgroup_size, tile_state, state_stride, ..Choice::default() };
            // Every sequence of three insertions and a store.
            let plan = choice.tiles("test_insertion.comp", 81, &[], Expected::Copy, &profile);
            let input = Input { kind: InputKind::Random, seed: 9 };
            check(&mut bench, &plan, &input, 3);
            // States of an earlier epoch, with the highest state and the greatest value that there is, are lower.
            let garbage = match tile_state {
                PACKED => Garbage::Unnoticed(0xbfff_ffff),
                SPLIT => Garbage::InTileStates { word: 0x0006_ffff, from: STATES_OFFSET },
                _ => Garbage::InTileStates { word: 6, from: STATES_OFFSET },
            };
            bench.device().scribble_scratch(garbage).unwrap();
            check(&mut bench, &plan, &input, 1);
            bench.device().scribble_scratch(Garbage::InNewMemory(10)).unwrap();
        }
    }
}

#[test]
fn words_of_a_state_count_only_together() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    for (tile_state, element, words) in
        [(SPLIT, Element::U32, 2), (SPLIT, Element::U64, 4), (WORD64, Element::U64, 2)]
    {
        let able = element == Element::U32 || profile.int64_elements;
        if !able || !tile_states(&profile).contains(&tile_state) {
            continue;
        }
        let workgroup_size = profile.subgroup_size;
        let choice = Choice { workgroup_size, tile_state, element, ..Choice::default() };
        // Every mixture of words.
        let n = 4_u64.pow(words);
        let plan = choice.tiles("test_torn_states.comp", n, &[], Expected::Copy, &profile);
        check(&mut bench, &plan, &Input { kind: InputKind::Random, seed: 9 }, 2);
    }
}

#[test]
fn the_litmus_test_finds_what_it_looks_for() {
    // A word in two halves, state first: what a tile state must not be. The reader may see either half first, so not
    // every device shows it; that it compiles and that the check is not blind is seen with a state that is late.
    let Some(mut bench) = Bench::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy_folder(&crate_folder.join("../../kernels/glsl"), folder.path());
        copy_folder(&crate_folder.join("tests/shaders"), folder.path());
        let path = folder.path().join("test_messages.comp");
        let text = fs::read_to_string(&path).unwrap();
        let broken =
            text.replace("publish(tile, 1u + message % 2u,", "publish(tile, 1u + (message + 1u) / 2u % 2u,");
        assert_ne!(text, broken);
        fs::write(&path, broken).unwrap();
        compiler_of_folder(folder.path())
    }) else {
        return;
    };
    let profile = bench.device().profile().clone();
    let choice = Choice { workgroup_size: profile.subgroup_size, tile_state: PACKED, ..Choice::default() };
    let plan = choice.tiles("test_messages.comp", 64, &[], Expected::Copy, &profile);
    let (device, compiler) = bench.parts();
    let module = compiler.compile(&plan.passes[0].shader).unwrap();
    device.create_pipelines(&[module]).remove(0).unwrap();
    device.load(&Problem::default(), &Input { kind: InputKind::Random, seed: 9 }, 64).unwrap();
    let comparison = device.verify(&plan).unwrap();
    assert!(comparison.mismatches > 0, "states that do not belong to their values go unnoticed");
}
