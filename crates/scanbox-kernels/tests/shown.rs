//! What inputs show: a scan by tiles that loses something has another answer, for every operator and initial value.
//!
//! The tiles are simulated; what each operator guarantees is stated here and in docs/decisions/verification.md.

use scanbox_kernels::input::{Input, InputKind, decided_by_init};
use scanbox_kernels::reference::Reference;
use scanbox_model::config::Parameter;
use scanbox_model::problem::{Element, ElementValue, Mode, Operator, Placement, Problem};

const INPUT: Input = Input { kind: InputKind::Random, seed: 1 };

/// Elements of a tile, and tiles: what kernels have at boundary sizes and at larger ones.
const TILES: [(usize, usize); 5] = [(32, 100), (256, 9), (256, 33), (768, 40), (4096, 32)];

fn combine(problem: &Problem, a: u64, b: u64) -> u64 {
    use Element as E;
    use Operator as O;
    macro_rules! numbers {
        ($type:ident, $unsigned:ident) => {{
            let (a, b) = (a as $type, b as $type);
            let result = match problem.operator() {
                O::Min => a.min(b),
                O::Max => a.max(b),
                O::Mul => a.wrapping_mul(b),
                O::And => a & b,
                O::Or => a | b,
                O::Xor => a ^ b,
                _ => a.wrapping_add(b),
            };
            u64::from(result as $unsigned)
        }};
    }
    macro_rules! floats {
        ($type:ident, $bits:ident) => {{
            let (a, b) = ($type::from_bits(a as $bits), $type::from_bits(b as $bits));
            let result = match problem.operator() {
                O::Min => a.min(b),
                O::Max => a.max(b),
                O::Mul => a * b,
                _ => a + b,
            };
            u64::from(result.to_bits())
        }};
    }
    match problem.element() {
        E::U32 => numbers!(u32, u32),
        E::I32 => numbers!(i32, u32),
        E::U64 => numbers!(u64, u64),
        E::I64 => numbers!(i64, u64),
        E::F32 => floats!(f32, u32),
        _ => floats!(f64, u64),
    }
}

/// A scan by tiles.
struct Tiled {
    problem: Problem,
    /// Of each tile, what its elements are combined with those before them in the tile.
    scans: Vec<Vec<u64>>,
    /// Of each tile, what comes before it, without the initial value.
    prefixes: Vec<u64>,
    identity: u64,
    init: u64,
}

impl Tiled {
    fn new(problem: Problem, input: &Input, tile: usize, tiles: usize) -> Self {
        let element = problem.element();
        let identity = problem.operator().identity(element).bits;
        let values: Vec<u64> =
            (0..(tile * tiles) as u64).map(|index| input.element(&problem, index).bits).collect();
        let scan = |values: &[u64]| -> Vec<u64> {
            let mut total = identity;
            values
                .iter()
                .map(|value| {
                    total = combine(&problem, total, *value);
                    total
                })
                .collect()
        };
        let scans: Vec<Vec<u64>> = values.chunks(tile).map(scan).collect();
        let totals: Vec<u64> = scans.iter().map(|scan| scan[tile - 1]).collect();
        let mut prefixes = scan(&totals);
        prefixes.insert(0, identity);
        let init = problem.init().map_or(identity, |init| init.bits);
        Self { problem, scans, prefixes, identity, init }
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        combine(&self.problem, a, b)
    }

    fn total(&self, tile: usize) -> u64 {
        self.scans[tile][self.scans[tile].len() - 1]
    }

    fn tiles(&self) -> usize {
        self.scans.len()
    }

    /// Whether some output of a tile is another one where this stands for what comes before it.
    fn shows(&self, tile: usize, prefix: u64) -> bool {
        let right = self.combine(self.init, self.prefixes[tile]);
        let found = self.combine(self.init, prefix);
        let scan = &self.scans[tile];
        // An exclusive scan has the first element without one of its own, and the last of its own nowhere.
        let exclusive = self.problem.mode() == Mode::Exclusive;
        let own = if exclusive { &scan[..scan.len() - 1] } else { &scan[..] };
        right != found
            && (exclusive || own.iter().any(|own| self.combine(right, *own) != self.combine(found, *own)))
    }

    /// How many of some tiles show a prefix.
    fn showing(&self, prefix: impl Fn(usize) -> u64, from: usize) -> usize {
        (from..self.tiles()).filter(|&tile| self.shows(tile, prefix(tile))).count()
    }

    /// Tiles whose loss the tile behind shows; of a reduction, its total.
    fn losses(&self) -> Vec<bool> {
        let all = self.tiles();
        let mut behind = vec![self.identity; all + 1];
        for tile in (0..all).rev() {
            behind[tile] = self.combine(self.total(tile), behind[tile + 1]);
        }
        (0..all)
            .map(|tile| match self.problem.mode() {
                Mode::Reduce => self.combine(self.prefixes[tile], behind[tile + 1]) != self.prefixes[all],
                _ => tile + 1 < all && self.shows(tile + 1, self.prefixes[tile]),
            })
            .collect()
    }
}

fn problems() -> Vec<Problem> {
    let inits =
        [None, Some("0"), Some("1"), Some("-1"), Some("-7"), Some("1000000"), Some("0.25"), Some("1e9")];
    let more = [Some("65535"), Some("2863311530"), Some("4000000000"), Some("-1e30")];
    let mut all = Vec::new();
    for &element in Element::VALUES {
        for &operator in Operator::VALUES {
            for &mode in Mode::VALUES {
                for init in inits.iter().chain(&more).filter(|init| init.is_none() || mode == Mode::Exclusive)
                {
                    all.extend(Problem::new(mode, element, operator, *init, Placement::OutOfPlace).ok());
                }
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

fn forgets(problem: &Problem) -> bool {
    matches!(problem.operator(), Operator::Min | Operator::Max | Operator::And | Operator::Or)
}

/// Tiles that may be as they would be by chance, beside a share.
fn most(share: f64, tiles: usize) -> usize {
    1 + (share * tiles as f64).ceil() as usize
}

#[test]
fn what_a_tile_loses_shows() {
    let mut seen = 0;
    for problem in problems() {
        for (tile, tiles) in TILES {
            let n = (tile * tiles) as u64;
            if decided_by_init(&problem, n).is_some() || !INPUT.is_exact(&problem, n) {
                continue;
            }
            let what = format!("{problem}, {tiles} tiles of {tile}");
            let tiled = Tiled::new(problem, &INPUT, tile, tiles);
            let other = Tiled::new(problem, &INPUT.another(&problem, n), tile, tiles);
            let losses = tiled.losses();
            let lost = losses.iter().filter(|shown| **shown).count();
            let either = losses.iter().zip(other.losses()).filter(|(one, other)| **one || *other).count();
            let scales = tiles.ilog2() as usize;
            let is_float_product = problem.element().is_float() && problem.operator() == Operator::Mul;
            let (least_lost, least_either) = match problem.operator() {
                // The answer is one element, or one for each bit.
                Operator::Min | Operator::Max if problem.mode() == Mode::Reduce => (1, 2),
                Operator::Min | Operator::Max => (tiles / 4, tiles * 3 / 5),
                Operator::And | Operator::Or if problem.init().is_none() => (scales, scales + 1),
                Operator::And | Operator::Or => (scales / 4, scales / 3),
                Operator::Mul if is_float_product => (tiles * 3 / 5, tiles * 3 / 4),
                _ => (tiles - most(0.05, tiles), tiles - most(0.02, tiles)),
            };
            assert!(lost >= least_lost, "{what}: the loss of {lost} shows");
            assert!(either >= least_either, "{what}: of one of two inputs, the loss of {either} shows");
            seen += 1;
            if problem.mode() == Mode::Reduce {
                // What reads the first tile, the last one, or both; what the call before has left; nothing.
                let wrong = |tiled: &Tiled, other: &Tiled| {
                    let [first, last] = [tiled.total(0), tiled.total(tiles - 1)];
                    [first, last, tiled.combine(first, last), other.prefixes[tiles], tiled.identity]
                        .map(|found| found != tiled.prefixes[tiles])
                };
                let [one, two] = [wrong(&tiled, &other), wrong(&other, &tiled)];
                let both = one.iter().zip(two).all(|(one, two)| *one || two);
                // The last record may be in the last tile, unless the size is a power of two.
                let enough =
                    tiles.is_power_of_two() || !matches!(problem.operator(), Operator::Min | Operator::Max);
                assert!(both && (!enough || !one.contains(&false)), "{what}: {one:?} {two:?}");
                continue;
            }
            // A lookback that goes back one tile, or to the first one and one more.
            let before = tiled.showing(|tile| tiled.total(tile - 1), 2);
            let and_first = tiled.showing(|tile| tiled.combine(tiled.total(0), tiled.total(tile - 1)), 3);
            let (one_back, least_stale) = match problem.operator() {
                Operator::Min | Operator::Max => (tiles / 4, tiles / 2),
                Operator::And | Operator::Or if problem.init().is_none() => (tiles / 2, tiles / 3),
                // Of some initial values half of the bits are left, or a third.
                Operator::And | Operator::Or => (tiles / 5, tiles / 5),
                _ if is_float_product => (tiles * 4 / 5, tiles * 4 / 5),
                _ => (tiles - 2 - most(0.05, tiles), tiles - 1 - most(0.05, tiles)),
            };
            assert!(before >= one_back, "{what}: one tile back shows in {before}");
            assert!(and_first + 1 >= one_back, "{what}: first and one back shows in {and_first}");
            // What the call before has left, of another input; and none at all.
            let stale = tiled.showing(|tile| other.prefixes[tile], 1);
            assert!(stale >= least_stale, "{what}: stale prefixes show in {stale}");
            let none = tiled.showing(|_| tiled.identity, 1);
            assert!(none >= tiles - 1 - most(0.05, tiles), "{what}: no prefix at all shows in {none}");
            // Elements of its own that a tile has lost.
            let own = (0..tiles)
                .filter(|&tile| {
                    let right = tiled.combine(tiled.init, tiled.prefixes[tile]);
                    tiled.scans[tile].iter().any(|own| tiled.combine(right, *own) != right)
                })
                .count();
            let least_own = if forgets(&problem) { least_lost } else { tiles };
            assert!(own >= least_own, "{what}: own elements show in {own}");
        }
    }
    assert!(seen > 400, "{seen}");
}

#[test]
fn an_initial_value_that_decides_is_refused() {
    let problem = |element, operator, init| {
        Problem::new(Mode::Exclusive, element, operator, Some(init), Placement::OutOfPlace).unwrap()
    };
    use Element as E;
    use Operator as O;
    for (element, operator, init, least_n) in [
        (E::U32, O::And, "0", 1),
        (E::U32, O::And, "7", 1),
        (E::I32, O::Or, "-1", 1),
        (E::U32, O::Mul, "0", 1),
        (E::U64, O::Mul, "9223372036854775808", 1),
        (E::U32, O::Max, "4294967295", 1),
        (E::U32, O::Max, "4294000000", 8_000_000),
        (E::I64, O::Min, "-9223372036854775808", 1),
        (E::F32, O::Max, "3.4e38", 1 << 28),
        (E::F32, O::Max, "inf", 1),
    ] {
        let Ok(problem) = Problem::new(Mode::Exclusive, element, operator, Some(init), Placement::OutOfPlace)
        else {
            continue;
        };
        let reason = decided_by_init(&problem, least_n).unwrap_or_else(|| panic!("{problem}"));
        assert!(reason.starts_with("initial value "), "{reason}");
        if least_n > 1 {
            assert_eq!(decided_by_init(&problem, 1 << 16), None, "{problem}");
        }
    }
    for (element, operator, init) in [
        (E::F32, O::Max, "-1"),
        (E::F32, O::Max, "0"),
        (E::F64, O::Min, "-1000"),
        (E::I32, O::Max, "0"),
        (E::U32, O::Max, "1000000"),
        (E::U64, O::Or, "65535"),
        (E::I32, O::Mul, "-4"),
    ] {
        assert_eq!(decided_by_init(&problem(element, operator, init), 1 << 30), None);
    }
}

/// Records go on as long as indices do.
#[test]
fn far_elements_still_decide() {
    for problem in problems() {
        if !matches!(problem.operator(), Operator::Min | Operator::Max)
            || decided_by_init(&problem, 1 << 32).is_some()
        {
            continue;
        }
        let total = |first: u64| {
            let mut words = vec![0; 4096 * problem.element_bytes() as usize / 4];
            INPUT.fill(&problem, first, &mut words);
            let mut reference = Reference::new(problem);
            reference.scan(&mut words);
            Reference::values(&problem, &words)[4095].bits
        };
        let far =
            [1 << 20, 1 << 29, 1 << 30, (1 << 30) + (1 << 28), 1 << 31, (1 << 31) + (1 << 29)].map(total);
        for pair in far.windows(2) {
            let [before, now] = [pair[0], pair[1]];
            assert!(before != now && combine(&problem, before, now) == now, "{problem}: {far:?}");
        }
    }
}

/// Published rows are of these: inputs of sums of integers stay what they are.
#[test]
fn inputs_of_integer_sums_stay_what_they_are() {
    let sum = Problem::default();
    let bits = |kind, index| Input { kind, seed: 1 }.element(&sum, index).bits;
    let random = [0, 1, 41, 1 << 20].map(|index| bits(InputKind::Random, index));
    let bounded = [0, 1, 41, 1 << 20].map(|index| bits(InputKind::Bounded { n: 1 << 22 }, index));
    assert_eq!((random, bounded), RANDOM_WORDS);
    let another = Input { kind: InputKind::Random, seed: 1 }.another(&sum, 100);
    assert_eq!(another.seed, 1 ^ 0x5CA7_B0C5);
    assert_eq!(bits(InputKind::Ramp, 7), ElementValue::from_u32(7).bits);
}

const RANDOM_WORDS: ([u64; 4], [u64; 4]) =
    ([3_839_455_607, 3_203_108_257, 3_041_606_720, 1_489_729_965], [119, 161, 64, 173]);

/// A kernel that takes numbers for those of another type, or loses a part of each, is right on numbers that look the
/// same either way.
#[test]
fn numbers_of_every_kind_are_among_the_first_elements() {
    const FIRST: u64 = 1 << 11;
    // The top bit: of integers without a sign the upper half, of others what is below zero.
    let is_upper = |problem: &Problem, bits: u64| bits >> (8 * problem.element().bytes() - 1) & 1 == 1;
    let magnitude = |value: ElementValue| value.float().map_or(0.0, f64::abs);
    for problem in problems().iter().filter(|problem| problem.init().is_none()) {
        for seed in [INPUT.seed, INPUT.another(problem, FIRST).seed] {
            let input = Input { seed, ..INPUT };
            let elements: Vec<ElementValue> = (0..FIRST).map(|index| input.element(problem, index)).collect();
            let mut running = problem.operator().identity(problem.element()).bits;
            let answers: Vec<u64> = elements
                .iter()
                .map(|element| {
                    running = combine(problem, running, element.bits);
                    running
                })
                .collect();
            let said = format!("{problem}, seed {seed:#x}");
            match (problem.element().is_float(), problem.operator()) {
                (_, Operator::Min | Operator::Max) => {
                    for upper in [false, true] {
                        let found = answers.iter().filter(|bits| is_upper(problem, **bits) == upper).count();
                        assert!(found >= 100, "{said}: {found} answers on one side of the middle");
                    }
                }
                (true, Operator::Add) => {
                    let large = elements.iter().filter(|element| magnitude(**element) > 10_000.0).count();
                    assert!(large >= 8, "{said}: {large} large terms");
                }
                (false, Operator::Mul) => {
                    let even = elements.iter().filter(|element| element.bits & 1 == 0).count();
                    assert!((2..=8).contains(&even), "{said}: {even} even factors");
                    assert!(running.trailing_zeros() <= 8, "{said}: {running:#x}");
                }
                (false, Operator::Add | Operator::Xor) => {
                    let upper = elements.iter().filter(|element| is_upper(problem, element.bits)).count();
                    assert!((512..1536).contains(&upper), "{said}: {upper} elements in the upper half");
                }
                _ => {}
            }
        }
    }
}

/// A comparison that leaves out the last bits, and of two that look the same to it takes the earlier or the later one.
#[test]
fn comparisons_that_leave_bits_out_are_wrong_among_the_first_elements() {
    const FIRST: u64 = 1 << 11;
    for problem in problems() {
        let is_min = problem.operator() == Operator::Min;
        let is_max = problem.operator() == Operator::Max;
        if !(is_min || is_max) || decided_by_init(&problem, FIRST).is_some() {
            continue;
        }
        let width = 8 * problem.element().bytes();
        let elements: Vec<u64> = (0..FIRST).map(|index| INPUT.element(&problem, index).bits).collect();
        let first = problem.init().unwrap_or_else(|| problem.operator().identity(problem.element())).bits;
        for left_out in [1, 2, 4, 9, 16, 31, 32].into_iter().filter(|&bits| bits < width) {
            for takes_later in [false, true] {
                let (mut right, mut wrong, mut differ) = (first, first, 0);
                for &later in &elements {
                    right = combine(&problem, right, later);
                    let [a, b] = [wrong, later].map(|bits| in_order(&problem, bits) >> left_out);
                    let takes = if a == b { takes_later } else { (b < a) == is_min };
                    wrong = if takes { later } else { wrong };
                    differ += usize::from(wrong != right);
                }
                assert!(differ >= 10, "{problem}, {left_out} bits, later: {takes_later}: {differ}");
            }
        }
    }
}

/// The bits of a value as a number that grows with it.
fn in_order(problem: &Problem, bits: u64) -> u64 {
    let element = problem.element();
    let top = 1 << (8 * element.bytes() - 1);
    match element {
        Element::U32 | Element::U64 => bits,
        Element::I32 | Element::I64 => bits ^ top,
        _ if bits & top == 0 => bits | top,
        _ => !bits & (top | (top - 1)),
    }
}
