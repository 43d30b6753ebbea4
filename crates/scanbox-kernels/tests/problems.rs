//! Problems: every combination compiles, the CPU's answers are right, and rules say what there is not.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{Binding, Expected, Plan, PushWord, ScratchContent, Shader};
use scanbox_kernels::reference::Reference;
use scanbox_kernels::{catalog, legal};
use scanbox_model::config::{BlockScan, Config, Lookback, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, ElementValue, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Space;
use scanbox_testing::covering::{all_pairs, covering};
use scanbox_testing::device::with_subgroups as device;

const PROBLEMS: &str = include_str!("../../../configs/problems.toml");

fn willing(int64_atomics: bool) -> DeviceProfile {
    DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..device(32, int64_atomics) }
}

fn problem(mode: Mode, element: Element, operator: Operator, init: Option<&str>) -> Problem {
    Problem::new(mode, element, operator, init, Placement::OutOfPlace).unwrap()
}

/// Every problem there is, with the default initial value.
pub fn all_problems() -> Vec<Problem> {
    let mut all = Vec::new();
    for &mode in Mode::VALUES {
        for &element in Element::VALUES {
            for &operator in Operator::VALUES {
                for &placement in Placement::VALUES {
                    all.extend(Problem::new(mode, element, operator, None, placement).ok());
                }
            }
        }
    }
    for file in scanbox_testing::operator_files::all() {
        for &mode in Mode::VALUES {
            for &placement in Placement::VALUES {
                all.extend(Problem::of_user(mode, file.operator(), placement).ok());
            }
        }
    }
    all
}

/// What rows say by family and reset is what the plan does.
#[test]
fn stateless_is_what_needs_no_call_before() {
    let mut seen = BTreeSet::new();
    for int64_atomics in [true, false] {
        let device = willing(int64_atomics);
        for config in configs(&device) {
            for n in [1, 1021, 70_001] {
                let Ok(plan) = catalog::plan(&config, &Problem::default(), n, &device) else { continue };
                let kernel = catalog::resolved(&config, &device).kernel;
                let said = kernel.family.is_stateless(kernel.reset);
                assert_eq!(said, plan.scratch.content.is_stateless(), "{config} at {n}");
                seen.insert((said, config.kernel.reset));
            }
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Every config of the space for problems, without its sizes.
fn configs(device: &DeviceProfile) -> Vec<Config> {
    let points = Space::from_toml(PROBLEMS, "problems").unwrap().enumerate(device, |_, _, _| Ok(())).points;
    points.into_iter().map(|point| point.config).collect::<BTreeSet<_>>().into_iter().collect()
}

fn place<P: Parameter>(value: P) -> usize {
    P::VALUES.iter().position(|other| *other == value).unwrap()
}

/// What decides the code, as places in lists of values.
fn row(config: &Config, problem: &Problem, atomics: usize) -> [usize; 13] {
    let kernel = &config.kernel;
    [
        place(problem.mode()),
        place(problem.element()),
        place(problem.operator()),
        place(problem.placement()),
        place(kernel.family),
        place(kernel.lookback),
        place(kernel.block_scan),
        place(kernel.subgroup_scan),
        place(kernel.load_layout),
        place(kernel.tile_state),
        place(kernel.rendezvous),
        place(kernel.vector_width),
        atomics,
    ]
}

#[test]
fn every_pair_of_problem_and_stage_compiles() {
    let mut all = BTreeMap::new();
    for (atomics, device) in [willing(true), willing(false)].into_iter().enumerate() {
        // Without 64-bit atomics, as on SwiftShader, there are no 64-bit types: but shaders that have them compile.
        let device = DeviceProfile { int64_elements: true, ..device };
        for config in configs(&device) {
            for problem in all_problems() {
                if let Ok(plan) = catalog::plan(&config, &problem, 100_000, &device) {
                    let shaders: Vec<Shader> = plan.passes.into_iter().map(|pass| pass.shader).collect();
                    all.entry(row(&config, &problem, atomics)).or_insert((problem.user(), shaders));
                }
            }
        }
    }
    let candidates: Vec<_> = all.keys().copied().collect();
    let rows = covering(&candidates);
    assert_eq!(all_pairs(&rows), all_pairs(&candidates));
    assert!((40..160).contains(&rows.len()), "{} rows", rows.len());
    let mut by_operator: BTreeMap<_, BTreeSet<Shader>> = BTreeMap::new();
    for row in &rows {
        let (user, shaders) = all[row].clone();
        by_operator.entry(user).or_default().extend(shaders);
    }
    for (user, shaders) in by_operator {
        let compiler = Compiler::new(None, None).unwrap();
        let compiler = match user {
            Some(user) => compiler.with_operator(scanbox_testing::operator_files::of(&user)),
            None => compiler,
        };
        let shaders: Vec<Shader> = shaders.into_iter().collect();
        for outcome in compiler.compile_all(&shaders) {
            crate::reconvergence::can_ask(&outcome.unwrap());
        }
    }
}

#[test]
fn every_value_is_in_some_legal_combination() {
    let device = willing(true);
    let mut seen = BTreeSet::new();
    for config in configs(&device) {
        for problem in all_problems() {
            if legal(&config, &problem, 1000, &device).is_ok() {
                let row = row(&config, &problem, 0);
                seen.extend((0..4).flat_map(|a| (4..10).map(move |b| (a, row[a], b, row[b]))));
            }
        }
    }
    // Every mode, type and operator with each lookback that can have it, and with each block scan.
    for element in 0..Element::VALUES.len() {
        for block_scan in 0..BlockScan::VALUES.len() {
            assert!(seen.contains(&(1, element, 6, block_scan)), "{element} {block_scan}");
        }
    }
    for operator in 0..Operator::VALUES.len() {
        for lookback in 0..Lookback::VALUES.len() {
            assert!(seen.contains(&(2, operator, 5, lookback)), "{operator} {lookback}");
        }
    }
}

/// The words of the first `n` elements of an input.
fn words(problem: &Problem, input: &Input, n: usize) -> Vec<u32> {
    let mut words = vec![0; n * problem.element_bytes() as usize / 4];
    input.fill(problem, 0, &mut words);
    words
}

#[test]
fn answers_of_small_inputs_are_those_by_hand() {
    fn check(problem: Problem, input: &[&str], expected: &[&str]) {
        let length = problem.element_bytes() as usize / 4;
        let parse = |text: &&str| ElementValue::parse(problem.element(), text).unwrap().bits;
        let mut words: Vec<u32> = input
            .iter()
            .map(parse)
            .flat_map(|bits| [bits as u32, (bits >> 32) as u32].into_iter().take(length))
            .collect();
        // In parts: the carry is handed on.
        let mut reference = Reference::new(problem);
        let (first, second) = words.split_at_mut(length);
        reference.scan(first);
        reference.scan(second);
        let found: Vec<_> = Reference::values(&problem, &words).iter().map(ElementValue::to_string).collect();
        assert_eq!(found, expected, "{problem}");
    }
    use Element as E;
    use Mode::{Exclusive, Inclusive, Reduce};
    use Operator as O;
    check(problem(Inclusive, E::U32, O::Add, None), &["4294967295", "2", "3"], &["4294967295", "1", "4"]);
    check(problem(Exclusive, E::U32, O::Add, None), &["4", "2", "3"], &["0", "4", "6"]);
    check(problem(Exclusive, E::I32, O::Add, Some("-10")), &["4", "-2", "3"], &["-10", "-6", "-8"]);
    check(problem(Inclusive, E::I32, O::Max, None), &["-4", "-2", "-3"], &["-4", "-2", "-2"]);
    check(problem(Exclusive, E::I32, O::Max, None), &["-4", "-2", "-3"], &["-2147483648", "-4", "-2"]);
    check(problem(Exclusive, E::F32, O::Min, None), &["4.5", "-2", "3"], &["inf", "4.5", "-2"]);
    check(problem(Inclusive, E::F32, O::Add, None), &["0.5", "0.25", "-2"], &["0.5", "0.75", "-1.25"]);
    check(problem(Inclusive, E::F32, O::Mul, None), &["-0.5", "2", "-4"], &["-0.5", "-1", "4"]);
    check(
        problem(Inclusive, E::U64, O::Add, None),
        &["4294967295", "1", "3"],
        &["4294967295", "4294967296", "4294967299"],
    );
    check(
        problem(Inclusive, E::I64, O::Mul, None),
        &["-4294967296", "3", "1"],
        &["-4294967296", "-12884901888", "-12884901888"],
    );
    check(
        problem(Exclusive, E::F64, O::Add, Some("0.1")),
        &["1e300", "-1e300", "3"],
        &["0.1", "1e300", "0.1"].map(|x| if x == "1e300" { BIG } else { x }),
    );
    check(problem(Inclusive, E::U32, O::And, None), &["7", "14", "4"], &["7", "6", "4"]);
    check(
        problem(Inclusive, E::U64, O::Or, None),
        &["4294967296", "2", "2"],
        &["4294967296", "4294967298", "4294967298"],
    );
    check(problem(Exclusive, E::I32, O::Xor, None), &["7", "-1", "4"], &["0", "7", "-8"]);
    // A reduction is the last element of the inclusive scan.
    check(problem(Reduce, E::U32, O::Mul, None), &["7", "3", "2"], &["7", "21", "42"]);
}

/// 10^300 as the shortest decimal number that reads back.
const BIG: &str = concat!(
    "1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "0"
);

#[test]
fn exact_inputs_have_one_answer_in_any_order() {
    // Forward in parts, and as the sum of two strided halves: what a kernel that combines out of order does.
    const N: usize = 40_000;
    for problem in all_problems().iter().filter(|problem| problem.rounds() && problem.user().is_none()) {
        for kind in [InputKind::Random, InputKind::Ones, InputKind::Ramp, InputKind::Spike { at: 41 }] {
            let input = Input { kind, seed: 3 };
            assert!(input.is_exact(problem, N as u64));
            let values: Vec<f64> = Reference::values(problem, &words(problem, &input, N))
                .iter()
                .map(|v| v.float().unwrap())
                .collect();
            let fold = |values: &mut dyn Iterator<Item = f64>| {
                values.fold(None, |total: Option<f64>, value| {
                    let combined = total.map_or(value, |total| match problem.operator() {
                        Operator::Add => total + value,
                        _ => total * value,
                    });
                    let rounded =
                        if problem.element() == Element::F32 { f64::from(combined as f32) } else { combined };
                    assert!(rounded.is_finite() && (rounded == combined), "{problem} {input}");
                    assert!(rounded == 0.0 || rounded.is_normal());
                    Some(rounded)
                })
            };
            let forward = fold(&mut values.iter().copied());
            let backward = fold(&mut values.iter().rev().copied());
            let strided = fold(&mut (0..64).flat_map(|first| values.iter().copied().skip(first).step_by(64)));
            assert_eq!(forward, backward, "{problem} {input}");
            assert_eq!(forward, strided, "{problem} {input}");
        }
    }
    let sum = problem(Mode::Inclusive, Element::F32, Operator::Add, None);
    let exact = |kind, n| Input { kind, seed: 1 }.is_exact(&sum, n);
    assert!(exact(InputKind::Ones, 1 << 24) && !exact(InputKind::Ones, (1 << 24) + 1));
    assert!(exact(InputKind::Maximum, 1 << 21) && !exact(InputKind::Maximum, (1 << 21) + 1));
    assert!(exact(InputKind::Random, 1 << 31) && !exact(InputKind::Real, 2));
    let begun = problem(Mode::Exclusive, Element::F32, Operator::Add, Some("0.1"));
    assert!(!Input { kind: InputKind::Random, seed: 1 }.is_exact(&begun, 2));
}

#[test]
fn what_is_lost_shows_in_random_inputs() {
    // The answer changes when any one of some elements is left out, for almost all of them; and/or can change no more
    // often than they have bits, min/max wherever the element is a record.
    const N: usize = 2000;
    let of_scanbox = |problem: &&Problem| problem.mode() == Mode::Inclusive && problem.user().is_none();
    for problem in all_problems().iter().filter(of_scanbox) {
        let input = Input { kind: InputKind::Random, seed: 9 };
        let words = words(problem, &input, N);
        let scan = |mut words: Vec<u32>| {
            Reference::new(*problem).scan(&mut words);
            Reference::values(problem, &words)
        };
        let whole = scan(words.clone());
        let changes = whole.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let least = match problem.operator() {
            Operator::And | Operator::Or => 8,
            Operator::Min | Operator::Max => N / 50,
            Operator::Mul => N / 3,
            Operator::Add | Operator::Xor => N / 2,
            Operator::User => unreachable!("its elements are drawn on a device"),
        };
        assert!(changes >= least, "{problem}: {changes} of {N}");
        // Nothing is an identity that hides a missing initial value: totals of the first elements are not it.
        let identity = problem.operator().identity(problem.element());
        assert!(whole.iter().any(|value| *value != identity), "{problem}");
    }
}

#[test]
fn reals_are_from_0_to_1_and_their_bound_grows_with_the_depth() {
    let device = device(32, true);
    for element in [Element::F32, Element::F64] {
        let sum = problem(Mode::Inclusive, element, Operator::Add, None);
        let input = Input { kind: InputKind::Real, seed: 3 };
        let values = Reference::values(&sum, &words(&sum, &input, 1000));
        assert!(values.iter().all(|value| (0.0..1.0).contains(&value.float().unwrap())));
        let bound = |label: &str, n: u64| {
            catalog::plan(&label.parse().unwrap(), &sum, n, &device).unwrap().error_bound
        };
        let unit = if element == Element::F32 { 2f64.powi(-24) } else { 2f64.powi(-53) };
        let (small, large) =
            (bound("b4.vec4.par.rake.wg256", 4096), bound("b4.vec4.par.rake.wg256", 1 << 24));
        // One tile: 16 elements, 4 rows, 2 times 32 lanes, 3 times 8 subgroups, 2 times 8 levels; 2 + 32 + 8 before
        // it, 3 behind.
        assert!(
            (small / unit - f64::from(16 + 4 + 64 + 24 + 16 + 42 + 3 + 1)).abs() < 0.1,
            "{}",
            small / unit
        );
        // And two more for each of the 4095 other tiles.
        assert!(((large - small) / unit - f64::from(2 * 4095)).abs() < 10.0, "{}", (large - small) / unit);
        // By levels it grows with their number alone: there are two more of them, with what a tile rounds at most in
        // each.
        for family in ["rts", "stp"] {
            let label = format!("{family}.b1.vec4.none.rake.wg32");
            let (few, many) = (bound(&label, 1 << 14), bound(&label, 1 << 28));
            let tile = f64::from(4 + 1 + 64 + 3 + 10);
            assert!(((many - few) / unit - 2.0 * (tile + 2.0)).abs() < 1.0, "{}", (many - few) / unit);
        }
    }
    for (mode, element, operator) in [
        (Mode::Inclusive, Element::U32, Operator::Add),
        (Mode::Inclusive, Element::F32, Operator::Max),
        (Mode::Inclusive, Element::F32, Operator::Mul),
    ] {
        let plan = catalog::plan(
            &"b4.vec4.par.rake.wg256".parse().unwrap(),
            &problem(mode, element, operator, None),
            1000,
            &device,
        );
        assert_eq!(plan.unwrap().error_bound, 0.0);
    }
}

#[test]
fn plans_say_what_is_computed() {
    let device = device(32, true);
    let config: Config = "b4.vec4.par.rake.wg256".parse().unwrap();
    let plan = |problem: &Problem| catalog::plan(&config, problem, 1000, &device).unwrap();
    let reduce = plan(&problem(Mode::Reduce, Element::F64, Operator::Max, None));
    assert_eq!((reduce.result, reduce.outputs(), reduce.output_words()), (Expected::Total, 1, 2));
    assert_eq!(reduce.bytes_moved, 8 * 1001);
    let exclusive = plan(&problem(Mode::Exclusive, Element::I64, Operator::Add, Some("-2")));
    assert_eq!(exclusive.passes[0].words[5..], [PushWord::Value(u32::MAX - 1), PushWord::Value(u32::MAX)]);
    assert_eq!(exclusive.bytes_moved, 16 * 1000);
    let in_place =
        Problem::new(Mode::Inclusive, Element::U32, Operator::Add, None, Placement::InPlace).unwrap();
    assert!(plan(&in_place).in_place());
    assert_eq!(plan(&in_place).passes[0].bindings[0], plan(&in_place).passes[0].bindings[1]);
}

/// The passes of a plan in words: shader, elements, workgroups, and what each address is.
fn passes(plan: &Plan) -> Vec<String> {
    plan.passes
        .iter()
        .map(|pass| {
            let PushWord::Value(n) = pass.words[0] else { panic!("the length comes first") };
            let bindings: Vec<String> = pass
                .bindings
                .iter()
                .map(|binding| match binding {
                    Binding::Scratch(offset) => format!("+{offset}"),
                    other => format!("{other:?}"),
                })
                .collect();
            format!("{} {n} by {}: {}", pass.shader.root, pass.workgroups, bindings.join(" "))
        })
        .collect()
}

#[test]
fn scans_by_levels_go_up_and_down() {
    let device = device(32, true);
    let plan = |label: &str, problem: &Problem, n: u64| {
        catalog::plan(&label.parse().unwrap(), problem, n, &device).unwrap()
    };
    let sum = problem(Mode::Inclusive, Element::U32, Operator::Add, None);
    let (rts, stp) = ("rts.b1.vec4.none.rake.wg32", "stp.b1.vec4.none.rake.wg32");
    // One tile needs no level: 128 elements. Totals of up to four tiles are scanned by one workgroup.
    for label in [rts, stp] {
        let one = plan(label, &sum, 128);
        assert_eq!(passes(&one), ["one_workgroup.comp 128 by 1: Input Output"]);
        assert_eq!((one.scratch.bytes, one.scratch.content), (0, ScratchContent::None));
    }
    let two = plan(rts, &sum, 4 * 128 * 128);
    assert_eq!(
        passes(&two),
        [
            "reduce_tiles.comp 65536 by 512: Input Input +0",
            "one_workgroup.comp 512 by 1: +0 +0",
            "downsweep_tiles.comp 65536 by 512: Input Output +0",
        ]
    );
    assert_eq!((two.scratch.bytes, two.scratch.content), (2048, ScratchContent::Overwritten));
    let three = plan(rts, &sum, 4 * 128 * 128 + 1);
    assert_eq!(
        passes(&three),
        [
            "reduce_tiles.comp 65537 by 513: Input Input +0",
            "reduce_tiles.comp 513 by 5: +0 +0 +2304",
            "one_workgroup.comp 5 by 1: +2304 +2304",
            "downsweep_tiles.comp 513 by 5: +0 +0 +2304",
            "downsweep_tiles.comp 65537 by 513: Input Output +0",
        ]
    );
    assert_eq!(three.scratch.bytes, 2304 + 256);
    let in_place =
        Problem::new(Mode::Inclusive, Element::U64, Operator::Add, None, Placement::InPlace).unwrap();
    assert_eq!(
        passes(&plan(stp, &in_place, 70_000)),
        [
            "scan_tiles.comp 70000 by 547: Output Output +0",
            "scan_tiles.comp 547 by 5: +0 +0 +4608",
            "one_workgroup.comp 5 by 1: +4608 +4608",
            "propagate.comp 547 by 5: +0 +0 +4608",
            "propagate.comp 70000 by 547: Output Output +0",
        ]
    );
    let total = problem(Mode::Reduce, Element::U32, Operator::Add, None);
    assert_eq!(
        passes(&plan(rts, &total, 1000)),
        ["reduce_tiles.comp 1000 by 8: Input Input +0", "one_workgroup.comp 8 by 1: +0 Output"]
    );
    assert_eq!(passes(&plan(rts, &total, 100)), ["one_workgroup.comp 100 by 1: Input Output"]);
    // The initial value comes in once: in the last pass over the input. Until then tiles begin with the identity.
    let begun = problem(Mode::Exclusive, Element::U32, Operator::Min, Some("700000"));
    let words = |label: &str, n: u64| -> Vec<Vec<PushWord>> {
        plan(label, &begun, n).passes.into_iter().map(|pass| pass.words[1..].to_vec()).collect()
    };
    let [seven, identity] = [700_000, u32::MAX].map(|init| vec![PushWord::Value(init), PushWord::Value(0)]);
    assert_eq!(words(rts, 1000), [vec![], vec![], seven.clone()]);
    assert_eq!(words(stp, 1000), [identity, vec![], seven.clone()]);
    assert_eq!(words(stp, 100), [seven]);
    // All levels of all sizes fit the scratch memory and do not overlap, whatever the tile is.
    for label in ["rts.b1.scalar.none.rake.wg32", "stp.b3.vec4.none.sub.wg96"] {
        for n in (0..31).map(|exponent| (1u64 << exponent) + exponent) {
            for element in [Element::U32, Element::F64] {
                let plan = plan(label, &problem(Mode::Inclusive, element, Operator::Add, None), n);
                let bytes = u64::from(element.bytes());
                let mut ends = BTreeMap::new();
                for pass in &plan.passes {
                    let (Binding::Scratch(at), PushWord::Value(n)) = (pass.bindings[0], pass.words[0]) else {
                        continue;
                    };
                    ends.insert(at, at + u64::from(n) * bytes);
                }
                let places: Vec<(u64, u64)> = ends.into_iter().collect();
                assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{label} {n}: {places:?}");
                assert!(
                    places.last().is_none_or(|last| last.1 <= plan.scratch.bytes),
                    "{label} {n}: {places:?}"
                );
                assert_eq!(plan.passes.len() % 2, 1);
            }
        }
    }
}

#[test]
fn what_a_rule_says_no_to() {
    #[track_caller]
    fn check(label: &str, problem: Problem, rule: &str, change: impl Fn(&mut DeviceProfile)) {
        let mut device = willing(true);
        change(&mut device);
        let verdict = legal(&label.parse().unwrap(), &problem, 1000, &device);
        let found = verdict.as_ref().map_or_else(|rejection| &*rejection.rule, |()| "");
        assert_eq!(found, rule, "{label}, {problem}: {verdict:?}");
    }
    use Element as E;
    use Operator as O;
    let of = |element, operator| problem(Mode::Inclusive, element, operator, None);
    let any = |label: &str, problem, rule: &str| check(label, problem, rule, |_| {});
    any("b4.vec4.two.rake.wg64", of(E::I32, O::Add), "");
    any("b4.vec4.two.rake.wg64", of(E::U32, O::Max), "");
    any("b4.vec4.two.rake.wg64", of(E::F32, O::Add), "");
    any("b4.vec4.two.rake.wg64", of(E::U64, O::Add), "");
    any("b4.vec4.par.rake.word64.wg64", of(E::F32, O::Mul), "");
    any("b4.vec4.par.rake.word64.wg64", of(E::U64, O::Add), "");
    any("b4.vec4.par.rake.packed.wg64", of(E::I32, O::Add), "packed-needs-u32-sum");
    any("b4.vec4.par.rake.packed.wg64", of(E::U32, O::Xor), "packed-needs-u32-sum");
    any("b4.vec4.par.rake.split.wg64", of(E::F64, O::Min), "");
    any("b4.vec4.par.rake.split.epoch.wg64", of(E::U32, O::Add), "");
    check("b4.vec4.par.rake.wg64", of(E::I64, O::Add), "element-needs-64-bit", |device| {
        device.int64_elements = false;
    });
    check("b4.vec4.par.rake.wg64", of(E::F64, O::Add), "element-needs-64-bit", |device| {
        device.float64_elements = false;
    });
    check("b4.vec4.par.rake.wg64", of(E::F32, O::Add), "", |device| {
        (device.int64_atomics, device.int64_elements, device.float64_elements) = (false, false, false);
    });
    let reduce = problem(Mode::Reduce, E::U32, O::Add, None);
    any("b4.vec4.par.rake.wg64", reduce, "");
    any("b4.vec4.gather.sub.early.wg64", reduce, "");
    any("b4.vec4.gather.sub.wg64", reduce, "reduce-publishes-before-scan");
    any("one.b4.vec4.none.sub.wg64", reduce, "");
    any("b4.vec4.chain.rake.wg64", reduce, "");
    any("rts.b4.vec4.none.sub.wg64", reduce, "");
    any("stp.b4.vec4.none.sub.wg64", reduce, "family-reduce");
    any("redo.b4.vec4.none.sub.wg64", reduce, "family-reduce");
    any("pers.b4.vec4.two.sub.early.wg64.u1", reduce, "family-reduce");
    let in_place = Problem::new(Mode::Inclusive, E::U32, O::Add, None, Placement::InPlace).unwrap();
    any("b4.vec4.par.rake.wg64", in_place, "");
    any("redo.b4.vec4.none.sub.wg64", in_place, "recompute-in-place");
    any("rts.b4.vec4.none.sub.wg64", in_place, "");
    any("stp.b4.vec4.none.sub.wg64", in_place, "");
    any("b4.vec4.chain.rake.wg64", of(E::F64, O::Mul), "");
    any("b4.vec4.gatherfall.rake.wg64", in_place, "fallback-in-place");
    any("b4.vec4.fallback.rake.wg64", reduce, "");
    any("b4.vec4.fallback.sub.early.wg64", of(E::F64, O::Mul), "");
}

#[test]
fn auto_is_what_the_device_has_atomics_for() {
    let check = |int64_atomics, expected: &str| {
        let config = "b4.vec4.par.rake.wg256".parse().unwrap();
        let found = catalog::resolved(&config, &device(32, int64_atomics)).kernel.tile_state;
        assert_eq!(found.word(), expected);
    };
    check(true, "word64");
    check(false, "split");
}

#[test]
fn numbers_of_problems_are_those_of_the_shaders() {
    let sources = Compiler::new(None, None).unwrap();
    let numbers = sources.source("config.glsl").unwrap();
    fn check<P: Parameter>(name: &str, numbers: &str) {
        for (place, value) in P::VALUES.iter().enumerate() {
            let line = format!("#define {name}_{} {place}\n", value.word().replace('-', "_").to_uppercase());
            assert!(numbers.contains(&line), "{line}");
        }
    }
    check::<Mode>("MODE", numbers);
    check::<Element>("ELEMENT", numbers);
    check::<Operator>("OPERATOR", numbers);
    // Every problem says so in the defines of its shader.
    let config: Config = "b4.vec4.par.rake.wg256".parse().unwrap();
    for problem in all_problems() {
        let plan = catalog::plan(&config, &problem, 1000, &willing(true)).unwrap();
        let defines: BTreeMap<_, _> = plan.passes[0].shader.defines.iter().copied().collect();
        assert_eq!(defines["MODE"] as usize, place(problem.mode()));
        assert_eq!(defines["ELEMENT"] as usize, place(problem.element()));
        assert_eq!(defines["OPERATOR"] as usize, place(problem.operator()));
        assert_eq!(defines["IN_PLACE"] as usize, place(problem.placement()));
    }
}
