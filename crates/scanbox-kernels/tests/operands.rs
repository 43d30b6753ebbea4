//! The total and the initial value in memory of problems: their kernels are the variants that have them.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_kernels::cases::problem_pairs::all_problems;
use scanbox_kernels::catalog::{self, Variant, legal};
use scanbox_kernels::plan::Plan;
use scanbox_model::api::Api;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{InitSource, Mode, Placement, Problem, Total};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Rejection;
use scanbox_testing::device::with_subgroups;
use scanbox_testing::operator_files::{self, operator};

const LABELS: [&str; 8] = [
    "b4.vec4.par.rake.wg64",
    "b4.vec2.two.sub.striped.early.block.wg64",
    "b4.vec4.fallback.sub.baked.wg64",
    "pers.b4.vec4.gather.sub.early.wg64.u1",
    "one.b4.vec4.none.rake.wg64",
    "redo.b4.vec4.none.sub.striped.wg64",
    "rts.b1.vec4.none.rake.wg64",
    "stp.b1.vec4.none.rake.wg64",
];

fn device() -> DeviceProfile {
    DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..with_subgroups(32, true) }
}

/// What a problem has in memory, and the same problem without.
fn parts(problem: &Problem) -> (Variant, Problem) {
    let plain = problem.with_operands(Total::Absent, InitSource::Arguments).unwrap();
    (Variant::default().of_problem(problem), plain)
}

/// Every problem with each kernel: what it says, or the rule that it breaks, is what its variant does.
#[test]
fn problems_with_operands_are_the_variants_of_those_without() {
    let device = device();
    let users: Vec<_> = operator_files::all().iter().map(|file| file.operator()).collect();
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for problem in all_problems(&users) {
        let (variant, plain) = parts(&problem);
        for label in LABELS {
            let config: Config = label.parse().unwrap();
            let what = format!("{label} {problem}");
            let plan = catalog::plan(&config, &problem, 1000, &device);
            let expected = catalog::plan_variant(&config, variant, &plain, 1000, &device);
            // Messages name the problem.
            let rule = |plan: Result<Plan, Rejection>| plan.map_err(|rejection| rejection.rule);
            let expected = expected.map(|plan| Plan { problem, ..plan });
            assert_eq!(rule(plan.clone()), rule(expected), "{what}");
            assert_eq!(legal(&config, &problem, 1000, &device).is_ok(), plan.is_ok(), "{what}");
            let recipe = catalog::recipe(&config, Variant::default(), &problem, &device);
            let of_variant = catalog::recipe(&config, variant, &plain, &device);
            let rule = |recipe: Result<_, Rejection>| recipe.map_err(|rejection| rejection.rule);
            assert_eq!(rule(recipe), rule(of_variant), "{what}");
            match plan {
                Ok(plan) => {
                    assert_eq!(plan.stores_total(), problem.has_total(), "{what}");
                    let name = ("INIT_FROM_MEMORY", 1);
                    let reads = plan.passes.iter().any(|pass| pass.shader.defines.contains(&name));
                    assert_eq!(reads, problem.reads_init(), "{what}");
                    seen.insert((label, problem.mode(), problem.has_total(), problem.reads_init()));
                }
                Err(rejection) => *rules.entry(rejection.rule.to_string()).or_default() += 1,
            }
        }
    }
    // Two modes with both, but for the totals of two families; four of the kernels reduce, and read the initial value.
    assert_eq!(seen.len(), 6 * 2 * 4 + 2 * 2 * 2 + 4 * 2, "{seen:?}");
    assert!(rules["total-needs-one-pass"] > 100, "{rules:?}");
}

#[test]
fn what_has_no_such_kernel_says_why() {
    let device = device();
    let config: Config = LABELS[0].parse().unwrap();
    let of = |problem: Problem, device: &DeviceProfile| legal(&config, &problem, 1000, device).unwrap_err();
    let total = Problem::default().with_operands(Total::Stored, InitSource::Arguments).unwrap();
    let webgpu = DeviceProfile { api: Api::WebGpu, ..device.clone() };
    let rejection = of(total, &webgpu);
    assert_eq!(rejection.rule, "not-in-wgsl");
    assert!(rejection.detail.contains("without a total"), "{}", rejection.detail);
    // What a file makes of the elements of an answer, it does not make of the total.
    let text = |functions: &str| {
        format!(
            "#pragma scanbox operator(commutative = yes, exact = yes)\n\
             struct Element {{ uint sum; }};\n\
             Element identity() {{ return Element(0u); }}\n\
             Element combine(const Element earlier, const Element later) {{ return Element(earlier.sum + later.sum); }}\n\
             {functions}\n"
        )
    };
    let input = "Element transform_input(const Element value, const uint index) { return Element(value.sum ^ index); }";
    let output = input.replace("_input", "_output");
    for (functions, mode, is_reversed, is_known) in [
        (input, Mode::Inclusive, false, true),
        (input, Mode::Inclusive, true, true),
        (input, Mode::Exclusive, false, true),
        (input, Mode::Exclusive, true, false),
        (&output, Mode::Inclusive, false, false),
        (&output, Mode::Exclusive, false, false),
    ] {
        let user = operator("summed", &text(functions)).operator();
        let problem = Problem::of_user(mode, user, Placement::OutOfPlace).unwrap();
        let problem = if is_reversed { problem.reversed() } else { problem };
        let problem = problem.with_operands(Total::Stored, InitSource::Arguments).unwrap();
        let found = legal(&config, &problem, 1000, &device).map_err(|rejection| rejection.rule.to_string());
        let expected = if is_known { Ok(()) } else { Err("total-not-known".to_owned()) };
        assert_eq!(found, expected, "{problem} with {functions}");
    }
}
