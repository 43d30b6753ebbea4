//! What was measured and published is what today's sources compile to: kernels of problems and configs that were there
//! come out of the compiler byte for byte as they did, whatever is new beside them.
//!
//! `compiled.txt` has one line for each of few problems and configs that have every pair of what decides their code,
//! with a hash of all modules of it. A change that is meant to change them writes it again, from a folder with sources
//! (`UPDATE_COMPILED=../../kernels/glsl`), and has to be measured again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use scanbox_kernels::cases::Circumstance;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::packing::module_hash;
use scanbox_kernels::plan::Shader;
use scanbox_model::config::{Config, Lookback, Parameter, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Space;
use scanbox_testing::covering::covering;
use scanbox_testing::device::with_subgroups;
use scanbox_testing::operator_files;

const STORED: &str = include_str!("compiled.txt");
const PROBLEMS: &str = include_str!("../../../configs/problems.toml");

/// Elements of a call: several tiles, and several levels.
const N: u64 = 100_000;

/// Devices with different code: with 64-bit words and without, of subgroups of 32 and of 8.
fn devices() -> [(&'static str, DeviceProfile); 3] {
    let willing = |subgroup_size, int64_atomics| DeviceProfile {
        guarantees: Guarantee::VALUES.to_vec(),
        int64_elements: true,
        ..with_subgroups(subgroup_size, int64_atomics)
    };
    [("32", willing(32, true)), ("32-words", willing(32, false)), ("8", willing(8, true))]
}

/// The problems that there were when packs and results were published first.
fn problems() -> Vec<Problem> {
    let mut all = Vec::new();
    for &mode in Mode::VALUES {
        for &placement in Placement::VALUES {
            for &element in Element::VALUES {
                for &operator in Operator::VALUES {
                    all.extend(Problem::new(mode, element, operator, None, placement).ok());
                }
            }
            for file in operator_files::all() {
                all.extend(Problem::of_user(mode, file.operator(), placement).ok());
            }
        }
    }
    all
}

fn place<P: Parameter>(value: P) -> usize {
    P::VALUES.iter().position(|other| *other == value).unwrap()
}

/// What decides the code, as places in lists of values.
fn row(config: &Config, problem: &Problem, device: usize) -> [usize; 18] {
    let kernel = &config.kernel;
    let commutes = usize::from(problem.commutes());
    // Whether tiles add to the sums of their groups, as they do in the kernels that are shipped most.
    let is_integer = !matches!(problem.element(), Element::F32 | Element::F64) && problem.user().is_none();
    let adds = is_integer && problem.operator() == Operator::Add && kernel.lookback == Lookback::TwoLevel;
    let has_words = !matches!(kernel.tile_state, TileState::Split | TileState::Packed);
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
        place(kernel.reset),
        place(kernel.arguments),
        place(kernel.publish),
        commutes,
        usize::from(adds && has_words),
        device,
    ]
}

/// One line of what is stored, without its hash: device, variant, config, problem.
type Line = (String, String, Config, Problem);

const PLAIN: &str = "plain";
const VARIED: &str = "varied";

/// Lines that have every pair of values between them.
fn lines() -> Vec<Line> {
    let mut all: BTreeMap<[usize; 18], (Config, Problem)> = BTreeMap::new();
    for (place, (_, device)) in devices().iter().enumerate() {
        let points =
            Space::from_toml(PROBLEMS, "problems").unwrap().enumerate(device, |_, _, _| Ok(())).points;
        let configs: Vec<Config> = points.into_iter().map(|point| point.config).collect();
        let configs = scanbox_kernels::cases::problem_pairs::by_call(&configs);
        for problem in problems() {
            for config in &configs {
                let row = row(config, &problem, place);
                if !all.contains_key(&row) && catalog::legal(config, &problem, N, device).is_ok() {
                    all.insert(row, (*config, problem));
                }
            }
        }
    }
    let mut lines = Vec::new();
    for row in covering(&all.keys().copied().collect::<Vec<_>>()) {
        let (config, problem) = all[&row];
        let (name, device) = &devices()[row[17]];
        lines.push(((*name).to_owned(), PLAIN.to_owned(), config, problem));
        if Circumstance::varied(&config, &problem, N, device).is_some() {
            lines.push(((*name).to_owned(), VARIED.to_owned(), config, problem));
        }
    }
    lines
}

/// The shaders of a line.
fn shaders((name, variant, config, problem): &Line) -> Vec<Shader> {
    let (_, device) = devices().into_iter().find(|(other, _)| other == name).unwrap();
    let variant = match variant.as_str() {
        PLAIN => Variant::default(),
        _ => Circumstance::varied(config, problem, N, &device).unwrap(),
    };
    let plan = catalog::plan_variant(config, variant, problem, N, &device).unwrap();
    plan.passes.into_iter().map(|pass| pass.shader).collect()
}

/// The version of the compiler, as it writes it into modules.
fn generator(words: &[u32]) -> u32 {
    words[2]
}

/// What lines compile to: one hash for all modules of each, and the version of the compiler.
fn compiled(lines: &[Line], sources: Option<&Path>) -> (Vec<String>, u32) {
    let mut by_operator: BTreeMap<_, BTreeSet<Shader>> = BTreeMap::new();
    for line in lines {
        by_operator.entry(line.3.user()).or_default().extend(shaders(line));
    }
    let (mut hashes, mut version) = (BTreeMap::new(), 0);
    for (user, shaders) in by_operator {
        let compiler = Compiler::new(sources, None).unwrap();
        let compiler = match &user {
            Some(user) => compiler.with_operator(operator_files::of(user)),
            None => compiler,
        };
        let shaders: Vec<Shader> = shaders.into_iter().collect();
        for (shader, module) in shaders.iter().zip(compiler.compile_all(&shaders)) {
            let words = module.unwrap().code.spirv().unwrap();
            version = generator(&words);
            hashes.insert((user, shader.clone()), module_hash(&words).0);
        }
    }
    let hash_of = |line: &Line| {
        let mut hasher = blake3::Hasher::new();
        for shader in shaders(line) {
            hasher.update(&hashes[&(line.3.user(), shader)]);
        }
        hasher.finalize().to_hex()[..16].to_owned()
    };
    (lines.iter().map(hash_of).collect(), version)
}

fn read(text: &str) -> Option<(Line, String)> {
    let [device, variant, config, problem, hash]: [&str; 5] =
        text.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
    let problem = problems().into_iter().find(|other| other.to_string() == problem)?;
    Some(((device.to_owned(), variant.to_owned(), config.parse().ok()?, problem), hash.to_owned()))
}

#[test]
fn what_was_there_compiles_to_what_it_did() {
    if let Some(sources) = std::env::var_os("UPDATE_COMPILED") {
        let lines = lines();
        let (hashes, version) = compiled(&lines, Some(Path::new(&sources)));
        let mut text = format!("compiler {version:#010x}\n");
        for ((device, variant, config, problem), hash) in lines.iter().zip(hashes) {
            let _ = writeln!(text, "{device} {variant} {config} {problem} {hash}");
        }
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compiled.txt"), text).unwrap();
        return;
    }
    let mut stored = STORED.lines();
    let of_version = stored.next().unwrap();
    let (lines, hashes): (Vec<Line>, Vec<String>) =
        stored.map(|text| read(text).unwrap_or_else(|| panic!("no line: {text}"))).unzip();
    assert!(lines.len() > 100, "{} lines", lines.len());
    let (now, version) = compiled(&lines, None);
    if of_version != format!("compiler {version:#010x}") {
        #[allow(clippy::print_stderr, reason = "what was not tested must be said")]
        {
            eprintln!("left out: compiler {version:#010x} is another one than {of_version}");
        }
        return;
    }
    let differ: Vec<String> = lines
        .iter()
        .zip(hashes.iter().zip(&now))
        .filter(|(_, (before, now))| before != now)
        .map(|((device, variant, config, problem), _)| format!("{device} {variant} {config} {problem}"))
        .collect();
    assert!(
        differ.is_empty(),
        "{} of {} lines of compiled.txt compile to something else than what was measured:\n{}",
        differ.len(),
        lines.len(),
        differ.join("\n")
    );
}
