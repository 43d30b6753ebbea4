//! Calls with an n that the device has written, of arrays that begin at any element, with a total beside the scan.

use std::collections::BTreeSet;

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::plan::{BANK_WORDS, FIRST_TURN, Plan, ScratchContent, TICKET_BYTES};
use scanbox_model::config::{Config, Lookback};
use scanbox_model::device::DeviceKind;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::record::Cache;
use scanbox_runner::backend::Backend;
use scanbox_runner::measure::duration_ns;

use super::harness::{Bench, RANDOM, compiler_of_changed, device};
use super::progress::hangs;

/// One of each way to come by a prefix, with its state and reset.
const KERNELS: [&str; 25] = [
    "b1.vec4.par.rake.block.wg64",
    "b1.vec2.seq.rake.split.block.wg64",
    "b1.vec4.two.sub.striped.early.block.wg64",
    "b1.vec4.two.sub.striped.early.split.block.wg64",
    "b1.vec4.two.sub.striped.early.clean.block.wg64",
    "b1.vec4.two.sub.striped.early.split.clean.block.wg64",
    "b1.vec4.two.sub.striped.early.fill.block.wg64",
    "b2.vec4.chain.sub.early.block.wg64",
    "b1.vec4.fallback.sub.striped.early.split.block.wg64",
    "b1.vec4.gatherfall.sub.striped.early.split.block.wg64",
    "pers.b1.vec4.gather.sub.striped.early.block.wg64.u1",
    "pers.b1.vec4.two.sub.striped.early.split.block.wg64.u2",
    "pers.b1.vec4.gatherfall.sub.striped.early.spins0.block.wg64.u1",
    "pers.b1.vec4.gatherfall.sub.striped.robin.early.split.block.wg64.u2",
    // A row of few elements takes no turn, between calls that do.
    "pers.b2.vec4.gatherfall.sub.shuffle.striped.robin.early.split.block.wg256.u2",
    "pers.b2.vec4.gatherfall.sub.shuffle.striped.robin.early.block.wg512.u2",
    "b1.vec4.par.rake.clean.block.wg64",
    "redo.b1.vec4.none.sub.striped.block.wg64",
    "one.b1.vec4.none.rake.block.wg64",
    // Those that need more than Vulkan promises run where a device is known to keep it.
    "b2.vec4.gather.sub.striped.wgid.early.block.wg128",
    "pers.b2.vec4.two.sub.striped.early.block.wg128.u2",
    "pers.b2.vec4.two.sub.striped.robin.early.block.wg128.u2",
    "pers.b2.vec4.gather.sub.striped.wgid.early.flags.block.wg128.u2",
    "pers.b2.vec4.two.sub.shuffle.striped.wgid.early.block.wg256.u2",
    "pers.b2.vec4.gather.sub.striped.wgid.early.flags.block.wg256.u1",
];

/// The same kernel by pushed arguments: one that counts calls by itself still does.
fn pushed(label: &str) -> String {
    let is_counted = label.parse::<Config>().unwrap().kernel.lookback != Lookback::None
        && !label.contains(".clean.")
        && !label.contains(".fill.");
    label.replace(".block", if is_counted { ".turn" } else { "" })
}

/// Tiles of the largest n: two groups of tiles and a bit.
const TILES: u64 = 67;

fn problem(mode: Mode) -> Problem {
    Problem::new(mode, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap()
}

/// The plan of a build with everything, for up to `max_n` elements, with both inputs loaded; where the device has it.
fn varied(bench: &mut Bench, label: &str, problem: &Problem, max_n: u64) -> Option<Plan> {
    let config: Config = label.parse().unwrap();
    let profile = bench.device().profile().clone();
    let variant = Variant::up_to(max_n);
    let variant = if problem.mode() == Mode::Reduce { variant } else { variant.with_total() };
    let variant = if problem.init().is_some() { variant.with_init_in_memory() } else { variant };
    let plan = catalog::plan_variant(&config, variant, problem, max_n, &profile).ok()?;
    if hangs(&config, &profile) {
        return None;
    }
    bench.prepare(&plan);
    // One more: the total of an exclusive scan.
    bench.device().load(problem, &RANDOM, max_n + 1).unwrap();
    bench.device().load_other(problem, &RANDOM.another(problem, max_n + 1), max_n + 1).unwrap();
    Some(plan)
}

fn sizes(tile: u64, max_n: u64) -> Vec<u64> {
    vec![
        max_n,
        0,
        1,
        tile - 1,
        tile / 2,
        max_n - 1,
        tile / 2 + 1,
        tile,
        tile / 3,
        tile + 1,
        0,
        0,
        33 * tile,
        max_n + 1,
        2,
        32 * tile + 1,
        max_n + 5 * tile,
        u64::from(u32::MAX),
        3 * tile - 2,
        tile + tile / 2,
    ]
}

/// What is recorded once takes any number of elements that the device finds in memory, through the end of the turns.
#[test]
fn a_recording_takes_any_number_of_elements() {
    let Some(mut bench) = device() else { return };
    let mut tried = 0;
    let modes = [Mode::Inclusive, Mode::Exclusive, Mode::Reduce];
    for (place, mode) in modes.into_iter().enumerate() {
        let problem = problem(mode);
        // Those by pushed arguments differ in nothing that a mode is about: one mode each. On software so have all: a
        // driver takes up to half a minute for one of them.
        let third = |from| KERNELS.iter().skip(from).step_by(modes.len());
        let pushed = third((place + 1) % modes.len()).map(|label| pushed(label));
        let labels: Vec<&str> = match bench.device().profile().kind {
            DeviceKind::Software => third(place).copied().collect(),
            _ => KERNELS.to_vec(),
        };
        for label in labels.into_iter().map(str::to_owned).chain(pushed) {
            let config: Config = label.parse().unwrap();
            let tile = config.tile_elements();
            // Workgroups that go from tile to tile: three rounds and a bit.
            let launched = catalog::launched_per_call(&config, bench.device().profile()).unwrap_or(0);
            let max_n = TILES.max(3 * u64::from(launched) + 5) * tile + 7;
            let Some(plan) = varied(&mut bench, &label, &problem, max_n) else { continue };
            tried += 1;
            // As other calls are verified: it has the n that it was made for.
            let profile = bench.device().profile().clone();
            let smaller = |variant| catalog::plan_variant(&config, variant, &problem, tile + 1, &profile);
            let smaller = smaller(plan.build().unwrap().variant).unwrap();
            let comparison = bench.device().verify(&smaller).unwrap();
            assert_eq!(comparison.mismatches, 0, "{} {problem}", plan.label);
            bench.device().ledger_mut().forget();
            let sizes = sizes(tile, max_n);
            // All of them twice: calls that take no turn come in pairs.
            let wrong = bench.device().submit_varied(&plan, &sizes, 2 * sizes.len() as u32).unwrap();
            assert_eq!(wrong, 0, "{} {problem}", plan.label);
            if let ScratchContent::SelfTurning { epoch_bits } = plan.scratch.content {
                // An even one, because the bank of the call before is not clear.
                bench.device().set_turn((1 << epoch_bits) - 20).unwrap();
            }
            let wrong = bench.device().submit_varied(&plan, &sizes, 50).unwrap();
            assert_eq!(wrong, 0, "{} {problem} through the end of the turns", plan.label);
        }
    }
    assert!(tried >= 25, "{tried}");
}

/// Ten thousand submissions of one recording, of each family and way to look back, on other inputs and sizes each time.
#[test]
fn a_recording_stays_valid_for_ten_thousand_submissions() {
    const SUBMISSIONS: u32 = 10_000;
    let Some(mut bench) = device() else { return };
    let problem = problem(Mode::Inclusive);
    for (place, label) in [
        "b1.vec4.two.sub.striped.early.split.block.wg64",
        "redo.b1.vec4.none.sub.striped.block.wg64",
        "pers.b1.vec4.gather.sub.striped.early.split.block.wg64.u1",
        "b1.vec4.fallback.sub.striped.early.split.block.wg64",
        // Those that lead: by number, and in states of one word.
        "b1.vec4.gather.sub.striped.wgid.early.block.wg64",
        "b1.vec4.two.sub.striped.wgid.early.block.wg64",
        "pers.b1.vec4.gather.sub.striped.wgid.early.block.wg64.u1",
        "pers.b1.vec4.two.sub.striped.wgid.early.block.wg64.u1",
        "b1.vec4.two.sub.striped.early.split.turn.wg64",
        "b1.vec4.fallback.sub.striped.early.split.turn.wg64",
        "pers.b1.vec4.gather.sub.striped.early.split.turn.wg64.u1",
        "b1.vec4.gather.sub.striped.wgid.early.split.turn.wg64",
        "b1.vec4.fallback.sub.striped.wgid.early.split.turn.wg64",
        "b1.vec4.gatherfall.sub.striped.wgid.early.split.turn.wg64",
        "pers.b1.vec4.two.sub.striped.wgid.early.split.turn.wg64.u1",
        "pers.b1.vec4.gatherfall.sub.striped.robin.early.split.turn.wg64.u1",
    ]
    .into_iter()
    .enumerate()
    {
        let profile = bench.device().profile();
        // On software a third of them with each size of subgroups.
        let turn = place + profile.subgroup_size.ilog2() as usize;
        if profile.kind == DeviceKind::Software && !turn.is_multiple_of(3) {
            continue;
        }
        let tile = label.parse::<Config>().unwrap().tile_elements();
        let max_n = 5 * tile + 7;
        let Some(plan) = varied(&mut bench, label, &problem, max_n) else { continue };
        // A prime number of sizes, so that each of them meets both inputs, in no order of theirs.
        let sizes: Vec<u64> = (0..997).map(|k| (k * 7919) % (max_n + 100)).collect();
        if let ScratchContent::SelfTurning { epoch_bits } = plan.scratch.content {
            assert_eq!(bench.device().submit_varied(&plan, &[1], 1).unwrap(), 0, "{label}");
            bench.device().set_turn((1 << epoch_bits) - 5001).unwrap();
        }
        let wrong = bench.device().submit_varied(&plan, &sizes, SUBMISSIONS).unwrap();
        assert_eq!(wrong, 0, "{label}");
    }
}

/// One recording of calls of many sizes, which the host says, on one scratch memory: they take turns in any order that
/// barriers give, through the end of the turns.
#[test]
fn calls_of_different_size_take_turns() {
    let Some(mut bench) = device() else { return };
    let problem = problem(Mode::Inclusive);
    let mut tried = 0;
    for label in KERNELS {
        let label = pushed(label);
        let config: Config = label.parse().unwrap();
        let (tile, profile) = (config.tile_elements(), bench.device().profile().clone());
        let max_n = TILES * tile + 7;
        let plan = |n| catalog::plan_up_to(&config, max_n, &problem, n, &profile);
        let Ok(largest) = plan(max_n) else { continue };
        if hangs(&config, &profile) {
            continue;
        }
        tried += 1;
        bench.prepare(&largest);
        bench.device().load(&problem, &RANDOM, max_n).unwrap();
        let sizes = sizes(tile, max_n).into_iter().chain((0..20).map(|k| (k * 7919 * tile) % max_n));
        let plans: Vec<Plan> = sizes.map(|n| plan(n).unwrap()).collect();
        assert_eq!(bench.device().submit_together(&plans, 2).unwrap(), 0, "{label}");
        let ScratchContent::SelfTurning { epoch_bits } = largest.scratch.content else { panic!("{label}") };
        bench.device().set_turn((1 << epoch_bits) - 50).unwrap();
        let wrong = bench.device().submit_together(&plans, 4).unwrap();
        assert_eq!(wrong, 0, "{label} through the end of the turns");
    }
    // Without 64-bit atomics some have no tile states.
    assert!(tried >= 6, "{tried}");
}

/// The epochs that stand in the states of tiles and groups behind calls of five tiles and of three, in the last turn
/// and in the first one, where large calls came long before. Their n stands in memory, or the host says it. Less may be
/// few elements, which take no turn.
fn epochs_behind_a_wrap(bench: &mut Bench, label: &str, by_host: bool) -> Option<[BTreeSet<u32>; 2]> {
    let problem = problem(Mode::Inclusive);
    let config: Config = label.parse().unwrap();
    let tile = config.tile_elements();
    let max_n = TILES * tile;
    let plan = varied(bench, label, &problem, max_n)?;
    let ScratchContent::SelfTurning { epoch_bits } = plan.scratch.content else { return None };
    let profile = bench.device().profile().clone();
    let call = |n| catalog::plan_up_to(&config, max_n, &problem, n, &profile);
    if by_host && call(max_n).is_err() {
        return None;
    }
    if by_host {
        bench.prepare(&call(max_n).unwrap());
    }
    bench.device().ledger_mut().forget();
    let submit = |bench: &mut Bench, n: u64, count| {
        let wrong = match by_host {
            true => bench.device().submit_together(&[call(n).unwrap()], count),
            false => bench.device().submit_varied(&plan, &[n], count),
        };
        assert_eq!(wrong.unwrap(), 0, "{label}");
    };
    submit(bench, max_n, 1);
    // Turns are odd and even in turn, as banks are.
    bench.device().set_turn(1001).unwrap();
    submit(bench, max_n, 1);
    bench.device().set_turn((1 << epoch_bits) - 2).unwrap();
    submit(bench, max_n, 1);
    let epochs = |bench: &mut Bench| -> BTreeSet<u32> {
        let offset = plan.states_offset();
        let words = ((plan.scratch.bytes - offset) / 4) as usize;
        let words = bench.device().scratch_words(offset, words).unwrap();
        let split = epoch_bits < 30;
        // Of words of 64 bits the upper half.
        let tags = words.iter().skip(usize::from(!split)).step_by(if split { 1 } else { 2 });
        tags.map(|word| word >> (32 - epoch_bits)).filter(|epoch| *epoch != 0).collect()
    };
    submit(bench, 5 * tile, 1);
    let last = epochs(bench);
    submit(bench, 3 * tile, 1);
    let first = epochs(bench);
    submit(bench, max_n, 2);
    assert!(last.iter().chain(&first).all(|epoch| *epoch < 1 << epoch_bits));
    Some([last, first])
}

/// Where smaller calls leave states of larger ones as they are, these must be gone when their epoch comes again.
#[test]
fn epochs_begin_again_without_old_states() {
    let Some(mut bench) = device() else { return };
    for label in KERNELS.map(str::to_owned).into_iter().chain(KERNELS.map(pushed)) {
        for by_host in [false, true] {
            let found = epochs_behind_a_wrap(&mut bench, &label, by_host);
            let Some([last, first]) = found else { continue };
            assert!(last.len() <= 1 && first.len() <= 1, "{label}: {last:?}, {first:?}");
            assert!(first.iter().all(|epoch| *epoch == FIRST_TURN), "{label}: {first:?}");
        }
    }
}

#[test]
fn a_wrap_that_clears_too_little_is_seen() {
    const BOTH: &str = "EPOCH == LAST_EPOCH || EPOCH == FIRST_EPOCH";
    for (to, wrong) in [("EPOCH == LAST_EPOCH", 1), ("EPOCH == FIRST_EPOCH", 0)] {
        let changed = || compiler_of_changed(&[("stages/state/leave.glsl", BOTH, to)]);
        let Some(mut bench) = Bench::new(changed) else { return };
        for label in ["b1.vec4.two.sub.striped.early.split.block.wg64", "b1.vec4.par.rake.turn.wg64"] {
            let found = epochs_behind_a_wrap(&mut bench, label, false).unwrap();
            assert!(found[wrong].len() > 1, "{label}, {to}: {found:?}");
        }
    }
}

/// A call clears the sums of groups that the one before has left, however many these are. Where it clears those of as
/// many as it has itself, that is seen.
#[test]
fn sums_of_larger_calls_are_cleared() {
    let change =
        ("stages/state/group_state.glsl", "in_whole_rows(MOST_GROUPS)", "in_whole_rows(group_count())");
    for changes in [&[][..], &[change]] {
        let Some(mut bench) = Bench::new(|| compiler_of_changed(changes)) else { return };
        // Where groups are published there is nothing to clear.
        if !bench.device().profile().int64_atomics {
            continue;
        }
        for label in ["b1.vec4.two.sub.striped.early.block.wg64", "b1.vec4.two.sub.striped.early.turn.wg64"] {
            let tile = label.parse::<Config>().unwrap().tile_elements();
            // More groups than a row has.
            let max_n = 33 * 32 * tile + 1;
            let plan = varied(&mut bench, label, &problem(Mode::Inclusive), max_n).unwrap();
            bench.device().ledger_mut().forget();
            // The first call has the first bank, the second one clears that.
            assert_eq!(bench.device().submit_varied(&plan, &[max_n, 1], 2).unwrap(), 0);
            let sums = bench.device().scratch_words(TICKET_BYTES, 2 * BANK_WORDS as usize).unwrap();
            assert_eq!(sums.iter().all(|word| *word == 0), changes.is_empty(), "{label}");
        }
    }
}

#[test]
fn a_maximum_that_is_not_kept_to_is_seen() {
    let problem = problem(Mode::Inclusive);
    for (label, clamp, to) in [
        ("one.b1.vec4.none.rake.block.wg64", "min(words[4], MAX_N)", "words[4]"),
        ("one.b1.vec4.none.rake.wg64", "min(count.value, MAX_N)", "count.value"),
    ] {
        let changed = || compiler_of_changed(&[("arguments.glsl", clamp, to)]);
        let Some(mut bench) = Bench::new(changed) else { return };
        let plan = varied(&mut bench, label, &problem, 1000).unwrap();
        assert_eq!(bench.device().submit_varied(&plan, &[1000], 2).unwrap(), 0);
        assert!(bench.device().submit_varied(&plan, &[1001], 2).unwrap() > 0, "{label}");
    }
}

/// What an exclusive scan begins with stands in memory, in every family, and is what stands there.
#[test]
fn an_initial_value_stands_in_memory() {
    let Some(mut bench) = device() else { return };
    let profile = bench.device().profile().clone();
    let mut tried = 0;
    for element in [Element::U32, Element::F64] {
        for label in [
            "b1.vec2.par.rake.turn.wg64",
            "b1.vec2.par.rake.wg64",
            "b1.vec2.two.sub.striped.early.split.block.wg64",
            "b1.vec2.seq.rake.fill.baked.wg64",
            "pers.b1.vec2.gather.sub.striped.early.turn.wg64.u1",
            "redo.b1.vec2.none.sub.striped.wg64",
            "one.b1.vec2.none.rake.wg64",
            "rts.b1.vec2.none.rake.wg64",
            "stp.b1.vec2.none.rake.block.wg64",
        ] {
            let config: Config = label.parse().unwrap();
            if hangs(&config, &profile) {
                continue;
            }
            for init in ["7", "9"] {
                let problem =
                    Problem::new(Mode::Exclusive, element, Operator::Add, Some(init), Placement::OutOfPlace);
                let problem = problem.unwrap();
                let variant = Variant::default().with_init_in_memory();
                let Ok(plan) = catalog::plan_variant(&config, variant, &problem, 20_000, &profile) else {
                    continue;
                };
                bench.device().load(&problem, &RANDOM, 20_000).unwrap();
                bench.prepare(&plan);
                let comparison = bench.device().verify(&plan).unwrap();
                assert_eq!(comparison.mismatches, 0, "{} {problem}", plan.label);
                tried += 1;
            }
        }
    }
    assert!(tried >= 14, "{tried}");
}

/// What it costs that calls may have up to 1, 4 and 64 times as many elements as they do, that arrays may begin
/// anywhere, and that the total is stored: nanoseconds per call, hot, medians of rounds in which all take turns.
///
/// `cargo test -p scanbox-runner --release -- on_device::varied::times --ignored --nocapture`
#[test]
#[ignore = "it takes times, and says nothing wrong"]
#[allow(clippy::print_stdout, reason = "its answer")]
fn times_of_larger_maxima() {
    const CALLS: u32 = 200;
    const ROUNDS: usize = 9;
    let Some(mut bench) = device() else { return };
    let problem = problem(Mode::Inclusive);
    let profile = bench.device().profile().clone();
    println!("| kernel | n | block | up to n | 4 n | 64 n | any element | with total |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let labels = std::env::var("SCANBOX_TEST_LABELS").unwrap_or_else(|_| KERNELS.join(","));
    for label in labels.split(',') {
        let config: Config = label.parse().unwrap();
        for exponent in [10, 12, 14, 16, 18, 20, 22, 24] {
            let n = 1 << exponent;
            let plain = Variant::default();
            let variants = [
                plain,
                Variant::up_to(n),
                Variant::up_to(4 * n),
                Variant::up_to(64 * n),
                plain.at_any_element(),
                plain.with_total(),
            ];
            let plans =
                variants.map(|variant| catalog::plan_variant(&config, variant, &problem, n, &profile).ok());
            if plans.iter().all(Option::is_none) || hangs(&config, &profile) {
                continue;
            }
            bench.device().load(&problem, &RANDOM, n).unwrap();
            let mut times = vec![Vec::new(); plans.len()];
            for plan in plans.iter().flatten() {
                bench.prepare(plan);
            }
            for _ in 0..ROUNDS {
                for (plan, times) in plans.iter().zip(&mut times) {
                    let Some(plan) = plan else { continue };
                    for interval in bench.device().time(plan, Cache::Hot, CALLS, 5).unwrap().iter().skip(2) {
                        times.push(duration_ns(*interval, &profile).unwrap() / f64::from(CALLS));
                    }
                }
            }
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times.get(times.len() / 2).map_or("-".to_owned(), |time| format!("{time:.0}"))
            };
            let cells: Vec<_> = times.iter_mut().map(median).collect();
            println!("| {label} | 2^{exponent} | {} |", cells.join(" | "));
        }
    }
}
