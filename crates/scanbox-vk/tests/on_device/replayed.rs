//! One recording, submitted many times: new inputs, sizes that memory says, a wrap of the turns, spoiled scratch
//! memory.

use std::ops::Range;

use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::reference::Reference;
use scanbox_model::problem::{Direction, Element, Mode, Operator, Placement, Problem};
use scanbox_pack::layout::{FIRST_TURN, TURN_WORD};
use scanbox_pack::{CallUse, ScratchContent};
use scanbox_vk::{CallLength, DeviceRange, Scan, ScanCall};

use super::gpu::{PackWish, TestGpu, in_pack, pack};

/// One of each way to come by a prefix, with its state and reset.
pub const TURNING: &[&str] = &[
    "b1.vec4.par.rake.turn.wg64",
    "b1.vec2.seq.rake.split.turn.wg64",
    "b1.vec4.two.sub.striped.early.turn.wg64",
    "b1.vec4.two.sub.striped.early.split.turn.wg64",
    "b2.vec4.chain.sub.early.turn.wg64",
    "b1.vec4.fallback.sub.striped.early.split.turn.wg64",
    "pers.b1.vec4.gather.sub.striped.early.turn.wg64.u1",
    "pers.b1.vec4.two.sub.striped.early.split.turn.wg64.u2",
    "pers.b1.vec4.gatherfall.sub.striped.robin.early.split.turn.wg64.u2",
    "b1.vec4.two.sub.striped.early.clean.wg64",
    "b1.vec4.two.sub.striped.early.split.clean.wg64",
];

/// Kernels that nothing has to be kept for.
pub const FORGETFUL: &[&str] = &[
    "b1.vec4.two.sub.striped.early.fill.wg64",
    "redo.b1.vec4.none.sub.striped.wg64",
    "one.b1.vec4.none.rake.wg64",
];

pub fn sum(mode: Mode) -> Problem {
    Problem::new(mode, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap()
}

/// How often one recording is submitted: `SCANBOX_TEST_SUBMISSIONS` of them, or few.
pub fn submissions(few: u64) -> u64 {
    std::env::var("SCANBOX_TEST_SUBMISSIONS").map_or(few, |text| text.parse().unwrap())
}

/// A number below `below`, by a seed.
pub fn drawn(seed: u64, below: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ (z >> 27)) % below
}

/// A size by a seed: borders now and then, and beyond the most.
pub fn size(seed: u64, tile: u64, max_n: u64) -> u64 {
    let borders = [0, 1, tile - 1, tile, tile + 1, max_n, max_n - 1, max_n + 1, u32::MAX.into()];
    if drawn(seed, 3) == 0 { borders[drawn(seed + 1, 9) as usize] } else { drawn(seed + 2, max_n + 1) }
}

/// Writes an input of this seed, and returns what the first `n` of its elements come to.
pub fn fill(gpu: &TestGpu, problem: &Problem, input: DeviceRange, seed: u64, n: u64) -> Vec<u32> {
    let random = Input { kind: InputKind::Random, seed };
    random.fill(problem, 0, gpu.words(input));
    let words = n * problem.element_bytes() / 4;
    let mut answer = gpu.words(input)[..words as usize].to_vec();
    // The reference is told elements in the order in which they are combined.
    let turn = |words: &mut [u32]| {
        if problem.direction() == Direction::Reverse {
            assert_eq!(problem.element_bytes(), 4, "elements of a word turn with their words");
            words.reverse();
        }
    };
    turn(&mut answer);
    Reference::new(*problem).scan(&mut answer);
    turn(&mut answer);
    answer
}

/// The output, word for word, and what stands behind it.
pub fn check(gpu: &TestGpu, output: DeviceRange, answer: &[u32], guard: Range<usize>, what: &str) {
    let words = gpu.words(output);
    let wrong = answer.iter().zip(&*words).position(|(expected, found)| expected != found);
    if let Some(place) = wrong {
        panic!("{what}: word {place} is {:#x} and not {:#x}", words[place], answer[place]);
    }
    let kept = (0u32..).zip(&words[..]).skip(guard.start).take(guard.len());
    for (place, word) in kept {
        assert_eq!(
            *word,
            place.wrapping_mul(0x9e37_79b9) ^ 0xdead_beef,
            "{what}: word {place} behind the end"
        );
    }
}

/// A scan of these kernels with n in memory and a total, which is recorded once.
struct Replayed<'a> {
    gpu: &'a TestGpu,
    scan: Scan,
    call: ScanCall,
    tile: u64,
    label: &'a str,
}

/// Tiles of the largest call: two groups of tiles and a bit.
const TILES: u64 = 67;

impl<'a> Replayed<'a> {
    fn new(gpu: &'a TestGpu, label: &'a str, scratch_overwritten: bool) -> Option<Self> {
        gpu.forget();
        let problem = sum(Mode::Inclusive);
        let call_use = CallUse { n_on_device: true, total: true, scratch_overwritten, ..CallUse::default() };
        let pack = pack(&gpu.profile, &PackWish { problem, call_use, choices: &[(1, label)] })?;
        let tile = pack.data().recipes[0].recipe.formula.tile_elements.get();
        let max_n = TILES * tile + 7;
        let scan = gpu.scanner(pack).scan(&in_pack(&problem), max_n, call_use).unwrap();
        assert_eq!((scan.chosen(1).label, scan.max_n()), (label, max_n));
        let bytes = 4 * max_n;
        let call = ScanCall {
            input: gpu.take(bytes, 0),
            output: gpu.take(bytes + 1024, 0),
            scratch: gpu.take(scan.scratch().bytes.max(4), 0),
            n: CallLength::Device { address: gpu.take(4, 0).address },
            init: None,
            total: Some(gpu.take(4, 0).address),
        };
        Some(Self { gpu, scan, call, tile, label })
    }

    /// Submits one recording so often, and compares everything each time.
    fn submit(&self, count: u64, seed: u64, before: impl Fn(u64)) {
        let Self { gpu, scan, call, tile, label } = self;
        let problem = sum(Mode::Inclusive);
        let pool = gpu.pool();
        let commands = gpu.record(pool, |commands| {
            // SAFETY: the memory is live and stays until all is done.
            unsafe { scan.cmd_scan(commands, call) }.unwrap();
        });
        let word = |address| DeviceRange { address, bytes: 4 };
        let CallLength::Device { address: length } = call.n else { panic!("memory says how many") };
        let total = word(call.total.unwrap());
        for turn in 0..count {
            before(turn);
            let told = size(seed + turn, *tile, scan.max_n());
            let n = told.min(scan.max_n());
            let answer = fill(gpu, &problem, call.input, seed + turn, n);
            gpu.spoil(call.output);
            gpu.spoil(total);
            gpu.words(word(length))[0] = told as u32;
            gpu.submit(&[commands]);
            let what = format!("{label}, submission {turn} of {told} elements");
            let guard = answer.len()..call.output.bytes as usize / 4;
            check(gpu, call.output, &answer, guard, &what);
            assert_eq!(gpu.words(total)[0], answer.last().copied().unwrap_or(0), "{what}: total");
        }
        gpu.drop_pool(pool);
    }

    fn prepare(&self) {
        let (scan, scratch) = (&self.scan, self.call.scratch);
        // SAFETY: the memory is live and stays until all is done.
        self.gpu.once(|commands| unsafe { scan.cmd_prepare(commands, scratch) }.unwrap());
        let turn = match self.content() {
            ScratchContent::SelfTurning { .. } => vec![(TURN_WORD as usize, &FIRST_TURN)],
            _ => vec![],
        };
        let words = &*self.gpu.words(scratch);
        let left: Vec<(usize, &u32)> = words.iter().enumerate().filter(|(_, word)| **word != 0).collect();
        assert_eq!(left, turn, "{}: zeros, and the first turn", self.label);
    }

    /// What its kernel expects in its scratch memory.
    fn content(&self) -> ScratchContent {
        let call_use = CallUse { n_on_device: true, total: true, ..CallUse::default() };
        let choices = [(1, self.label)];
        let wish = PackWish { problem: sum(Mode::Inclusive), call_use, choices: &choices };
        let pack = pack(&self.gpu.profile, &wish).unwrap();
        let recipe = &pack.data().recipes[0].recipe;
        recipe.formula.content(recipe.max_n)
    }
}

#[test]
fn one_recording_is_right_however_often_it_is_submitted() {
    let Some(gpu) = TestGpu::new() else { return };
    let mut tried = 0;
    for label in TURNING {
        let Some(replayed) = Replayed::new(&gpu, label, false) else { continue };
        tried += 1;
        replayed.prepare();
        let count = submissions(60);
        replayed.submit(count, 1, |_| ());
        // Garbage, and prepared once more.
        gpu.spoil(replayed.call.scratch);
        replayed.prepare();
        replayed.submit(count / 4, 7, |_| ());
        if let ScratchContent::SelfTurning { epoch_bits } = replayed.content() {
            // As if it had turned so often.
            let turn = replayed.call.scratch.address + 4 * TURN_WORD;
            let turn = DeviceRange { address: turn, bytes: 4 };
            // Banks of sums are those of even and odd turns.
            let word = &mut gpu.words(turn)[0];
            *word = (1 << epoch_bits) - 26 + *word % 2;
            replayed.submit(60, 9, |_| ());
            assert!(gpu.words(turn)[0] < 100, "{label}: the turns have wrapped");
        }
    }
    // Without 64-bit atomics some have no tile states.
    assert!(tried >= 4, "{tried}");
}

#[test]
fn scratch_memory_that_others_overwrite_is_cleared_by_each_call() {
    let Some(gpu) = TestGpu::new() else { return };
    let mut tried = 0;
    for label in FORGETFUL {
        let Some(replayed) = Replayed::new(&gpu, label, true) else { continue };
        tried += 1;
        replayed.submit(submissions(20), 3, |_| gpu.spoil(replayed.call.scratch));
    }
    assert!(tried >= 2, "{tried}");
}
