//! Inputs: what elements are scanned.
//!
//! Inputs are functions of (problem, kind, seed, index), so that any part can be made anywhere in parallel, and a
//! shorter input is the beginning of a longer one.
//!
//! Random elements are such that what is lost, doubled or misplaced shows, for every operator and initial value, as far
//! as an operator can show it (`draw`), and no order of combining rounds, overflows or underflows: sums of floats are
//! of integers from -8 to 8 and few large ones (their partial sums stay below 2^22), factors are odd but for few, or
//! powers of two of either sign. Minima and maxima have values on both sides of the middle of their type.
//! Elements whose sums do round are an input of their own, [`InputKind::Real`]. Where an initial value decides about
//! the whole answer there is no input ([`decided_by_init`]).

mod draw;
mod heights;

use std::fmt;

use rayon::prelude::*;
use scanbox_model::problem::{Element, ElementValue, Operator, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::draw::{draw, next_record, spike};
use crate::reference::store;

/// What the elements of an input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum InputKind {
    /// Random elements; of integer sums full-range ones, so that the sums wrap many times.
    Random,
    /// Random words so small that the sum of this many of them stays below 2^30: what the packed tile state can carry.
    Bounded {
        /// The largest number of elements.
        n: u64,
    },
    /// Random reals from 0 to 1, the latter excluded: their sums are rounded.
    Real,
    /// All ones: element i of the sum is i + 1.
    Ones,
    /// Element i is i; of products 2i + 1; of sums of floats i modulo 17, less 8; of and the complement of i; of minima
    /// and maxima it beats the one before it.
    Ramp,
    /// The largest value that there is; of sums of floats 8.
    Maximum,
    /// The identity of the operator, and one random element.
    Spike {
        /// Its index.
        at: u64,
    },
    /// The identity of an operator that forgets (min, max, and, or), and one element per octave of the index that
    /// decides about all behind it.
    Spikes,
    /// Zeros, and one word below 2^30: a spike that the packed tile state can carry.
    BoundedSpike {
        /// Its index.
        at: u64,
    },
}

/// The sum that the payload of the packed tile state can carry at most: 30 bits (thesis 4.6).
pub const PACKED_MAX_TOTAL: u64 = (1 << 30) - 1;

/// An input of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// What the elements are.
    pub kind: InputKind,
    /// What random elements are drawn from.
    pub seed: u64,
}

impl fmt::Display for Input {
    /// The word in the `input` column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            InputKind::Random => "random",
            InputKind::Bounded { .. } => "bounded",
            InputKind::Real => "real",
            InputKind::Ones => "ones",
            InputKind::Ramp => "ramp",
            InputKind::Maximum => "maximum",
            InputKind::Spike { .. } => "spike",
            InputKind::Spikes => "spikes",
            InputKind::BoundedSpike { .. } => "bounded-spike",
        })
    }
}

/// 64 bits from a seed and an index: the finaliser of `SplitMix64` (Steele, Lea and Flood 2014).
fn random_bits(seed: u64, index: u64) -> u64 {
    let mut z = seed ^ index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Input {
    /// Element `index` of the input of a problem.
    #[must_use]
    pub fn element(&self, problem: &Problem, index: u64) -> ElementValue {
        let (element, operator) = (problem.element(), problem.operator());
        let random = random_bits(self.seed, index);
        let word = random >> 32;
        let float_sum = element.is_float() && operator == Operator::Add;
        match self.kind {
            InputKind::Random => draw(problem, self.seed, random, index),
            InputKind::Bounded { n } => {
                ElementValue::from_u32((word % (PACKED_MAX_TOTAL / n.max(1) + 1)) as u32)
            }
            InputKind::Real => match element {
                Element::F32 => ElementValue::from_f32((random >> 40) as f32 / (1u32 << 24) as f32),
                Element::F64 => ElementValue::from_f64((random >> 11) as f64 / (1u64 << 53) as f64),
                _ => draw(problem, self.seed, random, index),
            },
            InputKind::Ones => integer(element, 1),
            InputKind::Ramp if float_sum => integer(element, (index % 17) as i64 - 8),
            InputKind::Ramp if operator == Operator::Mul && element.is_float() => {
                draw(problem, self.seed, random, index)
            }
            InputKind::Ramp if operator == Operator::Mul => integer(element, 2 * index as i64 + 1),
            InputKind::Ramp if matches!(operator, Operator::Min | Operator::Max) => {
                next_record(problem, index)
            }
            InputKind::Ramp if operator == Operator::And => integer(element, !index as i64),
            InputKind::Ramp => integer(element, index as i64),
            InputKind::Spikes => spike(problem, self.seed, index),
            InputKind::Maximum if float_sum => integer(element, 8),
            InputKind::Maximum => largest(element, operator),
            InputKind::Spike { at } if index == at => match (element.is_float(), operator) {
                (true, Operator::Add) => integer(element, (word % 8) as i64 + 1),
                (true, Operator::Mul) => integer(element, -2),
                (false, Operator::Add | Operator::Or | Operator::Xor) => bits(element, random | 1 << 32 | 1),
                (false, Operator::Mul) => bits(element, random | 3 << 32 | 3),
                (false, Operator::And) => bits(element, random & !(1 << 32 | 1)),
                (_, Operator::Min | Operator::Max) => next_record(problem, 0),
                (true, _) | (_, Operator::User) => no_number(element),
            },
            InputKind::Spike { .. } => operator.identity(element),
            InputKind::BoundedSpike { at } if index == at => {
                ElementValue::from_u32((word & PACKED_MAX_TOTAL) as u32 | 1)
            }
            InputKind::BoundedSpike { .. } => integer(element, 0),
        }
    }

    /// Another input that every plan bears which bears this one for `n` elements, and that is as exact: with other
    /// prefixes, so that totals of the one show in the answer to the other.
    #[must_use]
    pub fn another(&self, problem: &Problem, n: u64) -> Self {
        let is_u32_sum = (problem.element(), problem.operator()) == (Element::U32, Operator::Add);
        let kind = match self.kind {
            InputKind::Random | InputKind::Bounded { .. } | InputKind::Real => self.kind,
            // What the packed tile state carries: it is for sums of u32.
            InputKind::Ones | InputKind::Ramp | InputKind::Maximum if is_u32_sum => {
                InputKind::BoundedSpike { at: 0 }
            }
            InputKind::Ones | InputKind::Ramp | InputKind::Maximum => InputKind::Spike { at: 0 },
            InputKind::Spike { .. } | InputKind::Spikes => InputKind::Random,
            InputKind::BoundedSpike { .. } => {
                InputKind::Bounded { n: n.next_power_of_two().min(PACKED_MAX_TOTAL) }
            }
        };
        Self { kind, seed: self.seed ^ 0x5CA7_B0C5 }
    }

    /// Whether the sum of the first `n` words is below 2^30 for sure, so that the packed tile state can carry it.
    #[must_use]
    pub fn fits_packed(&self, n: u64) -> bool {
        match self.kind {
            InputKind::Random
            | InputKind::Real
            | InputKind::Maximum
            | InputKind::Spike { .. }
            | InputKind::Spikes => n == 0,
            InputKind::Bounded { n: most } => n <= most,
            InputKind::Ones => n <= PACKED_MAX_TOTAL,
            InputKind::Ramp => {
                u128::from(n) * u128::from(n.saturating_sub(1)) / 2 <= u128::from(PACKED_MAX_TOTAL)
            }
            InputKind::BoundedSpike { .. } => true,
        }
    }

    /// Whether no order of combining the first `n` elements rounds: every element of the output has one right value.
    #[must_use]
    pub fn is_exact(&self, problem: &Problem, n: u64) -> bool {
        if !problem.rounds() {
            return true;
        }
        if problem.user().is_some() {
            return false;
        }
        if self.kind == InputKind::Real {
            return false;
        }
        if problem.operator() == Operator::Mul {
            // Powers of two, and an initial value that does not leave the range with them.
            return true;
        }
        // Integers up to this are exact.
        let most = if problem.element() == Element::F32 { 1u64 << 24 } else { 1 << 53 };
        let initial = problem.init().and_then(ElementValue::float).unwrap_or(0.0);
        let sums = match self.kind {
            InputKind::Ones => n,
            InputKind::Maximum => n.saturating_mul(8),
            // Eight times the standard deviation of the sum of 2^31 small random ones is below an eighth; and the large
            // ones, in any order.
            _ => most / 8 + most / 32,
        };
        // What is added may have halves or quarters, and so many bits less before them.
        let exact = |scale: f64| {
            (initial * scale).fract() == 0.0 && (initial.abs() + sums as f64) * scale <= most as f64
        };
        [1.0, 2.0, 4.0].into_iter().any(exact)
    }

    /// Fills `words` with the elements of a problem from index `start`, on all cores.
    pub fn fill(&self, problem: &Problem, start: u64, words: &mut [u32]) {
        const CHUNK: usize = 1 << 14;
        let per_element = problem.element_bytes() as usize / size_of::<u32>();
        words.par_chunks_mut(CHUNK * per_element).enumerate().for_each(|(chunk, words)| {
            let first = start + (chunk * CHUNK) as u64;
            for (offset, words) in words.chunks_exact_mut(per_element).enumerate() {
                store(self.element(problem, first + offset as u64).bits, words);
            }
        });
    }
}

/// Why no input shows what becomes of `n` elements of a problem: its initial value decides about nearly all of the
/// answer, whatever a kernel does. Nothing where one does.
#[must_use]
pub fn decided_by_init(problem: &Problem, n: u64) -> Option<String> {
    draw::decided_by_init(problem, n)
}

/// An integer of any type; modulo what the type holds.
fn integer(element: Element, value: i64) -> ElementValue {
    match element {
        Element::U32 => ElementValue::from_u32(value as u32),
        Element::I32 => ElementValue::from_i32(value as i32),
        Element::F32 => ElementValue::from_f32(value as f32),
        Element::U64 => ElementValue::from_u64(value as u64),
        Element::I64 => ElementValue::from_i64(value),
        Element::F64 => ElementValue::from_f64(value as f64),
        Element::Struct4 | Element::Struct8 | Element::Struct12 | Element::Struct16 => no_number(element),
    }
}

/// Elements of a user's operator are made on the device, by its file.
fn no_number(element: Element) -> ! {
    unreachable!("{element} is not a number: it is drawn on the device")
}

/// An integer with these bits; of 32-bit ones the upper half, which is the better one.
fn bits(element: Element, bits: u64) -> ElementValue {
    let bits = if element.bytes() == 4 { bits >> 32 } else { bits };
    ElementValue { element, bits }
}

fn largest(element: Element, operator: Operator) -> ElementValue {
    match element {
        Element::U32 => ElementValue::from_u32(u32::MAX),
        Element::I32 => ElementValue::from_i32(i32::MAX),
        Element::U64 => ElementValue::from_u64(u64::MAX),
        Element::I64 => ElementValue::from_i64(i64::MAX),
        _ if operator == Operator::Mul => integer(element, 1),
        Element::F32 => ElementValue::from_f32(f32::MAX),
        Element::F64 => ElementValue::from_f64(f64::MAX),
        Element::Struct4 | Element::Struct8 | Element::Struct12 | Element::Struct16 => no_number(element),
    }
}
