//! Operators of users on a real device: the examples against the CPU, and every kind of kernel at awkward sizes.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use std::sync::atomic::AtomicBool;

use super::harness::{self, Bench, compiler, create};
use super::progress::hangs;
use scanbox_kernels::cases::{Builds, CaseRequest, CaseSelection, Pattern};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::problem::{Direction, Element, Mode, Placement, Problem};
use scanbox_model::record::{Cache, Status};
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::verify::{self, ItemVerdict, VerifyEvent, VerifyJob};
use scanbox_runner::vulkan::Tamper;
use scanbox_testing::operator_files::{example, of, operator};

/// The words of an element; those that it has not are zero.
type Words = [u32; 4];

/// An example on the CPU.
struct Example {
    name: &'static str,
    words: usize,
    identity: Words,
    combine: fn(Words, Words) -> Words,
    draw: fn([u32; 2], u32) -> Words,
    /// Whether fields are floats, which may be off by the tolerance.
    floats: bool,
}

fn affine(earlier: Words, later: Words) -> Words {
    let scale = later[0].wrapping_mul(earlier[0]);
    [scale, later[0].wrapping_mul(earlier[1]).wrapping_add(later[1]), 0, 0]
}

fn affine_f32(earlier: Words, later: Words) -> Words {
    let [[a, b], [c, d]] = [earlier, later].map(|words| [words[0], words[1]].map(f32::from_bits));
    [(c * a).to_bits(), (c * b + d).to_bits(), 0, 0]
}

fn matrix2x2(earlier: Words, later: Words) -> Words {
    let entry = |row: usize, column: usize| {
        let first = later[2 * row].wrapping_mul(earlier[column]);
        first.wrapping_add(later[2 * row + 1].wrapping_mul(earlier[2 + column]))
    };
    [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
}

fn segmented_sum(earlier: Words, later: Words) -> Words {
    let value = if later[0] == 1 { later[1] } else { earlier[1].wrapping_add(later[1]) };
    [earlier[0].max(later[0]), value, 0, 0]
}

fn argmax(earlier: Words, later: Words) -> Words {
    let (a, b) = (f32::from_bits(earlier[0]), f32::from_bits(later[0]));
    // Of the larger value, the smaller index.
    match a.partial_cmp(&b).unwrap().then(later[1].cmp(&earlier[1])) {
        std::cmp::Ordering::Greater => earlier,
        _ => later,
    }
}

fn text_position(earlier: Words, later: Words) -> Words {
    let column = if later[0] > 0 { later[1] } else { earlier[1].wrapping_add(later[1]) };
    [earlier[0].wrapping_add(later[0]), column, earlier[2].wrapping_add(later[2]), 0]
}

const EXAMPLES: [Example; 6] = [
    Example {
        name: "affine",
        words: 2,
        identity: [1, 0, 0, 0],
        combine: affine,
        draw: |random, _| [random[0] | 1, random[1], 0, 0],
        floats: false,
    },
    Example {
        name: "affine-f32",
        words: 2,
        identity: [0x3f80_0000, 0, 0, 0],
        combine: affine_f32,
        draw: |random, _| {
            let scale = if random[0] & 1 == 0 { 1.0f32 } else { -1.0 };
            let offset = (random[1] % 65) as f32 / 64.0 - 0.5;
            [scale.to_bits(), offset.to_bits(), 0, 0]
        },
        floats: true,
    },
    Example {
        name: "matrix2x2",
        words: 4,
        identity: [1, 0, 0, 1],
        combine: matrix2x2,
        draw: |[a, b], _| [a.wrapping_mul(b).wrapping_add(1), a, b, 1],
        floats: false,
    },
    Example {
        name: "segmented-sum",
        words: 2,
        identity: [0; 4],
        combine: segmented_sum,
        draw: |random, index| {
            let rarity = [7, 511, 65_535][(index as usize >> 14) % 3];
            [u32::from(random[0] & rarity == 0), random[1], 0, 0]
        },
        floats: false,
    },
    Example {
        name: "argmax",
        words: 2,
        identity: [f32::NEG_INFINITY.to_bits(), u32::MAX, 0, 0],
        combine: argmax,
        draw: |random, index| {
            let half_octave = (1 << index.max(8).ilog2()) >> 1;
            let is_maximum = index & half_octave == 0 && index & 7 != 0 && random[1] % 7 == 0;
            [0x3f80_0000 + if is_maximum { 32 + (index >> 3) } else { random[0] & 31 }, index, 0, 0]
        },
        floats: false,
    },
    Example {
        name: "text-position",
        words: 3,
        identity: [0; 4],
        combine: text_position,
        draw: |random, index| {
            let rarity = [7, 511, 65_535][(index as usize >> 14) % 3];
            let lines = u32::from(random[0] & rarity == 0);
            let bytes = 1 + (random[1] & 63);
            [lines, 1 - lines + (random[1] >> 8) % bytes, bytes, 0]
        },
        floats: false,
    },
];

/// The random words of an element: pcg3d of Jarzynski and Olano (2020).
fn random_words(seed: u64, index: u32) -> [u32; 2] {
    let mut v = [index, seed as u32, (seed >> 32) as u32];
    let mix = |v: &mut [u32; 3]| {
        for (to, a, b) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            v[to] = v[to].wrapping_add(v[a].wrapping_mul(v[b]));
        }
    };
    v = v.map(|word| word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    mix(&mut v);
    v = v.map(|word| word ^ (word >> 16));
    mix(&mut v);
    [v[0], v[1]]
}

impl Example {
    fn elements(&self, input: &Input, n: u32) -> Vec<Words> {
        let drawn = |index| match input.kind {
            InputKind::Spike { at } if at != u64::from(index) => self.identity,
            _ => (self.draw)(random_words(input.seed, index), index),
        };
        (0..n).map(drawn).collect()
    }

    /// One element after another, in the order in which they are combined.
    fn answer(&self, elements: &[Words], problem: &Problem) -> Vec<Words> {
        let mut running = problem.init_words().unwrap_or(self.identity);
        let next = elements.iter().map(|element| {
            let before = running;
            // Operands keep their order: from the last element on, what was combined stands behind.
            running = match problem.is_reversed() {
                true => (self.combine)(*element, running),
                false => (self.combine)(running, *element),
            };
            if problem.mode() == Mode::Exclusive { before } else { running }
        });
        next.collect()
    }

    fn same(&self, expected: &[u32], got: &[u32]) -> bool {
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * a.abs().max(1.0);
        expected == got
            || self.floats
                && expected.iter().zip(got).all(|(a, b)| close(f32::from_bits(*a), f32::from_bits(*b)))
    }
}

fn compiler_of(file: &OperatorFile) -> Compiler {
    compiler().with_operator(file.clone())
}

pub(super) fn of_user(file: &OperatorFile, mode: Mode, placement: Placement) -> Problem {
    Problem::of_user(mode, file.operator(), placement).unwrap()
}

#[test]
fn the_examples_are_what_they_say() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    const N: u32 = 40_003;
    for example in &EXAMPLES {
        let file = scanbox_testing::operator_files::example(example.name);
        // A head at the end of an array would be the answer for all that comes before it.
        let init = match (example.name, example.words) {
            ("segmented-sum", _) => "0,2",
            (_, 4) => "1,2,3,4",
            (_, 3) => "1,2,3",
            _ => "1,2",
        };
        for (mode, direction, begins) in [
            (Mode::Inclusive, Direction::Forward, false),
            (Mode::Exclusive, Direction::Forward, false),
            (Mode::Inclusive, Direction::Reverse, true),
            (Mode::Exclusive, Direction::Reverse, false),
            (Mode::Exclusive, Direction::Forward, true),
        ] {
            let problem = of_user(&file, mode, Placement::OutOfPlace).in_direction(direction);
            let problem = match begins {
                true => problem.beginning_with(file.value(init).unwrap()).unwrap(),
                false => problem,
            };
            let device = bench.device();
            let shaders = catalog::operator_shaders(&problem, device.profile());
            create(device, &compiler_of(&file), &shaders);
            for kind in [InputKind::Random, InputKind::Spike { at: 41 }] {
                let input = Input { kind, seed: 0x1234_5678_9abc };
                // A smaller size first: more is made when more is asked for.
                device.load(&problem, &input, 100).unwrap();
                device.load(&problem, &input, N.into()).unwrap();
                let [elements, answer] = device.loaded_words(N as usize * example.words).unwrap();
                let expected = example.elements(&input, N);
                let right = example.answer(&expected, &problem);
                let words = example.words;
                for index in 0..N as usize {
                    // What is combined first stands last.
                    let place = if problem.is_reversed() { N as usize - 1 - index } else { index };
                    let at = place * words..(place + 1) * words;
                    let what = format!("{problem} of input {input}, element {index}");
                    assert!(example.same(&expected[index][..words], &elements[at.clone()]), "{what}");
                    assert!(example.same(&right[index][..words], &answer[at]), "{what}");
                }
                let different = right.windows(2).filter(|pair| pair[0] != pair[1]).count();
                // From behind, a sum of segments ends at the first head.
                let ends_early = problem.is_reversed() && example.name == "segmented-sum";
                let least = if kind == InputKind::Random && !ends_early { N as usize / 50 } else { 1 };
                assert!(different >= least, "{problem} of input {input} changes {different} times");
            }
        }
    }
}

/// Kernels of every kind, in workgroups of two subgroups and of one.
const KERNELS: &[&str] = &[
    "b2.vec4.seq.rake",
    "b1.vec2.par.blelloch",
    "b3.scalar.par.sub",
    "b2.vec2.seq.sub.striped.early",
    "b4.vec4.par.sub.shuffle.striped",
    "b2.vec4.par.rake.direct.width3.split.fill",
    "b1.vec4.par.blelloch.stride4.split.clean",
    "b4.vec2.seq.sub.direct.early",
    "one.b2.vec4.none.rake",
    "one.b3.vec2.none.sub.striped",
    "redo.b2.vec4.none.rake",
    // One of three in a row is in workgroups of one subgroup, whose shares go another way.
    "b2.vec2.gather.sub.striped.early",
    "b1.vec4.gather.sub",
    "b1.vec2.two.sub.early",
    "redo.b2.vec4.none.sub",
    "redo.b1.vec2.none.sub.striped",
    "redo.b3.scalar.none.sub",
    "pers.b2.vec2.gather.sub.early",
    "pers.b1.vec4.gather.sub.shuffle.striped.early.flags",
    "pers.b2.scalar.two.sub.striped.early",
    "pers.b2.vec2.gatherfall.sub.striped.early",
    "b1.vec4.gatherfall.rake",
    "b2.vec2.two.sub.striped.early",
    "b1.vec2.gatherfall.sub.striped.early",
];

fn config(kernel: &str, turn: usize, device: &DeviceProfile) -> Config {
    let units = if kernel.starts_with("pers") { ".u1" } else { "" };
    let of_subgroups = |count: u32| -> Config {
        format!("{kernel}.wg{}{units}", count * device.subgroup_size).parse().unwrap()
    };
    let several = of_subgroups(2);
    // Flags need a guarantee where there are several subgroups.
    let one = kernel.contains("flags") || hangs(&several, device) || turn.is_multiple_of(3);
    if one { of_subgroups(1) } else { several }
}

/// Verifies one config at sizes around its boundaries.
fn verdicts(
    bench: &mut Bench,
    file: &OperatorFile,
    problem: Problem,
    config: Config,
    sizes: Vec<u64>,
    builds: Builds,
) -> Vec<ItemVerdict> {
    try_verdicts(bench, file, problem, config, sizes, builds).unwrap()
}

/// The same of an operator that may be none.
pub(super) fn try_verdicts(
    bench: &mut Bench,
    file: &OperatorFile,
    problem: Problem,
    config: Config,
    sizes: Vec<u64>,
    builds: Builds,
) -> Result<Vec<ItemVerdict>, Failure> {
    let compiler = compiler_of(file);
    let device = bench.device();
    let profile = device.profile().clone();
    let patterns = Pattern::of_problem(&problem);
    let request = CaseRequest { problem, patterns, sizes: Some(sizes), thorough: false, seed: 5 };
    let items = CaseSelection::new(&[config], &profile, &request, |_| Ok(())).items;
    let job = VerifyJob { problem, items, variant: Variant::default(), builds, seed: 3, one_by_one: false };
    let mut verdicts = Vec::new();
    verify::run(device, &compiler, &job, &AtomicBool::new(false), &mut |event| {
        if let VerifyEvent::Finished { verdict } = event {
            verdicts.push(verdict.clone());
        }
        Ok::<(), Failure>(())
    })?;
    Ok(verdicts)
}

#[test]
fn every_kind_of_kernel_is_right() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    let problems = [
        (Mode::Inclusive, Placement::OutOfPlace),
        (Mode::Exclusive, Placement::OutOfPlace),
        (Mode::Inclusive, Placement::InPlace),
        (Mode::Reduce, Placement::OutOfPlace),
        (Mode::Exclusive, Placement::InPlace),
    ];
    let step = if profile.kind == DeviceKind::Software { 2 } else { 1 };
    let (mut cases, mut configs) = (0, 0);
    for (place, file) in scanbox_testing::operator_files::all().iter().enumerate() {
        let before = configs;
        // On software every second kernel with each operator: compiling takes most of the time.
        for (turn, kernel) in KERNELS.iter().enumerate().skip(place % step).step_by(step) {
            let config = config(kernel, turn + place, &profile);
            let tile = config.tile_elements();
            let window = u64::from(profile.subgroup_size) * tile;
            let sizes = match turn % 3 {
                0 => vec![1, tile - 1, 3 * tile + 1],
                1 => vec![2, tile + 1, window + tile + 3],
                _ => vec![3, 2 * tile - 1, 33 * tile + 2],
            };
            let sizes: Vec<u64> = sizes.into_iter().filter(|&n| n > 0).collect();
            // The first one in turn that this kernel can compute, if there is any.
            let able = (0..problems.len()).map(|more| problems[(turn + place + more) % problems.len()]);
            let able = able.map(|(mode, placement)| of_user(file, mode, placement));
            let Some(problem) =
                able.into_iter().find(|problem| catalog::legal(&config, problem, 1000, &profile).is_ok())
            else {
                continue;
            };
            let builds = harness::builds(turn / step + place, &profile);
            let verdicts = verdicts(&mut bench, &of(&file.operator()), problem, config, sizes, builds);
            for verdict in &verdicts {
                assert_eq!(verdict.status, Status::Ok, "{problem}: {verdict:#?}");
                cases += verdict.tally.cases;
            }
            assert_eq!(verdicts.len(), 2, "{config} {problem}");
            configs += 1;
        }
        let tried = configs - before;
        assert!(tried >= KERNELS.len() / step - 1, "{}: {tried} configs", file.operator().name);
    }
    assert!(cases > 4 * configs as u64, "{cases} cases of {configs} configs");
}

#[test]
fn calls_are_timed_and_a_wrong_element_is_told_with_all_its_words() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    const N: u64 = 3_001;
    const INDEX: u64 = 2_000;
    let input = Input { kind: InputKind::Random, seed: 7 };
    for name in ["affine", "affine-f32", "matrix2x2", "text-position"] {
        let file = example(name);
        let problem = of_user(&file, Mode::Inclusive, Placement::OutOfPlace);
        let device = bench.device();
        let words = problem.element_bytes() / 4;
        let profile = device.profile().clone();
        let plan = catalog::plan(&"b1.vec2.par.rake.wg32".parse().unwrap(), &problem, N, &profile).unwrap();
        let mut shaders = catalog::operator_shaders(&problem, &profile);
        shaders.push(plan.passes[0].shader.clone());
        create(device, &compiler_of(&file), &shaders);
        device.load(&problem, &input, N).unwrap();
        let right = device.verify(&plan).unwrap();
        assert_eq!(right.mismatches, 0, "{problem}");
        // Of an exact operator there is no error to speak of.
        assert_eq!(right.error.is_some(), name == "affine-f32");
        assert!(
            right.error.is_none_or(|error| error.bound == f64::from(1e-5f32) && error.max <= error.bound)
        );
        // Calls can be timed, hot and cold, and leave what was loaded as it is.
        for intervals in [device.time(&plan, Cache::Hot, 3, 2), device.time(&plan, Cache::Cold, 3, 2)] {
            assert_eq!(intervals.unwrap().len(), 2, "{problem}");
        }
        assert_eq!(device.verify(&plan).unwrap().mismatches, 0, "{problem}");
        let last_word = (INDEX + 1) * words - 1;
        let tamper = Tamper::Overwrite { index: last_word, word: 0x4012_3456 };
        let comparison = device.verify_tampered(&plan, tamper).unwrap();
        let first = comparison.first.unwrap();
        assert_eq!((comparison.mismatches, first.index, first.element), (1, INDEX, problem.element()));
        assert!(first.got().ends_with(", 0x40123456}"), "{}", first.got());
        let [_, answer] = device.loaded_words((N * words) as usize).unwrap();
        let expected: Vec<String> = answer[(INDEX * words) as usize..=last_word as usize]
            .iter()
            .map(|word| format!("{word:#010x}"))
            .collect();
        assert_eq!(first.expected(), format!("{{{}}}", expected.join(", ")));
        // Nothing written at all: every element shows, and the guard is a word of its own.
        let nothing = device.verify_tampered(&plan, Tamper::SkipCall).unwrap();
        assert!(nothing.mismatches >= N, "{problem}: {}", nothing.mismatches);
        let behind = Tamper::Overwrite { index: plan.output_words() + 3, word: 7 };
        let first = device.verify_tampered(&plan, behind).unwrap().first.unwrap();
        assert_eq!((first.index, first.element, first.got().as_str()), (N + 3, Element::U32, "7"));
    }
}

/// Of elements of three words, a comparison whose workgroups take other numbers of words knows which one is wrong.
#[test]
fn a_wrong_element_of_12_bytes_is_found_where_it_is() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    const N: u64 = 20_011;
    let file = operator(
        "sums",
        "#pragma scanbox operator(commutative = yes, tolerance = 1e-5)
        struct Element { uint count; vec2 sums; };
        Element identity() { return Element(0u, vec2(0.0)); }
        Element combine(const Element earlier, const Element later) {
            return Element(earlier.count + later.count, earlier.sums + later.sums);
        }
        Element draw(const uvec2 random, const uint index) {
            return Element(1u, vec2(random & 15u) - 8.0);
        }",
    );
    let problem = of_user(&file, Mode::Inclusive, Placement::OutOfPlace);
    let device = bench.device();
    let profile = device.profile().clone();
    let plan = catalog::plan(&"b2.vec2.par.rake.wg64".parse().unwrap(), &problem, N, &profile).unwrap();
    let mut shaders = catalog::operator_shaders(&problem, &profile);
    shaders.push(plan.passes[0].shader.clone());
    create(device, &compiler_of(&file), &shaders);
    device.load(&problem, &Input { kind: InputKind::Random, seed: 7 }, N).unwrap();
    assert_eq!(device.verify(&plan).unwrap().mismatches, 0);
    for index in [0, 2_730, 2_731, 8_001, 15_000, N - 1] {
        for word in 0..3 {
            let tamper = Tamper::Overwrite { index: 3 * index + word, word: 0x7f00_0000 };
            let found = device.verify_tampered(&plan, tamper).unwrap();
            let first = found.first.map(|first| first.index);
            assert_eq!((found.mismatches, first), (1, Some(index)), "word {word} of element {index}");
        }
    }
}
