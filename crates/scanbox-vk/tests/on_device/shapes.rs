//! Problems, sizes and places of arrays: one call each, by kernels of every kind.

use scanbox_kernels::reference::Reference;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_pack::CallUse;
use scanbox_vk::{CallLength, DeviceRange, HandOverError, Scan, ScanCall};

use super::gpu::{PackWish, TestGpu, in_pack, pack, pack_of_uses};
use super::replayed::{FORGETFUL, TURNING, check, fill, sum};

/// Words behind an array that have to stay what they are.
const GUARD: u64 = 256;

/// A scan with memory for calls of it, and what it is.
struct Shape<'a> {
    gpu: &'a TestGpu,
    problem: Problem,
    call_use: CallUse,
    scan: Scan,
    scratch: DeviceRange,
    tile: u64,
    label: String,
}

impl<'a> Shape<'a> {
    fn new(gpu: &'a TestGpu, problem: Problem, call_use: CallUse, label: &str, tiles: u64) -> Option<Self> {
        gpu.forget();
        let pack = pack(&gpu.profile, &PackWish { problem, call_use, choices: &[(1, label)] })?;
        let tile = pack.data().recipes[0].recipe.formula.tile_elements.get();
        let scan = gpu.scanner(pack).scan(&in_pack(&problem), tiles * tile + 3, call_use).unwrap();
        Some(Self::of(gpu, problem, call_use, scan, tile, label))
    }

    /// One whose calls are in parts of so many tiles.
    fn in_parts(
        gpu: &'a TestGpu,
        problem: Problem,
        call_use: CallUse,
        label: &str,
        tiles: u64,
    ) -> Option<Self> {
        gpu.forget();
        let first = CallUse { total: problem.mode() != Mode::Reduce, ..call_use };
        let mut uses = vec![call_use, first, CallUse { init_in_memory: true, ..first }];
        uses.dedup();
        let pack = pack_of_uses(&gpu.profile, (&problem, None), &uses, &[(1, label)])?;
        let tile = pack.data().recipes[0].recipe.formula.tile_elements.get();
        let (max_n, part) = (5 * tiles * tile, tiles * tile);
        let scan = gpu.scanner(pack).scan_in_parts(&in_pack(&problem), max_n, call_use, part).unwrap();
        assert_eq!(scan.max_n(), max_n);
        Some(Self::of(gpu, problem, call_use, scan, tile, label))
    }

    fn of(gpu: &'a TestGpu, problem: Problem, call_use: CallUse, scan: Scan, tile: u64, label: &str) -> Self {
        let scratch = gpu.take(scan.scratch().bytes.max(4), 0);
        // SAFETY: the memory is live and stays until all is done.
        gpu.once(|commands| unsafe { scan.cmd_prepare(commands, scratch) }.unwrap());
        Self { gpu, problem, call_use, scan, scratch, tile, label: label.to_owned() }
    }

    /// A call of `n` elements whose arrays begin so many elements behind where a vector may. `init`: what an exclusive
    /// scan begins with, where memory says it.
    fn check(&self, n: u64, offsets: [u64; 2], init: Option<u64>) {
        let Self { gpu, problem, call_use, scan, scratch, .. } = self;
        let before = gpu.take(4, 0).address;
        let bytes = problem.element_bytes();
        let what = format!("{} {problem} {n} at {offsets:?}", self.label);
        let input = gpu.take(n * bytes + 4 * GUARD, offsets[0] * bytes);
        let in_place = problem.placement() == Placement::InPlace;
        let mut output = if in_place { input } else { gpu.take(n * bytes + 4 * GUARD, offsets[1] * bytes) };
        let data = DeviceRange { bytes: n * bytes, ..input };
        let first = init.map(|bits| bits.to_string());
        let reference = Problem::new(
            problem.mode(),
            problem.element(),
            problem.operator(),
            first.as_deref(),
            problem.placement(),
        );
        let reference = reference.map(|reference| reference.in_direction(problem.direction()));
        let reference = if init.is_some() { reference.unwrap() } else { *problem };
        let mut answer = fill(gpu, &reference, data, n, n);
        let identity = problem.operator().identity(problem.element()).bits;
        let inclusive = self.inclusive(data);
        if problem.mode() == Mode::Reduce {
            let words = bytes as usize / 4;
            answer = match n {
                0 => [identity as u32, (identity >> 32) as u32][..words].to_vec(),
                _ => answer.split_off(answer.len() - words),
            };
        }
        output.bytes = output.bytes.min(4 * answer.len() as u64 + 4 * GUARD);
        let [total, init_at] = [gpu.take(8, 0), gpu.take(8, 0)];
        if let Some(bits) = init {
            gpu.words(init_at).copy_from_slice(&[bits as u32, (bits >> 32) as u32]);
        }
        let call = ScanCall {
            input,
            output,
            scratch: *scratch,
            n: CallLength::Host(n),
            init: call_use.init_in_memory.then_some(init_at.address),
            total: call_use.total.then_some(total.address),
        };
        // SAFETY: the memory is live and stays until all is done.
        gpu.once(|commands| unsafe { scan.cmd_scan(commands, &call) }.unwrap());
        let guard = answer.len()..output.bytes as usize / 4;
        check(gpu, output, &answer, guard, &what);
        let offset = offsets[usize::from(!in_place)] * bytes;
        assert!(gpu.front_is_kept(output, offset), "{what}: in front of the output");
        if call_use.total {
            let expected = if problem.mode() == Mode::Exclusive {
                self.after(&reference, data, n)
            } else {
                // With the initial value, where there is one.
                let first = init.map_or(0, |bits| bits.wrapping_mul(u64::from(n > 0)));
                inclusive.map_or(identity, |bits| bits.wrapping_add(first))
            };
            let found = gpu.words(total);
            let found = u64::from(found[0]) | if bytes == 8 { u64::from(found[1]) << 32 } else { 0 };
            let mask = if bytes == 8 { u64::MAX } else { u32::MAX.into() };
            assert_eq!(found, expected & mask, "{what}: total");
        }
        // What was taken for this call.
        gpu.give_back(before);
    }

    /// The last element of the inclusive scan of what is in a range.
    fn inclusive(&self, data: DeviceRange) -> Option<u64> {
        let problem = Problem::new(
            Mode::Inclusive,
            self.problem.element(),
            self.problem.operator(),
            None,
            Placement::OutOfPlace,
        );
        let mut words = self.gpu.words(data).to_vec();
        let problem = problem.unwrap();
        Reference::new(problem).scan(&mut words);
        Reference::values(&problem, &words).last().map(|value| value.bits)
    }

    /// What would come next in an exclusive scan: that of one element more.
    fn after(&self, reference: &Problem, data: DeviceRange, n: u64) -> u64 {
        let words = (n * self.problem.element_bytes() / 4) as usize;
        let mut input = vec![0; words];
        let random =
            scanbox_kernels::input::Input { kind: scanbox_kernels::input::InputKind::Random, seed: n };
        random.fill(&self.problem, 0, &mut input);
        assert_eq!(data.bytes as usize / 4, words);
        input.extend([0, 0].into_iter().take(self.problem.element_bytes() as usize / 4));
        Reference::new(*reference).scan(&mut input);
        Reference::values(reference, &input).last().unwrap().bits
    }

    /// Sizes at which something begins anew.
    fn sizes(&self) -> Vec<u64> {
        let (tile, max) = (self.tile, self.scan.max_n());
        vec![1, tile - 1, tile, tile + 1, 33 * tile + 5, max - 1, max]
    }

    /// Whether calls without elements store something.
    fn stores_one(&self) -> bool {
        self.call_use.total || self.problem.mode() == Mode::Reduce
    }
}

#[test]
fn problems_are_solved_at_all_borders() {
    let Some(gpu) = TestGpu::new() else { return };
    let plain = CallUse::default();
    let total = CallUse { total: true, ..plain };
    let init = CallUse { init_in_memory: true, ..plain };
    let problem = |mode, element, operator, init, placement| {
        Problem::new(mode, element, operator, init, placement).unwrap()
    };
    let (apart, in_place) = (Placement::OutOfPlace, Placement::InPlace);
    let (mut tried, mut empty) = (0, 0);
    // Devices of each subgroup size take others of all pairs.
    let mut pair = gpu.profile.subgroup_size.ilog2();
    for (problem, call_use, told) in [
        (problem(Mode::Exclusive, Element::U32, Operator::Add, None, apart), plain, None),
        (problem(Mode::Exclusive, Element::I32, Operator::Max, Some("-5"), apart), total, None),
        (problem(Mode::Exclusive, Element::U32, Operator::Add, None, apart), init, Some(4_000_000_001)),
        (problem(Mode::Exclusive, Element::U64, Operator::Add, None, in_place), init, Some(1 << 50 | 77)),
        (problem(Mode::Reduce, Element::U32, Operator::Min, None, apart), plain, None),
        (problem(Mode::Reduce, Element::I64, Operator::Add, None, apart), plain, None),
        (problem(Mode::Inclusive, Element::U32, Operator::Xor, None, in_place), total, None),
        (problem(Mode::Inclusive, Element::F32, Operator::Max, None, apart), plain, None),
        (problem(Mode::Inclusive, Element::U64, Operator::Add, None, apart), total, None),
    ] {
        for label in [
            TURNING[2],
            TURNING[1],
            TURNING[5],
            TURNING[6],
            FORGETFUL[0],
            FORGETFUL[2],
            "rts.b1.vec4.none.rake.wg64",
            "stp.b1.vec2.none.rake.wg64",
        ] {
            pair += 1;
            if !pair.is_multiple_of(3) {
                continue;
            }
            let Some(shape) = Shape::new(&gpu, problem, call_use, label, 65) else { continue };
            tried += 1;
            for n in shape.sizes() {
                shape.check(n, [0, 0], told);
            }
            shape.check(0, [0, 0], told);
            empty += u32::from(shape.stores_one());
            let max = shape.scan.max_n();
            let room = DeviceRange { address: 1 << 20, bytes: u64::MAX >> 1 };
            let n = CallLength::Host(max + 1);
            let call = ScanCall { input: room, output: room, scratch: room, n, init: None, total: None };
            let pool = gpu.pool();
            gpu.record(pool, |commands| {
                // SAFETY: nothing is recorded.
                let refused = unsafe { shape.scan.cmd_scan(commands, &call) };
                assert_eq!(refused, Err(HandOverError::TooLarge { n: max + 1, max }));
            });
            gpu.drop_pool(pool);
        }
    }
    // Without 64-bit atomics there are few.
    assert!(tried >= 8 && empty >= 4, "{tried} {empty}");
}

/// Whatever kernel it is and wherever its scratch memory comes from, a call without elements stores what it comes to.
#[test]
fn nothing_comes_to_something() {
    let Some(gpu) = TestGpu::new() else { return };
    let total = CallUse { total: true, ..CallUse::default() };
    let exclusive =
        Problem::new(Mode::Exclusive, Element::U32, Operator::Add, Some("7"), Placement::OutOfPlace);
    let exclusive = exclusive.unwrap();
    let mut tried = 0;
    for label in [
        "b1.vec4.two.sub.striped.early.split.fill.wg64",
        "b1.vec4.two.sub.striped.early.split.clean.wg64",
        "b1.vec4.fallback.sub.striped.early.split.fill.wg64",
        "pers.b1.vec4.gatherfall.sub.striped.early.split.clean.wg64.u1",
        "pers.b1.vec4.gatherfall.sub.striped.robin.early.split.turn.wg64.u2",
        FORGETFUL[1],
        FORGETFUL[2],
    ] {
        for (problem, call_use) in [(exclusive, total), (sum(Mode::Reduce), CallUse::default())] {
            let Some(shape) = Shape::new(&gpu, problem, call_use, label, 9) else { continue };
            tried += 1;
            for n in [0, 3 * shape.tile + 1, 0, 0, shape.tile] {
                shape.check(n, [0, 0], None);
            }
        }
    }
    assert!(tried >= 9, "{tried}");
}

/// Where a vector may begin it does, and elsewhere no kernel has one.
#[test]
fn arrays_begin_at_any_element() {
    let Some(gpu) = TestGpu::new() else { return };
    let call_use = CallUse { any_element: true, ..CallUse::default() };
    let mut tried = 0;
    for label in [TURNING[2], TURNING[3], FORGETFUL[0], "rts.b1.vec4.none.rake.wg64"] {
        let Some(shape) = Shape::new(&gpu, sum(Mode::Inclusive), call_use, label, 34) else { continue };
        tried += 1;
        let chosen = shape.scan.chosen(1);
        assert_eq!((chosen.alignment, chosen.unaligned.unwrap().alignment), (16, 4));
        for offset in 0..16 {
            let sizes = shape.sizes();
            let n = sizes[offset as usize % sizes.len()];
            shape.check(n, [offset, (offset * 7) % 16], None);
            shape.check(shape.tile + 1, [(offset * 3 + 1) % 16, offset], None);
        }
    }
    assert!(tried >= 2, "{tried}");
}

/// Beyond what 32 bits count a call is in parts; here parts are small. Each begins with the total of the one before,
/// wherever that is in the array, and what the program wants of the whole stands where it said.
#[test]
fn calls_in_parts_are_calls() {
    let Some(gpu) = TestGpu::new() else { return };
    let of = |mode, placement| Problem::new(mode, Element::U32, Operator::Add, None, placement).unwrap();
    let problems = [
        of(Mode::Inclusive, Placement::OutOfPlace),
        of(Mode::Exclusive, Placement::InPlace),
        of(Mode::Inclusive, Placement::OutOfPlace).reversed(),
        of(Mode::Exclusive, Placement::OutOfPlace).reversed(),
        of(Mode::Reduce, Placement::OutOfPlace),
    ];
    let labels = ["b1.vec4.par.rake.turn.wg64", "b1.vec4.two.sub.striped.early.turn.wg64"];
    let mut tried = 0;
    for (problem, label) in problems.iter().flat_map(|problem| labels.map(|label| (*problem, label))) {
        let is_reduction = problem.mode() == Mode::Reduce;
        for (total, init) in [(false, None), (true, None), (false, Some(7)), (true, Some(1 << 31))] {
            let total = total && !is_reduction;
            let call_use = CallUse { total, init_in_memory: init.is_some(), ..CallUse::default() };
            let Some(shape) = Shape::in_parts(&gpu, problem, call_use, label, 3) else { continue };
            let part = 3 * shape.tile;
            // Turn after turn on one scratch memory, from one part to the most.
            for n in [1, part, part + 1, 2 * part, 5 * part, 3 * part - 1, 4 * part + 5, part - 1] {
                shape.check(n, [0; 2], init);
            }
            tried += 1;
        }
    }
    assert!(tried >= 20, "{tried}");
}
