//! Devices that nobody here has (`crates/scanbox-testing/profiles`): what is left of the spaces on each, and that no
//! kernel needs what one of them lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::api::Api;
use scanbox_model::config::{
    BlockScan, Config, Family, Kernel, Lookback, Parameter, SubgroupSize, TileOrder, VectorWidth,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::{GuaranteeFinding, GuaranteesProbe, ProbeVerdict, ResidentShape};
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::{Guarantee, SafeDevices};
use scanbox_model::space::{Enumeration, Point, Space};
use scanbox_pack::FeatureSet;
use scanbox_pack::spirv::{self, ModuleFacts};
use scanbox_testing::fixture::DeviceFixture;

/// The sizes of the table, as exponents.
const SIZES: [u32; 4] = [10, 17, 22, 28];

fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
}

fn space(name: &str) -> Space {
    let text = fs::read_to_string(configs().join(name).with_extension("toml")).unwrap();
    Space::from_toml(&text, name).unwrap().for_elements(4).unwrap()
}

/// Every space for elements of 4 bytes, by name.
fn spaces() -> Vec<Space> {
    let files = fs::read_dir(configs()).unwrap().map(|file| file.unwrap().path());
    let is_space = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("\n[[block]]\n");
    let mut spaces: Vec<Space> =
        files.filter(is_space).map(|path| space(&path.file_stem().unwrap().to_string_lossy())).collect();
    spaces.sort_by(|one, other| one.name.cmp(&other.name));
    spaces
}

fn enumerated(space: &Space, device: &DeviceProfile, problem: &Problem) -> Enumeration {
    space.enumerate(device, |config, n, device| catalog::legal(config, problem, n, device))
}

/// The devices, with what the list of safe devices says of them, as commands see them.
fn listed_devices() -> Vec<DeviceFixture> {
    let text = fs::read_to_string(configs().join("safe_devices.toml")).unwrap();
    let list = SafeDevices::from_toml(&text, "safe_devices.toml").unwrap();
    let told = |mut fixture: DeviceFixture| {
        list.apply(&mut fixture.profile);
        fixture
    };
    DeviceFixture::all().into_iter().map(told).collect()
}

/// What is left of the spaces, per device; and of `full`, per family and size.
fn table() -> String {
    let mut text = String::from(
        "# Points of each space, and those of full by family at 2^10, 2^17, 2^22, 2^28 and in all.\n",
    );
    let spaces = spaces();
    for DeviceFixture { name, profile, .. } in listed_devices() {
        writeln!(text, "\n{name}").unwrap();
        for space in &spaces {
            let enumeration = enumerated(space, &profile, &Problem::default());
            writeln!(text, "  {:<24}{:>6}", space.name, enumeration.points.len()).unwrap();
            if space.name != "full" {
                continue;
            }
            let mut families: BTreeMap<String, [usize; SIZES.len() + 1]> = BTreeMap::new();
            for point in &enumeration.points {
                let counts = families.entry(point.config.kernel.family.to_string()).or_default();
                counts[SIZES.len()] += 1;
                if let Some(place) = SIZES.iter().position(|exponent| point.n == 1 << exponent) {
                    counts[place] += 1;
                }
            }
            for (family, counts) in families {
                let counts: String = counts.iter().map(|count| format!("{count:>6}")).collect();
                writeln!(text, "    {family:<22}{counts}").unwrap();
            }
        }
    }
    text
}

/// A change of a space, a rule or a device shows in what is left where nobody tries it.
#[test]
fn every_space_has_points_on_every_device() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles.txt");
    let text = table();
    if std::env::var_os("UPDATE_PROFILES").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap();
    assert!(text == written, "UPDATE_PROFILES=1 writes {}, which is now\n{text}", file.display());
}

/// A device that is only known to give progress has as much to choose from as one that gives everything: in every
/// subgroup size, at every size of `full`, and of every way of scanning that needs no more.
#[test]
fn full_has_enough_for_a_device_that_gives_progress_alone() {
    let amd = DeviceFixture::all().into_iter().find(|fixture| fixture.name == "rx-7900-xt").unwrap().profile;
    let amd = DeviceProfile { guarantees: vec![Guarantee::Progress], ..amd };
    let full = space("full");
    let points = enumerated(&full, &amd, &Problem::default()).points;
    for subgroup_size in [32, 64] {
        let mine: BTreeSet<(String, u64)> = points
            .iter()
            .filter(|point| amd.subgroup_size_of(&point.config.kernel) == subgroup_size)
            .map(|point| (point.config.to_string(), point.n))
            .collect();
        assert!(mine.len() >= 4500, "{subgroup_size}: {}", mine.len());
        let mut by_size: BTreeMap<u64, usize> = BTreeMap::new();
        let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
        for (label, n) in &mine {
            *by_size.entry(*n).or_default() += 1;
            let config: Config = label.parse().unwrap();
            for way in ways_of(&config.kernel) {
                *ways.entry(way).or_default() += 1;
            }
        }
        assert_eq!(by_size.len(), 34, "{subgroup_size}");
        assert!(by_size.values().all(|count| *count >= 150), "{subgroup_size}: {by_size:?}");
        for way in WAYS {
            assert!(ways.get(way).is_some_and(|count| *count >= 20), "{subgroup_size}, {way}: {ways:?}");
        }
    }
}

/// What such a device can use, beside what a space has for every device.
const WAYS: [&str; 14] = [
    "flat by ticket",
    "flat by ticket, two levels",
    "fallback",
    "gather-fallback",
    "reduce-then-scan",
    "scan-then-propagate",
    "chain",
    "sequential",
    "scalar loads",
    "blelloch",
    "kogge-stone",
    "sklansky",
    "brent-kung",
    "reduce-scan",
];

/// Those of them that a kernel is one of.
fn ways_of(kernel: &Kernel) -> Vec<&'static str> {
    let flat = kernel.family == Family::ChainedScan && kernel.tile_order == TileOrder::Ticket;
    [
        (flat && kernel.lookback == Lookback::Gather, "flat by ticket"),
        (flat && kernel.lookback == Lookback::TwoLevel, "flat by ticket, two levels"),
        (kernel.lookback == Lookback::Fallback, "fallback"),
        (kernel.lookback == Lookback::GatherFallback, "gather-fallback"),
        (kernel.family == Family::ReduceThenScan, "reduce-then-scan"),
        (kernel.family == Family::ScanThenPropagate, "scan-then-propagate"),
        (kernel.lookback == Lookback::Chain, "chain"),
        (kernel.lookback == Lookback::Sequential, "sequential"),
        (kernel.vector_width == VectorWidth::Scalar, "scalar loads"),
        (kernel.block_scan == BlockScan::Blelloch, "blelloch"),
        (kernel.block_scan == BlockScan::KoggeStone, "kogge-stone"),
        (kernel.block_scan == BlockScan::Sklansky, "sklansky"),
        (kernel.block_scan == BlockScan::BrentKung, "brent-kung"),
        (kernel.block_scan == BlockScan::ReduceScan, "reduce-scan"),
    ]
    .into_iter()
    .filter_map(|(is, way)| is.then_some(way))
    .collect()
}

/// The rules that ask what a device is or can do.
const RULES_ABOUT_DEVICES: [&str; 16] = [
    "device-memory",
    "element-needs-64-bit",
    "full-subgroups",
    "needs-co-residency",
    "needs-progress",
    "needs-subgroup-progress",
    "needs-subgroups",
    "needs-workgroup-order",
    "residency",
    "residency-unknown",
    "shared-memory",
    "subgroup-size-limit",
    "subgroups-per-workgroup",
    "word64-needs-int64-atomics",
    "workgroup-count-limit",
    "workgroup-size-limit",
];

/// The rules that say no once a kernel is compiled: a device that was asked how many workgroups it holds at a time, and
/// one that was not.
fn rules_about_workgroups_together(device: &DeviceProfile) -> Vec<String> {
    let finding = GuaranteeFinding {
        guarantee: Guarantee::CoResidency,
        verdict: ProbeVerdict::NotRefuted,
        calls: 40,
        detail: "16 workgroups".to_owned(),
        date: "2026-11-24T10:21:38Z".to_owned(),
    };
    let resident = ResidentShape {
        subgroup_size: None,
        workgroup_size: 256,
        registers: Some(128),
        shared_bytes: 4096,
        workgroups: 16,
    };
    let mut asked = GuaranteesProbe::default();
    asked.take(finding, vec![resident]);
    let config: Config = "pers.b4.vec4.gather.sub.shuffle.striped.wgid.early.wg256.u2".parse().unwrap();
    let says_no = |device: DeviceProfile, registers| {
        // Twice as many as it holds.
        let device = DeviceProfile { compute_units: Some(16), ..device };
        let plan = catalog::plan(&config, &Problem::default(), 1 << 24, &device).ok()?;
        catalog::resident(&plan, &device, Some(registers)).err().map(|rejection| rejection.rule.into_owned())
    };
    let mut probed = DeviceProfile {
        guarantees: vec![Guarantee::Progress, Guarantee::WorkgroupOrder, Guarantee::CoResidency],
        ..device.clone()
    };
    let unknown = says_no(probed.clone(), 64);
    probed.guarantee_facts.probe = Some(asked);
    [unknown, says_no(probed, 64)].into_iter().flatten().collect()
}

#[test]
fn every_rule_about_devices_says_no_on_one_of_them() {
    let problem = Problem::default();
    let reals = Problem::new(
        problem.mode(),
        scanbox_model::problem::Element::F64,
        problem.operator(),
        None,
        problem.placement(),
    );
    let reals = reals.unwrap();
    let cases: [(&str, u64); 11] = [
        ("b4.vec4.par.sub.wg256", 1 << 30),
        ("b4.vec4.par.sub.wg256", 1 << 20),
        ("b4.vec4.par.rake.sg64.wg96", 1 << 20),
        ("b4.vec4.par.rake.wg32", 1 << 20),
        ("b4.vec4.par.rake.wg2048", 1 << 20),
        ("b1.vec4.par.ks.wg1024", 1 << 20),
        ("b8.vec4.par.rake.direct.sg8.wg1024", 1 << 20),
        ("b4.vec4.par.rake.word64.wg256", 1 << 20),
        ("b4.vec4.gather.sub.striped.wgid.early.wg256", 1 << 20),
        ("pers.b4.vec4.gather.sub.shuffle.striped.wgid.early.wg256.u2", 1 << 20),
        ("rts.b1.scalar.none.rake.wg64", 1 << 20),
    ];
    let mut found = BTreeSet::new();
    for DeviceFixture { profile, .. } in listed_devices() {
        for (label, n) in cases {
            let config: Config = label.parse().unwrap();
            for problem in [problem, reals] {
                if let Err(rejection) = catalog::legal(&config, &problem, n, &profile) {
                    found.insert(rejection.rule.into_owned());
                }
            }
        }
        for space in spaces() {
            found.extend(enumerated(&space, &profile, &problem).rejections.into_iter().map(|one| one.rule));
        }
        // What no card has yet.
        let small = DeviceProfile { max_workgroup_count: [64; 3], max_shared_bytes: 2048, ..profile.clone() };
        for (label, n) in cases {
            let config: Config = label.parse().unwrap();
            if let Err(rejection) = catalog::legal(&config, &problem, n, &small) {
                found.insert(rejection.rule.into_owned());
            }
        }
        found.extend(rules_about_workgroups_together(&profile));
        let without_subgroups = DeviceProfile {
            api: Api::WebGpu,
            subgroup_size: 1,
            min_subgroup_size: 1,
            max_subgroup_size: 1,
            ..profile
        };
        let rejection = catalog::legal(&cases[0].0.parse().unwrap(), &problem, 1 << 20, &without_subgroups);
        found.extend(rejection.err().map(|rejection| rejection.rule.into_owned()));
    }
    let never: Vec<_> = RULES_ABOUT_DEVICES.iter().filter(|rule| !found.contains(**rule)).collect();
    assert!(never.is_empty(), "{never:?} of {found:?}");
}

/// What a device has, as packs name it.
fn features(fixture: &DeviceFixture) -> FeatureSet {
    let device = &fixture.profile;
    let operations = fixture.operations.iter().filter(|operation| *operation != "basic");
    let operations: Vec<String> = operations.map(|operation| format!("subgroup {operation}")).collect();
    [
        (device.int64_atomics || device.int64_elements, FeatureSet::INT64),
        (device.int64_atomics, FeatureSet::INT64_ATOMICS),
        (device.int64_elements, FeatureSet::EXTENDED_TYPES),
        (device.float64_elements, FeatureSet::FLOAT64),
        (device.uniform_control_flow, FeatureSet::UNIFORM_CONTROL_FLOW),
    ]
    .into_iter()
    .filter(|(has, _)| *has)
    .fold(FeatureSet::try_from(operations).unwrap(), |set, (_, feature)| set.with(feature))
}

/// Some shaders of the legal points, of all families, lookbacks and subgroup sizes, the same on every run: small ones,
/// because compiling takes its time.
fn some_shaders(device: &DeviceProfile) -> BTreeSet<Shader> {
    let mut by_kind: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for name in ["families", "full"] {
        for point in enumerated(&space(name), device, &Problem::default()).points {
            let kernel = &point.config.kernel;
            // Sizes beside the device's own are tried with one way of scanning.
            let way = (kernel.family, kernel.lookback);
            let kind = (kernel.subgroup_size == SubgroupSize::Device).then_some(way);
            by_kind.entry((kind, kernel.subgroup_size)).or_default().push(point);
        }
    }
    let least = |points: &Vec<Point>| {
        let size = |point: &&Point| (point.config.tile_elements(), point.config.kernel, point.n);
        *points.iter().min_by_key(size).unwrap()
    };
    let points = by_kind.values().map(least);
    let plans =
        points.map(|point| catalog::plan(&point.config, &Problem::default(), point.n, device).unwrap());
    plans.flat_map(|plan| plan.passes).map(|pass| pass.shader).collect()
}

#[test]
fn no_kernel_needs_what_a_device_lacks() {
    let compiler = Compiler::new(None, None).unwrap();
    let mut known: BTreeMap<Shader, ModuleFacts> = BTreeMap::new();
    for fixture in DeviceFixture::all() {
        let DeviceFixture { name, profile, features: offered, .. } = &fixture;
        // What no kernel can do without.
        for feature in ["bufferDeviceAddress", "vulkanMemoryModel", "synchronization2", "maintenance4"] {
            assert!(offered.iter().any(|one| one == feature), "{name}: {feature}");
        }
        for shader in some_shaders(profile) {
            let facts = known.entry(shader.clone()).or_insert_with(|| {
                spirv::facts(&compiler.compile(&shader).unwrap().code.spirv().unwrap()).unwrap()
            });
            let lacks = facts.features.without(features(&fixture));
            assert_eq!(lacks, FeatureSet::NONE, "{name}: {shader}: {lacks}");
            assert_eq!(facts.workgroup_size, shader.workgroup_size);
            assert!(facts.workgroup_size <= profile.max_workgroup_size, "{name}: {shader}");
            let shared_bytes = u64::from(profile.max_shared_bytes);
            assert!(facts.shared_bytes <= shared_bytes, "{name}: {shader}: {} bytes", facts.shared_bytes);
            let sizes = profile.offered_subgroup_sizes();
            assert!(sizes.contains(&shader.subgroup_size), "{name}: {shader}: {sizes:?}");
        }
    }
    assert!(known.len() > 40, "{}", known.len());
}

/// The sizes that a device offers are an axis of a space which lists them, and nothing changes where there is one.
#[test]
fn all_subgroup_sizes_are_those_that_a_device_offers() {
    let listed = |line: &str| {
        let text = format!(
            "name = \"few\"\nsizes = \"2^20\"\n[[block]]\nfamily = [\"chained-scan\"]\nbatch_size = [4]\nvector_width = \
             [\"vec4\"]\nworkgroup_size = [256]\nlookback = [\"parallel\"]\nblock_scan = [\"subgroup\"]\n{line}\n"
        );
        Space::from_toml(&text, "few").unwrap()
    };
    let expected = [
        ("adreno-740", vec!["b4.vec4.par.sub.wg256", "b4.vec4.par.sub.sg64.wg256"]),
        (
            "arc-a770",
            vec!["b4.vec4.par.sub.wg256", "b4.vec4.par.sub.sg8.wg256", "b4.vec4.par.sub.sg16.wg256"],
        ),
        // It has several, and nobody can choose.
        ("m2-max", vec!["b4.vec4.par.sub.wg256"]),
        ("mali-g715", vec!["b4.vec4.par.sub.wg256"]),
        ("rtx-4070", vec!["b4.vec4.par.sub.wg256"]),
        ("rtx-4090", vec!["b4.vec4.par.sub.wg256"]),
        ("rx-7900-xt", vec!["b4.vec4.par.sub.wg256", "b4.vec4.par.sub.sg32.wg256"]),
    ];
    let labels = |space: &Space, device: &DeviceProfile| -> BTreeSet<String> {
        enumerated(space, device, &Problem::default())
            .points
            .iter()
            .map(|point| point.config.to_string())
            .collect()
    };
    let (plain, all) = (listed(""), listed("subgroup_size = [\"all\"]"));
    for (fixture, (name, expected)) in DeviceFixture::all().iter().zip(expected) {
        assert_eq!(fixture.name, name);
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(labels(&all, &fixture.profile), expected, "{name}");
        assert_eq!(labels(&plain, &fixture.profile).len(), 1, "{name}");
        for size in SubgroupSize::WORDS.iter().filter(|size| !size.tag.is_empty()) {
            let config: Config = format!("b4.vec4.par.sub.{}.wg256", size.tag).parse().unwrap();
            let legal = catalog::legal(&config, &Problem::default(), 1 << 20, &fixture.profile);
            let offered =
                fixture.profile.offered_subgroup_sizes().iter().any(|one| size.word == one.to_string());
            assert_eq!(legal.is_ok(), offered, "{name}: {config}: {legal:?}");
        }
    }
    // As words and as numbers; what is left out is the device's own choice.
    let both = listed("subgroup_size = [32, \"64\", \"device\"]");
    let amd = DeviceFixture::all().into_iter().find(|fixture| fixture.name == "rx-7900-xt").unwrap();
    assert_eq!(labels(&both, &amd.profile).len(), 3);
    let wrong = toml_error("subgroup_size = [7]");
    assert!(wrong.contains("32") && wrong.contains("device"), "{wrong}");
    for line in ["subgroup_size = [\"auto\"]", "batch_size = [\"all\"]", "subgroup_size = []"] {
        assert!(!toml_error(line).is_empty(), "{line}");
    }
}

fn toml_error(line: &str) -> String {
    let text = format!(
        "name = \"few\"\nsizes = \"2^20\"\n[[block]]\nvector_width = [\"vec4\"]\nworkgroup_size = [256]\nlookback = \
         [\"parallel\"]\nblock_scan = [\"subgroup\"]\n{line}\n"
    );
    Space::from_toml(&text, "few").unwrap_err().to_string()
}

/// A kernel for subgroups of a size is compiled for that, all of it, and says so.
#[test]
fn a_kernel_is_built_for_the_subgroup_size_of_its_label() {
    let amd = DeviceFixture::all().into_iter().find(|fixture| fixture.name == "rx-7900-xt").unwrap().profile;
    for (label, expected) in [("b4.vec4.par.sub.fill.wg256", 64), ("b4.vec4.par.sub.fill.sg32.wg256", 32)] {
        let config: Config = label.parse().unwrap();
        assert_eq!(config.to_string(), label);
        let variant = catalog::Variant::default();
        let recipe = catalog::recipe(&config, variant, &Problem::default(), &amd).unwrap();
        let sizes: BTreeSet<u32> = recipe.modules().map(|shader| shader.subgroup_size).collect();
        assert_eq!(sizes, BTreeSet::from([expected]), "{label}");
        for shader in recipe.modules() {
            assert!(shader.defines.contains(&("SUBGROUP_SIZE", expected)), "{label}: {shader}");
        }
        let plan = catalog::plan(&config, &Problem::default(), 1 << 20, &amd).unwrap();
        assert_eq!(plan.label, label);
    }
    // Nothing of what a label without a size stands for depends on what else the device offers.
    let config: Config = "b4.vec4.par.sub.wg256".parse().unwrap();
    let one = DeviceProfile { min_subgroup_size: 64, pinned_subgroups: None, ..amd.clone() };
    let plan = |device| catalog::plan(&config, &Problem::default(), 1 << 20, device).unwrap();
    assert_eq!(plan(&amd).passes, plan(&one).passes);
}

#[test]
fn files_of_devices_say_everything_once_and_why() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scanbox-testing/profiles/rx-7900-xt.toml");
    let text = fs::read_to_string(path).unwrap();
    let check = |text: &str, part: &str| {
        let wrong = DeviceFixture::of_text("broken", text).unwrap_err();
        assert!(wrong.contains(part), "no `{part}` in {wrong}");
    };
    let without = |fact: &str| {
        let begin = text.find(&format!("[{fact}]\n")).unwrap();
        let end = text[begin + 1..].find("\n[").map_or(text.len(), |end| begin + 1 + end);
        [&text[..begin], &text[end..]].concat()
    };
    assert!(DeviceFixture::of_text("whole", &text).is_ok());
    check(&without("subgroup_size"), "it says nothing of subgroup_size");
    check(&without("subgroup_operations"), "it says nothing of subgroup_operations");
    check(&without("memory_bytes"), "it says nothing of memory_bytes");
    check(&text.replace("[name]", "[title]"), "it says nothing of name");
    check(
        &format!("{text}\n[colour]\nvalue = 1\nsource = \"its box\"\n"),
        "nothing of a device is called colour",
    );
    check(&text.replacen("value = 64\nsource = ", "value = 64\nword = ", 1), "unknown field");
    check(&text.replacen("value = 64\n", "value = \"many\"\n", 1), "invalid type");
    let unsourced = text.replacen(
        "source = \"RADV of Mesa 22.3.6",
        "assumed = \"why\"\nsource = \"RADV of Mesa 22.3.6",
        1,
    );
    check(&unsourced, "either its source, or why it is assumed");
}
