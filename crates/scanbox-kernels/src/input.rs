//! Inputs: what elements are scanned.
//!
//! Inputs are functions of (problem, kind, seed, index), so that any part can be made anywhere in parallel, and a
//! shorter input is the beginning of a longer one.
//!
//! Random elements are such that what is lost, doubled or misplaced shows, for every operator: prefixes go on
//! changing, and no order of combining rounds, overflows or underflows. So sums of floats are of integers from -8 to
//! 8 (their partial sums stay far below 2^24), factors are odd, or powers of two of either sign, and what min and max
//! look at rises or falls. Elements whose sums do round are an input of their own, [`InputKind::Real`].

use std::fmt;

use rayon::prelude::*;
use scanbox_model::problem::{Element, ElementValue, Operator, Problem};
use serde::{Deserialize, Serialize};

use crate::reference::store;

/// What the elements of an input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Element i is i; of products 2i + 1; of sums of floats i modulo 17, less 8.
    Ramp,
    /// The largest value that there is; of sums of floats 8.
    Maximum,
    /// The identity of the operator, and one random element.
    Spike {
        /// Its index.
        at: u64,
    },
    /// Zeros, and one word below 2^30: a spike that the packed tile state can carry.
    BoundedSpike {
        /// Its index.
        at: u64,
    },
}

/// The sum that the payload of the packed tile state can carry at most: 30 bits (thesis 4.6).
pub const PACKED_MAX_TOTAL: u64 = (1 << 30) - 1;

/// An input of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
            InputKind::BoundedSpike { .. } => "bounded-spike",
        })
    }
}

/// 64 bits from a seed and an index: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
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
            InputKind::Random => draw(element, operator, random, index),
            InputKind::Bounded { n } => {
                ElementValue::from_u32((word % (PACKED_MAX_TOTAL / n.max(1) + 1)) as u32)
            }
            InputKind::Real => match element {
                Element::F32 => ElementValue::from_f32((random >> 40) as f32 / (1u32 << 24) as f32),
                Element::F64 => ElementValue::from_f64((random >> 11) as f64 / (1u64 << 53) as f64),
                _ => draw(element, operator, random, index),
            },
            InputKind::Ones => integer(element, 1),
            InputKind::Ramp if float_sum => integer(element, (index % 17) as i64 - 8),
            InputKind::Ramp if operator == Operator::Mul && element.is_float() => {
                draw(element, operator, random, index)
            }
            InputKind::Ramp if operator == Operator::Mul => integer(element, 2 * index as i64 + 1),
            InputKind::Ramp => integer(element, index as i64),
            InputKind::Maximum if float_sum => integer(element, 8),
            InputKind::Maximum => largest(element, operator),
            InputKind::Spike { at } if index == at => match (element.is_float(), operator) {
                (true, Operator::Add) => integer(element, (word % 8) as i64 + 1),
                (true, Operator::Mul) => integer(element, -2),
                (false, Operator::Add | Operator::Or | Operator::Xor) => bits(element, random | 1 << 32 | 1),
                (false, Operator::Mul) => bits(element, random | 3 << 32 | 3),
                (false, Operator::And) => bits(element, random & !(1 << 32 | 1)),
                (_, _) => draw(element, operator, random, index),
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
            InputKind::Spike { .. } => InputKind::Random,
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
            InputKind::Random | InputKind::Real | InputKind::Maximum | InputKind::Spike { .. } => n == 0,
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
            _ => most / 2,
        };
        initial.fract() == 0.0 && initial.abs() + sums as f64 <= most as f64
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

/// An integer of any type; modulo what the type holds.
fn integer(element: Element, value: i64) -> ElementValue {
    match element {
        Element::U32 => ElementValue::from_u32(value as u32),
        Element::I32 => ElementValue::from_i32(value as i32),
        Element::F32 => ElementValue::from_f32(value as f32),
        Element::U64 => ElementValue::from_u64(value as u64),
        Element::I64 => ElementValue::from_i64(value),
        Element::F64 => ElementValue::from_f64(value as f64),
        Element::Struct4 | Element::Struct8 | Element::Struct16 => no_number(element),
    }
}

/// Elements of a user's operator are made on the device, by its file.
fn no_number(element: Element) -> ! {
    unreachable!("{element} is no number: it is drawn on the device")
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
        Element::Struct4 | Element::Struct8 | Element::Struct16 => no_number(element),
    }
}

/// A random element for an operator.
fn draw(element: Element, operator: Operator, random: u64, index: u64) -> ElementValue {
    let word = random >> 32;
    match (element.is_float(), operator) {
        (true, Operator::Add) => integer(element, (word % 17) as i64 - 8),
        // Signs everywhere; another power of two than 1 at few places, so that any product stays within 2^-64 to 2^64.
        (true, Operator::Mul) => {
            let few = index != 0 && matches!(index >> index.trailing_zeros(), 1 | 3);
            let exponent = if few { (word % 3) as i32 - 1 } else { 0 };
            let factor = if random & 1 == 0 { 1.0 } else { -1.0 } * f64::from(exponent).exp2();
            if element == Element::F32 {
                ElementValue::from_f32(factor as f32)
            } else {
                ElementValue::from_f64(factor)
            }
        }
        (_, Operator::Min | Operator::Max) => {
            // A larger one than all before comes every few elements.
            let rank = (index.min(1 << 29) * 4 + (random & 255)) as u32;
            ranked(element, if operator == Operator::Max { rank } else { !rank }, random as u32)
        }
        (_, Operator::User) => no_number(element),
        (_, Operator::Add | Operator::Xor) => bits(element, random),
        (_, Operator::Mul) => bits(element, random | 1 << 32 | 1),
        // One bit more or less, the more rarely the later: there are few of them.
        (_, Operator::And | Operator::Or) => {
            let change = (u128::from(word) * u128::from(index + 8)) >> 32 < 8;
            let place = random % (8 * u64::from(element.bytes()));
            let set = if change { 1 << place } else { 0 };
            let all = if element.bytes() == 4 { u64::from(u32::MAX) } else { u64::MAX };
            ElementValue { element, bits: if operator == Operator::Or { set } else { !set & all } }
        }
    }
}

/// The elements of a type in ascending order, as far as 32 bits count them; `low` are bits that matter less.
fn ranked(element: Element, rank: u32, low: u32) -> ElementValue {
    let wide = u64::from(rank) << 32 | u64::from(low);
    // Floats as sign and magnitude: normal ones up to about 4.
    let from_middle = i64::from(rank) - (1 << 31);
    let (negative, magnitude) = (from_middle < 0, from_middle.unsigned_abs() >> 1);
    match element {
        Element::U32 => ElementValue::from_u32(rank),
        Element::I32 => ElementValue { element, bits: u64::from(rank ^ 1 << 31) },
        Element::U64 => ElementValue::from_u64(wide),
        Element::I64 => ElementValue { element, bits: wide ^ 1 << 63 },
        Element::F32 => {
            let value = f32::from_bits(magnitude as u32 + 0x0080_0000);
            ElementValue::from_f32(if negative { -value } else { value })
        }
        Element::F64 => {
            let value = f64::from_bits((magnitude << 32 | u64::from(low)) + 0x0010_0000_0000_0000);
            ElementValue::from_f64(if negative { -value } else { value })
        }
        Element::Struct4 | Element::Struct8 | Element::Struct16 => no_number(element),
    }
}
