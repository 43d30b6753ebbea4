//! Random elements, by operator: what is lost on the way to the answer has to be missed there.
//!
//! Of sums, exclusive ors and products nearly every total is missed. Minima, maxima, and, or forget: of all elements
//! only few ever decide anything, and what an input shows is where these stand. They stand at all scales, by octaves
//! of the index: whatever the size of a tile and the number of tiles are, some tiles change the answer, and in others
//! it comes from far back. Products of floats have powers of two at such places, because a sign alone is right half of
//! the time (docs/decisions/verification.md).

use scanbox_model::problem::{Element, ElementValue, Operator, Problem};

use super::heights::{Heights, LEAST_RECORD};
use super::{bits, integer, no_number, random_bits};

/// Octaves of an index below 2^32: elements 0 to 3, and one for each further bit.
const OCTAVES: u64 = 31;
/// Bits that an initial value of and, or has to leave for elements, and that it leaves of a product.
const FEWEST_BITS: u32 = 8;
/// Twos per octave among the factors of a product of floats, by the side of the seed, so that no prefix of the one is
/// that of the other. All of them, and the largest initial value, are below 2^114.
const TWOS_PER_OCTAVE: [u64; 2] = [2, 3];
/// Octaves of the index of which one place each has an even factor of an integer product, and the bits that a product
/// has to have left for that: each costs one.
const OCTAVES_PER_EVEN: u64 = 4;
const BITS_FOR_EVENS: u32 = 24;

/// Inputs with one value of this bit of the seed and inputs with the other one complement each other
/// ([`super::Input::another`]).
const SIDE: u64 = 1 << 30;

/// A random element.
pub(super) fn draw(problem: &Problem, seed: u64, random: u64, index: u64) -> ElementValue {
    let (element, operator) = (problem.element(), problem.operator());
    match (element.is_float(), operator) {
        (true, Operator::Add) => integer(element, term(element, seed, random, index)),
        (true, Operator::Mul) => factor(element, seed, random, index),
        (_, Operator::Min | Operator::Max) => {
            let heights = Heights::of(problem);
            if is_record(seed, index) {
                return heights.record((index >> 3) as i64, random);
            }
            // Beside a record stands what it nearly does not beat, on either side, but never the first of a tile.
            let after = (!index.is_multiple_of(8)).then_some(index + 1);
            let mut beside = index.checked_sub(1).into_iter().chain(after);
            match beside.find(|&beside| is_record(seed, beside)) {
                Some(beside) => heights.nearly((beside >> 3) as i64, random_bits(seed, beside)),
                None => heights.value((random & 255) as i64 - 127, random as u32),
            }
        }
        (_, Operator::User) => no_number(element),
        (_, Operator::Add | Operator::Xor) => bits(element, random),
        (_, Operator::Mul) => {
            let is_even =
                bits_left(problem) >= BITS_FOR_EVENS && places(seed, index, OCTAVES_PER_EVEN, 1).is_some();
            let odd: u64 = 1 << 32 | 1;
            bits(element, if is_even { random & !odd | odd << 1 } else { random | odd })
        }
        (_, Operator::And | Operator::Or) => one_bit(problem, seed, index),
    }
}

/// A term of a sum of floats: a small integer, and once per octave of the index a large one, of either sign in turns,
/// so that sums stay small.
fn term(element: Element, seed: u64, random: u64, index: u64) -> i64 {
    let small = ((random >> 32) % 17) as i64 - 8;
    let large = match places(seed, index, 1, 1) {
        Some(place) if place % 2 == 0 => large_term(element),
        Some(_) => -large_term(element),
        None => 0,
    };
    small + large
}

/// A large term of a sum of floats: all of them together, in any order, are below a thirty-second part of the largest
/// integer up to which all are exact ([`super::Input::is_exact`]).
fn large_term(element: Element) -> i64 {
    if element == Element::F32 { 1 << 14 } else { 1 << 40 }
}

/// Bits of an integer product that depend on the elements.
fn bits_left(problem: &Problem) -> u32 {
    let width = 8 * problem.element().bytes();
    width - problem.init().map_or(0, |init| init.bits.trailing_zeros().min(width))
}

/// An element that decides about everything behind it until the next one does, once per octave; else the identity.
pub(super) fn spike(problem: &Problem, seed: u64, index: u64) -> ElementValue {
    let (element, operator) = (problem.element(), problem.operator());
    match operator {
        Operator::And | Operator::Or => one_bit(problem, !seed, index),
        _ if places(seed, index, 1, 1).is_some() => {
            Heights::of(problem).record((index >> 3) as i64 + octave(index) as i64, seed)
        }
        _ => operator.identity(element),
    }
}

/// Element `index` of a ramp of minima or maxima: each beats the one before it.
pub(super) fn next_record(problem: &Problem, index: u64) -> ElementValue {
    Heights::of(problem).value(index as i64 + 1, 0)
}

/// Why no input shows what a problem does with `n` elements: because its initial value decides. Nothing where one does.
pub(super) fn decided_by_init(problem: &Problem, n: u64) -> Option<String> {
    let init = problem.init()?;
    let (element, operator) = (problem.element(), problem.operator());
    let reason = match operator {
        Operator::Min | Operator::Max => {
            let room = Heights::of(problem).room();
            let needed = LEAST_RECORD + (n >> 3) as i64 + OCTAVES as i64;
            (room < needed).then(|| format!("too few values of type {element} beat it for {n} elements"))
        }
        Operator::And | Operator::Or => {
            let free = free_bits(problem).count_ones();
            (free < FEWEST_BITS).then(|| format!("it leaves {free} bits to the elements"))
        }
        Operator::Mul if !element.is_float() => {
            let left = bits_left(problem);
            (left < FEWEST_BITS).then(|| format!("of a product with it {left} bits depend on the elements"))
        }
        _ => None,
    };
    Some(format!("initial value {init} of {problem}: {}", reason?))
}

/// Which octave an index belongs to.
fn octave(index: u64) -> u64 {
    index.max(2).ilog2().saturating_sub(1).into()
}

/// Where an octave begins. Element 0 decides about everything whatever it is, and is left out.
fn begin(octave: u64) -> u64 {
    if octave == 0 { 1 } else { 2 << octave }
}

/// One place in each of `parts` equal parts of every group of `octaves` octaves: which one stands at this index.
fn places(seed: u64, index: u64, octaves: u64, parts: u64) -> Option<u64> {
    let group = octave(index) / octaves;
    let start = begin(group * octaves);
    let length = (begin((group + 1) * octaves) - start) / parts;
    let part = index.checked_sub(start)? / length;
    let place = start + part * length + random_bits(seed, !(group * parts + part)) % length;
    (index == place && part < parts).then_some(group * parts + part)
}

/// Bits that elements of and, or may change in what an exclusive scan begins with.
fn free_bits(problem: &Problem) -> u64 {
    let all = u64::MAX >> (64 - 8 * problem.element().bytes());
    let init = problem.init().unwrap_or_else(|| problem.operator().identity(problem.element())).bits;
    if problem.operator() == Operator::Or { !init & all } else { init & all }
}

/// One bit more or less at the places of octaves, each at one of them only: there are no more of them.
fn one_bit(problem: &Problem, seed: u64, index: u64) -> ElementValue {
    let (element, operator) = (problem.element(), problem.operator());
    let free = free_bits(problem);
    let count = u64::from(free.count_ones());
    let identity = operator.identity(element);
    // A problem with too few of them is refused.
    let parts = (count / OCTAVES).max(1);
    let octaves = OCTAVES.div_ceil(count.max(1)).min(OCTAVES);
    let Some(place) = places(seed, index, octaves, parts).filter(|_| count > 0) else { return identity };
    let number = (place + random_bits(seed, 0) % count) % count;
    let bit = (0..64).filter(|bit| free >> bit & 1 == 1).nth(number as usize).map_or(0, |bit| 1u64 << bit);
    ElementValue { element, bits: identity.bits ^ bit }
}

/// Whether an element beats all before it. On one side of the seed these stand in the first half of each octave, on
/// the other one in the second half: what is lost of a tile shows where it has one, how far a lookback goes where the
/// tile before has none. They are denser and rarer in turns, and never the first of a tile.
fn is_record(seed: u64, index: u64) -> bool {
    if index >= 8 {
        let begins = index >> (index.ilog2() - 3);
        let has_some = if seed & SIDE == 0 { begins < 12 } else { (12..15).contains(&begins) };
        if !has_some {
            return false;
        }
    }
    let gap = [8, 8, 64, 512][(index >> 10) as usize % 4];
    let place = 1 + random_bits(!seed, index / gap) % (gap - 1);
    index % gap == place
}

/// A factor of either sign, at few places twice as large. On one side of the seed the product of all before index i
/// has the sign of (-1)^v, where 2^v is the largest power of two that divides i: of two neighbouring tiles of any size
/// one begins at an odd multiple of it, so that the signs of two thirds of their products are minus.
fn factor(element: Element, seed: u64, random: u64, index: u64) -> ElementValue {
    let odd = |index: u64| index != 0 && index.trailing_zeros() % 2 == 1;
    let side = usize::from(seed & SIDE != 0);
    let minus = if side == 0 { odd(index) != odd(index + 1) } else { random & 1 == 1 };
    let magnitude = if places(seed, index, 1, TWOS_PER_OCTAVE[side]).is_some() { 2 } else { 1 };
    integer(element, if minus { -magnitude } else { magnitude })
}
