//! Kernels in WGSL, without a device: what the generator makes, what naga says of it, which rules say no.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use naga::valid::{Capabilities, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use scanbox_kernels::cases::Circumstance;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::{Binding, BindingAccess, Pass, Shader};
use scanbox_kernels::variant::Variant;
use scanbox_kernels::wgsl::{WgslSources, for_naga};
use scanbox_kernels::{catalog, legal};
use scanbox_model::api::Api;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Space;
use scanbox_testing::device::with_subgroups;

/// A device by WebGPU with subgroups of these sizes, or none (1), that promises all that a kernel may need.
fn webgpu(smallest: u32, largest: u32) -> DeviceProfile {
    DeviceProfile {
        api: Api::WebGpu,
        min_subgroup_size: smallest,
        max_subgroup_size: largest,
        guarantees: Guarantee::VALUES.to_vec(),
        buffer_addresses: false,
        float64_elements: false,
        max_storage_buffer_bytes: (1 << 31) - 4,
        ..with_subgroups(smallest, false)
    }
}

fn devices() -> [DeviceProfile; 3] {
    [webgpu(32, 32), webgpu(4, 32), webgpu(1, 1)]
}

/// The shader, as naga reads and accepts it.
fn naga_module(shader: &Shader) -> naga::Module {
    let text = for_naga(&WgslSources::embedded().generate(shader).unwrap());
    let module = naga::front::wgsl::parse_str(&text)
        .unwrap_or_else(|error| panic!("{shader}\n{}", error.emit_to_string(&text)));
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP);
    validator.subgroup_operations(SubgroupOperationSet::all()).subgroup_stages(ShaderStages::COMPUTE);
    if let Err(error) = validator.validate(&module) {
        panic!("{shader}\n{}", error.emit_to_string(&text));
    }
    module
}

/// The text is WGSL, and declares just what the pass binds, as the pass says it.
fn check_pass(pass: &Pass) {
    let module = naga_module(&pass.shader);
    let mut declared = BTreeMap::new();
    for (_, variable) in module.global_variables.iter() {
        let Some(binding) = variable.binding else { continue };
        let access = match variable.space {
            naga::AddressSpace::Uniform => None,
            naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => {
                Some(BindingAccess::ReadWrite)
            }
            _ => Some(BindingAccess::Read),
        };
        declared.insert(binding.binding, access);
    }
    let mut bound: BTreeMap<u32, Option<BindingAccess>> =
        (1..).zip(pass.accesses()).map(|(place, access)| (place, Some(access))).collect();
    if !bound.is_empty() {
        bound.insert(0, None);
    }
    assert_eq!(declared, bound, "{}", pass.shader);
    let parameters =
        module.global_variables.iter().find(|(_, variable)| variable.space == naga::AddressSpace::Uniform);
    if let Some((_, variable)) = parameters {
        let naga::TypeInner::Struct { members, span } = &module.types[variable.ty].inner else { panic!() };
        let words = pass.words.len() + 2;
        // The comparison leaves the second half of 64 bits.
        let left = words - members.len();
        assert!(left <= usize::from(pass.shader.root == "compare.wgsl") && *span <= 256, "{}", pass.shader);
    }
    for (place, binding) in pass.bindings.iter().enumerate() {
        assert!(!pass.bindings[..place].contains(binding), "{}: {binding:?} twice", pass.shader);
        assert!(!matches!(binding, Binding::Scratch(offset) if offset % 256 != 0), "{}", pass.shader);
    }
    let [x, y, z] = module.entry_points[0].workgroup_size;
    assert_eq!((x, y, z), (pass.shader.workgroup_size, 1, 1), "{}", pass.shader);
}

#[test]
fn every_shader_of_the_spaces_is_right_for_naga_and_binds_what_its_pass_says() {
    for (device, counts) in devices().into_iter().zip([[3360, 4071], [0, 0], [0, 0]]) {
        let texts = [
            include_str!("../../../configs/thesis-webgpu.toml"),
            include_str!("../../../configs/webgpu.toml"),
        ];
        for (text, count) in texts.into_iter().zip(counts) {
            let space = Space::from_toml(text, "space").unwrap();
            let problem = Problem::default();
            let points =
                space.enumerate(&device, |config, n, device| legal(config, &problem, n, device)).points;
            assert!(count == 0 || points.len() == count, "{} of {}", points.len(), space.name);
            let mut seen = BTreeSet::new();
            for point in points {
                let plan = catalog::plan(&point.config, &problem, point.n, &device).unwrap();
                for pass in plan.passes {
                    if seen.insert(pass.shader.clone()) {
                        check_pass(&pass);
                    }
                }
            }
            assert!(!seen.is_empty(), "{}", space.name);
        }
        let sessions = catalog::helper_shaders(&device);
        sessions.iter().for_each(|shader| drop(naga_module(shader)));
    }
}

/// One kernel of each family, lookback, block scan, layout and state.
const LABELS: &[&str] = &[
    "b1.scalar.seq.rake.wg64",
    "b4.vec4.par.blelloch.wg256",
    "b3.vec2.par.rake.wg96",
    "b16.vec4.seq.blelloch.wg1024",
    "b2.vec4.par.sub.striped.wgid.early.wg256",
    "b4.vec4.fallback.sub.striped.wg256",
    "b1.scalar.fallback.ks.direct.spins0.wg64",
    "b4.vec2.gather.sub.direct.wgid.wg512",
    "b4.vec4.chain.sub.fill.wg256",
    "b1.vec4.seq.blelloch.packed.fill.wg64",
    "b2.vec4.par.sub.striped.stride4.wg64",
    "one.b2.vec4.none.sub.striped.wg64",
    "one.b3.vec2.none.rake.wg64",
    "redo.b2.vec4.none.sub.striped.wg64",
    "rts.b2.vec4.none.sub.striped.wg64",
    "rts.b1.vec2.none.rake.wg32",
    "stp.b2.scalar.none.ks.wg32",
    "pers.b2.vec4.gather.sub.striped.early.wg64.u2",
    "pers.b4.vec4.gather.sub.early.wg128.u8",
    "pers.b4.vec4.gather.sub.shuffle.striped.early.wg128.u8",
    "b4.vec4.fallback.sub.shuffle.wg256",
];

#[test]
fn every_problem_has_shaders_of_every_kernel_or_a_rule_that_says_no() {
    let elements = [Element::U32, Element::I32, Element::F32];
    let operators = [Operator::Add, Operator::Min, Operator::Max];
    let rules = [
        "needs-subgroups",
        "family-reduce",
        "reduce-publishes-before-scan",
        "fallback-in-place",
        "recompute-in-place",
        "packed-needs-u32-sum",
        "not-in-wgsl",
        "full-subgroups",
    ];
    let (mut shaders, mut rejected) = (BTreeMap::<Shader, Pass>::new(), BTreeSet::new());
    for (device, label) in devices().iter().flat_map(|device| LABELS.iter().map(move |label| (device, label)))
    {
        let config: Config = label.parse().unwrap();
        let modes =
            Mode::VALUES.iter().flat_map(|mode| Placement::VALUES.iter().map(move |place| (*mode, *place)));
        for (mode, placement) in modes {
            for (element, operator) in elements.iter().flat_map(|element| operators.map(|op| (*element, op)))
            {
                let Ok(problem) = Problem::new(mode, element, operator, None, placement) else { continue };
                match catalog::plan(&config, &problem, 70_001, device) {
                    Ok(plan) => {
                        let helpers = [catalog::poison(&plan, device), catalog::compare(&plan, 0.1, device)];
                        let late = Circumstance::late(&config, &problem, 70_001, device);
                        let late = late.map(|variant| {
                            catalog::plan_variant(&config, variant, &problem, 70_001, device).unwrap()
                        });
                        let plans = helpers.into_iter().chain([plan]).chain(late);
                        let passes = plans.flat_map(|plan| plan.passes);
                        shaders.extend(passes.map(|pass| (pass.shader.clone(), pass)));
                    }
                    Err(no) => {
                        rejected.insert(no.rule);
                    }
                }
            }
        }
    }
    assert!(rejected.iter().all(|rule| rules.contains(&&**rule)), "{rejected:?}");
    assert!(shaders.len() > 500, "{}", shaders.len());
    shaders.values().for_each(check_pass);
}

/// What says no to a config by WebGPU, and to one that it says yes to.
#[test]
fn what_wgsl_has_not_is_a_rule() {
    let no_promises = DeviceProfile { guarantees: Vec::new(), ..webgpu(32, 32) };
    let small_bindings = DeviceProfile { max_storage_buffer_bytes: 128 << 20, ..webgpu(32, 32) };
    let check = |label: &str, problem: &Problem, n: u64, device: &DeviceProfile, rule: &str| {
        let config: Config = label.parse().unwrap();
        let said = legal(&config, problem, n, device).err().map_or(String::new(), |no| no.rule.to_string());
        assert_eq!(said, rule, "{label} {problem} {n}");
    };
    let sum = Problem::default();
    let of = |element, operator| {
        Problem::new(Mode::Inclusive, element, operator, None, Placement::OutOfPlace).unwrap()
    };
    let all = webgpu(32, 32);
    for (label, device, rule) in [
        ("b4.vec4.par.sub.wg256", &all, ""),
        ("b4.vec4.par.sub.wg256", &no_promises, "needs-progress"),
        ("b4.vec4.fallback.sub.wg256", &no_promises, ""),
        ("rts.b4.vec4.none.sub.wg256", &no_promises, ""),
        ("b4.vec4.par.sub.wg256", &webgpu(1, 1), "needs-subgroups"),
        ("b4.vec4.fallback.sub.wg256", &webgpu(1, 1), ""),
        ("b4.vec4.seq.rake.wg48", &webgpu(1, 1), "full-subgroups"),
        ("b4.vec4.seq.rake.wg48", &webgpu(4, 32), "full-subgroups"),
        ("b4.vec4.two.sub.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.gatherfall.sub.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sk.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.bk.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.rs.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.shuffle.striped.wg256", &all, ""),
        ("b4.vec4.fallback.sub.shuffle.striped.wg256", &webgpu(1, 1), "needs-subgroups"),
        ("b4.vec4.par.sub.width2.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.pause.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.block.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.sg32.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.turn.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.clean.wg256", &all, "not-in-wgsl"),
        ("b4.vec4.par.sub.word64.wg256", &all, "word64-needs-int64-atomics"),
        ("pers.b4.vec4.gather.sub.striped.early.wg256.u2", &all, ""),
        ("pers.b4.vec4.gather.sub.striped.wgid.early.wg256.u2", &all, "not-in-wgsl"),
        ("pers.b4.vec4.gather.sub.striped.early.flags.wg256.u2", &all, "not-in-wgsl"),
        ("pers.b4.vec4.two.sub.striped.early.wg256.u2", &all, "not-in-wgsl"),
    ] {
        check(label, &sum, 1 << 20, device, rule);
    }
    for (problem, label, rule) in [
        (of(Element::F32, Operator::Add), "b4.vec4.par.sub.wg256", ""),
        (of(Element::F32, Operator::Add), "b4.vec4.fallback.sub.wg256", "not-in-wgsl"),
        (of(Element::F32, Operator::Max), "b4.vec4.fallback.sub.wg256", ""),
        (of(Element::U32, Operator::Mul), "b4.vec4.par.sub.wg256", "not-in-wgsl"),
        (of(Element::U32, Operator::Xor), "b4.vec4.par.sub.wg256", "not-in-wgsl"),
        (of(Element::U64, Operator::Add), "b4.vec4.par.sub.wg256", "element-needs-64-bit"),
        (of(Element::F64, Operator::Add), "b4.vec4.par.sub.wg256", "element-needs-64-bit"),
    ] {
        check(label, &problem, 1 << 20, &all, rule);
    }
    for (n, device, rule) in [
        (1 << 28, &all, ""),
        (1 << 29, &all, "binding-size"),
        ((1 << 25) - 256, &small_bindings, ""),
        ((1 << 25) - 255, &small_bindings, "binding-size"),
    ] {
        check("b4.vec4.par.sub.wg256", &sum, n, device, rule);
    }
    let config: Config = "b4.vec4.fallback.sub.wg256".parse().unwrap();
    let variant = |variant: Variant| {
        catalog::plan_variant(&config, variant, &sum, 1 << 20, &all).map_err(|no| no.rule.to_string()).err()
    };
    assert_eq!(variant(Variant::blocked(Some(2)).counted()), None);
    let late = Variant::of_late_workgroups();
    assert_eq!(variant(late), None);
    assert_eq!(variant(late.with_total()), Some("not-in-wgsl".to_owned()));
    for (label, device, has) in [
        ("b4.vec4.fallback.sub.wg256", &all, true),
        ("b4.vec4.chain.sub.wg256", &all, true),
        ("pers.b4.vec4.gather.sub.early.wg128.u8", &all, true),
        ("rts.b4.vec4.none.sub.wg256", &all, false),
        ("b4.vec4.fallback.sub.wg256", &with_subgroups(32, true), true),
        ("redo.b4.vec4.none.sub.wg256", &with_subgroups(32, true), true),
    ] {
        let config = label.parse().unwrap();
        let found = Circumstance::late(&config, &sum, 1 << 20, device);
        assert_eq!(found, has.then_some(late), "{label}");
        let refused = catalog::plan_variant(&config, late, &sum, 1 << 20, device).err();
        assert_eq!(refused.map(|no| no.rule), (!has).then(|| "not-in-wgsl".into()), "{label}");
    }
    assert_eq!(variant(Variant::default().with_total()), Some("not-in-wgsl".to_owned()));
    assert_eq!(variant(Variant::default().at_any_element()), Some("not-in-wgsl".to_owned()));
    let recipe = catalog::recipe(&config, Variant::default(), &sum, &all);
    assert_eq!(recipe.unwrap_err().rule, "not-in-wgsl");
    // What WebGPU has not is nobody's business by Vulkan.
    check("b4.vec4.two.sub.wg256", &sum, 1 << 20, &with_subgroups(32, true), "");
}

#[test]
fn the_generator_says_what_is_wrong_and_where() {
    let generate = |text: &str, defines: &[(&'static str, u32)]| {
        let texts = [
            ("root.wgsl", text),
            ("part.wgsl", "fn part() {}\n#if WHO\n#endif\n"),
            ("loop.wgsl", "#include \"loop.wgsl\""),
        ];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned().into()));
        let shader = Shader {
            root: "root.wgsl",
            defines: defines.to_vec(),
            workgroup_size: 1,
            subgroup_size: 0,
            operator_file: false,
        };
        WgslSources::new(BTreeMap::from(texts)).generate(&shader)
    };
    for (text, result) in [
        ("a(A);", Ok("const A = 3u;\na(A);\n")),
        ("a(MODE_EXCLUSIVE);// B", Ok("const MODE_EXCLUSIVE = 1u;\na(MODE_EXCLUSIVE);// B\n")),
        ("const x = 1;\nenable subgroups;", Ok("enable subgroups;\nconst x = 1;\n")),
        ("#if A == 3\none\n#elif A > 2\ntwo\n#else\nthree\n#endif", Ok("one\n")),
        ("#if A < 3\none\n#elif A >= 3 && !B\ntwo\n#else\nthree\n#endif", Ok("two\n")),
        ("#if A != 3 || B\none\n#else\nthree\n#endif", Ok("three\n")),
        ("#if B\n#if A\none\n#else\ntwo\n#endif\n#else\nthree\n#endif", Ok("three\n")),
        ("#if B\n#include \"nothing\"\n#endif", Ok("")),
        ("#define C 4\n#if C == 4\none\n#endif", Ok("one\n")),
        ("#define C A\n#define D 6 / A\na(C, D);", Ok("const C = 3u;\nconst D = 2u;\na(C, D);\n")),
        ("#for k in 1..A\na(k);\n#endfor", Ok("{ const k = 1u;\na(k);\n}\n{ const k = 2u;\na(k);\n}\n")),
        (
            "#for k in 2..A\n#if A\n#for i in B..1\na\n#endfor\n#endif\n#endfor",
            Ok("{ const k = 2u;\n{ const i = 0u;\na\n}\n}\n"),
        ),
        ("#for k in A..A\nx\n#endfor", Ok("")),
        ("#if B\n#for k in 0..C\nx\n#endfor\n#endif", Ok("")),
        ("x\n#for k in 0..2", Err("root.wgsl:2: #for without #endfor")),
        ("#endfor", Err("root.wgsl:1: #endfor without #for")),
        ("#for k in 0..2\n#if A\n#endfor\n#endif", Err("root.wgsl: #if without #endif")),
        ("#for k in 0..2\n\n#else\n#endfor", Err("root.wgsl:3: #else without #if")),
        ("#for k in 0..C\n#endfor", Err("root.wgsl:1: there is no define C")),
        ("#for k < A\n#endfor", Err("root.wgsl:1: cannot read #for k < A")),
        ("#define C A / 2", Err("root.wgsl:1: cannot read #define C A / 2")),
        ("#define C A / B", Err("root.wgsl:1: cannot read #define C A / B")),
        ("#include \"nothing\"", Err("there is no kernel source nothing")),
        ("x\n#include \"part.wgsl\"", Err("part.wgsl:2: there is no define WHO")),
        ("#include \"loop.wgsl\"", Err("loop.wgsl includes itself")),
        ("#if A", Err("root.wgsl: #if without #endif")),
        ("#endif", Err("root.wgsl:1: #endif without #if")),
        ("#else", Err("root.wgsl:1: #else without #if")),
        ("#if A = 3\n#endif", Err("root.wgsl:1: cannot read")),
        ("#if A || C\n#endif", Err("root.wgsl:1: there is no define C")),
        ("#ifdef A", Err("root.wgsl:1: there is no #ifdef")),
        ("#define C D", Err("root.wgsl:1: there is no define D")),
        ("#define C", Err("root.wgsl:1: cannot read #define C")),
    ] {
        let made = generate(text, &[("A", 3), ("B", 0)]);
        match result {
            Ok(expected) => assert_eq!(made.as_deref(), Ok(expected), "{text}"),
            Err(says) => {
                assert!(made.as_ref().is_err_and(|wrong| wrong.starts_with(says)), "{text}: {made:?}");
            }
        }
    }
    assert_eq!(for_naga("enable subgroups;\nenable f16;\n"), "enable f16;\n");
}

/// Known issue `nvidia-reductions-beside-shuffles`: reductions are rows of shuffles where scans or lookbacks stand in a
/// loop, only there, and not with the switch off.
#[test]
fn kernels_with_loops_reduce_by_shuffles() {
    let device = webgpu(32, 32);
    let sum = Problem::default();
    let maximum =
        Problem::new(Mode::Inclusive, Element::U32, Operator::Max, None, Placement::OutOfPlace).unwrap();
    for (label, n, problem, concerned) in [
        ("pers.b2.vec4.gather.sub.striped.early.wg512.u4", 1 << 22, sum, &["persistent_scan.wgsl"][..]),
        ("rts.b2.vec4.none.sub.striped.wg512", 1 << 20, sum, &["one_workgroup.wgsl"]),
        ("b4.vec4.par.sub.striped.early.wg512", 1 << 20, sum, &[]),
        ("b4.vec4.par.sub.striped.early.wg512", 1 << 20, maximum, &["chained_scan.wgsl"]),
        ("b4.vec4.fallback.sub.striped.early.wg512", 1 << 20, sum, &["chained_scan.wgsl"]),
        ("b4.vec4.gather.sub.striped.early.wg512", 1 << 20, maximum, &[]),
    ] {
        let plan = catalog::plan(&label.parse().unwrap(), &problem, n, &device).unwrap();
        let reduces = |shader: &Shader| {
            let text = WgslSources::embedded().generate(shader).unwrap();
            text.contains("subgroupAdd(x)") || text.contains("subgroupMax(x)")
        };
        for Pass { shader, .. } in plan.passes.iter().filter(|pass| pass.shader.root != "fill.wgsl") {
            assert_eq!(reduces(shader), !concerned.contains(&shader.root), "{label}, {}", shader.root);
            let off = [&shader.defines[..], &[("NVIDIA_REDUCTIONS_BESIDE_SHUFFLES", 0)]].concat();
            assert!(reduces(&Shader { defines: off, ..shader.clone() }), "{label}, {}", shader.root);
        }
    }
}

#[test]
fn sources_are_those_of_the_folder_and_have_a_hash_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/wgsl");
    let (mut texts, mut folders) = (BTreeMap::<String, Cow<'static, str>>::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                texts.insert(name, std::fs::read_to_string(&path).unwrap().into());
            }
        }
    }
    let embedded = WgslSources::embedded();
    let paths: Vec<&str> = embedded.paths().collect();
    assert_eq!(paths, texts.keys().map(String::as_str).collect::<Vec<_>>());
    let hash = embedded.hash();
    assert_eq!(WgslSources::new(texts.clone()).hash(), hash);
    texts.get_mut("place.wgsl").unwrap().to_mut().push(' ');
    assert_ne!(WgslSources::new(texts).hash(), hash);
    let compiler = Compiler::new(None, None).unwrap();
    assert_eq!(compiler.kernel_hash_of(Api::WebGpu), hash);
    assert_eq!(compiler.kernel_hash_of(Api::Vulkan), compiler.kernel_hash());
    assert_ne!(compiler.kernel_hash(), hash);
    let of_folder = Compiler::new(Some(&root), None).unwrap();
    assert_eq!(of_folder.kernel_hash_of(Api::WebGpu), hash);
    // Each is asked for the text that it is written in.
    let shader = &catalog::helper_shaders(&webgpu(8, 8))[0];
    let code = compiler.compile(shader).unwrap().code;
    assert!(code.spirv().is_none() && code.wgsl().unwrap().contains("@compute"));
}
