//! Calls of arrays that begin at any element, and what may not be written around these.

use scanbox_kernels::cases::Builds;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_model::config::Config;
use scanbox_model::problem::{Direction, Element, Mode, Operator, Placement, Problem};
use scanbox_model::record::Status;
use scanbox_runner::backend::Backend;
use scanbox_testing::operator_files::operator;

use super::harness::{Bench, RANDOM, compiler, compiler_of_changed, device};
use super::operators::{of_user, try_verdicts};
use super::progress::hangs;

/// Arrays begin at any element, and nothing around them is touched; where vectors may not be, that is said.
#[test]
fn arrays_begin_at_any_element() {
    let Some(mut bench) = device() else { return };
    for (label, placement) in [
        ("b1.vec4.par.rake.wg64", Placement::OutOfPlace),
        ("b3.vec4.seq.rake.wg64", Placement::InPlace),
        ("b4.vec2.fallback.sub.striped.early.split.block.wg64", Placement::OutOfPlace),
        ("b1.vec4.par.sub.striped.wg64", Placement::OutOfPlace),
        ("b3.vec4.two.sub.shuffle.striped.early.split.clean.wg64", Placement::OutOfPlace),
        ("b2.vec4.two.sub.striped.early.split.wg64", Placement::InPlace),
        ("pers.b2.vec4.gather.sub.striped.early.wg64.u1", Placement::OutOfPlace),
        ("pers.b3.vec4.gatherfall.sub.shuffle.striped.robin.early.split.wg32.u2", Placement::OutOfPlace),
        ("redo.b2.vec4.none.sub.striped.wg64", Placement::OutOfPlace),
        ("rts.b2.vec4.none.rake.block.wg64", Placement::OutOfPlace),
        ("stp.b2.vec4.none.rake.wg64", Placement::InPlace),
        ("one.b1.vec2.none.rake.wg64", Placement::OutOfPlace),
    ] {
        let Ok(config) = label.parse::<Config>() else { panic!("{label}") };
        let problem =
            Problem::new(Mode::Exclusive, Element::U32, Operator::Add, Some("7"), placement).unwrap();
        let profile = bench.device().profile().clone();
        if hangs(&config, &profile) {
            continue;
        }
        let n = 3 * config.tile_elements() + 5;
        // One more: the total of an exclusive scan.
        bench.device().load(&problem, &RANDOM, n + 1).unwrap();
        let plan_of = |variant| catalog::plan_variant(&config, variant, &problem, n, &profile);
        let variant = Variant::default().at_any_element();
        // By levels nobody stores a total.
        let Ok(any) = plan_of(variant.with_total()).or_else(|_| plan_of(variant)) else { continue };
        let plain = plan_of(Variant::default()).unwrap();
        bench.prepare(&any);
        bench.prepare(&plain);
        let vectors = plain.alignment() > 4;
        for begin in (0..16).map(|k| [k % 4, k / 4]) {
            let compared = bench.device().verify_at(&any, begin);
            let compared = compared.unwrap_or_else(|failure| panic!("{label} at {begin:?}: {failure}"));
            assert!(compared >= n);
            let lanes = plain.alignment() / 4;
            let outcome = bench.device().verify_at(&plain, begin);
            if vectors && begin.iter().any(|element| element % lanes != 0) {
                let failure = outcome.unwrap_err();
                assert_eq!(failure.status, Status::Unsupported, "{failure}");
                assert!(failure.reason.contains("vector-alignment"), "{failure}");
                assert!(failure.reason.contains("its variant for any element"), "{failure}");
            } else {
                outcome.unwrap_or_else(|failure| panic!("{label} at {begin:?}: {failure}"));
            }
        }
    }
}

/// Builds for any element that write where they must not, and are right otherwise.
#[test]
fn what_a_call_at_any_element_writes_beside_its_output_is_found() {
    const FILE: &str = "stages/tile/load_store.glsl";
    const STORE: &str =
        "void store_tile(const uint tile, inout Vector items[BATCH_SIZE], const Element prefix) {\n";
    let before = "#if INT64\n#define IN_FRONT(address) (address) - uint64_t(8)\n#else\n\
                  #define IN_FRONT(address) (address) - uvec2(8u, 0u)\n#endif\n\
                  layout(buffer_reference, std430, buffer_reference_align = 4) buffer Beside { uint at[]; };\n";
    for (place, found) in [
        ("params.source_address).at[0]", "the input and the guard behind it"),
        ("params.source_address).at[ELEMENTS + 1u]", "the input and the guard behind it"),
        ("IN_FRONT(params.source_address)).at[0]", "the guard in front of the input"),
        ("params.target_address).at[ELEMENTS + 1u]", "the output and the guard behind it"),
        ("IN_FRONT(params.target_address)).at[0]", "the guard in front of the output"),
    ] {
        let write: &'static str = format!(
            "{before}{STORE}    if (tile == 0u && invocation_rank() == 0u) {{ Beside({place} += 1u; }}\n"
        )
        .leak();
        let changed = || compiler_of_changed(&[(FILE, STORE, write)]);
        let Some(mut bench) = Bench::with(changed, super::harness::options()) else { return };
        let config: Config = "b1.vec4.par.rake.block.wg64".parse().unwrap();
        let (problem, n) = (Problem::default(), config.tile_elements() + 5);
        bench.device().load(&problem, &RANDOM, n).unwrap();
        let profile = bench.device().profile().clone();
        let variant = Variant::default().at_any_element();
        let plan = catalog::plan_variant(&config, variant, &problem, n, &profile).unwrap();
        bench.prepare(&plan);
        let failure = bench.device().verify_at(&plan, [1, 2]).unwrap_err();
        assert_eq!(failure.status, Status::WrongResult, "{place}: {failure}");
        assert!(
            failure.reason.starts_with("1 wrong words among ") && failure.reason.contains(found),
            "{failure}"
        );
    }
}

/// Of several sizes each is an array of its own, and from the last element on all of its indices are.
#[test]
fn transforms_know_the_elements_of_every_size() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let file = operator(
        "placed",
        "#pragma scanbox operator(commutative = yes, exact = yes)
        struct Element { uint value; };
        Element identity() { return Element(0u); }
        Element combine(const Element a, const Element b) { return Element(a.value + b.value); }
        Element transform_input(const Element element, const uint index) {
            return Element(element.value * (2u * index + 1u) + 1u);
        }
        Element transform_output(const Element element, const uint index) {
            return Element(element.value ^ (index * 0x9e3779b9u));
        }",
    );
    for (mode, label) in [
        (Mode::Inclusive, "b1.vec4.par.rake.block.wg64"),
        (Mode::Exclusive, "b2.vec4.seq.rake.block.wg64"),
        (Mode::Reduce, "b1.vec2.par.rake.block.wg32"),
    ] {
        for direction in [Direction::Forward, Direction::Reverse] {
            let problem = of_user(&file, mode, Placement::OutOfPlace).in_direction(direction);
            let config: Config = label.parse().unwrap();
            let verdicts = try_verdicts(&mut bench, &file, problem, config, vec![3, 8], Builds::All).unwrap();
            for verdict in &verdicts {
                // How many more calls are compared depends on how long they take.
                let tally = &verdict.tally;
                assert!(tally.cases == 2 && tally.calls > 10 * tally.cases, "{problem}: {verdicts:?}");
                assert_eq!(verdict.status, Status::Ok, "{problem}: {verdict:?}");
            }
        }
    }
}
