//! The order in which lookbacks on a real device combine the totals of many tiles.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use super::harness::{self, Bench, Change, compiler_of_changed};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::input::{Input, InputKind};
use scanbox_model::config::Config;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_runner::backend::Backend;
use scanbox_testing::operator_files::example;

const FALLBACK: &str = "stages/lookback/fallback.glsl";

/// One tile of many alone publishes its inclusive prefix: lookbacks go over several tiles and windows, also where a
/// device runs one workgroup after the other.
const fn few_prefixes(file: &'static str) -> Change {
    (
        file,
        "if (tile != 0u) {\n                publish(tile, INCLUSIVE",
        "if (tile % 61u == 3u) {\n                publish(tile, INCLUSIVE",
    )
}

const WALK: &[Change] = &[few_prefixes("stages/lookback/walk.glsl")];
const NO_WAIT: &[Change] = &[few_prefixes(FALLBACK)];
/// What a fallback inserts is lost too, so that every lookback meets several blocked tiles.
const FORGETFUL: &[Change] = &[
    few_prefixes(FALLBACK),
    (FALLBACK, "insert_state(blocking, inclusive ? INCLUSIVE : AGGREGATE, total)", "load_state(blocking)"),
];

#[test]
fn lookbacks_combine_the_totals_of_many_tiles_in_their_order() {
    // Not commutative, and exact.
    let operator = example("affine");
    let problem = Problem::of_user(Mode::Inclusive, operator.operator(), Placement::OutOfPlace).unwrap();
    for (kernel, changes, blocking) in [
        ("b1.scalar.seq.sub.early", WALK, None),
        ("b1.scalar.par.sub.early", WALK, None),
        ("b1.scalar.par.sub.early.width3", WALK, None),
        ("b1.scalar.fallback.sub.early", NO_WAIT, None),
        ("b1.scalar.fallback.sub.early.spins0", FORGETFUL, Some(2)),
    ] {
        // In a session of its own: one keeps its pipelines, whatever sources come later.
        let changed = || compiler_of_changed(changes).with_operator(operator.clone());
        let Some(mut bench) = Bench::new(changed) else { return };
        let profile = bench.device().profile().clone();
        let config: Config = format!("{kernel}.wg{}", 2 * profile.subgroup_size).parse().unwrap();
        let window = u64::from(profile.subgroup_size * config.kernel.lookback_width);
        bench.create(&catalog::operator_shaders(&problem, &profile));
        for tiles in [3, window + 1, 2 * window + 3] {
            let n = tiles * config.tile_elements();
            let plan = catalog::plan_variant(&config, Variant::blocked(blocking), &problem, n, &profile);
            let plan = plan.unwrap_or_else(|rejection| panic!("{config} at {n}: {rejection}"));
            bench.prepare(&plan);
            bench.check_plan(&plan, &Input { kind: InputKind::Random, seed: 5 });
        }
    }
}

/// Of four rows together, two, and one that is left, in tiles of one and several sets; families that publish, and those
/// that do not.
#[test]
fn rows_that_are_exchanged_keep_their_order() {
    const MODES: [Mode; 3] = [Mode::Inclusive, Mode::Exclusive, Mode::Reduce];
    for (name, modes) in [("affine", &MODES[..]), ("text-position", &MODES[..1]), ("matrix2x2", &MODES[..1])]
    {
        let operator = example(name);
        let with_operator = || harness::compiler().with_operator(operator.clone());
        let Some(mut bench) = Bench::new(with_operator) else { return };
        let profile = bench.device().profile().clone();
        for &mode in modes {
            let problem = Problem::of_user(mode, operator.operator(), Placement::OutOfPlace).unwrap();
            bench.create(&catalog::operator_shaders(&problem, &profile));
            for kernel in [
                "b2.scalar.par.sub.exchange.striped.early",
                "b3.vec2.par.sub.exchange.striped.early",
                "b7.scalar.par.sub.exchange.striped.early",
                "b8.vec2.par.sub.exchange.striped.early",
                "b5.scalar.par.sub.exchange.striped",
                "redo.b6.vec2.none.sub.exchange.striped",
                "one.b4.vec2.none.sub.exchange.striped",
            ] {
                let config: Config = format!("{kernel}.wg{}", 2 * profile.subgroup_size).parse().unwrap();
                let tile = config.tile_elements();
                for n in [1, tile - 1, tile, 3 * tile + 5] {
                    let plan = match catalog::plan_variant(&config, Variant::default(), &problem, n, &profile)
                    {
                        Ok(plan) => plan,
                        // Nothing is scanned behind the total of a reduction.
                        Err(rejection) if mode == Mode::Reduce => {
                            assert!(!kernel.contains("early"), "{config} at {n}: {rejection}");
                            continue;
                        }
                        Err(rejection) => panic!("{config} at {n}: {rejection}"),
                    };
                    bench.prepare(&plan);
                    bench.check_plan(&plan, &Input { kind: InputKind::Random, seed: 5 });
                }
            }
        }
    }
}
