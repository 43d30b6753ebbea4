//! Packs that are built from compiled kernels.

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::{Compiler, compile_flat};
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::packing::{
    self, LICENCE, PackBuilder, PackOrigin, family_of, module_hash, pack_device, problem_of, scan_problem,
    wrong_module_hash,
};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::{
    Breakpoint, CallUse, ChoiceTable, FeatureSet, Pack, PackData, PackModule, PackProblem, PackTime,
    Promises, ScanMode, ScanProblem, spirv,
};
use scanbox_testing::device::with_subgroups;

use crate::problems::all_problems;

fn device() -> DeviceProfile {
    DeviceProfile {
        float64_elements: true,
        compute_units: Some(7),
        device_id: 77,
        guarantees: vec![Guarantee::WorkgroupOrder, Guarantee::CoResidency],
        ..with_subgroups(32, true)
    }
}

fn problem(mode: Mode, element: Element) -> Problem {
    Problem::new(mode, element, Operator::Add, None, Placement::OutOfPlace).unwrap()
}

fn config(label: &str) -> Config {
    label.parse().unwrap()
}

/// A pack of these configs, each with a table of its own.
fn pack(problem: &Problem, labels: &[&str]) -> Pack {
    let compiler = Compiler::new(None, None).unwrap();
    let recipe = |label: &&str| {
        let recipe = catalog::recipe(&config(label), Variant::default(), problem, &device()).unwrap();
        ((*label).to_owned(), recipe)
    };
    let mut builder = PackBuilder::new();
    let places = builder.add_all(&compiler, labels.iter().map(recipe)).unwrap();
    let table = |place: &u16| {
        let recipe = &builder.recipes()[usize::from(*place)].recipe;
        let call_use = CallUse { scratch_overwritten: recipe.fill.is_some(), ..CallUse::default() };
        let breakpoints =
            vec![Breakpoint { from: recipe.min_n.max(1), ranked: vec![*place], worst_loss_ppm: None }];
        ChoiceTable { call_use, needs: Promises::ALL, breakpoints }
    };
    let measured = places.iter().map(table).collect();
    let times = vec![PackTime { recipe: places[0], n: 4096, picoseconds: 2_000_000, confirmed: true }];
    let problems =
        vec![PackProblem { scan: scan_problem(problem), splittable: false, measured, portable: Vec::new() }];
    let origin = PackOrigin {
        kernel_hash: compiler.kernel_hash(),
        measured_utc: "2026-01-02T03:04:05Z".to_owned(),
        device: pack_device(&device(), vec![78]),
    };
    builder.pack(origin, problems, times).unwrap()
}

#[test]
fn modules_are_there_once_and_say_what_they_are() {
    let u32 = problem(Mode::Inclusive, Element::U32);
    let labels = [
        "b4.vec4.two.sub.turn.wg64",
        "rts.b1.vec4.none.rake.wg32",
        "b4.vec4.two.sub.fill.wg64",
        "b4.vec4.two.sub.turn.wg64",
    ];
    let pack = pack(&u32, &labels);
    let data = pack.data();
    assert_eq!(data.recipes.len(), 3, "the last one is the first one");
    let hashes: std::collections::HashSet<_> = data.modules.iter().map(|module| module.hash).collect();
    assert_eq!(hashes.len(), data.modules.len());
    // Levels go down from the last one by the same code as the first; the fill is one module.
    assert!((5..=9).contains(&data.modules.len()), "{}", data.modules.len());
    for module in &data.modules {
        assert_eq!(module.hash, module_hash(&module.words));
        assert_eq!(module.subgroup_size, 32);
        let facts = spirv::facts(&module.words).unwrap();
        assert_eq!((facts.workgroup_size, facts.features), (module.workgroup_size, module.features));
        // Sums of u32 take no 64-bit integers to other invocations, whatever their tile states are.
        assert!(!module.features.has(FeatureSet::EXTENDED_TYPES), "{}", module.features);
    }
    let shared: Vec<u32> = data.modules.iter().map(|module| module.shared_bytes).collect();
    assert!(shared.contains(&0) && shared.iter().any(|bytes| *bytes > 100), "{shared:?}");
    assert_eq!(Pack::read(&pack.write()).as_ref(), Ok(&pack));
    assert_eq!(wrong_module_hash(&pack), None);
    let PackData { licence, kernel_hash, device, .. } = data;
    assert_eq!(licence, LICENCE);
    assert_eq!(*kernel_hash, Compiler::new(None, None).unwrap().kernel_hash());
    assert_eq!((device.units, device.device_id, &device.family[..]), (7, 77, &[78][..]));
    assert_eq!(device.keeps, Promises::WORKGROUP_ORDER, "co-residency depends on the program");

    let mut data = pack.into_data();
    data.modules[2].hash.0[0] ^= 1;
    assert_eq!(wrong_module_hash(&Pack::new(data).unwrap()), Some(2));
}

#[test]
fn sums_of_64_bit_integers_say_that_subgroups_take_them() {
    for (element, extended) in [(Element::U64, true), (Element::I64, true), (Element::F64, false)] {
        let pack = pack(&problem(Mode::Inclusive, element), &["b4.vec2.par.sub.turn.wg64"]);
        let features =
            pack.data().modules.iter().fold(FeatureSet::NONE, |all, module| all.with(module.features));
        assert_eq!(features.has(FeatureSet::EXTENDED_TYPES), extended, "{element}: {features}");
        assert_eq!(features.has(FeatureSet::FLOAT64), !extended, "{element}: {features}");
    }
}

#[test]
fn what_modules_need_is_never_less_than_their_code_says() {
    let pack = pack(&problem(Mode::Inclusive, Element::U64), &["b4.vec2.par.sub.turn.wg64"]);
    let refused = |change: fn(&mut PackModule), expected: &str| {
        let mut data = pack.data().clone();
        change(data.modules.iter_mut().find(|module| module.shared_bytes > 0).unwrap());
        let error = Pack::new(data).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(|module| module.shared_bytes -= 1, "bytes of shared memory, and the table says");
    refused(
        |module| module.features = module.features.without(FeatureSet::EXTENDED_TYPES),
        "its code needs shaderSubgroupExtendedTypes, which the table does not say",
    );
}

/// What SPIR-V says is never more than what configs are refused by, and not far from it.
#[test]
fn shared_memory_is_what_rules_count() {
    let compiler = Compiler::new(None, None).unwrap();
    let (device, problem) = (device(), problem(Mode::Inclusive, Element::U32));
    for label in [
        "b4.vec4.two.sub.turn.wg64",
        "b4.vec4.par.rake.turn.wg256",
        "b4.vec4.par.blelloch.turn.wg128",
        "b3.vec2.par.ks.turn.wg96",
        "pers.b3.vec4.two.sub.striped.early.turn.wg96.u4",
        "one.b4.vec4.none.rake.wg1024",
    ] {
        let config = config(label);
        let plan = catalog::plan(&config, &problem, 1000, &device).unwrap();
        let bound = plan.build().unwrap().shared_bytes;
        let words = compiler.compile(&plan.passes[0].shader).unwrap().code.spirv().unwrap();
        let bytes = spirv::facts(&words).unwrap().shared_bytes;
        assert!(bytes > 0 && bytes <= bound && bound - bytes <= 400, "{label}: {bytes} of {bound}");
    }
}

#[test]
fn problems_are_said_in_the_words_of_packs() {
    let scan = scan_problem(&problem(Mode::Reduce, Element::F64));
    assert_eq!((scan.element.as_str(), scan.element_bytes, scan.init), ("f64", 8, vec![]));
    let init = |element, init| {
        let problem =
            Problem::new(Mode::Exclusive, element, Operator::Max, init, Placement::InPlace).unwrap();
        let scan = scan_problem(&problem);
        assert!(scan.in_place && scan.operator == "max" && scan.operator_hash.is_empty());
        scan.init
    };
    assert_eq!(init(Element::I32, Some("-2")), [0xffff_fffe]);
    assert_eq!(init(Element::U64, Some("4294967298")), [2, 1]);
    assert_eq!(init(Element::I32, None), [0x8000_0000], "the identity");

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/operators/");
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|extension| extension == "glsl")).unwrap();
    let operator = OperatorFile::read(&file).unwrap();
    let user = operator.operator();
    let problem = Problem::of_user(Mode::Exclusive, user, Placement::OutOfPlace).unwrap();
    let scan = scan_problem(&problem);
    assert_eq!(scan.operator, user.name.to_string());
    assert_eq!(scan.operator_hash, user.hash_text());
    assert_eq!(scan.init, vec![0; user.element.bytes() as usize / 4]);

    let compiler = Compiler::new(None, None).unwrap().with_operator(operator);
    let recipe =
        catalog::recipe(&config("rts.b1.scalar.none.rake.wg32"), Variant::default(), &problem, &device())
            .unwrap();
    let mut builder = PackBuilder::new();
    assert_eq!(builder.add_all(&compiler, [("rts".to_owned(), recipe)]).unwrap(), [0]);
}

#[test]
fn what_does_not_compile_is_said() {
    let recipe = catalog::recipe(
        &config("b4.vec4.two.sub.turn.wg64"),
        Variant::default(),
        &problem(Mode::Inclusive, Element::U32),
        &device(),
    );
    let recipe = recipe.unwrap().map(|shader| scanbox_kernels::plan::Shader { root: "none.comp", ..shader });
    let error = PackBuilder::new()
        .add_all(&Compiler::new(None, None).unwrap(), [(String::new(), recipe)])
        .expect_err("there is no such source");
    assert!(matches!(error, packing::PackingError::Compile(_)), "{error}");
}

#[test]
fn flat_shaders_compile_to_the_same_code() {
    let compiler = Compiler::new(None, None).unwrap();
    let device = DeviceProfile { uniform_control_flow: true, ..device() };
    for (label, element) in [
        ("b4.vec4.two.sub.turn.wg64", Element::U32),
        ("b4.vec2.par.sub.split.turn.wg64", Element::I64),
        ("b4.vec4.fallback.rake.fill.wg64", Element::F32),
        ("pers.b4.vec4.gather.sub.wgid.early.baked.wg64.u2", Element::U32),
        ("b4.vec4.two.sub.block.wg64", Element::U32),
        ("rts.b1.vec4.none.rake.wg32", Element::F64),
    ] {
        let recipe =
            catalog::recipe(&config(label), Variant::default(), &problem(Mode::Inclusive, element), &device);
        for shader in recipe.unwrap().modules() {
            let head = ["one".to_owned(), "two".to_owned()];
            let flat = compiler.flat(shader, &head).unwrap();
            assert!(flat.starts_with("#version 460\n// one\n// two\n"), "{label}: {}", &flat[..200]);
            assert!(
                !flat.contains("include") && !flat.contains("#line") && !flat.contains("#define"),
                "{label}"
            );
            let spirv = compiler.compile(shader).unwrap().code.spirv().unwrap();
            assert!(compile_flat(&flat, "flat.comp").unwrap() == *spirv, "{shader}");
        }
    }
    assert!(compile_flat("#version 460\nvoid main() { none(); }", "flat.comp").is_err());
}

/// What a pack says is computed can be computed again, to try it.
#[test]
fn problems_come_back_from_packs() {
    for problem in all_problems() {
        let scan = scan_problem(&problem);
        assert_eq!(problem_of(&scan, problem.user()), Some(problem), "{problem}");
        assert_eq!(problem_of(&scan, None).is_none(), problem.user().is_some(), "{problem}");
    }
    let six =
        Problem::new(Mode::Exclusive, Element::F64, Operator::Mul, Some("-0.1"), Placement::InPlace).unwrap();
    assert_eq!(problem_of(&scan_problem(&six), None), Some(six));
    let sum = scan_problem(&problem(Mode::Inclusive, Element::U32));
    for wrong in [
        ScanProblem { element: "u128".into(), ..sum.clone() },
        ScanProblem { operator: "plus".into(), ..sum.clone() },
        ScanProblem { operator_hash: "0123456789abcdef".into(), ..sum.clone() },
        ScanProblem { element_bytes: 8, ..sum },
    ] {
        assert_eq!(problem_of(&wrong, None), None, "{wrong:?}");
    }
}

/// What programs make of words is what packs are made with.
#[test]
fn scans_of_words_are_those_of_packs() {
    let (mut built_in, mut of_users) = (0, 0);
    for problem in all_problems() {
        let expected = scan_problem(&problem);
        let made = ScanProblem::built_in(expected.mode, &expected.element, &expected.operator);
        if problem.user().is_some() {
            assert_eq!(made, None, "{problem}");
            of_users += 1;
            continue;
        }
        let made = made.map(|scan| if expected.in_place { scan.in_place() } else { scan });
        assert_eq!(made, Some(expected), "{problem}");
        built_in += 1;
    }
    assert!(built_in > 150 && of_users > 10, "{built_in} {of_users}");
    let three = Problem::new(Mode::Exclusive, Element::U64, Operator::Max, Some("3"), Placement::OutOfPlace);
    let made = ScanProblem::built_in(ScanMode::Exclusive, "u64", "max").unwrap().begin_with(&[3, 0]);
    assert_eq!(made, scan_problem(&three.unwrap()));
    for (element, operator) in [("u16", "add"), ("u32", "plus"), ("f32", "xor"), ("struct8", "user")] {
        assert_eq!(ScanProblem::built_in(ScanMode::Inclusive, element, operator), None);
    }
}

/// What was measured on an H200 is chosen for an H100, and for nothing of another architecture.
#[test]
fn devices_of_one_architecture_are_a_family() {
    let device = |vendor_id, device_id| DeviceProfile { vendor_id, device_id, ..with_subgroups(32, true) };
    let (h200, h100, a100) = (device(0x10de, 0x2335), device(0x10de, 0x2330), device(0x10de, 0x20b2));
    assert!(family_of(&h200).contains(&0x2330) && family_of(&h100).contains(&0x2335));
    assert!(!family_of(&h200).contains(&0x2335), "its own");
    assert!(family_of(&a100).iter().all(|id| !family_of(&h200).contains(id)));
    assert_eq!(family_of(&device(0x1002, 0x2335)), [0; 0], "of another vendor");
    let data = pack_device(&h200, family_of(&h200));
    assert_eq!((data.device_id, data.family.len()), (0x2335, 10));
}
