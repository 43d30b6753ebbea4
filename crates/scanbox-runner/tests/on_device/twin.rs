//! The untimed twin on a real device: right kernels are right in it, hot and cold, and what is wrong in the timed
//! path alone is found. Needs `SCANBOX_TEST_DEVICE=1`.

use std::fs;
use std::path::Path;

use super::harness::{Bench, compiler, compiler_of_folder};
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Plan;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::record::Cache;
use scanbox_runner::backend::{Backend, cold_slots};
use scanbox_runner::twin::{self, Length, Twin};
use scanbox_testing::folder::copy_folder;

/// A few calls, in submissions of so many.
const SHORT: Length = Length { calls: 9, per_submission: 1000 };
const PIECES: Length = Length { calls: 9, per_submission: 2 };

fn problem(mode: Mode, element: Element, placement: Placement) -> Problem {
    Problem::new(mode, element, Operator::Add, None, placement).unwrap()
}

fn plan(bench: &mut Bench, label: &str, problem: &Problem, n: u64) -> Plan {
    let plan = catalog::plan(&label.parse().unwrap(), problem, n, bench.device().profile()).unwrap();
    make(bench, &plan);
    let kind = if problem.rounds() { InputKind::Real } else { InputKind::Random };
    bench.device().load(problem, &Input { kind, seed: 7 }, n).unwrap();
    plan
}

fn make(bench: &mut Bench, plan: &Plan) {
    let (device, compiler) = bench.parts();
    for pass in &plan.passes {
        let module = compiler.compile(&pass.shader).unwrap_or_else(|error| panic!("{error}"));
        device.create_pipelines(&[module])[0].as_ref().unwrap();
    }
}

fn ran(bench: &mut Bench, plan: &Plan, cache: Cache, length: Length) -> Twin {
    twin::run(bench.device(), plan, cache, length)
        .unwrap_or_else(|failure| panic!("{}: {failure}", plan.label))
}

const U32: Element = Element::U32;
const LARGE: u64 = 3_000_001;

#[test]
#[allow(clippy::print_stderr, reason = "what was not tested must be said")]
fn right_kernels_are_right() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    use Mode::{Exclusive, Inclusive, Reduce};
    use Placement::{InPlace, OutOfPlace};
    for (label, problem) in [
        ("b4.vec4.par.rake.wg64", problem(Inclusive, U32, OutOfPlace)),
        ("b4.vec4.two.sub.early.wg64", problem(Inclusive, U32, OutOfPlace)),
        ("b2.vec4.par.rake.split.wg64", problem(Exclusive, U32, InPlace)),
        ("b2.vec4.seq.rake.clean.wg64", problem(Inclusive, Element::F32, OutOfPlace)),
        ("b2.vec2.gather.sub.early.wg64", problem(Reduce, Element::U64, OutOfPlace)),
        ("b1.vec4.par.rake.fill.wg64", problem(Inclusive, Element::I32, InPlace)),
        ("b1.vec4.par.rake.fill.block.wg64", problem(Inclusive, Element::I32, InPlace)),
        ("rts.b1.vec4.none.rake.wg64", problem(Inclusive, U32, OutOfPlace)),
    ] {
        for (n, cache, length) in
            [(70_001, Cache::Hot, SHORT), (5003, Cache::Hot, PIECES), (LARGE, Cache::Cold, PIECES)]
        {
            let config = label.parse().unwrap();
            if let Err(rejection) = catalog::plan(&config, &problem, n, bench.device().profile()) {
                eprintln!("not tested: {label} at {n}: {rejection}");
                continue;
            }
            // All cold buffers together are large whatever the size is: some kernels stand for all.
            if cache == Cache::Hot || label.contains("fill") || label.contains("gather") {
                let plan = plan(&mut bench, label, &problem, n);
                let twin = ran(&mut bench, &plan, cache, length);
                assert_eq!(twin.reason, None, "{label} {problem} at {n}, {cache:?}");
                let slots = cold_slots(n * problem.element_bytes());
                let (calls, compared) = if cache == Cache::Hot { (9, 3) } else { (slots.max(9), slots) };
                assert!(twin.calls as u64 == calls && twin.compared >= compared, "{twin:?}");
                assert!(!problem.rounds() || twin.max_error > 0.0);
            }
        }
    }
    // What the ceilings are measured by.
    for problem in [problem(Inclusive, U32, OutOfPlace), problem(Reduce, U32, OutOfPlace)] {
        let ceiling = catalog::ceiling(&problem, LARGE, catalog::CEILING_SHAPES[1], bench.device().profile());
        bench.device().load(&problem, &Input { kind: InputKind::Random, seed: 7 }, LARGE).unwrap();
        make(&mut bench, &ceiling);
        for cache in [Cache::Hot, Cache::Cold] {
            assert_eq!(ran(&mut bench, &ceiling, cache, SHORT).reason, None, "{}, {cache:?}", ceiling.label);
        }
    }
}

/// A session keeps some pipelines with baked arguments and no more, and never drops one that a call is about to run:
/// whatever number it has kept when a twin begins, whose calls are made of two.
#[test]
fn twins_of_many_baked_calls_are_right() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let problem = problem(Mode::Inclusive, U32, Placement::OutOfPlace);
    for (label, first) in [("b1.vec4.par.rake.baked.wg64", 1000), ("b1.vec4.par.rake.fill.baked.wg64", 2000)]
    {
        for n in first..first + 40 {
            let plan = plan(&mut bench, label, &problem, n);
            if n % 3 == 0 {
                assert_eq!(bench.device().verify(&plan).unwrap().mismatches, 0, "{label} at {n}");
            }
            let other = Input { kind: InputKind::Random, seed: 8 };
            bench.device().load_other(&problem, &other, n).unwrap();
            let twin = twin::run_alone(bench.device(), &plan, SHORT, true).unwrap();
            assert_eq!(twin.reason, None, "{label} at {n}");
        }
    }
}

#[test]
fn what_is_lost_from_call_to_call_shows_and_accuses_nobody_else() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let problem = Problem::default();
    let labels = ["b4.vec4.par.rake.wg64", "b1.vec4.seq.rake.wg64"];
    for label in labels {
        let plan = plan(&mut bench, label, &problem, 5000);
        assert_eq!(twin::run(bench.device(), &plan, Cache::Hot, SHORT).unwrap().reason, None);
        // As after a kernel that took too many tickets.
        bench.device().scribble_scratch(Garbage::Unnoticed(0x4000_0000)).unwrap();
        let twin = ran(&mut bench, &plan, Cache::Hot, SHORT);
        assert_eq!((twin.wrong_calls, twin.wrong.unwrap().call), (3, 3), "{twin:?}");
        let first = "wrong in call 4 of 9 in a row (the timed path): 5000 of 5000 elements are wrong; the first is element 0";
        assert!(twin.reason.unwrap().contains(first));
        for label in labels {
            let other = self::plan(&mut bench, label, &problem, 5000);
            assert_eq!(ran(&mut bench, &other, Cache::Hot, SHORT).reason, None, "{label}");
        }
    }
}

/// A compiler of the kernels with one edit.
fn edited(folder: &Path, file: &str, from: &str, to: &str) -> Compiler {
    copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl"), folder);
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no `{from}`");
    fs::write(&path, text.replace(from, to)).unwrap();
    compiler_of_folder(folder)
}

#[test]
fn cold_slots_but_the_first_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let from = "    const uint tile = take_tile();\n";
    let to = "    const uint tile = take_tile();\n    if (params.epoch % 4u == 3u) { leave(); return; }\n";
    let Some(mut bench) = Bench::new(|| edited(folder.path(), "chained_scan.comp", from, to)) else { return };
    let plan = plan(&mut bench, "b4.vec4.par.rake.wg64", &Problem::default(), LARGE);
    assert_eq!(bench.device().verify(&plan).unwrap().mismatches, 0, "right when called once");
    let twin = ran(&mut bench, &plan, Cache::Cold, SHORT);
    let slots = cold_slots(4 * LARGE);
    // Every fourth of as many calls as there are slots.
    assert_eq!(twin.compared, slots, "{twin:?}");
    assert!((slots / 4..=slots / 4 + 1).contains(&twin.wrong_calls), "{twin:?}");
    assert!(twin.reason.unwrap().contains("in a row on cold buffers"));
}

#[test]
fn calls_in_place_on_cold_buffers_find_real_input() {
    let folder = tempfile::tempdir().unwrap();
    // Whoever finds a tile that begins with a zero takes one ticket too many: every later call is wrong.
    let from = "    const uint tile = take_tile();\n";
    let to = "    const uint tile = take_tile();\n    if (invocation_rank() == 0u && tile < tile_count() && \
              InputVectors(element_address(params.source_address, tile, TILE_ELEMENTS * ELEMENT_BYTES)).at[0].x == 0u) {\n\
              take_ticket();\n    }\n";
    let Some(mut bench) = Bench::new(|| edited(folder.path(), "chained_scan.comp", from, to)) else { return };
    let problem = problem(Mode::Inclusive, U32, Placement::InPlace);
    let plan = plan(&mut bench, "b4.vec4.par.rake.wg64", &problem, LARGE);
    assert_eq!(bench.device().verify(&plan).unwrap().mismatches, 0);
    // Every buffer has its turn before anything is poisoned.
    let slots = u32::try_from(cold_slots(4 * LARGE)).unwrap();
    bench.device().time(&plan, Cache::Cold, slots, 1).unwrap();
    assert_eq!(ran(&mut bench, &plan, Cache::Cold, SHORT).reason, None);
}
