//! Every kernel compiles, for every subgroup size, without a device.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use scanbox_kernels::cases::Circumstance;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_kernels::{catalog, legal};
use scanbox_model::config::{Config, Lookback, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::{Guarantee, Residency};
use scanbox_model::space::{Rejection, Space};
use scanbox_testing::covering::{NumbersTried, PARAMETERS, all_pairs, covering};
use scanbox_testing::device::with_subgroups as device;
use scanbox_testing::space::points_per_size;

use crate::reconvergence::can_ask;

fn u32_sum(config: &Config, n: u64, device: &DeviceProfile) -> Result<(), Rejection> {
    legal(config, &Problem::default(), n, device)
}

const THESIS: &str = include_str!("../../../configs/thesis.toml");

fn compile(shaders: &BTreeSet<Shader>) {
    let shaders: Vec<Shader> = shaders.iter().cloned().collect();
    for outcome in Compiler::new(None, None).unwrap().compile_all(&shaders) {
        can_ask(&outcome.unwrap());
    }
}

fn shaders(config: &Config, n: u64, device: &DeviceProfile) -> impl Iterator<Item = Shader> + use<> {
    catalog::plan(config, &Problem::default(), n, device).unwrap().passes.into_iter().map(|pass| pass.shader)
}

#[test]
fn the_thesis_space_compiles() {
    let device = device(32, true);
    let points = Space::from_toml(THESIS, "thesis").unwrap().enumerate(&device, u32_sum).points;
    let shaders: BTreeSet<Shader> =
        points.iter().flat_map(|point| shaders(&point.config, point.n, &device)).collect();
    assert_eq!(shaders.len(), 240);
    compile(&shaders);
}

/// What devices differ in, for shaders.
const SUBGROUP_SIZES: [u32; 6] = [4, 8, 16, 32, 64, 128];
const YES_AND_NO: [bool; 2] = [true, false];

/// A device that guarantees everything, so that rules about the code alone are left. One that promises uniform
/// control flow takes every dispatch in one row of workgroups too.
fn willing(subgroup: usize, atomics: usize, flow: usize) -> DeviceProfile {
    let row = if YES_AND_NO[flow] { 1 << 31 } else { 65_535 };
    DeviceProfile {
        guarantees: Guarantee::VALUES.to_vec(),
        uniform_control_flow: YES_AND_NO[flow],
        max_workgroup_count: [row, 65_535, 65_535],
        ..device(SUBGROUP_SIZES[subgroup], YES_AND_NO[atomics])
    }
}

fn numbers(subgroup_size: u32) -> NumbersTried {
    NumbersTried {
        batch_sizes: vec![1, 3, 4, 12, 16],
        workgroup_sizes: [1, 3, 8, 32].map(|subgroups| (subgroups * subgroup_size).min(1024)).to_vec(),
        lookback_widths: vec![1, 3, 8],
        state_strides: vec![1, 16],
        workgroups_per_unit: vec![1],
    }
}

#[test]
fn every_pair_of_values_compiles_for_every_subgroup_size() {
    let mut all: Vec<[usize; PARAMETERS + 3]> = Vec::new();
    for subgroup in 0..SUBGROUP_SIZES.len() {
        for atomics in 0..2 {
            for flow in 0..2 {
                let device = willing(subgroup, atomics, flow);
                let candidates = numbers(device.subgroup_size).candidates(&device, 4, |_| true);
                all.extend(candidates.iter().map(|values| {
                    let mut row = [subgroup; PARAMETERS + 3];
                    (row[PARAMETERS], row[PARAMETERS + 1]) = (atomics, flow);
                    row[..PARAMETERS].copy_from_slice(values);
                    row
                }));
            }
        }
    }
    let rows = covering(&all);
    assert_eq!(all_pairs(&rows), all_pairs(&all));
    for (place, count) in numbers(4).counts().into_iter().enumerate() {
        let missing = (0..count).find(|&value| rows.iter().all(|row| row[place] != value));
        assert_eq!(missing, None, "a value of parameter {place} is in no config");
    }
    assert!((30..110).contains(&rows.len()), "{} rows", rows.len());
    let (mut all_shaders, mut varied) = (BTreeSet::new(), 0);
    for row in rows {
        let [values @ .., atomics, flow, subgroup] = row;
        let device = willing(subgroup, atomics, flow);
        let config = numbers(device.subgroup_size).config(values);
        // Two tiles and a bit: enough for all passes of families that have several.
        let n = 2 * config.tile_elements() + 1;
        all_shaders.extend(shaders(&config, n, &device));
        // With all that verifications ask of kernels beside.
        let problem = Problem::default();
        if let Some(variant) = Circumstance::varied(&config, &problem, n, &device) {
            let plan = catalog::plan_variant(&config, variant, &problem, n, &device).unwrap();
            all_shaders.extend(plan.passes.into_iter().map(|pass| pass.shader));
            varied += 1;
        }
        all_shaders.extend(catalog::helper_shaders(&device));
    }
    assert!(varied >= 10, "{varied}");
    compile(&all_shaders);
}

#[test]
fn the_covering_rows_are_few_and_have_every_pair() {
    let all: Vec<[usize; 4]> = (0..3 * 2 * 4).map(|i| [i % 3, i / 3 % 2, i / 6, 0]).collect();
    let rows = covering(&all);
    assert_eq!(all_pairs(&rows), all_pairs(&all));
    assert!((12..=14).contains(&rows.len()), "{}: 12 are the fewest for 4 and 3 values", rows.len());
    assert_eq!(covering(&all), rows, "the same rows each time");
}

/// The number that the sources give a name.
fn number(name: &str) -> Option<u32> {
    static SOURCES: LazyLock<Compiler> = LazyLock::new(|| Compiler::new(None, None).unwrap());
    let number =
        |line: &str| line.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    SOURCES.source("config.glsl")?.lines().find_map(number)
}

#[test]
fn numbers_of_the_catalog_are_those_of_the_shaders() {
    fn check<P: Parameter>(value: P, defines: &BTreeMap<&'static str, u32>) {
        let name = P::NAME.replace("op", "operator").to_uppercase();
        let value = format!("{name}_{}", value.word().replace('-', "_").to_uppercase());
        assert_eq!(number(&value), Some(defines[&*name]), "{value}");
    }
    let device = willing(3, 0, 0);
    let numbers = numbers(32);
    for values in numbers.candidates(&device, 2, |_| true) {
        let config = numbers.config(values);
        let kernel = &config.kernel;
        let defines: BTreeMap<_, _> =
            shaders(&config, 1, &device).flat_map(|shader| shader.defines).collect();
        check(kernel.load_layout, &defines);
        check(kernel.block_scan, &defines);
        check(kernel.subgroup_scan, &defines);
        assert_eq!(defines["BATCH_SIZE"], kernel.batch_size);
        if kernel.lookback == Lookback::None {
            continue;
        }
        check(kernel.lookback, &defines);
        check(kernel.tile_order, &defines);
        check(kernel.publish, &defines);
        check(kernel.rendezvous, &defines);
        check(kernel.back_off, &defines);
        check(kernel.tile_state, &defines);
        check(kernel.reset, &defines);
        assert_eq!(defines["LOOKBACK_WIDTH"], kernel.lookback_width);
        let falls_back = kernel.lookback.falls_back();
        assert_eq!(defines.get("MAX_SPINS").copied(), falls_back.then_some(kernel.max_spins));
        assert_eq!(defines["STATE_STRIDE"], kernel.state_stride);
    }
}

#[test]
fn what_a_rule_says_no_to() {
    /// The rule, if any, that a device which guarantees everything but what is listed has for a config.
    #[track_caller]
    fn check(label: &str, n: u64, rule: &str, change: impl Fn(&mut DeviceProfile)) {
        let mut device = willing(3, 0, 0);
        change(&mut device);
        let verdict = legal(&label.parse().unwrap(), &Problem::default(), n, &device);
        let found = verdict.as_ref().map_or_else(|rejection| &*rejection.rule, |()| "");
        assert_eq!(found, rule, "{label} at {n}: {verdict:?}");
    }
    let combination = |label: &str, rule: &str| check(label, 1000, rule, |_| {});
    for label in [
        "b4.vec4.par.rake.wg64",
        "b3.vec4.two.sub.shuffle.striped.wgid.early.backoff.stride16.clean.wg96",
        "b4.vec4.par.rake.width8.packed.clean.wg64",
        "one.b7.vec4.none.sub.striped.wg1024",
        "redo.b1.scalar.none.blelloch.direct.wg32",
        "pers.b3.vec4.gather.sub.striped.robin.early.flags.pause.packed.wg96.u4",
        "pers.b4.vec4.two.sub.early.clean.wg256.u64",
        "b4.vec4.chain.sub.striped.early.backoff.stride2.packed.clean.wg96",
        "b4.vec4.chain.ks.split.wg96",
        "rts.b4.vec4.none.sub.shuffle.striped.wg96",
        "stp.b4.vec4.none.rs.direct.wg96",
        "one.b4.vec4.none.bk.wg96",
        "redo.b4.vec4.none.sk.wg96",
    ] {
        combination(label, "");
    }
    combination("b4.vec4.none.rake.wg64", "family-lookback");
    combination("one.b4.vec4.par.rake.wg64", "family-lookback");
    combination("redo.b4.vec4.gather.rake.wg64", "family-lookback");
    combination("pers.b4.vec4.par.sub.early.wg64.u1", "family-lookback");
    combination("pers.b4.vec4.chain.sub.early.wg64.u1", "family-lookback");
    combination("rts.b4.vec4.par.rake.wg64", "family-lookback");
    combination("stp.b4.vec4.chain.rake.wg64", "family-lookback");
    combination("rts.b4.vec4.none.rake.wgid.wg64", "family-tile-order");
    combination("stp.b4.vec4.none.sub.early.wg64", "family-without-states");
    combination("rts.b4.vec4.none.rake.fill.wg64", "family-without-states");
    combination("rts.b4.vec4.none.ks.striped.wg64", "striped-needs-subgroup-scan");
    combination("rts.b4.vec4.none.rake.wg64.u1", "persistent-has-workgroups-per-unit");
    combination("b4.vec4.chain.rake.width2.wg64", "width-needs-parallel");
    combination("b4.vec4.par.rake.striped.wg64", "striped-needs-subgroup-scan");
    combination("b4.vec4.par.blelloch.early.wg64", "before-scan-needs-subgroup-scan");
    combination("b4.vec4.seq.rake.width2.wg64", "width-needs-parallel");
    combination("b4.vec4.gather.rake.width2.wg64", "width-needs-parallel");
    combination("b4.vec4.fallback.sub.striped.early.spins0.pause.stride4.split.fill.wg96", "");
    combination("b4.vec4.fallback.rake.packed.clean.wg64", "");
    combination("b4.vec4.gatherfall.sub.striped.wgid.early.spins0.split.fill.wg96", "");
    combination("b4.vec4.fallback.rake.width2.wg64", "width-needs-parallel");
    combination("b4.vec4.par.rake.spins0.wg64", "spins-need-fallback");
    combination("pers.b4.vec4.fallback.sub.early.wg64.u1", "family-lookback");
    combination("pers.b4.vec4.gatherfall.sub.striped.early.spins0.split.fill.wg96.u1", "");
    combination("pers.b4.vec4.gatherfall.sub.robin.early.turn.wg64.u1", "");
    combination("pers.b4.vec4.gatherfall.sub.early.flags.wg64.u1", "fallback-needs-barriers");
    combination("pers.b4.vec4.gatherfall.sub.wgid.early.wg64.u1", "persistent-fallback-order");
    combination("one.b4.vec4.fallback.sub.wg64", "family-lookback");
    combination("pers.b4.vec4.two.sub.wg64.u1", "persistent-publishes-before-scan");
    combination("pers.b4.vec4.two.rake.wg64.u1", "persistent-publishes-before-scan");
    combination("b4.vec4.par.rake.shuffle.wg64", "shuffle-needs-subgroup-scan");
    combination("b4.vec4.par.sub.flags.wg64", "flags-need-persistent");
    combination("pers.b4.vec4.two.sub.early.flags.clean.wg64.u1", "flags-with-clean");
    combination("pers.b4.vec4.gather.sub.early.flags.packed.clean.wg64.u1", "flags-with-clean");
    combination("pers.b4.vec4.two.sub.early.clean.wg64.u1", "");
    combination("pers.b4.vec4.two.sub.early.wg64", "persistent-has-workgroups-per-unit");
    combination("pers.b4.vec4.two.sub.early.wg64.g16", "persistent-has-workgroups-per-unit");
    combination("b4.vec4.par.rake.wg64.u4", "persistent-has-workgroups-per-unit");
    combination("b4.vec4.par.rake.robin.wg64", "family-tile-order");
    combination("one.b4.vec4.none.rake.wgid.wg64", "family-tile-order");
    combination("one.b4.vec4.none.sub.early.wg64", "family-without-states");
    combination("redo.b4.vec4.none.rake.pause.wg64", "family-without-states");
    combination("redo.b4.vec4.none.rake.stride2.wg64", "family-without-states");
    combination("one.b4.vec4.none.rake.word64.wg64", "family-without-states");
    combination("one.b4.vec4.none.rake.clean.wg64", "family-without-states");
    combination("b4.vec4.par.rake.packed.epoch.wg64", "packed-has-no-epoch");
    combination("b4.vec4.par.rake.packed.turn.wg64", "packed-has-no-epoch");
    combination("b4.vec4.par.rake.split.turn.wg64", "");
    combination("pers.b4.vec4.two.sub.early.flags.turn.wg64.u1", "");
    combination("b4.vec4.par.rake.turn.block.wg64", "turn-needs-push");
    combination("b4.vec4.par.rake.turn.baked.wg64", "turn-needs-push");
    combination("one.b4.vec4.none.rake.turn.wg64", "family-without-states");
    combination("b4.vec4.two.rake.packed.fill.wg64", "");
    combination("b4.vec4.par.rake.wg48", "full-subgroups");
    combination("b4.vec4.par.blelloch.wg96", "blelloch-power-of-two");
    combination("b4.vec4.par.rake.wg64.g4", "workgroups-fix-size");
    check("b4.vec4.par.rake.wg64.g4", 4096, "", |_| {});

    let size = |label: &str, n: u64, rule: &str| check(label, n, rule, |_| {});
    size("b4.vec4.par.rake.wg64", 0, "no-elements");
    size("b4.vec4.par.rake.wg64", 1 << 32, "index-32-bit");
    // 2^18 elements per tile, and a tile behind the end for each of 64 times 16 workgroups, and for the last tile.
    size("pers.b64.vec4.two.sub.early.wg1024.u64", (1 << 32) - 257 - (1025 << 18), "");
    size("pers.b64.vec4.two.sub.early.wg1024.u64", (1 << 32) - 256 - (1025 << 18), "index-32-bit");
    size("b1.vec4.par.rake.packed.wg64", (1 << 30) - 1, "");
    size("b1.vec4.par.rake.packed.wg64", 1 << 30, "packed-total");
    // 2^16 groups of 32 tiles of 32 elements.
    size("b1.scalar.two.sub.wg32", 1 << 26, "");
    size("b1.scalar.two.sub.wg32", (1 << 26) + 1, "group-words");
    size("b1.scalar.two.sub.split.wg32", (1 << 26) + 1, "");
    for family in ["one", "redo"] {
        size(&format!("{family}.b4.vec4.none.sub.wg64"), 1 << 20, "");
        size(&format!("{family}.b4.vec4.none.sub.wg64"), (1 << 20) + 1, "family-size");
    }

    // 16 words of 8 bytes for each of 2^27 tiles.
    size("b1.scalar.par.rake.stride16.wg32", (1 << 32) - 257 - 32, "index-32-bit");
    size("rts.b4.vec4.none.sub.wg64", (1 << 32) - 257 - 1024, "");
    size("stp.b4.vec4.none.sub.wg64", 1 << 32, "index-32-bit");

    let without =
        |label: &str, rule: &str, change: &dyn Fn(&mut DeviceProfile)| check(label, 1000, rule, change);
    without("b4.vec4.par.rake.word64.wg64", "word64-needs-int64-atomics", &|device| {
        device.int64_atomics = false;
    });
    without("b4.vec4.two.rake.wg64", "", &|device| device.int64_atomics = false);
    without("b4.vec4.gather.rake.wg64", "", &|device| device.int64_atomics = false);
    let vulkan = |device: &mut DeviceProfile| device.guarantees.clear();
    without("b4.vec4.par.rake.wgid.wg64", "needs-workgroup-order", &vulkan);
    without("b4.vec4.fallback.rake.wgid.wg64", "", &vulkan);
    without("b4.vec4.gatherfall.rake.wgid.wg64", "", &vulkan);
    without("pers.b4.vec4.two.sub.robin.early.wg64.u1", "needs-co-residency", &vulkan);
    without("pers.b4.vec4.two.sub.wgid.early.wg64.u1", "needs-co-residency", &vulkan);
    without("pers.b4.vec4.two.sub.early.flags.wg64.u1", "needs-subgroup-progress", &vulkan);
    without("pers.b4.vec4.two.sub.early.flags.wg32.u1", "", &vulkan);
    without("b4.vec4.two.sub.striped.early.wg64", "", &vulkan);
    without("b4.vec4.par.rake.wg512", "workgroup-size-limit", &|device| device.max_workgroup_size = 256);
    without("b4.vec4.par.rake.wg512", "shared-memory", &|device| device.max_shared_bytes = 1024);
    without("b4.vec4.par.sub.direct.wg512", "", &|device| device.max_shared_bytes = 1024);
    // Two copies of the totals, where one has room.
    without("b4.vec4.par.ks.direct.wg512", "shared-memory", &|device| device.max_shared_bytes = 4096);
    without("b4.vec4.par.sk.direct.wg512", "", &|device| device.max_shared_bytes = 4096);
    without("rts.b4.vec4.none.sub.wg64", "", &vulkan);
    without("b4.vec4.chain.sub.wg64", "", &vulkan);
    without("b1.scalar.par.rake.wg32", "workgroup-count-limit", &|device| {
        device.max_workgroup_count = [31, 1, 1];
    });
    without("b1.scalar.par.rake.wg32", "device-memory", &|device| device.memory_bytes = 1 << 14);
}

#[test]
fn a_fixed_pause_has_a_length() {
    let device = willing(3, 0, 0);
    let spirv = |label: &str| {
        let config: Config = label.parse().unwrap();
        assert_eq!(config.to_string(), label);
        let shader = shaders(&config, 1000, &device).next().unwrap();
        let rounds =
            shader.defines.iter().find(|(name, _)| *name == "PAUSE_ROUNDS").map(|(_, rounds)| *rounds);
        (rounds, Compiler::new(None, None).unwrap().compile(&shader).unwrap().code.spirv().unwrap())
    };
    let [none, four, one, most] = ["", ".pause", ".pause.rounds1", ".pause.rounds1024"]
        .map(|tags| spirv(&format!("b4.vec4.par.rake{tags}.wg64")));
    assert_eq!([none.0, four.0, one.0, most.0], [None, Some(4), Some(1), Some(1024)]);
    assert!(four.1 != one.1 && four.1 != most.1);
    for wrong in ["pause.rounds4", "pause.rounds0", "pause.rounds1025"] {
        assert!(format!("b4.vec4.par.rake.{wrong}.wg64").parse::<Config>().is_err(), "{wrong}");
    }
    for tags in ["rounds8", "backoff.rounds8"] {
        let config = format!("b4.vec4.par.rake.{tags}.wg64").parse().unwrap();
        let rejection = legal(&config, &Problem::default(), 1000, &device).unwrap_err();
        assert_eq!(rejection.rule, "rounds-need-fixed-back-off");
    }
}

#[test]
fn workgroups_that_wait_for_each_other_have_to_fit() {
    #[track_caller]
    fn check(label: &str, n: u64, registers: Option<u32>, rule: &str, change: impl Fn(&mut DeviceProfile)) {
        let mut device = DeviceProfile {
            compute_units: Some(2),
            residency: Some(Residency {
                partitions: 4,
                registers: 16_384,
                register_step: 8,
                subgroups: 64,
                workgroups: 32,
                shared_bytes: 100 << 10,
                shared_overhead: 1024,
            }),
            ..willing(3, 0, 0)
        };
        change(&mut device);
        let config = label.parse().unwrap();
        let plan = catalog::plan(&config, &Problem::default(), n, &device).unwrap();
        let verdict = catalog::resident(&plan, &device, registers);
        let found = verdict.as_ref().map_or_else(|rejection| &*rejection.rule, |()| "");
        assert_eq!(found, rule, "{label} at {n}: {verdict:?}");
    }
    // 64 registers and workgroups of 256: two subgroups per partition, of eight that fit there.
    let robin = |count: u32| format!("pers.b1.vec4.two.sub.direct.robin.early.wg256.u{count}");
    check(&robin(4), 1 << 20, Some(64), "", |_| {});
    check(&robin(5), 1 << 20, Some(64), "residency", |_| {});
    check(&robin(4), 1 << 20, Some(65), "residency", |_| {});
    check(&robin(5), 1 << 20, Some(48), "", |_| {});
    // Few tiles start few workgroups.
    check(&robin(5), 8 * 1024, Some(64), "", |_| {});
    check(&robin(5), 9 * 1024, Some(64), "residency", |_| {});
    check("pers.b1.vec4.two.sub.direct.early.wg256.u5", 1 << 20, Some(64), "", |_| {});
    // Nobody knows; one workgroup fits always.
    check(&robin(1), 1 << 20, None, "residency-unknown", |_| {});
    check(&robin(1), 1 << 20, Some(64), "residency-unknown", |device| device.residency = None);
    check(&robin(1), 1 << 20, Some(64), "residency-unknown", |device| device.compute_units = None);
    check(&robin(1), 1024, None, "", |device| device.residency = None);
    // Registers are enough for 8. Through shared memory in two rounds: 4 times 256 vectors and their padding are 18
    // KiB.
    let transposed = |count: u32| format!("pers.b8.vec4.two.sub.robin.early.wg256.u{count}");
    check(&transposed(5), 1 << 20, Some(32), "", |_| {});
    check(&transposed(6), 1 << 20, Some(32), "residency", |_| {});
    check(&transposed(8), 1 << 20, Some(32), "", |device| {
        device.residency.as_mut().unwrap().shared_bytes = 200 << 10;
    });
}

#[test]
fn the_thesis_space_has_3600_configs_where_subgroups_have_32_invocations() {
    // 8 GiB: 2^29 elements four times do fit the 64 GiB of the test device.
    let space = Space::from_toml(THESIS, "thesis").unwrap();
    let enumeration = space.enumerate(&device(32, true), u32_sum);
    assert_eq!(enumeration.points.len(), 3600);
    assert_eq!(enumeration.kernels().len(), 40);
    assert_eq!(enumeration.pipelines().len(), 240);
    assert_eq!(points_per_size(&enumeration).values().max(), Some(&240));
    assert_eq!(
        enumeration.rejections.iter().map(|rejection| rejection.rule.as_str()).collect::<Vec<_>>(),
        ["size-outside-space"]
    );
}

#[test]
fn an_error_names_shader_and_defines() {
    let device = device(32, true);
    let mut shader = catalog::helper_shaders(&device).remove(0);
    shader.defines.retain(|(name, _)| *name != "LANES");
    let error = Compiler::new(None, None).unwrap().compile(&shader).unwrap_err().to_string();
    assert!(error.contains("WORKGROUP_SIZE=") && error.contains("LANES must be defined"), "{error}");
}

#[test]
fn the_cache_gives_the_same_words_and_survives_garbage() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new(None, Some(folder.path().to_owned())).unwrap();
    let shader = catalog::helper_shaders(&device(8, true)).remove(0);
    let fresh = compiler.compile(&shader).unwrap();
    let cached = compiler.compile(&shader).unwrap();
    assert!(fresh.compile_ms > 0 && cached.compile_ms == 0);
    assert_eq!(fresh.code.spirv().unwrap(), cached.code.spirv().unwrap());
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, b"garbage").unwrap();
    let again = compiler.compile(&shader).unwrap();
    assert_eq!(fresh.code.spirv().unwrap(), again.code.spirv().unwrap());
}

#[test]
fn sources_can_come_from_a_folder() {
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/glsl");
    let embedded = Compiler::new(None, None).unwrap();
    let folder = Compiler::new(Some(kernels.as_ref()), None).unwrap();
    assert_eq!(embedded.kernel_hash(), folder.kernel_hash());
    assert!(Compiler::new(Some("/nowhere".as_ref()), None).unwrap_err().to_string().contains("/nowhere"));
}
