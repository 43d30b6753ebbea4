//! Lookbacks on a real device whose tiles are blocked: who falls back finishes with right results, whoever does not
//! does not.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use std::collections::HashSet;

use super::harness::{Bench, Change, compiler, compiler_of_changed};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Shader;
use scanbox_model::config::Config;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_runner::backend::{Backend, ElementComparison, LookbackCounts};

/// A device, and the shaders that it has pipelines of.
struct Session {
    bench: Bench,
    made: HashSet<Shader>,
}

impl Session {
    fn new(compiler: impl FnOnce() -> Compiler) -> Option<Self> {
        Bench::new(compiler).map(|bench| Self { bench, made: HashSet::new() })
    }
}

fn problem(mode: Mode, element: Element, operator: Operator) -> Problem {
    Problem::new(mode, element, operator, None, Placement::OutOfPlace).unwrap()
}

/// One call of a config, compared. None where a rule says that the device cannot run it, which is said.
#[allow(clippy::print_stderr, reason = "what was not tested must be said")]
fn call(
    session: &mut Session,
    label: &str,
    variant: Variant,
    problem: &Problem,
    kind: InputKind,
    n: u64,
) -> Option<ElementComparison> {
    let config: Config = label.parse().unwrap();
    let Session { bench, made } = session;
    let (device, compiler) = bench.parts();
    let plan = match catalog::plan_variant(&config, variant, problem, n, device.profile()) {
        Ok(plan) => plan,
        Err(rejection) => {
            eprintln!("not tested: {label} {problem} at {n}: {rejection}");
            return None;
        }
    };
    let shader = &plan.passes[0].shader;
    if made.insert(shader.clone()) {
        let module = compiler.compile(shader).unwrap_or_else(|error| panic!("{error}"));
        device.create_pipelines(&[module]).remove(0).unwrap();
    }
    device.load(problem, &Input { kind, seed: 17 }, n).unwrap();
    Some(device.verify(&plan).unwrap_or_else(|failure| panic!("{}, {problem} at {n}: {failure}", plan.label)))
}

/// A blocked scan and its counts: they have to be right, and go together.
fn check(
    session: &mut Session,
    label: &str,
    blocking: Option<u32>,
    problem: &Problem,
    kind: InputKind,
    n: u64,
) {
    let config: Config = label.parse().unwrap();
    let variant = Variant::blocked(blocking);
    // What reads all predecessors at once counts nothing.
    let counts = catalog::variant_legal(&config, variant.counted()).is_ok();
    for variant in std::iter::once(variant).chain(counts.then(|| variant.counted())) {
        let Some(found) = call(session, label, variant, problem, kind, n) else { return };
        let what = format!("{label}{variant}, {problem}, {kind:?} at {n}: {found:?}");
        assert_eq!((found.mismatches, found.first), (0, None), "{what}");
        assert_eq!(found.counts.is_some(), variant.counted, "{what}");
        let Some(counts) = found.counts else { continue };
        let LookbackCounts { workgroups, spins, lookback_length, fallbacks, insertions } = counts;
        assert_eq!(workgroups, config.tiles(n), "{what}");
        // Every tile but the first one looks back at one tile at least.
        assert!(lookback_length >= workgroups - 1, "{what}");
        assert!(insertions <= fallbacks && insertions < workgroups, "{what}");
        if config.kernel.lookback.falls_back() {
            assert!(spins >= fallbacks * (1 + u64::from(config.kernel.max_spins)), "{what}");
        } else {
            assert_eq!(fallbacks, 0, "{what}");
        }
        if blocking.is_some() && workgroups > 1 {
            assert!(insertions > 0, "nobody but another one can publish the first tile: {what}");
        }
    }
}

/// Around the ends of tiles and windows.
fn sizes(session: &mut Session, label: &str) -> Vec<u64> {
    let config: Config = label.parse().unwrap();
    let tile = config.tile_elements();
    let window = u64::from(session.bench.device().profile().subgroup_size);
    vec![1, tile, tile + 1, 2 * tile - 1, 7 * tile + 3, window * tile + 1, (2 * window + 3) * tile + 5]
}

/// Kernels in which one tile of seven alone publishes its inclusive prefix: lookbacks go over several tiles, and
/// blocked ones among them need a fallback, also where a device runs one workgroup after the other.
fn silent() -> Compiler {
    compiler_of_changed(&[FEW_PREFIXES])
}

/// The same, and what a fallback inserts is lost: every lookback has to add up every blocked tile on its way itself,
/// with tiles between them that are there.
fn silent_and_forgetful() -> Compiler {
    let inserts = "insert_state(blocking, inclusive ? INCLUSIVE : AGGREGATE, total)";
    let gather = ("stages/lookback/gather_fallback.glsl", "insert_state(blocking, AGGREGATE, total);", ";");
    compiler_of_changed(&[FEW_PREFIXES, (LOOKBACK, inserts, "load_state(blocking)"), gather])
}

const LOOKBACK: &str = "stages/lookback/fallback.glsl";

/// Where the owner of a tile publishes its inclusive prefix.
const FEW_PREFIXES: Change = (
    LOOKBACK,
    "if (tile != 0u) {\n                publish(tile, INCLUSIVE",
    "if (tile % 7u == 3u) {\n                publish(tile, INCLUSIVE",
);

/// Every tile state, block scan and layout, at spin counts from 0 up.
fn check_states_and_spins(session: &mut Session, rates: &[u32]) {
    let sum = Problem::default();
    for label in [
        "b2.vec4.fallback.sub.early.spins0.wg64",
        "b2.vec4.fallback.rake.spins1.wg64",
        "b3.vec2.fallback.blelloch.direct.spins8.wg64",
        "b5.vec4.fallback.sub.striped.early.spins0.split.wg64",
        "b2.scalar.fallback.sub.shuffle.striped.split.fill.wg32",
        "b2.vec4.fallback.rake.spins0.stride3.split.clean.wg32",
        "b1.vec4.fallback.sub.wgid.pause.word64.clean.wg64",
        "b2.vec4.gatherfall.sub.striped.early.spins0.wg64",
        "b1.vec4.gatherfall.sub.shuffle.striped.wgid.early.spins1.wg32",
        "b2.vec2.gatherfall.blelloch.direct.spins8.split.fill.wg64",
        "b3.vec4.gatherfall.rake.spins0.split.clean.wg32",
        "b1.scalar.gatherfall.sub.wgid.early.spins3.split.wg64",
    ] {
        for n in sizes(session, label) {
            for &k in rates {
                check(session, label, Some(k), &sum, InputKind::Random, n);
            }
        }
    }
    let packed = "b2.vec4.fallback.rake.spins0.packed.wg64";
    for n in sizes(session, packed) {
        check(session, packed, Some(1), &sum, InputKind::Bounded { n: 1 << 20 }, n);
    }
}

/// Modes, types and operators, exact ones and those whose totals depend on the order.
fn check_problems(session: &mut Session) {
    use Mode::{Exclusive, Inclusive, Reduce};
    let integers =
        [(Element::U32, Operator::Xor), (Element::I32, Operator::Min), (Element::U64, Operator::Add)];
    let floats =
        [(Element::F32, Operator::Add), (Element::F32, Operator::Mul), (Element::F64, Operator::Add)];
    for (place, (element, operator)) in integers.into_iter().chain(floats).enumerate() {
        let layouts = [
            "b3.vec4.fallback.sub.striped.early",
            "b2.vec2.fallback.rake",
            "b2.vec4.gatherfall.sub.striped.early",
            "b2.vec4.fallback.sub.direct.early",
        ];
        for (turn, layout) in layouts.into_iter().enumerate() {
            // Two states for elements of 32 bits, one for those of 64.
            let state = if (place + turn) % 2 == 0 { "" } else { ".split" };
            let label = format!("{layout}.spins{}{state}.wg64", turn % 2);
            let mode = [Inclusive, Exclusive, Reduce][(place + turn) % 3];
            let kinds = if element.is_float() && operator == Operator::Add {
                vec![InputKind::Random, InputKind::Real]
            } else {
                vec![InputKind::Random]
            };
            for kind in kinds {
                for n in sizes(session, &label).into_iter().skip(2) {
                    check(session, &label, Some(1), &problem(mode, element, operator), kind, n);
                }
            }
        }
    }
}

#[test]
fn blocked_tiles_hold_up_nobody_who_falls_back() {
    let Some(mut session) = Session::new(compiler) else { return };
    check_states_and_spins(&mut session, &[1, 3]);
}

#[test]
fn tiles_that_are_never_published_hold_up_nobody_who_falls_back() {
    let Some(mut session) = Session::new(silent) else { return };
    check_states_and_spins(&mut session, &[1]);
    check_problems(&mut session);
}

/// Kernels whose workgroups go from tile to tile, and publish one tile of three themselves: the others have to be added
/// up, those of the own workgroup too. `lose`: what is inserted is lost.
fn persistent_and_silent(lose: bool) -> Compiler {
    let publish = (
        "stages/block/rendezvous_barrier.glsl",
        "if (own_lane == 0) {\n            publish_total(",
        "if (own_lane == 0 && tile % 3u == 1u) {\n            publish_total(",
    );
    let insert = ("stages/lookback/onward_fallback.glsl", "insert_state(blocking, AGGREGATE, total);", ";");
    if lose { compiler_of_changed(&[publish, insert]) } else { compiler_of_changed(&[publish]) }
}

#[test]
fn persistent_workgroups_add_up_what_nobody_publishes() {
    use Mode::{Exclusive, Inclusive};
    for lose in [false, true] {
        let Some(mut session) = Session::new(|| persistent_and_silent(lose)) else { return };
        let real = InputKind::Real;
        for (label, problem, kind) in [
            (
                "pers.b1.vec4.gatherfall.sub.striped.early.spins0.wg64.u1",
                Problem::default(),
                InputKind::Random,
            ),
            (
                "pers.b2.vec4.gatherfall.sub.shuffle.striped.robin.early.spins3.split.wg32.u2",
                problem(Exclusive, Element::I32, Operator::Min),
                InputKind::Random,
            ),
            (
                "pers.b3.vec2.gatherfall.sub.direct.early.spins1.split.fill.wg64.u1",
                problem(Inclusive, Element::F32, Operator::Add),
                real,
            ),
            (
                "pers.b2.scalar.gatherfall.sub.striped.robin.early.split.clean.wg16.u1",
                problem(Exclusive, Element::F64, Operator::Add),
                real,
            ),
        ] {
            for n in sizes(&mut session, label).into_iter().skip(1) {
                check(&mut session, label, None, &problem, kind, n);
            }
        }
    }
}

#[test]
fn every_tile_that_is_never_published_is_inserted_once() {
    let Some(mut session) = Session::new(silent) else { return };
    let one_by_one = session.bench.device().profile().name.contains("llvmpipe");
    for label in ["b1.vec4.fallback.sub.early.wg32", "b1.vec4.fallback.sub.early.spins0.split.wg32"] {
        let config: Config = label.parse().unwrap();
        let n = 40 * config.tile_elements();
        let variant = Variant::blocked(Some(1)).counted();
        for turn in 0..20 {
            let found =
                call(&mut session, label, variant, &Problem::default(), InputKind::Random, n).unwrap();
            assert_eq!(found.mismatches, 0, "{label}, call {turn}: {found:?}");
            let counts = found.counts.unwrap();
            // Of 20 blocked tiles, 10, 24 and 38 publish their inclusive prefix. The tile behind each of the others
            // needs it, and who is first makes it known to all others. Where workgroups run at the same time, others
            // may be late; nobody ever waits for the last one.
            let most = if one_by_one { 17 } else { 39 };
            assert!((17..=most).contains(&counts.insertions), "{label}, call {turn}: {counts:?}");
        }
    }
}

#[test]
fn nobody_needs_the_insertions_of_others() {
    let Some(mut session) = Session::new(silent_and_forgetful) else { return };
    let floats = problem(Mode::Exclusive, Element::F32, Operator::Add);
    for (label, problem) in [
        ("b1.vec4.fallback.sub.early.spins0.wg32", Problem::default()),
        ("b2.vec4.fallback.rake.split.wg64", Problem::default()),
        ("b2.vec2.fallback.sub.striped.early.split.wg64", floats),
        ("b1.vec4.gatherfall.sub.early.spins0.wg32", Problem::default()),
        ("b2.vec2.gatherfall.sub.striped.early.split.wg64", floats),
    ] {
        let config: Config = label.parse().unwrap();
        for n in sizes(&mut session, label) {
            for k in [1, 2] {
                let variant = Variant::blocked(Some(k));
                let counts = catalog::variant_legal(&config, variant.counted()).is_ok();
                let variant = if counts { variant.counted() } else { variant };
                let found = call(&mut session, label, variant, &problem, InputKind::Random, n).unwrap();
                assert_eq!((found.mismatches, found.first), (0, None), "{label}{variant} at {n}: {found:?}");
                let Some(counts) = found.counts else { continue };
                // More than each of the blocked tiles once.
                let blocked = counts.workgroups.div_ceil(1 << k);
                assert!(
                    counts.workgroups < 20 || counts.fallbacks > blocked,
                    "{label}{variant} at {n}: {counts:?}"
                );
            }
        }
    }
}

#[test]
fn nobody_falls_back_where_nobody_is_blocked() {
    let Some(mut session) = Session::new(compiler) else { return };
    let label = "b2.vec4.fallback.sub.early.spins65536.wg64";
    for n in sizes(&mut session, label) {
        check(&mut session, label, None, &Problem::default(), InputKind::Random, n);
        let variant = Variant::default().counted();
        let found = call(&mut session, label, variant, &Problem::default(), InputKind::Random, n).unwrap();
        let counts = found.counts.unwrap();
        assert_eq!((counts.fallbacks, counts.insertions), (0, 0), "{n}: {counts:?}");
    }
    // Plain lookbacks count too.
    for label in ["b2.vec4.par.rake.wg64", "b2.vec4.seq.sub.split.wg64", "b1.vec4.par.sub.early.width3.wg32"]
    {
        for n in sizes(&mut session, label) {
            check(&mut session, label, None, &Problem::default(), InputKind::Random, n);
        }
    }
}

#[test]
fn who_does_not_fall_back_gives_no_right_result() {
    let Some(mut session) = Session::new(compiler) else { return };
    if !session.bench.device().profile().name.contains("llvmpipe") {
        // What waits for ever ends the session, and on hardware whatever else runs there: `scanbox verify --blocking`
        // has processes for that. lavapipe ends loops silently, after 65,535 rounds.
        return;
    }
    for label in ["b1.vec4.par.sub.early.wg32", "b1.vec4.seq.rake.wg32", "b1.vec4.gather.sub.early.wg32"] {
        let tile = label.parse::<Config>().unwrap().tile_elements();
        for n in [tile + 1, 3 * tile] {
            let variant = Variant::blocked(Some(1));
            let found = call(&mut session, label, variant, &Problem::default(), InputKind::Ones, n).unwrap();
            assert!(found.mismatches > 0, "{label}{variant} at {n}: {found:?}");
        }
    }
}
