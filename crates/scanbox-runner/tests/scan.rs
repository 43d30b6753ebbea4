//! Whole scans on a real device: configs that cover every pair of parameter values, at awkward sizes, on all inputs, in
//! all circumstances of a verification.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`, see `tests/device.rs`.

#![allow(
    clippy::unwrap_used,
    reason = "these are tests: the lint knows only the functions that are marked as one"
)]

mod harness;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use harness::Bench;
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_model::config::{
    BlockScan, Config, Kernel, LoadLayout, Lookback, Parameter, Reset, TileState, VectorWidth,
};
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::record::Status;
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::cases::{Item, Pattern, Request, Selection};
use scanbox_runner::verify::{self, Event, Job, Tally, Verdict};

/// Drivers that compile for a CPU take a minute for the largest tiles, and for raking with many subgroups per lane,
/// which is all unrolled; these tests have to end.
const SOFTWARE_TILE_ELEMENTS: u64 = 4096;
const SOFTWARE_RAKING_SHARE: u32 = 64;

/// A value of a parameter, as its place in the list of values.
type Values = [usize; 8];

/// The values of each parameter that a config of these tests may have.
struct Parameters {
    batch_sizes: Vec<u32>,
    workgroup_sizes: Vec<u32>,
    tile_states: Vec<TileState>,
    resets: Vec<Reset>,
}

impl Parameters {
    fn new(device: &DeviceProfile) -> Self {
        let subgroup = device.subgroup_size;
        let powers = std::iter::successors(Some(subgroup), |size| Some(size * 2));
        Self {
            batch_sizes: vec![1, 2, 4, 8, 16],
            // Three subgroups are no power of two.
            workgroup_sizes: powers
                .take_while(|&size| size <= device.max_workgroup_size)
                .chain([3 * subgroup])
                .collect(),
            tile_states: vec![TileState::Word64, TileState::Packed],
            resets: vec![Reset::Fill, Reset::Epoch],
        }
    }

    fn counts(&self) -> Values {
        [
            self.batch_sizes.len(),
            VectorWidth::VALUES.len(),
            self.workgroup_sizes.len(),
            Lookback::VALUES.len(),
            BlockScan::VALUES.len(),
            LoadLayout::VALUES.len(),
            self.tile_states.len(),
            self.resets.len(),
        ]
    }

    fn config(&self, values: Values) -> Config {
        let [batch, width, size, lookback, block, layout, state, reset] = values;
        Config {
            kernel: Kernel {
                batch_size: self.batch_sizes[batch],
                vector_width: VectorWidth::VALUES[width],
                lookback: Lookback::VALUES[lookback],
                block_scan: BlockScan::VALUES[block],
                load_layout: LoadLayout::VALUES[layout],
                tile_state: self.tile_states[state],
                reset: self.resets[reset],
            },
            workgroup_size: self.workgroup_sizes[size],
            workgroups: None,
        }
    }

    /// Every config that the device can run, of moderate size where it is a program.
    fn all(&self, device: &DeviceProfile) -> Vec<Values> {
        let mut all = vec![[0; 8]];
        for (place, &count) in self.counts().iter().enumerate() {
            all = all
                .into_iter()
                .flat_map(|values| {
                    (0..count).map(move |value| {
                        let mut values: Values = values;
                        values[place] = value;
                        values
                    })
                })
                .collect();
        }
        let share = |config: &Config| match config.kernel.block_scan {
            BlockScan::Raking => config.workgroup_size / device.subgroup_size,
            BlockScan::Blelloch => 1,
        };
        let large = |config: &Config| {
            device.kind == DeviceKind::Software
                && (config.tile_elements() > SOFTWARE_TILE_ELEMENTS || share(config) > SOFTWARE_RAKING_SHARE)
        };
        all.retain(|&values| {
            let config = self.config(values);
            catalog::legal(&config, 1, device).is_ok() && !large(&config)
        });
        all
    }
}

/// The pairs of values that a config has: two parameters and a value of each.
fn pairs(values: &Values) -> impl Iterator<Item = (usize, usize, usize, usize)> + '_ {
    (0..values.len()).flat_map(move |a| (0..a).map(move |b| (a, values[a], b, values[b])))
}

/// Few configs that have every pair of values which any of them has: the one with the most new pairs, again and again.
fn covering(all: &[Values]) -> Vec<Values> {
    let mut missing: BTreeSet<_> = all.iter().flat_map(pairs).collect();
    let mut rows = Vec::new();
    while !missing.is_empty() {
        let new = |values: &&Values| pairs(values).filter(|pair| missing.contains(pair)).count();
        let best = *all.iter().max_by_key(new).unwrap();
        for pair in pairs(&best) {
            missing.remove(&pair);
        }
        rows.push(best);
    }
    rows
}

/// The cases of a row: sizes around one boundary each, and one input, in turns.
fn items(row: usize, config: Config, device: &DeviceProfile) -> Vec<Item> {
    let tile = config.tile_elements();
    let window = u64::from(device.subgroup_size) * tile;
    let sizes = match row % 6 {
        0 => vec![1, tile, 7 * tile + 1],
        1 => vec![tile - 1, 3 * tile - 1],
        2 => vec![tile + 1, 2 * tile, 1021],
        3 => vec![3, window + 1],
        4 => vec![1025, window + tile + 1],
        _ => vec![4093, 2 * tile + 1],
    };
    let pattern = Pattern::ALL[(row + row / 5) % 5];
    // The packed tile state carries no maximum.
    let patterns = if pattern == Pattern::Maximum { vec![pattern, Pattern::Ones] } else { vec![pattern] };
    let request = Request {
        patterns,
        sizes: Some(sizes.into_iter().filter(|&n| n > 0).collect()),
        thorough: false,
        seed: 11,
    };
    Selection::new(&[config], device, &request, |_| Ok(())).items
}

/// Verifies items in sessions of their own: another one goes on where a time-out has ended one.
#[allow(clippy::print_stderr, reason = "what has not run to its end has to be said")]
fn check(mut items: Vec<Item>) {
    let start = Instant::now();
    let (mut tally, mut configs) = (Tally::default(), BTreeSet::new());
    while !items.is_empty() {
        let Some(mut bench) = Bench::new(|| Compiler::new(None, None).unwrap()) else { return };
        let swiftshader = bench.device().profile().driver.contains("SwiftShader");
        let mut verdicts: Vec<Verdict> = Vec::new();
        let (device, compiler) = bench.parts();
        let job = Job { items: items.clone(), seed: 3, one_by_one: false };
        verify::run(device, compiler, &job, &AtomicBool::new(false), &mut |event| {
            if let Event::Finished { verdict } = event {
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
    let Tally { cases, calls, elements } = tally;
    let (configs, seconds) = (configs.len(), start.elapsed().as_secs_f64());
    eprintln!("{configs} configs, {cases} cases, {calls} calls, {elements} elements, {seconds:.1} s");
}

fn profile() -> Option<DeviceProfile> {
    Bench::new(|| Compiler::new(None, None).unwrap()).map(|mut bench| bench.device().profile().clone())
}

#[test]
fn every_pair_of_parameter_values_is_right() {
    let Some(device) = profile() else { return };
    let parameters = Parameters::new(&device);
    let all = parameters.all(&device);
    let rows = covering(&all);
    assert!(rows.len() < 150, "{} rows", rows.len());
    let configs = rows.iter().map(|&values| parameters.config(values));
    check(configs.enumerate().flat_map(|(row, config)| items(row, config, &device)).collect());
}

#[test]
fn every_boundary_of_some_configs_is_right() {
    let Some(device) = profile() else { return };
    let labels =
        ["b4.vec4.par.rake.wg64", "b1.scalar.seq.blelloch.packed.wg32", "b2.vec2.par.blelloch.fill.wg128"];
    let configs = labels.map(|label| label.parse().unwrap());
    let request = Request { patterns: Pattern::ALL.to_vec(), sizes: None, thorough: false, seed: 5 };
    check(Selection::new(&configs, &device, &request, |_| Ok(())).items);
}

#[test]
fn what_a_device_cannot_do_has_its_rule() {
    let Some(device) = profile() else { return };
    let reject =
        |label: &str, n| catalog::legal(&label.parse().unwrap(), n, &device).map_err(|reason| reason.rule);
    let word64 = reject("b4.vec4.par.rake.word64.wg64", 1000);
    if device.int64_atomics {
        assert_eq!(word64, Ok(()));
    } else {
        assert_eq!(word64.unwrap_err(), "word64-needs-int64-atomics");
        assert_eq!(reject("b4.vec4.par.rake.wg64", 1000), Ok(()), "auto is the packed tile state then");
    }
    assert_eq!(reject("b4.vec4.par.rake.packed.epoch.wg64", 1000).unwrap_err(), "packed-has-no-epoch");
    let beyond = device.max_workgroup_size * 2;
    assert_eq!(reject(&format!("b4.vec4.par.rake.wg{beyond}"), 1000).unwrap_err(), "workgroup-size-limit");
    assert_eq!(reject("b4.vec4.par.rake.wg64", 0).unwrap_err(), "no-elements");
}

#[test]
fn the_rows_cover_every_pair() {
    let all: Vec<Values> = (0..3 * 2 * 4).map(|i| [i % 3, i / 3 % 2, i / 6, 0, 0, 0, 0, 0]).collect();
    let rows = covering(&all);
    let covered: BTreeSet<_> = rows.iter().flat_map(pairs).collect();
    assert_eq!(covered, all.iter().flat_map(pairs).collect());
    assert!((12..=14).contains(&rows.len()), "{}: 12 are the fewest for 4 and 3 values", rows.len());
    assert_eq!(covering(&all), rows, "the same rows each time");
}
