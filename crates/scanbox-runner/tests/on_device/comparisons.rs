//! What comparisons find, whatever the problem is, and that what is wrong accuses nothing else.

use scanbox_kernels::cases::Garbage;
use scanbox_kernels::catalog::{self, GUARD_WORD};
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::GUARD_WORDS;
use scanbox_kernels::reference::Reference;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_runner::backend::{Backend, Mismatch, RoundingError};
use scanbox_runner::vulkan::Tamper;

use super::harness::{ONES, RANDOM, device};

/// A word of the random input.
fn word(index: u64) -> u32 {
    RANDOM.element(&Problem::default(), index).bits as u32
}

fn mismatch(index: u64, expected: u32, got: u32) -> Mismatch {
    Mismatch { index, expected: expected.into(), got: got.into(), ..Mismatch::default() }
}

#[test]
fn nothing_computed_is_all_wrong() {
    let Some(mut bench) = device() else { return };
    let plan = bench.copy(10_000);
    bench.check_plan(&plan, &RANDOM);
    let comparison = bench.device().verify_tampered(&plan, Tamper::SkipCall).unwrap();
    let expected = word(0);
    assert_eq!(comparison.mismatches, 10_000);
    assert_eq!(comparison.first, Some(mismatch(0, expected, !expected)));
}

#[test]
fn one_wrong_word_is_found() {
    let Some(mut bench) = device() else { return };
    const N: u64 = 10_001;
    let plan = bench.copy(N);
    bench.check_plan(&plan, &RANDOM);
    for index in [0, 1, 255, 5000, N - 1, N, N + GUARD_WORDS - 1] {
        let expected = if index < N { word(index) } else { GUARD_WORD };
        let got = expected ^ (1 << (index % 32));
        let tamper = Tamper::Overwrite { index, word: got };
        let comparison = bench.device().verify_tampered(&plan, tamper).unwrap();
        assert_eq!(comparison.compared, N + GUARD_WORDS);
        assert_eq!(comparison.mismatches, 1, "index {index}");
        assert_eq!(comparison.first, Some(mismatch(index, expected, got)));
    }
}

#[test]
fn a_wrong_call_accuses_no_other() {
    let Some(mut bench) = device() else { return };
    const N: u64 = 5000;
    let labels = ["b1.vec4.par.rake.wg64", "b4.vec4.seq.rake.wg64", "b1.vec4.par.rake.split.wg64"];
    for label in labels.iter().chain(&["b1.vec4.par.rake.clean.wg64"]) {
        bench.check(label, N, &ONES);
        let config = label.parse().unwrap();
        let plan = catalog::plan(&config, &Problem::default(), N, bench.device().profile()).unwrap();
        // As after a kernel that took too many tickets: this call finds no tile to work on.
        bench.device().scribble_scratch(Garbage::Unnoticed(0x4000_0000)).unwrap();
        assert_ne!(bench.device().verify(&plan).unwrap().mismatches, 0, "{label}");
        for other in labels {
            bench.check(other, N, &ONES);
        }
    }
}

#[test]
fn a_write_past_the_end_is_found() {
    let Some(mut bench) = device() else { return };
    let plan = bench.copy(10_000);
    bench.check_plan(&plan, &RANDOM);
    // It thinks that there are ten more elements than are compared.
    let mut longer = bench.copy(10_010);
    bench.device().load(&Problem::default(), &RANDOM, 10_010).unwrap();
    longer.n = 10_000;
    let comparison = bench.device().verify(&longer).unwrap();
    assert_eq!(comparison.mismatches, 10);
    let first = comparison.first.unwrap();
    assert_eq!(first, mismatch(10_000, GUARD_WORD, word(10_000)));
}

#[test]
fn comparisons_know_the_type_of_elements() {
    let Some(mut bench) = device() else { return };
    const N: u64 = 5_001;
    const INDEX: u64 = 4_000;
    let problem =
        |element, mode, placement| Problem::new(mode, element, Operator::Add, None, placement).unwrap();
    for element in [Element::I32, Element::F32, Element::U64, Element::F64] {
        for (mode, placement) in [
            (Mode::Inclusive, Placement::OutOfPlace),
            (Mode::Inclusive, Placement::InPlace),
            (Mode::Reduce, Placement::OutOfPlace),
        ] {
            let problem = problem(element, mode, placement);
            let config = "b1.vec2.par.rake.wg32".parse().unwrap();
            let Ok(plan) = catalog::plan(&config, &problem, N, bench.device().profile()) else { continue };
            bench.prepare(&plan);
            bench.check_plan(&plan, &RANDOM);
            let words = u64::from(element.bytes()) / 4;
            // All of it, and one word: of a reduction that is the only element, else one amid the others and its
            // upper half.
            let first = bench.device().verify_tampered(&plan, Tamper::SkipCall).unwrap().first.unwrap();
            assert_eq!(first.element, element, "{problem}");
            // In place, what is not written is the input, whose beginning may be right.
            assert!(first.index <= if plan.in_place() { 9 } else { 0 }, "{problem}: {}", first.index);
            let index = INDEX.min(plan.outputs() - 1);
            let tamper = Tamper::Overwrite { index: (index + 1) * words - 1, word: 0x4012_3456 };
            let comparison = bench.device().verify_tampered(&plan, tamper).unwrap();
            let first = comparison.first.unwrap();
            assert_eq!((comparison.mismatches, first.index, first.element), (1, index, element), "{problem}");
            let upper_word = if words == 2 { first.got >> 32 } else { first.got };
            assert_eq!(upper_word, 0x4012_3456, "{problem}: {} {}", first.expected(), first.got());
            let behind = Tamper::Overwrite { index: plan.output_words() + 3, word: 7 };
            let first = bench.device().verify_tampered(&plan, behind).unwrap().first.unwrap();
            assert_eq!((first.index, first.element), (plan.outputs() + 3, Element::U32), "{problem}");
            assert_eq!((first.expected, first.got), (GUARD_WORD.into(), 7), "{problem}");
        }
    }
}

/// A call that does nothing leaves the complement of each element behind, whatever the problem is.
#[test]
fn comparisons_of_every_problem_find_what_is_not_written() {
    let Some(mut bench) = device() else { return };
    const N: u64 = 1_000;
    // Magnitudes up to the largest, whose sums with others are infinite.
    let initial =
        [None, Some("0"), Some("-1"), Some("-3e38"), Some("3e38"), Some("-1.7e308"), Some("1.7e308")];
    let config: Config = "b2.vec2.par.rake.wg64".parse().unwrap();
    let mut problems = 0;
    for &element in Element::VALUES {
        for &operator in Operator::VALUES {
            for (&mode, init) in Mode::VALUES.iter().flat_map(|mode| initial.map(|init| (mode, init))) {
                // What does not go together is no problem; some devices have no 64-bit elements.
                let problem = Problem::new(mode, element, operator, init, Placement::OutOfPlace);
                let Ok(problem) = problem else { continue };
                let Ok(plan) = catalog::plan(&config, &problem, N, bench.device().profile()) else {
                    continue;
                };
                bench.prepare(&plan);
                let rounds = problem.rounds() && operator == Operator::Add;
                let real = Input { kind: InputKind::Real, seed: 7 };
                for input in [Some(RANDOM), rounds.then_some(real)].into_iter().flatten() {
                    bench.device().load(&problem, &input, N).unwrap();
                    let found = bench.device().verify_tampered(&plan, Tamper::SkipCall).unwrap();
                    let all = if element.is_float() { plan.outputs() } else { plan.output_words() };
                    assert_eq!(found.mismatches, all, "{problem}, {input:?}");
                    assert_eq!(bench.device().verify(&plan).unwrap().mismatches, 0, "{problem}, {input:?}");
                }
                problems += 1;
            }
        }
    }
    assert!(problems > 80, "{problems} problems");
}

#[test]
fn sums_of_reals_are_right_within_their_bound_and_no_further() {
    let Some(mut bench) = device() else { return };
    const N: u64 = 20_000;
    const INDEX: u64 = 12_345;
    let sum =
        |element| Problem::new(Mode::Inclusive, element, Operator::Add, None, Placement::OutOfPlace).unwrap();
    let real = Input { kind: InputKind::Real, seed: 7 };
    let config = "b2.vec4.par.rake.wg64".parse().unwrap();
    for element in [Element::F32, Element::F64] {
        let problem = sum(element);
        let Ok(plan) = catalog::plan(&config, &problem, N, bench.device().profile()) else { continue };
        bench.prepare(&plan);
        bench.check_plan(&plan, &real);
        let error = bench.device().verify(&plan).unwrap().error.unwrap();
        // In practice roundings cancel: far below the bound, but there are some.
        assert!(error.max > 0.0 && error.max < error.bound / 2.0, "{error:?}");
        // The same plan on elements whose sums are exact has to be exact.
        bench.check_plan(&plan, &RANDOM);
        assert_eq!(bench.device().verify(&plan).unwrap().error, Some(RoundingError::default()));
        if element == Element::F32 {
            bench.device().load(&problem, &real, N).unwrap();
            let mut words = vec![0; N as usize];
            real.fill(&problem, 0, &mut words);
            Reference::new(problem).scan(&mut words);
            let right = f32::from_bits(words[INDEX as usize]);
            for (times, wrong) in [(0.9, 0), (1.1, 1)] {
                let off = (f64::from(right) * (1.0 + times * error.bound)) as f32;
                let tamper = Tamper::Overwrite { index: INDEX, word: off.to_bits() };
                let found = bench.device().verify_tampered(&plan, tamper).unwrap();
                assert_eq!(found.mismatches, wrong, "{times} of the bound");
            }
            // Neither is a NaN right, nor what is infinite.
            for wrong in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -right, f32::MAX] {
                let tamper = Tamper::Overwrite { index: INDEX, word: wrong.to_bits() };
                assert_eq!(bench.device().verify_tampered(&plan, tamper).unwrap().mismatches, 1, "{wrong}");
            }
        }
    }
}
