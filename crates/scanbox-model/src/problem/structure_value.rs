//! One element of a user's operator: what the fields of its structure hold, field by field.
//!
//! Its text says of each number what it is, as GLSL does: `1u` is a uint, `-3` an int, `0.5` a float. So rows are read
//! without the file that has the structure.

use std::fmt;
use std::str::FromStr;

/// The type of a component of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// A 32-bit unsigned integer.
    Uint,
    /// A 32-bit signed integer.
    Int,
    /// A 32-bit float.
    Float,
}

impl Component {
    /// Its name in GLSL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uint => "uint",
            Self::Int => "int",
            Self::Float => "float",
        }
    }

    /// The word of a number of this type, which may say what it is or leave that out.
    ///
    /// # Errors
    /// When it is none: of another type, out of range, or a float that devices may take for something else.
    pub fn read(self, text: &str) -> Result<u32, String> {
        let shown = || text.chars().take(40).collect::<String>();
        let word = match self {
            Self::Uint => text.strip_suffix(['u', 'U']).unwrap_or(text).parse().ok(),
            Self::Int => text.parse().ok().map(|value: i32| value as u32),
            Self::Float => {
                let value: Option<f32> = text.parse().ok().filter(|value: &f32| !value.is_nan());
                if value.is_some_and(f32::is_subnormal) {
                    return Err(format!("`{}` is subnormal: devices may take it for 0", shown()));
                }
                value.map(f32::to_bits)
            }
        };
        word.ok_or_else(|| format!("`{}` is not a value of type {}", shown(), self.name()))
    }

    /// What a number says that it is.
    fn of(text: &str) -> Self {
        let is_float = |text: &str| text.contains(['.', 'e', 'E']) || text.trim_start_matches('-') == "inf";
        match text {
            _ if text.ends_with(['u', 'U']) => Self::Uint,
            _ if is_float(text) => Self::Float,
            _ => Self::Int,
        }
    }
}

/// The most components of a structure.
const MOST: usize = 4;

/// The components of an element of a user's operator, in the order of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructureValue {
    components: [Option<(Component, u32)>; MOST],
}

impl StructureValue {
    /// A value from a type and a word for each component.
    ///
    /// # Errors
    /// When there are more than a structure has, or none.
    pub fn new(components: impl IntoIterator<Item = (Component, u32)>) -> Result<Self, String> {
        let mut value = Self { components: [None; MOST] };
        for (at, component) in components.into_iter().enumerate() {
            let place = value.components.get_mut(at);
            *place.ok_or_else(|| format!("a structure has {MOST} numbers at most"))? = Some(component);
        }
        if value.components[0].is_none() { Err("a structure has a number".to_owned()) } else { Ok(value) }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        4 * self.components.iter().flatten().count() as u32
    }

    /// Its words in memory, and zeros behind them.
    #[must_use]
    pub fn words(self) -> [u32; MOST] {
        self.components.map(|component| component.map_or(0, |(_, word)| word))
    }

    /// The types of its components.
    pub fn types(self) -> impl Iterator<Item = Component> {
        self.components.into_iter().flatten().map(|(component, _)| component)
    }
}

impl fmt::Display for StructureValue {
    /// `1u,-3,0.5`: what [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (component, word)) in self.components.into_iter().flatten().enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            match component {
                Component::Uint => write!(f, "{word}u")?,
                Component::Int => write!(f, "{}", word as i32)?,
                // With a point, or an exponent.
                Component::Float => write!(f, "{:?}", f32::from_bits(word))?,
            }
        }
        Ok(())
    }
}

impl FromStr for StructureValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |part: &str| {
            let component = Component::of(part);
            component.read(part).map(|word| (component, word))
        };
        Self::new(text.split(',').map(read).collect::<Result<Vec<_>, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_numbers_are() {
        for (text, bytes) in
            [("1u", 4), ("-3,7", 8), ("0.5,-0.0,1e30,inf", 16), ("4294967295u,1.0,-2147483648", 12)]
        {
            let value: StructureValue = text.parse().unwrap();
            assert_eq!((value.to_string().as_str(), value.bytes()), (text, bytes));
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for (text, reason) in [
            ("", "is not a value of type int"),
            ("1u,,2", "is not a value of type int"),
            ("1u,2u,3u,4u,5u", "4 numbers at most"),
            ("-1u", "`-1u` is not a value of type uint"),
            ("3000000000", "is not a value of type int"),
            ("1e-44", "subnormal"),
            ("NaN", "is not a value of type int"),
            ("one", "`one` is not a value"),
        ] {
            let error = text.parse::<StructureValue>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
