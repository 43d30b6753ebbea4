//! Recipes of kernels in packs: what can be recorded for good fits into one, and comes out of it as it was.

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::{
    ArgumentKind, Breakpoint, CallSizes, CallUse, ChoiceTable, FeatureSet, ModuleHash, Pack, PackData,
    PackDevice, PackError, PackModule, PackProblem, PackRecipe, Promises, Recipe, ScanMode, ScanProblem,
    ScratchContent, spirv,
};
use scanbox_testing::device::with_subgroups;

use crate::problems::all_problems;

const LABELS: &[&str] = &[
    "b4.vec4.par.rake.wg64",
    "b4.vec4.two.sub.wg64",
    "b4.vec4.two.sub.fill.wg64",
    "b4.vec4.par.rake.packed.fill.wg64",
    "b4.vec4.two.sub.stride16.fill.block.wg64",
    "b4.vec4.fallback.sub.clean.wg64",
    "b4.vec4.two.sub.turn.wg64",
    "b4.vec4.two.sub.split.turn.wg64",
    "b4.vec4.par.rake.turn.wg64",
    "b4.vec4.two.sub.block.wg64",
    "b4.vec4.par.rake.baked.wg64",
    "pers.b4.vec4.two.sub.early.turn.wg64.u1",
    "pers.b4.vec4.gather.sub.wgid.early.turn.wg64.u2",
    "pers.b3.vec4.two.sub.striped.robin.early.baked.wg96.u4",
    "one.b4.vec4.none.rake.wg64",
    "redo.b4.vec4.none.sub.striped.wg64",
    "rts.b1.vec4.none.rake.wg32",
    "rts.b1.vec4.none.rake.block.wg32",
    "stp.b1.vec4.none.rake.wg32",
];

fn device() -> DeviceProfile {
    DeviceProfile {
        guarantees: Guarantee::VALUES.to_vec(),
        compute_units: Some(7),
        max_workgroup_count: [1 << 31, 65_535, 65_535],
        int64_elements: true,
        float64_elements: true,
        ..with_subgroups(32, true)
    }
}

fn variants() -> Vec<Variant> {
    let plain = Variant::default();
    vec![
        plain,
        plain.at_any_element().with_total(),
        plain.with_init_in_memory(),
        Variant::up_to(0),
        Variant::up_to(0).with_init_in_memory().with_total(),
    ]
}

/// A shader of this size that does nothing.
fn empty_module(shader: &Shader) -> PackModule {
    let mut words = vec![spirv::MAGIC, 0x0001_0600, 0, 9, 0, 2 << 16 | 17, 1];
    words.extend([5 << 16 | 15, 5, 4, u32::from_le_bytes(*b"main"), 0]);
    words.extend([6 << 16 | 16, 4, 17, shader.workgroup_size, 1, 1]);
    module(shader, words, FeatureSet::NONE)
}

fn module(shader: &Shader, words: Vec<u32>, features: FeatureSet) -> PackModule {
    PackModule {
        hash: ModuleHash([0; 32]),
        subgroup_size: shader.subgroup_size,
        workgroup_size: shader.workgroup_size,
        shared_bytes: 0,
        features,
        words,
    }
}

fn in_pack(problem: &Problem) -> ScanProblem {
    let element_bytes = problem.element_bytes() as u32;
    let words = if problem.mode() == Mode::Exclusive { element_bytes as usize / 4 } else { 0 };
    ScanProblem {
        mode: match problem.mode() {
            Mode::Inclusive => ScanMode::Inclusive,
            Mode::Exclusive => ScanMode::Exclusive,
            Mode::Reduce => ScanMode::Reduce,
        },
        element: problem.element().to_string(),
        element_bytes,
        operator: problem.operator().to_string(),
        operator_hash: String::new(),
        init: vec![0; words],
        in_place: problem.placement() == Placement::InPlace,
        reverse: problem.is_reversed(),
    }
}

/// A pack of one recipe.
fn pack_of(
    recipe: &Recipe<Shader>,
    config: &Config,
    variant: Variant,
    problem: &Problem,
) -> Result<Pack, PackError> {
    let mut modules = Vec::new();
    let recipe = recipe.clone().map(|shader| {
        modules.push(empty_module(&shader));
        modules.len() as u16 - 1
    });
    let call_use = CallUse {
        n_on_device: variant.max_n.is_some(),
        total: variant.total,
        init_in_memory: variant.init_in_memory,
        scratch_overwritten: recipe.fill.is_some(),
        arguments: recipe.arguments,
        any_element: variant.any_element,
    };
    let breakpoints = vec![Breakpoint { from: recipe.min_n.max(1), ranked: vec![0], worst_loss_ppm: None }];
    let measured = vec![ChoiceTable { call_use, needs: Promises::ALL, breakpoints }];
    Pack::new(PackData {
        written_by: "a test".into(),
        kernel_hash: String::new(),
        licence: "MIT".into(),
        measured_utc: String::new(),
        device: PackDevice {
            name: "a device".into(),
            driver: String::new(),
            vendor_id: 1,
            device_id: 1,
            driver_build: String::new(),
            units: 7,
            family: Vec::new(),
            keeps: Promises::ALL,
        },
        problems: vec![PackProblem {
            scan: in_pack(problem),
            splittable: false,
            measured,
            portable: Vec::new(),
        }],
        recipes: vec![PackRecipe { label: config.to_string(), recipe }],
        times: Vec::new(),
        modules,
    })
}

#[test]
fn every_recipe_that_no_host_counts_fits_into_a_pack() {
    let device = device();
    let (mut fits, mut counted, mut in_memory, mut baked) = (0, 0, 0, 0);
    for label in LABELS {
        let config: Config = label.parse().unwrap();
        for (problem, variant) in
            all_problems().iter().flat_map(|problem| variants().into_iter().map(move |v| (problem, v)))
        {
            let Ok(recipe) = catalog::recipe(&config, variant, problem, &device) else { continue };
            let pack = pack_of(&recipe, &config, variant, problem);
            let content = recipe.formula.content(recipe.max_n);
            if matches!(content, ScratchContent::Tagged { .. }) {
                assert!(pack.unwrap_err().to_string().contains("the host counts its calls"), "{label}");
                counted += 1;
                continue;
            }
            if recipe.co_resident && recipe.arguments == ArgumentKind::Baked {
                assert!(pack.unwrap_err().to_string().contains("of which fewer fit"), "{label}");
                baked += 1;
                continue;
            }
            let pack = pack.unwrap_or_else(|error| panic!("{label}{variant} {problem}: {error}"));
            assert_eq!(Pack::read(&pack.write()).as_ref(), Ok(&pack), "{label}{variant} {problem}");
            fits += 1;
            in_memory += u32::from(recipe.call_sizes == CallSizes::InMemory);
        }
    }
    assert!(
        fits > 1000 && counted > 50 && in_memory > 100 && baked > 10,
        "{fits} {counted} {in_memory} {baked}"
    );
}

/// What a module says of itself is what the device was asked for.
#[test]
fn compiled_kernels_say_what_they_need() {
    let compiler = Compiler::new(None, None).unwrap();
    let device = DeviceProfile { uniform_control_flow: true, ..device() };
    let problems = all_problems();
    let mut seen = FeatureSet::NONE;
    for (label, element) in [
        ("b4.vec4.par.rake.wg64", "u32"),
        ("b4.vec4.two.sub.turn.wg64", "u32"),
        ("b4.vec4.two.sub.split.turn.wg64", "f64"),
        ("redo.b4.vec4.none.sub.striped.wg64", "i64"),
        ("pers.b4.vec4.gather.sub.wgid.early.baked.wg64.u2", "u64"),
        ("rts.b1.vec4.none.rake.wg32", "i32"),
        ("b4.vec4.two.sub.fill.block.wg64", "f32"),
    ] {
        let config: Config = label.parse().unwrap();
        let problem = problems.iter().find(|problem| problem.element().to_string() == element).unwrap();
        let recipe = catalog::recipe(&config, Variant::default(), problem, &device).unwrap();
        for shader in recipe.modules() {
            let words = compiler.compile(shader).unwrap().code.spirv().unwrap();
            let facts = spirv::facts(&words).unwrap_or_else(|error| panic!("{shader}: {error}"));
            assert_eq!(facts.workgroup_size, shader.workgroup_size, "{shader}");
            seen = seen.with(facts.features);
        }
    }
    let expected = [
        FeatureSet::INT64,
        FeatureSet::INT64_ATOMICS,
        FeatureSet::FLOAT64,
        FeatureSet::UNIFORM_CONTROL_FLOW,
        FeatureSet::ARITHMETIC,
    ];
    assert!(expected.into_iter().all(|feature| seen.has(feature)), "{seen}");
}
