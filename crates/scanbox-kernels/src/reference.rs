//! The CPU's answer.
//!
//! It is as plain as it can be: one element combined after another. Integers are exact. Floats are combined with more
//! precision than the device has, and rounded to the type at the end: 32-bit ones in 64 bits, 64-bit ones in pairs.

use scanbox_model::problem::{Element, ElementValue, Mode, Operator, Problem};

/// Writes the bits of an element into its words, the lower half first.
pub(crate) fn store(bits: u64, words: &mut [u32]) {
    words[0] = bits as u32;
    if let Some(high) = words.get_mut(1) {
        *high = (bits >> 32) as u32;
    }
}

/// Reads the bits of an element from its words.
fn load(words: &[u32]) -> u64 {
    u64::from(words[0]) | words.get(1).map_or(0, |high| u64::from(*high) << 32)
}

/// What an element is while it is being combined.
trait Number: Copy {
    fn read(bits: u64) -> Self;
    fn write(self) -> u64;
    fn add(self, later: Self) -> Self;
    fn mul(self, later: Self) -> Self;
    fn min(self, later: Self) -> Self;
    fn max(self, later: Self) -> Self;
}

/// Those whose bits can be combined.
trait Integer: Number {
    fn and(self, later: Self) -> Self;
    fn or(self, later: Self) -> Self;
    fn xor(self, later: Self) -> Self;
}

macro_rules! integer {
    ($($type:ident, $unsigned:ident);+) => {$(
        impl Number for $type {
            fn read(bits: u64) -> Self {
                bits as Self
            }
            fn write(self) -> u64 {
                u64::from(self as $unsigned)
            }
            fn add(self, later: Self) -> Self {
                self.wrapping_add(later)
            }
            fn mul(self, later: Self) -> Self {
                self.wrapping_mul(later)
            }
            fn min(self, later: Self) -> Self {
                Ord::min(self, later)
            }
            fn max(self, later: Self) -> Self {
                Ord::max(self, later)
            }
        }

        impl Integer for $type {
            fn and(self, later: Self) -> Self {
                self & later
            }
            fn or(self, later: Self) -> Self {
                self | later
            }
            fn xor(self, later: Self) -> Self {
                self ^ later
            }
        }
    )+};
}
integer!(u32, u32; i32, u32; u64, u64; i64, u64);

/// A 32-bit float in 64 bits.
#[derive(Clone, Copy)]
struct Wide(f64);

impl Number for Wide {
    fn read(bits: u64) -> Self {
        Self(f32::from_bits(bits as u32).into())
    }
    fn write(self) -> u64 {
        (self.0 as f32).to_bits().into()
    }
    fn add(self, later: Self) -> Self {
        Self(self.0 + later.0)
    }
    fn mul(self, later: Self) -> Self {
        Self(self.0 * later.0)
    }
    fn min(self, later: Self) -> Self {
        Self(self.0.min(later.0))
    }
    fn max(self, later: Self) -> Self {
        Self(self.0.max(later.0))
    }
}

/// A 64-bit float, and what its rounding has lost.
#[derive(Clone, Copy)]
struct Pair {
    value: f64,
    lost: f64,
}

impl Pair {
    fn exact(value: f64) -> Self {
        Self { value, lost: 0.0 }
    }
}

impl Number for Pair {
    fn read(bits: u64) -> Self {
        Self::exact(f64::from_bits(bits))
    }
    fn write(self) -> u64 {
        (self.value + self.lost).to_bits()
    }
    /// The error of a sum is a float (Knuth, TAOCP 2, 4.2.2, theorem B).
    fn add(self, later: Self) -> Self {
        let sum = self.value + later.value;
        let of_later = sum - self.value;
        let error = (self.value - (sum - of_later)) + (later.value - of_later);
        Self { value: sum, lost: self.lost + later.lost + error }
    }
    /// Factors are powers of two, but for one: exact.
    fn mul(self, later: Self) -> Self {
        Self::exact(self.value * later.value)
    }
    fn min(self, later: Self) -> Self {
        Self::exact(self.value.min(later.value))
    }
    fn max(self, later: Self) -> Self {
        Self::exact(self.value.max(later.value))
    }
}

/// The answer to a problem, made from the element on that is combined first, part by part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    problem: Problem,
    /// What has been combined so far: bits as wide as the CPU combines them, and what they have lost.
    carry: Carry,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Carry {
    Bits(u64),
    Wide(f64),
    Pair(f64, f64),
}

impl Reference {
    /// The answer to a problem before its first element.
    #[must_use]
    pub fn new(problem: Problem) -> Self {
        let first = problem.init().unwrap_or_else(|| problem.operator().identity(problem.element()));
        let float = first.float().unwrap_or(0.0);
        let carry = match problem.element() {
            Element::F32 => Carry::Wide(float),
            Element::F64 => Carry::Pair(float, 0.0),
            _ => Carry::Bits(first.bits),
        };
        Self { problem, carry }
    }

    /// Turns the words of the next elements of the input, in the order in which they are combined, into those of the
    /// output. Of a reduction it leaves the
    /// inclusive scan: the last element is the answer.
    pub fn scan(&mut self, words: &mut [u32]) {
        let (operator, exclusive) = (self.problem.operator(), self.problem.mode() == Mode::Exclusive);
        self.carry = match (self.problem.element(), self.carry) {
            (Element::F32, Carry::Wide(carry)) => {
                Carry::Wide(scan_numbers::<1, _>(words, operator, exclusive, Wide(carry)).0)
            }
            (Element::F64, Carry::Pair(value, lost)) => {
                let Pair { value, lost } =
                    scan_numbers::<2, _>(words, operator, exclusive, Pair { value, lost });
                Carry::Pair(value, lost)
            }
            (element, Carry::Bits(bits)) => Carry::Bits(match element {
                Element::U32 => scan_integers::<1, _>(words, operator, exclusive, bits as u32).write(),
                Element::I32 => scan_integers::<1, _>(words, operator, exclusive, bits as i32).write(),
                Element::U64 => scan_integers::<2, _>(words, operator, exclusive, bits).write(),
                _ => scan_integers::<2, _>(words, operator, exclusive, bits as i64).write(),
            }),
            (_, carry) => carry,
        };
    }

    /// The elements of an answer, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn values(problem: &Problem, words: &[u32]) -> Vec<ElementValue> {
        let length = problem.element_bytes() as usize / size_of::<u32>();
        words
            .chunks_exact(length)
            .map(|words| ElementValue { element: problem.element(), bits: load(words) })
            .collect()
    }
}

/// `LENGTH`: words of an element.
fn scan_integers<const LENGTH: usize, T: Integer>(
    words: &mut [u32],
    operator: Operator,
    exclusive: bool,
    carry: T,
) -> T {
    match operator {
        Operator::And => pass::<LENGTH, T>(words, exclusive, carry, T::and),
        Operator::Or => pass::<LENGTH, T>(words, exclusive, carry, T::or),
        Operator::Xor => pass::<LENGTH, T>(words, exclusive, carry, T::xor),
        _ => scan_numbers::<LENGTH, T>(words, operator, exclusive, carry),
    }
}

fn scan_numbers<const LENGTH: usize, T: Number>(
    words: &mut [u32],
    operator: Operator,
    exclusive: bool,
    carry: T,
) -> T {
    match operator {
        Operator::Mul => pass::<LENGTH, T>(words, exclusive, carry, T::mul),
        Operator::Min => pass::<LENGTH, T>(words, exclusive, carry, T::min),
        Operator::Max => pass::<LENGTH, T>(words, exclusive, carry, T::max),
        // A problem has no other operator for floats.
        _ => pass::<LENGTH, T>(words, exclusive, carry, T::add),
    }
}

fn pass<const LENGTH: usize, T: Number>(
    words: &mut [u32],
    exclusive: bool,
    mut carry: T,
    combine: impl Fn(T, T) -> T,
) -> T {
    for words in words.chunks_exact_mut(LENGTH) {
        let before = carry;
        carry = combine(carry, T::read(load(words)));
        store(if exclusive { before } else { carry }.write(), words);
    }
    carry
}
