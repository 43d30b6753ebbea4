//! What the gate tells of base and new in turns, in numbers: the real order of blocks, suspects and verdicts, on
//! programs that are a model of a device and its noise.
//!
//! `cargo test -p scanbox --test integration pairs:: -- --ignored --nocapture` prints the table of
//! docs/decisions/gate.md.
#![allow(clippy::print_stdout, reason = "the figures are for people")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use scanbox_analysis::compare::Verdict;
use scanbox_analysis::pairs::{
    GROUP_MIN, Judgement, Pairs, QUADS_OF_SUSPECTS, Quad, ROUNDS_OF_ALL, ROUNDS_OF_SUSPECTS, Roles, RowsOf,
    judge, suspects,
};
use scanbox_kernels::legal;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::space::Space;
use scanbox_model::units::size_label;
use scanbox_runner::backend::Failure;
use scanbox_runner::replay::noise::{NoiseModel, RowNoise, Weather};
use scanbox_session::pairs::{LabelledPoint, PairProgram, PairsEvent, PairsJob, Round, Side, run};

const THRESHOLD: f64 = 0.03;
/// Blocks of time that starting a program takes.
const START_BLOCKS: u32 = 50;
/// Blocks of the rounds that measure every row, about: throttling begins in their middle.
const BLOCKS: u64 = 7600;

/// 5 % at 2^10 falling to 0.3 % at 2^20: every model has it.
const ROWS: NoiseModel = NoiseModel {
    small_ratio: 0.05,
    large_ratio: 0.003,
    degrees: 0.0,
    outlier_share: 0.0,
    drift_ratio: 0.0,
    throttle_ratio: 0.0,
    throttle_after: 0,
    bimodal_share: 0.0,
    bimodal_ratio: 0.0,
    bimodal_chance: 0.0,
    bimodal_process: false,
    burst_share: 0.0,
    unit_ratio: 0.0,
};

fn models() -> Vec<(&'static str, NoiseModel)> {
    let bimodal = NoiseModel { bimodal_share: 0.2, bimodal_ratio: 0.06, bimodal_chance: 0.3, ..ROWS };
    vec![
        ("rows alone", ROWS),
        ("drift within a run", NoiseModel { drift_ratio: 0.02, ..ROWS }),
        ("heavy tails", NoiseModel { degrees: 2.5, outlier_share: 0.01, ..ROWS }),
        ("throttling", NoiseModel { throttle_ratio: 0.05, throttle_after: BLOCKS / 2, ..ROWS }),
        ("bimodal blocks", bimodal),
        ("bimodal processes", NoiseModel { bimodal_process: true, ..bimodal }),
        ("bursts", NoiseModel { burst_share: 0.1, ..ROWS }),
        ("another unit", NoiseModel { unit_ratio: 0.02, ..ROWS }),
    ]
}

/// The rows of the nightly space on an H200, and who decides alone among them.
struct Nightly {
    rows: Vec<LabelledPoint>,
    sizes: Vec<u64>,
    roles: Roles,
}

/// The same with so few rows at each size; the first and the last one decide alone.
fn few_of_nightly(most: usize) -> Nightly {
    let mut space = nightly();
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    space.rows.retain(|row| {
        let count = seen.entry(row.n).or_default();
        *count += 1;
        *count <= most
    });
    for &n in &space.sizes {
        let mut at = space.rows.iter().filter(|row| row.n == n).map(|row| row.config.clone());
        let first = at.next().unwrap();
        space.roles.kernel.insert(n, at.next_back().unwrap_or_else(|| first.clone()));
        space.roles.shipped.insert(n, first);
    }
    space
}

fn nightly() -> Nightly {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let device = Metadata::read(&root.join("results/published.nvidia-h200.full.meta.json")).unwrap().device;
    let text = std::fs::read_to_string(root.join("configs/nightly.toml")).unwrap();
    let space = Space::from_toml(&text, "nightly").unwrap().for_elements(4).unwrap();
    let legal = |config: &_, n, device: &_| legal(config, &Problem::default(), n, device);
    let points = space.enumerate(&device, legal).points;
    let rows: Vec<LabelledPoint> =
        points.iter().map(|point| LabelledPoint { n: point.n, config: point.config.to_string() }).collect();
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.n).collect();
    sizes.dedup();
    sizes.sort_unstable();
    sizes.dedup();
    // Any row will do: its time is nothing to a ratio.
    let mut roles = Roles::default();
    for (place, &n) in sizes.iter().enumerate() {
        let at: Vec<&LabelledPoint> = rows.iter().filter(|row| row.n == n).collect();
        roles.shipped.insert(n, at[place % at.len()].config.clone());
        roles.kernel.insert(n, at[(place + 7) % at.len()].config.clone());
    }
    Nightly { rows, sizes, roles }
}

/// What is slower in the new program, and by which factor.
#[derive(Debug, Clone, Copy)]
enum Loss {
    Nowhere,
    /// Every row at a size.
    Size(u64, f64),
    /// What is shipped at a size, alone.
    Shipped(u64, f64),
}

/// A program that is a model.
struct Model {
    weather: Rc<RefCell<Weather>>,
    own: RowNoise,
    loss: Loss,
    shipped: Rc<BTreeMap<u64, String>>,
}

impl PairProgram for Model {
    fn load(&mut self, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn verify(&mut self, _: &LabelledPoint) -> Result<Option<f64>, Failure> {
        Ok(None)
    }

    fn block(&mut self, row: &LabelledPoint, _: Option<f64>) -> Result<f64, Failure> {
        let noise = self.weather.borrow_mut().next_block() + self.own.next_block(&row.config, row.n);
        let factor = match self.loss {
            Loss::Size(n, factor) if n == row.n => factor,
            Loss::Shipped(n, factor) if n == row.n && self.shipped[&n] == row.config => factor,
            _ => 1.0,
        };
        Ok(1000.0 * noise.exp() * factor)
    }
}

fn night(space: &Nightly, noise: NoiseModel, loss: Loss, seed: u64) -> Judgement {
    let weather = Rc::new(RefCell::new(Weather::new(noise, seed)));
    let shipped = Rc::new(space.roles.shipped.clone());
    let measured = RefCell::new(Pairs::default());
    let mut process = 0;
    run::<Failure>(&mut PairsJob {
        start: &mut |side| {
            process += 1;
            for _ in 0..START_BLOCKS {
                weather.borrow_mut().next_block();
            }
            let loss = if side == Side::New { loss } else { Loss::Nowhere };
            let own = RowNoise::new(noise, seed, process);
            Ok(Box::new(Model { weather: Rc::clone(&weather), own, loss, shipped: Rc::clone(&shipped) }))
        },
        next: &mut |round| {
            if round < ROUNDS_OF_ALL {
                return Some(Round { rows: space.rows.clone(), quads: 1 });
            }
            let again = suspects(&measured.borrow(), &space.roles, THRESHOLD);
            let rows: Vec<LabelledPoint> =
                again.into_iter().map(|(n, config)| LabelledPoint { n, config }).collect();
            let goes_on = round < ROUNDS_OF_ALL + ROUNDS_OF_SUSPECTS && !rows.is_empty();
            goes_on.then_some(Round { rows, quads: QUADS_OF_SUSPECTS })
        },
        observer: &mut |event| {
            if let PairsEvent::Quad { row, round, base_ns, new_ns } = event {
                let config = row.config.clone();
                measured.borrow_mut().quads.push(Quad { n: row.n, config, round, base_ns, new_ns });
            }
            Ok(())
        },
        is_over: &|| false,
        seed,
    })
    .unwrap();
    judge(&measured.borrow(), &space.roles, THRESHOLD)
}

/// What the exit code would be.
fn exit(judgement: &Judgement) -> u8 {
    let any = |verdicts: &[Verdict]| judgement.verdicts().any(|verdict| verdicts.contains(&verdict));
    if any(&[Verdict::Slower]) {
        6
    } else if any(&[Verdict::Unclear, Verdict::Unmeasured]) {
        7
    } else {
        0
    }
}

/// Whether it is the size of the loss that is told.
fn is_told(judgement: &Judgement, loss: Loss) -> bool {
    match loss {
        Loss::Nowhere => exit(judgement) == 6,
        Loss::Size(n, _) => judgement.at(n).is_some_and(|all| all.verdict == Verdict::Slower),
        Loss::Shipped(n, _) => {
            judgement.singles.iter().any(|single| single.n == n && single.verdict == Verdict::Slower)
        }
    }
}

/// How many of these nights, each with its seed, are told, and how many end with 7.
fn count(space: &Nightly, noise: NoiseModel, nights: impl Iterator<Item = (u64, Loss)>) -> (u32, u32, u32) {
    let (mut told, mut open, mut all) = (0, 0, 0);
    for (seed, loss) in nights {
        let judgement = night(space, noise, loss, seed);
        told += u32::from(is_told(&judgement, loss));
        open += u32::from(exit(&judgement) == 7);
        all += 1;
    }
    (told, open, all)
}

/// The share of losses that has to be told.
fn required(loss: Loss) -> f64 {
    match loss {
        Loss::Nowhere => 0.0,
        Loss::Size(_, factor) if factor > 1.09 => 0.99,
        Loss::Size(n, _) if n >= 1 << 14 => 0.95,
        Loss::Size(..) => 0.80,
        Loss::Shipped(..) => 0.95,
    }
}

/// Losses at a size: of all rows, and of what is shipped.
fn losses(n: u64) -> [Loss; 3] {
    let alone = if n >= 1 << 16 { 1.1 } else { 1.2 };
    [Loss::Size(n, 1.1), Loss::Size(n, 1.05), Loss::Shipped(n, alone)]
}

#[test]
fn noise_is_told_from_losses() {
    let space = nightly();
    for (place, (name, noise)) in models().into_iter().enumerate() {
        let start = 1000 * place as u64;
        let equal = (start..start + 8).map(|seed| (seed, Loss::Nowhere));
        let (slower, open, _) = count(&space, noise, equal);
        assert!(slower == 0 && open <= 1, "{name}: of 8 equal pairs {slower} slower, {open} unclear");
        // Small, middle and large; each model at other sizes.
        for n in [10 + place % 4, 14 + place % 2, 16 + place % 4, 20 + place % 10] {
            for loss in losses(1 << n) {
                let (told, _, all) = count(&space, noise, (start..start + 3).map(|seed| (seed, loss)));
                assert!(told + 1 >= all, "{name}: {loss:?}: told in {told} of {all}");
            }
        }
    }
}

/// How many of these nights with this many rows at each size are slower where nothing changed, how many are open, and
/// how many are slower where a size lost this much.
fn count_few(rows: usize, noise: NoiseModel, nights: u64, factor: f64) -> [u32; 3] {
    let space = few_of_nightly(rows);
    let mut counts = [0; 3];
    for seed in 0..nights {
        let equal = exit(&night(&space, noise, Loss::Nowhere, seed));
        let n = space.sizes[seed as usize % space.sizes.len()];
        let lost = exit(&night(&space, noise, Loss::Size(n, factor), seed));
        for (count, is_it) in counts.iter_mut().zip([equal == 6, equal == 7, lost == 6]) {
            *count += u32::from(is_it);
        }
    }
    counts
}

/// What few rows cannot tell together, the rounds of each tell.
#[test]
fn few_rows_of_a_size_are_slower_by_no_chance() {
    let space = nightly();
    let fewest = space.sizes.iter().map(|n| space.rows.iter().filter(|row| row.n == *n).count()).min();
    assert!(fewest >= Some(GROUP_MIN), "{fewest:?} rows");
    for (name, noise) in models() {
        for rows in [1, 2, 3] {
            let [slower, _, lost] = count_few(rows, noise, 21, 1.1);
            assert!(slower == 0 && lost >= 20, "{name}, {rows} rows: {slower} slower, {lost} of 21 losses");
        }
    }
}

#[test]
#[ignore = "a minute: what docs/decisions/gate.md says of few rows"]
fn figures_of_few_rows() {
    for rows in [1, 2, 3, 4, 6, 8, 11, 12] {
        for (name, noise) in models() {
            let [slower, open, lost] = count_few(rows, noise, 300, 1.1);
            println!(
                "{rows} rows, {name}: of 300 {slower} slower, {open} open; {lost} of 300 losses of 10 %"
            );
            assert!(slower <= 3, "{name}, {rows} rows: {slower} of 300 equal nights are SLOWER");
        }
    }
}

/// Pairs per cell, of published and of fresh seeds each.
const PAIRS: u64 = 200;

#[test]
#[ignore = "a quarter of an hour: the table of docs/decisions/gate.md, with published and with fresh seeds"]
fn figures() {
    let space = nightly();
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() << 20;
    let started = Instant::now();
    let mut bad = Vec::new();
    for (kind, first_seed) in [("published", 0), ("fresh", fresh)] {
        println!("{kind} seeds from {first_seed}: {PAIRS} pairs per cell, {} rows", space.rows.len());
        for (name, noise) in models() {
            let mut cell = |what: &str, number: u64, required: f64, loss: &dyn Fn(usize) -> Loss| {
                let seeds = first_seed + number * PAIRS..first_seed + (number + 1) * PAIRS;
                let nights = seeds.enumerate().map(|(pair, seed)| (seed, loss(pair)));
                let (told, open, all) = count(&space, noise, nights);
                let share = f64::from(told) / f64::from(all);
                let is_equal = required == 0.0;
                if share < required || (is_equal && (told * 100 > all || open * 20 > all)) {
                    bad.push(format!("{kind}, {name}, {what}: {told} told and {open} unclear of {all}"));
                }
                (100.0 * share, 100.0 * f64::from(open) / f64::from(all))
            };
            let (slower, open) = cell("equal", 0, 0.0, &|_| Loss::Nowhere);
            let mut told = Vec::new();
            for (which, border) in [(0, 14), (1, 14), (2, 16)] {
                for is_large in [false, true] {
                    let sizes: Vec<u64> =
                        space.sizes.iter().copied().filter(|&n| (n >= 1 << border) == is_large).collect();
                    let loss = |pair: usize| losses(sizes[pair % sizes.len()])[which];
                    let what = format!("{:?}, and others on its side", loss(0));
                    told.push(cell(&what, 1 + told.len() as u64, required(loss(0)), &loss).0);
                }
            }
            let told: Vec<String> = told.iter().map(|share| format!("{share:.1}")).collect();
            println!("| {name} | {slower:.1} | {open:.1} | {} |", told.join(" | "));
        }
    }
    println!("{:.2} hours", started.elapsed().as_secs_f64() / 3600.0);
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
#[ignore = "half a minute: the limits per size of docs/decisions/gate.md"]
fn limits() {
    let space = nightly();
    for (name, noise) in models() {
        let mut rows: BTreeMap<u64, [Vec<f64>; 2]> = BTreeMap::new();
        for seed in 0..41 {
            let judgement = night(&space, noise, Loss::Nowhere, seed);
            for group in judgement.groups.iter().filter(|group| group.group == RowsOf::All) {
                rows.entry(group.n).or_default()[0].push(group.limit.unwrap());
            }
            for single in &judgement.singles {
                rows.entry(single.n).or_default()[1].push(single.limit.unwrap());
            }
        }
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let rows: BTreeMap<u64, (f64, f64)> = rows
            .into_iter()
            .map(|(n, [mut all, mut one])| (n, (median(&mut all), median(&mut one))))
            .collect();
        let words = rows
            .iter()
            .map(|(n, (all, one))| format!("{} {:.1} {:.1}", size_label(*n), 100.0 * all, 100.0 * one));
        println!("{name}: {}", words.collect::<Vec<_>>().join(", "));
        // What is promised for one config alone.
        let is_kept =
            |(n, (all, one)): (&u64, &(f64, f64))| *all < 0.1 && *one < if *n >= 1 << 16 { 0.1 } else { 0.2 };
        assert!(rows.iter().all(is_kept), "{name}: {rows:?}");
    }
}
