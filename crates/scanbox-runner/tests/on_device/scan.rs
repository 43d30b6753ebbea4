//! Whole scans on a real device: configs that cover every pair of parameter values, at awkward sizes, on all inputs, in
//! all circumstances of a verification.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::harness::{self, Bench, compiler};
use super::progress::hangs;
use scanbox_kernels::cases::{Builds, CaseRequest, CaseSelection, Item, Pattern};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::plan::GROUP_TILES;
use scanbox_model::config::{BlockScan, Config, Lookback};
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::verify::{self, ItemVerdict, Tally, VerifyEvent, VerifyJob};
use scanbox_testing::covering::{Combination, NumbersTried, covering};

/// Drivers that compile for a CPU take a minute for the largest tiles, and for raking with many subgroups per lane,
/// which is all unrolled; these tests have to end.
const SOFTWARE_TILE_ELEMENTS: u64 = 4096;
const SOFTWARE_RAKING_SHARE: u32 = 64;

/// Tiles up to this size make levels of totals with moderate inputs.
const SOME_LEVELS_TILE_ELEMENTS: u64 = 128;

/// Registers that an invocation has at most on any device.
const MOST_REGISTERS: u32 = 256;

/// Every config that the device can run, of moderate size where it is a program.
fn configs(device: &DeviceProfile) -> Vec<(Combination, Config)> {
    let subgroup = device.subgroup_size;
    let some = (2 * subgroup).max(64);
    let numbers = NumbersTried {
        // A software device compiles what is unrolled 16 times three times as long.
        batch_sizes: if device.kind == DeviceKind::Software {
            vec![1, 2, 3, 4]
        } else {
            vec![1, 2, 3, 8, 16]
        },
        // Three subgroups are no power of two.
        workgroup_sizes: [subgroup, 3 * subgroup, some, 4 * some, device.max_workgroup_size]
            .map(|size| size.min(device.max_workgroup_size / subgroup * subgroup))
            .to_vec(),
        lookback_widths: vec![1, 3],
        state_strides: vec![1, 16],
        workgroups_per_unit: vec![1],
    };
    let share = |config: &Config| match config.kernel.block_scan {
        BlockScan::Raking => config.workgroup_size / subgroup,
        _ => 1,
    };
    let moderate = |config: &Config| {
        !hangs(config, device)
            && (device.kind != DeviceKind::Software
                || (config.tile_elements() <= SOFTWARE_TILE_ELEMENTS
                    && share(config) <= SOFTWARE_RAKING_SHARE))
    };
    let candidates = numbers.candidates(device, 12, moderate);
    candidates.into_iter().map(|values| (values, numbers.config(values))).collect()
}

/// The cases of a row: sizes around one boundary each, and one input, in turns.
fn items(row: usize, config: Config, device: &DeviceProfile) -> Vec<Item> {
    let tile = config.tile_elements();
    let window = match config.kernel.lookback {
        Lookback::TwoLevel => GROUP_TILES * tile,
        // Another level of totals begins here: where that is not too far.
        Lookback::None if tile <= SOME_LEVELS_TILE_ELEMENTS => catalog::LAST_LEVEL_TILES * tile * tile,
        _ => u64::from(device.subgroup_size * config.kernel.lookback_width) * tile,
    };
    // Workgroups that all have to run at the same time may be more than fit; one of them fits always.
    let fits = |n: &u64| {
        let plan = catalog::plan(&config, &Problem::default(), *n, device);
        plan.map_or(true, |plan| catalog::resident(&plan, device, Some(MOST_REGISTERS)).is_ok())
    };
    let sizes = match row % 6 {
        _ if !fits(&(window + tile + 1)) => vec![1, tile - 1, tile],
        0 => vec![1, tile, 7 * tile + 1],
        1 => vec![tile - 1, 3 * tile - 1],
        2 => vec![tile + 1, 2 * tile, 1021],
        3 => vec![3, window + 1],
        4 => vec![1025, window + tile + 1],
        _ => vec![4093, 2 * tile + 1],
    };
    let pattern = Pattern::of_problem(&Problem::default())[(row + row / 5) % 5];
    // The packed tile state carries no maximum.
    let patterns = if pattern == Pattern::Maximum { vec![pattern, Pattern::Ones] } else { vec![pattern] };
    let request = CaseRequest {
        problem: Problem::default(),
        patterns,
        sizes: Some(sizes.into_iter().filter(|&n| n > 0).collect()),
        thorough: false,
        seed: 11,
    };
    CaseSelection::new(&[config], device, &request, |_| Ok(())).items
}

/// Verifies items in sessions of their own: another one goes on where a time-out has ended one.
#[allow(clippy::print_stderr, reason = "what has not run to its end must be said")]
fn check(problem: Problem, builds: Builds, mut items: Vec<Item>) {
    let start = Instant::now();
    let (mut tally, mut configs) = (Tally::default(), BTreeSet::new());
    while !items.is_empty() {
        let Some(mut bench) = Bench::new(compiler) else { return };
        let swiftshader = bench.device().profile().driver.contains("SwiftShader");
        let mut verdicts: Vec<ItemVerdict> = Vec::new();
        let (device, compiler) = bench.parts();
        let job = VerifyJob {
            problem,
            items: items.clone(),
            variant: Variant::default(),
            builds,
            seed: 3,
            one_by_one: false,
        };
        verify::run(device, compiler, &job, &AtomicBool::new(false), &mut |event| {
            if let VerifyEvent::Finished { verdict } = event {
                verdicts.push(verdict.clone());
            }
            Ok::<(), Failure>(())
        })
        .unwrap();
        for verdict in &verdicts {
            tally.add(&verdict.tally);
            configs.insert(verdict.config.clone());
            match verdict.status {
                Status::Ok => {}
                Status::Timeout if swiftshader => eprintln!("did not come to its end: {verdict:?}"),
                _ => panic!("{verdict:#?}"),
            }
        }
        items.retain(|item| {
            !verdicts.iter().any(|verdict| {
                let failed = verdict.status != Status::Ok;
                verdict.config == item.config.to_string() && (failed || verdict.input == item.input)
            })
        });
    }
    let Tally { cases, calls, elements, .. } = tally;
    let (configs, seconds) = (configs.len(), start.elapsed().as_secs_f64());
    eprintln!("{configs} configs, {cases} cases, {calls} calls, {elements} elements, {seconds:.1} s");
}

fn profile() -> Option<DeviceProfile> {
    Bench::new(compiler).map(|mut bench| bench.device().profile().as_ref().clone())
}

#[test]
fn every_pair_of_parameter_values_is_right() {
    let Some(device) = profile() else { return };
    let configs: BTreeMap<Combination, Config> = configs(&device).into_iter().collect();
    let rows = covering(&configs.keys().copied().collect::<Vec<_>>());
    assert!(rows.len() < 110, "{} rows", rows.len());
    for builds in [Builds::All, Builds::Swept] {
        let rows = rows.iter().map(|values| configs[values]).enumerate();
        let rows = rows.filter(|&(row, _)| harness::builds(row, &device) == builds);
        let items: Vec<Item> = rows.flat_map(|(row, config)| items(row, config, &device)).collect();
        check(Problem::default(), builds, items);
    }
}

#[test]
fn every_boundary_of_some_configs_is_right() {
    let Some(device) = profile() else { return };
    let select = |labels: &[&str], patterns: &[Pattern]| {
        let mut configs: Vec<Config> = labels.iter().map(|label| label.parse().unwrap()).collect();
        configs.retain(|config| !hangs(config, &device));
        let request = CaseRequest {
            problem: Problem::default(),
            patterns: patterns.to_vec(),
            sizes: None,
            thorough: false,
            seed: 5,
        };
        CaseSelection::new(&configs, &device, &request, |_| Ok(())).items
    };
    let every_input =
        ["b4.vec4.par.rake.wg64", "b1.scalar.seq.blelloch.packed.wg32", "b2.vec2.par.blelloch.fill.wg128"];
    let some_inputs = [
        "b3.vec2.two.sub.striped.early.clean.wg64",
        "one.b3.vec4.none.sub.wg64",
        "redo.b2.vec4.none.rake.wg64",
        "redo.b4.vec2.none.sub.shuffle.striped.wg64",
        "redo.b2.vec4.none.sub.wg128",
        "b1.vec4.gather.sub.shuffle.striped.early.wg128",
        "b3.vec4.chain.sk.wg96",
        "rts.b1.scalar.none.ks.wg32",
        "stp.b1.scalar.none.bk.wg32",
        "rts.b3.vec4.none.sub.shuffle.striped.wg64",
        "stp.b2.vec2.none.rs.wg96",
        "pers.b1.vec4.two.sub.early.wg64.u1",
        "pers.b2.vec2.gather.sub.striped.early.packed.wg32.u1",
    ];
    let some = select(&some_inputs, &[Pattern::Random, Pattern::Spike]);
    check(
        Problem::default(),
        Builds::All,
        [select(&every_input, &Pattern::of_problem(&Problem::default())), some].concat(),
    );
}

#[test]
fn what_a_device_cannot_do_has_its_rule() {
    let Some(device) = profile() else { return };
    let reject = |label: &str, n| {
        catalog::legal(&label.parse().unwrap(), &Problem::default(), n, &device).map_err(|reason| reason.rule)
    };
    let word64 = reject("b4.vec4.par.rake.word64.wg64", 1000);
    if device.int64_atomics {
        assert_eq!(word64, Ok(()));
    } else {
        assert_eq!(word64.unwrap_err(), "word64-needs-int64-atomics");
        assert_eq!(reject("b4.vec4.par.rake.wg64", 1000), Ok(()), "auto is the split tile state then");
    }
    assert_eq!(reject("b4.vec4.par.rake.packed.epoch.wg64", 1000).unwrap_err(), "packed-has-no-epoch");
    let beyond = device.max_workgroup_size * 2;
    assert_eq!(reject(&format!("b4.vec4.par.rake.wg{beyond}"), 1000).unwrap_err(), "workgroup-size-limit");
    assert_eq!(reject("b4.vec4.par.rake.wg64", 0).unwrap_err(), "no-elements");
}
