//! One element of a problem.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Element, Operator};

/// One element: a type and the bits of a value of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ElementValue {
    /// Its type.
    pub element: Element,
    /// Its bits; the upper half of a 32-bit one is zero.
    pub bits: u64,
}

impl ElementValue {
    /// An unsigned 32-bit integer.
    #[must_use]
    pub fn from_u32(value: u32) -> Self {
        Self { element: Element::U32, bits: value.into() }
    }

    /// A signed 32-bit integer.
    #[must_use]
    pub fn from_i32(value: i32) -> Self {
        Self { element: Element::I32, bits: (value as u32).into() }
    }

    /// A 32-bit float.
    #[must_use]
    pub fn from_f32(value: f32) -> Self {
        Self { element: Element::F32, bits: value.to_bits().into() }
    }

    /// An unsigned 64-bit integer.
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        Self { element: Element::U64, bits: value }
    }

    /// A signed 64-bit integer.
    #[must_use]
    pub fn from_i64(value: i64) -> Self {
        Self { element: Element::I64, bits: value as u64 }
    }

    /// A 64-bit float.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self { element: Element::F64, bits: value.to_bits() }
    }

    /// Reads a value of a type.
    ///
    /// # Errors
    /// When the text is no number, or none that the type has; infinities are not taken.
    pub fn parse(element: Element, text: &str) -> Result<Self, String> {
        let value = match element {
            Element::U32 => text.parse().ok().map(Self::from_u32),
            Element::I32 => text.parse().ok().map(Self::from_i32),
            Element::F32 => text.parse().ok().filter(|value: &f32| value.is_finite()).map(Self::from_f32),
            Element::U64 => text.parse().ok().map(Self::from_u64),
            Element::I64 => text.parse().ok().map(Self::from_i64),
            Element::F64 => text.parse().ok().filter(|value: &f64| value.is_finite()).map(Self::from_f64),
            // A structure has more than one value.
            Element::Struct4 | Element::Struct8 | Element::Struct12 | Element::Struct16 => None,
        };
        value.ok_or_else(|| {
            format!("`{}` is not a value of type {element}", text.chars().take(40).collect::<String>())
        })
    }

    /// Whether it is a float so small that it has fewer digits: devices may take it for zero.
    #[must_use]
    pub fn is_subnormal(self) -> bool {
        match self.element {
            Element::F32 => f32::from_bits(self.bits as u32).is_subnormal(),
            Element::F64 => f64::from_bits(self.bits).is_subnormal(),
            _ => false,
        }
    }

    /// The value of a float; `None` for an integer.
    #[must_use]
    pub fn float(self) -> Option<f64> {
        match self.element {
            Element::F32 => Some(f32::from_bits(self.bits as u32).into()),
            Element::F64 => Some(f64::from_bits(self.bits)),
            _ => None,
        }
    }
}

impl Operator {
    /// What changes nothing when it is combined with something.
    ///
    /// # Panics
    /// Of a user's operator: its file alone knows it.
    #[must_use]
    pub fn identity(self, element: Element) -> ElementValue {
        use Element as E;
        let of = |u32, i32, f32, u64, i64, f64| match element {
            E::U32 => ElementValue::from_u32(u32),
            E::I32 => ElementValue::from_i32(i32),
            E::F32 => ElementValue::from_f32(f32),
            E::U64 => ElementValue::from_u64(u64),
            E::I64 => ElementValue::from_i64(i64),
            E::F64 => ElementValue::from_f64(f64),
            E::Struct4 | E::Struct8 | E::Struct12 | E::Struct16 => {
                panic!("the identity of {element} is in a file")
            }
        };
        match self {
            Self::Add | Self::Or | Self::Xor => of(0, 0, 0.0, 0, 0, 0.0),
            Self::Mul => of(1, 1, 1.0, 1, 1, 1.0),
            Self::And => of(u32::MAX, -1, 0.0, u64::MAX, -1, 0.0),
            Self::Min => of(u32::MAX, i32::MAX, f32::INFINITY, u64::MAX, i64::MAX, f64::INFINITY),
            Self::Max => of(0, i32::MIN, f32::NEG_INFINITY, 0, i64::MIN, f64::NEG_INFINITY),
            Self::User => panic!("the identity of a user's operator is in its file"),
        }
    }
}

impl fmt::Display for ElementValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            Element::U32 => write!(f, "{}", self.bits as u32),
            Element::I32 => write!(f, "{}", self.bits as u32 as i32),
            Element::F32 => write!(f, "{}", f32::from_bits(self.bits as u32)),
            Element::U64 => write!(f, "{}", self.bits),
            Element::I64 => write!(f, "{}", self.bits as i64),
            Element::F64 => write!(f, "{}", f64::from_bits(self.bits)),
            Element::Struct4 => write!(f, "{{{:#010x}}}", self.bits as u32),
            Element::Struct8 | Element::Struct12 | Element::Struct16 => {
                write!(f, "{{{:#010x}, {:#010x}}}", self.bits as u32, (self.bits >> 32) as u32)
            }
        }
    }
}

/// Products of inputs and an initial value outside of this range leave the range of a 32-bit float.
const MOST_INITIAL_FACTOR: f64 = (1u64 << 20) as f64;

/// Reads an initial value that inputs can be combined with.
pub(super) fn read_init(element: Element, operator: Operator, text: &str) -> Result<ElementValue, String> {
    // An infinity is the identity of min and max, and written into rows.
    if text == operator.identity(element).to_string() {
        return Ok(operator.identity(element));
    }
    let value = ElementValue::parse(element, text)?;
    let range = 1.0 / MOST_INITIAL_FACTOR..=MOST_INITIAL_FACTOR;
    match value.float().filter(|_| operator == Operator::Mul) {
        _ if value.is_subnormal() => Err(format!("{text} is subnormal: devices may take it for 0")),
        Some(factor) if !range.contains(&factor.abs()) => {
            Err(format!("{value} as a factor: from 2^-20 to 2^20, so that products stay finite"))
        }
        _ => Ok(value),
    }
}
