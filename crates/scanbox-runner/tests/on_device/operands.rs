//! Problems with a total beside the scan and with an initial value in memory: right kernels are right, verified and
//! timed, and a wrong total is found. Needs `SCANBOX_TEST_DEVICE=1`.

use super::harness::{Bench, RANDOM, compiler, compiler_of_changed, create, device};
use super::progress::hangs;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{GUARD_WORDS, Plan};
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::problem::{Element, InitSource, Mode, Operator, Placement, Problem, Total};
use scanbox_model::record::Cache;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::backend::{Backend, ElementComparison};
use scanbox_runner::twin::{self, Course, Length, TwinStep};
use scanbox_runner::verify::describe;
use scanbox_runner::vulkan::Vulkan;
use scanbox_testing::operator_files::{example, of};

/// Every way to be told arguments, and to bring an initial value to the tiles.
const KERNELS: [&str; 7] = [
    "b1.vec4.par.rake.wg64",
    "b1.vec2.two.sub.striped.early.block.wg64",
    "b1.vec4.fallback.sub.early.baked.wg64",
    "one.b1.vec4.none.rake.wg64",
    "redo.b1.vec4.none.sub.striped.block.wg64",
    "pers.b1.vec4.gather.sub.early.turn.wg64.u1",
    "rts.b1.vec4.none.rake.wg64",
];

/// Persistent kernels that scan few elements by one row: large workgroups, whose first tile is not by ticket.
const OF_FEW: [&str; 4] = [
    "pers.b2.vec4.two.sub.shuffle.striped.wgid.early.block.wg256.u2",
    "pers.b2.vec2.gather.sub.striped.robin.early.wg256.u1",
    "pers.b2.vec4.gatherfall.sub.shuffle.striped.wgid.early.block.wg256.u2",
    "pers.b2.vec4.two.sub.robin.early.baked.wg256.u1",
];

const SHORT: Length = Length { calls: 9, per_submission: 1000 };

const OPERANDS: [(Total, InitSource); 3] = [
    (Total::Stored, InitSource::Arguments),
    (Total::Absent, InitSource::Memory),
    (Total::Stored, InitSource::Memory),
];

/// Every mode with elements of each size and each operand that it may have; in place and in reverse in turns.
fn problems() -> Vec<Problem> {
    let mut all = Vec::new();
    for &mode in Mode::VALUES {
        for bytes in Element::ALL_BYTES {
            for (total, source) in OPERANDS {
                let turn = all.len();
                let in_place = mode != Mode::Reduce && turn.is_multiple_of(2);
                let placement = if in_place { Placement::InPlace } else { Placement::OutOfPlace };
                let begins = match bytes {
                    4 => Problem::new(mode, Element::U32, Operator::Add, Some("7"), placement),
                    _ => {
                        let (name, value) = match bytes {
                            8 => ("affine", "3,5"),
                            12 => ("text-position", "1,2,3"),
                            _ => ("matrix2x2", "1,2,3,4"),
                        };
                        let file = example(name);
                        let plain = Problem::of_user(mode, file.operator(), placement).unwrap();
                        plain.beginning_with(file.value(value).unwrap())
                    }
                };
                let begins = begins.unwrap();
                let begins = if turn / 2 % 2 == 1 { begins.reversed() } else { begins };
                all.extend(begins.with_operands(total, source).ok());
            }
        }
    }
    all
}

/// The plan of a problem, with what it needs on the device; `None` where that cannot run it.
fn plan(
    device: &mut Vulkan,
    compiler: &Compiler,
    label: &str,
    variant: Variant,
    problem: &Problem,
    n: u64,
) -> Option<Plan> {
    let profile = device.profile().clone();
    plan_as(&profile, device, compiler, label, variant, problem, n)
}

/// The same for a device that keeps what this profile says.
fn plan_as(
    profile: &DeviceProfile,
    device: &mut Vulkan,
    compiler: &Compiler,
    label: &str,
    variant: Variant,
    problem: &Problem,
    n: u64,
) -> Option<Plan> {
    let config: Config = label.parse().unwrap();
    let plan = catalog::plan_variant(&config, variant, problem, n, profile).ok()?;
    if hangs(&config, profile) {
        return None;
    }
    let shaders: Vec<_> = plan.passes.iter().map(|pass| pass.shader.clone()).collect();
    create(device, compiler, &shaders);
    Some(plan)
}

fn load(device: &mut Vulkan, compiler: &Compiler, problem: &Problem, input: &Input, n: u64) {
    let shaders = catalog::operator_shaders(problem, device.profile());
    create(device, compiler, &shaders);
    device.load(problem, input, n).unwrap();
    device.load_other(problem, &input.another(problem, n), n).unwrap();
}

fn compiler_of(problem: &Problem) -> Compiler {
    match problem.user() {
        Some(user) => compiler().with_operator(of(&user)),
        None => compiler(),
    }
}

fn verified(device: &mut Vulkan, plan: &Plan, what: &str) -> ElementComparison {
    device.verify(plan).unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

#[test]
fn every_mode_and_size_of_elements_has_its_operands() {
    let Some(mut bench) = device() else { return };
    let kernels: u32 = if bench.device().profile().kind == DeviceKind::Software { 1 } else { 2 };
    let (mut calls, mut with_total) = (0, 0);
    for (turn, problem) in problems().into_iter().enumerate() {
        let compiler = compiler_of(&problem);
        // Two kernels each, so that each kernel meets every mode; one where compiling takes most of the time.
        let places = [turn, turn + 3].map(|place| place % KERNELS.len());
        for label in places.into_iter().take(kernels as usize).map(|place| KERNELS[place]) {
            let tile = label.parse::<Config>().unwrap().tile_elements();
            let device = bench.device();
            load(device, &compiler, &problem, &RANDOM, 3 * tile + 1);
            for n in [3 * tile + 1, 1, tile] {
                let Some(plan) = plan(device, &compiler, label, Variant::default(), &problem, n) else {
                    continue;
                };
                let what = format!("{label} {problem} at {n}");
                let found = verified(device, &plan, &what);
                assert_eq!((found.mismatches, found.first, found.total), (0, None, None), "{what}");
                assert_eq!(found.compared, plan.outputs() + GUARD_WORDS, "{what}");
                let twin = match n {
                    1 => twin::run(device, &plan, Cache::Hot, SHORT),
                    _ => twin::run_alone(device, &plan, SHORT, true),
                };
                assert_eq!(twin.unwrap_or_else(|failure| panic!("{what}: {failure}")).reason, None, "{what}");
                calls += 1;
                with_total += u32::from(plan.stores_total());
            }
        }
    }
    assert!(calls > 40 * kernels && with_total > 20 * kernels, "{calls} {with_total}");
}

#[test]
fn few_elements_are_one_row_of_a_persistent_kernel() {
    let Some(mut bench) = device() else { return };
    // One workgroup waits for no other one.
    let mut profile = DeviceProfile::clone(bench.device().profile());
    profile.guarantee_facts.assumed = Guarantee::VALUES.to_vec();
    let mut calls = 0;
    // A software device compiles one of these kernels for ten seconds.
    let step = if profile.kind == DeviceKind::Software { 4 } else { 2 };
    for (turn, problem) in problems().into_iter().step_by(step).enumerate() {
        let compiler = compiler_of(&problem);
        let label = OF_FEW[turn % OF_FEW.len()];
        let config: Config = label.parse().unwrap();
        let row = u64::from(config.workgroup_size * config.kernel.vector_width.lanes());
        let device = bench.device();
        load(device, &compiler, &problem, &RANDOM, row);
        for n in [row, row / 3] {
            let made = plan_as(&profile, device, &compiler, label, Variant::default(), &problem, n);
            let Some(plan) = made else { continue };
            let what = format!("{label} {problem} at {n}");
            let found = verified(device, &plan, &what);
            assert_eq!((found.mismatches, found.first, found.total), (0, None, None), "{what}");
            let twin = twin::run(device, &plan, Cache::Hot, SHORT);
            assert_eq!(twin.unwrap_or_else(|failure| panic!("{what}: {failure}")).reason, None, "{what}");
            // Once for each kernel: there are many arrays.
            if n == row && turn < OF_FEW.len() && !plan.is_baked() {
                let steps = [TwinStep::Poison, TwinStep::Call, TwinStep::Compare];
                let steps: Vec<TwinStep> = steps.into_iter().flat_map(|step| (0..5).map(step)).collect();
                // Each call has arrays of its own: where they are told in a line, the call before passes it on.
                let course =
                    Course { cache: Cache::Cold, steps: &steps, per_submission: 1000, alternates: false };
                let checked =
                    device.twin(&plan, &course).unwrap_or_else(|failure| panic!("{what}: {failure}"));
                let wrong: Vec<u64> = checked.iter().map(|call| call.mismatches).collect();
                assert_eq!(wrong, [0; 5], "{what}, on arrays of its own");
            }
            calls += 1;
        }
    }
    assert!(calls > 24 / step || profile.driver.contains("SwiftShader"), "{calls}");
}

/// Sums that round, on slots of cold memory, whose calls all store their total in the same place.
#[test]
fn a_total_may_be_off_by_rounding() {
    let Some(mut bench) = device() else { return };
    let (device, compiler) = bench.parts();
    let problem =
        Problem::new(Mode::Exclusive, Element::F32, Operator::Add, Some("0.5"), Placement::OutOfPlace)
            .unwrap();
    let problem = problem.with_operands(Total::Stored, InitSource::Memory).unwrap();
    let (label, n) = ("b2.vec4.par.rake.wg64", 300_001);
    let plan = plan(device, compiler, label, Variant::default(), &problem, n).unwrap();
    device.load(&problem, &Input { kind: InputKind::Real, seed: 7 }, n).unwrap();
    let found = verified(device, &plan, label);
    assert_eq!((found.mismatches, found.total), (0, None));
    let error = found.error.unwrap();
    assert!(error.max > 0.0 && error.max <= error.bound, "{error:?}");
    let twin = twin::run(device, &plan, Cache::Cold, SHORT).unwrap();
    assert_eq!(twin.reason, None);
}

/// Kernels that scan right and lose the total, or write behind it.
#[test]
fn a_wrong_total_is_found() {
    const FILE: &str = "stages/tile/load_store.glsl";
    const STORE: &str = "    total.value = stored_element(value);";
    let first = (
        FILE,
        "invocation_rank() == WORKGROUP_SIZE - 1u) {\n        store_total",
        "invocation_rank() == 0u) {\n        store_total",
    );
    let not_stored = (FILE, STORE, "");
    let twice = (FILE, STORE, "    total.value = stored_element(value);\n    total.next = total.value;");
    let room = (FILE, "writeonly buffer TotalOfAll {\n", "buffer TotalOfAll {\n");
    let next = (
        FILE,
        "    StoredElement value;\n};\n\nvoid store_total_of_all",
        "    StoredElement value;\n    StoredElement next;\n};\n\nvoid store_total_of_all",
    );
    for (changes, expected) in [
        (&[first][..], "the total is wrong: expected "),
        (&[not_stored], "the total is wrong: expected "),
        (&[twice, room, next], "1 words behind the total were written; the first 0 past its end"),
    ] {
        let changed = || compiler_of_changed(changes);
        let Some(mut bench) = Bench::with(changed, super::harness::options()) else { return };
        let (device, compiler) = bench.parts();
        for mode in [Mode::Inclusive, Mode::Exclusive] {
            let problem =
                Problem::new(mode, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap();
            let with_total = problem.with_operands(Total::Stored, InitSource::Arguments).unwrap();
            // A build with a total of a problem without one is as wrong.
            for (problem, variant) in
                [(with_total, Variant::default()), (problem, Variant::default().with_total())]
            {
                device.load(&problem, &RANDOM, 1002).unwrap();
                let n = 1001;
                let plan = plan(device, compiler, KERNELS[0], variant, &problem, n).unwrap();
                let found = verified(device, &plan, "a wrong total");
                let what = describe(&found, plan.outputs()).unwrap_or_default();
                let changed = changes[0].2;
                assert!(found.first.is_none() && what.starts_with(expected), "{changed}, {problem}: {what}");
                let twin = twin::run(device, &plan, Cache::Hot, SHORT).unwrap();
                let reason = twin.reason.unwrap_or_default();
                assert!(
                    reason.contains("the total is wrong, or a word behind it"),
                    "{changed}, {problem}: {reason}"
                );
                assert_eq!((twin.wrong.unwrap().first, twin.wrong_calls), (None, twin.compared), "{problem}");
            }
        }
    }
}
