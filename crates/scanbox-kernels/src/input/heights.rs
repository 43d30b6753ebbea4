//! Elements of a type in ascending order, by number: what inputs of minima and maxima are made of.

use scanbox_model::problem::{Element, ElementValue, Operator, Problem};

/// The first exponent that a normal number has, as the bits of the smallest of them; what lies below may be flushed.
const LEAST_NORMAL: (u64, u64) = (0x0080_0000, 0x0010_0000_0000_0000);

/// Numbers, of 64-bit types those of the upper words, in the order of a type: from the least to the greatest.
fn range(element: Element) -> (i64, i64) {
    match element {
        Element::I32 | Element::I64 => (i32::MIN.into(), i32::MAX.into()),
        // Normal ones of both signs, and zero between them.
        Element::F32 => (-0x7F00_0000, 0x7F00_0000),
        Element::F64 => (-0x7FE0_0000, 0x7FE0_0000),
        _ => (0, u32::MAX.into()),
    }
}

/// The number from which on signed and unsigned comparisons differ, or numbers are positive.
fn middle(element: Element) -> i64 {
    match element {
        Element::I32 | Element::I64 | Element::F32 | Element::F64 => 0,
        _ => 1 << 31,
    }
}

/// The number of a value; beyond the range of an infinity.
fn number(value: ElementValue) -> i64 {
    let of_float = |is_negative: bool, magnitude: Option<u64>, shift: u32| match magnitude {
        None => 0,
        Some(magnitude) if is_negative => -((magnitude >> shift) as i64) - 1,
        Some(magnitude) => (magnitude >> shift) as i64 + 1,
    };
    let bits = value.bits;
    match value.element {
        Element::I32 => (bits as u32 as i32).into(),
        Element::U64 => (bits >> 32) as i64,
        Element::I64 => bits as i64 >> 32,
        Element::F32 => of_float(bits >> 31 & 1 == 1, (bits & 0x7FFF_FFFF).checked_sub(LEAST_NORMAL.0), 0),
        Element::F64 => of_float(bits >> 63 == 1, (bits & (u64::MAX >> 1)).checked_sub(LEAST_NORMAL.1), 32),
        _ => bits as i64,
    }
}

/// A value with this number; `low` is what 64-bit ones have below it.
fn value(element: Element, number: i64, low: u32) -> ElementValue {
    let wide = (number as u64) << 32 | u64::from(low);
    let magnitude = number.unsigned_abs().wrapping_sub(1);
    let sign = u64::from(number < 0);
    match element {
        Element::I32 => ElementValue::from_i32(number as i32),
        Element::U64 | Element::I64 => ElementValue { element, bits: wide },
        Element::F32 | Element::F64 if number == 0 => ElementValue { element, bits: 0 },
        Element::F32 => ElementValue { element, bits: sign << 31 | (magnitude + LEAST_NORMAL.0) },
        Element::F64 => {
            ElementValue { element, bits: sign << 63 | ((magnitude << 32 | u64::from(low)) + LEAST_NORMAL.1) }
        }
        _ => ElementValue::from_u32(number as u32),
    }
}

/// Steps beside the place where heights begin that are there on either side of it.
const MARGIN: i64 = 128;

/// Heights of records are above those of other elements.
pub(super) const LEAST_RECORD: i64 = MARGIN + 1;
/// Ranks of records are below 2 to the power of this, and some more.
const RANK_OCTAVES: u32 = 30;
/// How many more.
const MORE_RANKS: i64 = 32;
/// Behind so many octaves of ranks records stand on the other side of the middle.
const TO_MIDDLE: u32 = 5;

/// Values that beat each other and the initial value: of a maximum the greater ones, of a minimum the smaller ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heights {
    element: Element,
    /// The number of height 0: the initial value, or where there is none a value near the identity.
    origin: i64,
    /// What is added to a number for each step up.
    step: i64,
}

impl Heights {
    /// Those of a problem of minima or maxima.
    pub fn of(problem: &Problem) -> Self {
        let (element, operator) = (problem.element(), problem.operator());
        let step = if operator == Operator::Min { -1 } else { 1 };
        let (least, greatest) = range(element);
        // Floats without an initial value begin at 4 or -4: with those that have all magnitudes down to 2^-126.
        let first = if element.is_float() { -step * (1 << 30) } else { Self::nearest(step, least, greatest) };
        let init = problem.init().filter(|init| *init != operator.identity(element));
        Self { element, origin: init.map_or(first, number), step }
    }

    fn nearest(step: i64, least: i64, greatest: i64) -> i64 {
        if step > 0 { least + MARGIN } else { greatest - MARGIN }
    }

    /// The value at a height. Those above 0 beat the initial value, each of them those below it; they end where the
    /// type does ([`Heights::room`]).
    pub fn value(&self, height: i64, low: u32) -> ElementValue {
        let (least, greatest) = range(self.element);
        value(self.element, (self.origin + self.step * height).clamp(least, greatest), low)
    }

    /// A value that beats all of lower rank, and those at heights below [`LEAST_RECORD`]. `random` is what a value of
    /// 64 bits has beside its number.
    ///
    /// Records go far: a comparison of numbers without a sign for such with one, or of floats as integers, is right as
    /// long as all stand on one side of the middle of their type.
    pub fn record(&self, rank: i64, random: u64) -> ElementValue {
        self.close_to_record(rank, random, false)
    }

    /// What the record of the same arguments beats, and only just: by one step, or by one bit of the lower word where
    /// there is one. A comparison has to look at all bits to tell the two apart.
    pub fn nearly(&self, rank: i64, random: u64) -> ElementValue {
        self.close_to_record(rank, random, true)
    }

    fn close_to_record(&self, rank: i64, random: u64, is_beaten: bool) -> ElementValue {
        let height = LEAST_RECORD + rank + self.leaps(rank);
        if self.element.bytes() == 4 {
            return self.value(height - i64::from(is_beaten), 0);
        }
        let (low, bit) = (random as u32, 1 << (random >> 32 & random >> 37 & 31));
        // The bits of a float are in the order of its magnitude.
        let is_negative_float = self.element.is_float() && self.origin + self.step * height < 0;
        let grows = (self.step > 0) != is_negative_float;
        self.value(height, if grows == is_beaten { low & !bit } else { low | bit })
    }

    /// What records of this rank have beyond a step for each rank: to the middle of the type within few octaves of
    /// ranks, and then on, the same for each octave, as far as there is room.
    fn leaps(&self, rank: i64) -> i64 {
        let steps = LEAST_RECORD + (1 << (RANK_OCTAVES - 1)) + MORE_RANKS;
        let budget = (self.room() - steps).max(0);
        let to_middle = (self.step * (middle(self.element) - self.origin)).clamp(0, budget);
        let later = (budget - to_middle) / i64::from(RANK_OCTAVES - TO_MIDDLE);
        let octave = (rank + 1).ilog2();
        // In octaves from the first one, times the length of this one.
        let part = |octaves: u32| (i64::from(octaves) << octave) + (rank + 1 - (1 << octave));
        if octave < TO_MIDDLE {
            to_middle * part(octave) / (i64::from(TO_MIDDLE) << octave)
        } else {
            to_middle + ((later * part(octave - TO_MIDDLE)) >> octave)
        }
    }

    /// How high values go.
    pub fn room(&self) -> i64 {
        let (least, greatest) = range(self.element);
        if self.step > 0 { greatest - self.origin } else { self.origin - least }
    }
}
