//! Deterministic kernels on a real device: their bits are compared, and a difference is found however small it is.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use super::harness::{Bench, compiler};
use scanbox_kernels::catalog;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{GUARD_WORDS, Plan};
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_runner::backend::{Backend, Mismatch};
use scanbox_runner::vulkan::Tamper;

const REAL: Input = Input { kind: InputKind::Real, seed: 5 };
const N: u64 = 5000;
const INDEX: u64 = 1234;

/// The plan of a sum of floats with its pipelines; nothing where the device does not have the type.
fn plan(bench: &mut Bench, label: &str, problem: &Problem, n: u64) -> Option<Plan> {
    let plan = catalog::plan(&label.parse().unwrap(), problem, n, bench.device().profile()).ok()?;
    let (device, compiler) = bench.parts();
    for pass in &plan.passes {
        let module = compiler.compile(&pass.shader).unwrap_or_else(|error| panic!("{error}"));
        device.create_pipelines(&[module]).remove(0).unwrap();
    }
    device.load(problem, &REAL, n).unwrap();
    Some(plan)
}

fn sum(mode: Mode, element: Element) -> Problem {
    Problem::new(mode, element, Operator::Add, None, Placement::OutOfPlace).unwrap()
}

#[test]
fn bits_that_differ_from_those_of_an_earlier_call_are_found() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    for element in [Element::F32, Element::F64] {
        let sum = sum(Mode::Inclusive, element);
        let Some(plan) = plan(&mut bench, "rts.b1.vec4.none.rake.wg64", &sum, N) else { continue };
        let device = bench.device();
        assert_eq!(device.verify(&plan).unwrap().mismatches, 0);
        device.keep(&plan).unwrap();
        device.verify(&plan).unwrap();
        let same = device.compare_with_kept(&plan).unwrap();
        assert_eq!((same.mismatches, same.first, same.compared), (0, None, N + GUARD_WORDS));
        // The last bit of an element: too little to be wrong, but another result. Its lower word comes first.
        let index = INDEX * sum.element_bytes() / 4;
        device.verify_tampered(&plan, Tamper::Overwrite { index, word: 0 }).unwrap();
        let kept = device.compare_with_kept(&plan).unwrap().first.unwrap().expected;
        let tamper = Tamper::Overwrite { index, word: kept as u32 ^ 1 };
        let comparison = device.verify_tampered(&plan, tamper).unwrap();
        assert_eq!(comparison.mismatches, 0, "{comparison:?}");
        let other = device.compare_with_kept(&plan).unwrap();
        let expected =
            Mismatch { index: INDEX, element, expected: kept, got: kept ^ 1, expected_rest: 0, got_rest: 0 };
        assert_eq!((other.mismatches, other.first), (1, Some(expected)));
    }
}

#[test]
fn what_is_kept_is_as_long_as_what_it_is_compared_with() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let label = "stp.b1.vec4.none.rake.wg64";
    let of = |bench: &mut Bench, n| plan(bench, label, &sum(Mode::Inclusive, Element::F32), n).unwrap();
    let short = of(&mut bench, N);
    assert!(bench.device().compare_with_kept(&short).unwrap_err().reason.contains("none is kept"));
    bench.device().verify(&short).unwrap();
    bench.device().keep(&short).unwrap();
    let long = of(&mut bench, 60 * N);
    bench.device().verify(&long).unwrap();
    assert!(bench.device().compare_with_kept(&long).unwrap_err().reason.contains("none is kept"));
    bench.device().keep(&long).unwrap();
    // A shorter output fits, and is the beginning of the longer one: tiles begin at the same places.
    bench.device().verify(&short).unwrap();
    assert_eq!(bench.device().compare_with_kept(&short).unwrap().mismatches, 0);
    // A reduction is one element, which is the last of the scan and not the first.
    let total = sum(Mode::Reduce, Element::F32);
    let reduce = plan(&mut bench, "rts.b1.vec4.none.rake.wg64", &total, N).unwrap();
    bench.device().verify(&reduce).unwrap();
    let comparison = bench.device().compare_with_kept(&reduce).unwrap();
    assert_eq!((comparison.mismatches, comparison.compared), (1, 1 + GUARD_WORDS));
}
