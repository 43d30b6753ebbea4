//! Values of parameters whatever their type, for all code that goes over the table.

use std::fmt;

use super::words::{Parameter, Word};
use crate::nearest::hint;

/// The word for what follows from the device and the other parameters.
pub(crate) const AUTO: &str = "auto";

/// The word for every value that the device offers.
pub(crate) const ALL: &str = "all";

/// The values that a parameter may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    Words(&'static [Word]),
    /// A number from the first to the second.
    Numbers(u32, u32),
}

impl Values {
    /// Whether a text is one of them.
    ///
    /// # Errors
    /// When it is none: what they are.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Words(words) if words.iter().any(|word| word.word == text) => Ok(()),
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|word| word.word).collect();
                Err(format!("it is one of {}", words.join(", ")))
            }
            Self::Numbers(least, most) => {
                let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
                match number.filter(|number| (least..=most).contains(number)) {
                    Some(_) => Ok(()),
                    None => Err(format!("it is a number from {least} to {most}")),
                }
            }
        }
    }

    /// The message about a word that no value of this parameter has.
    #[must_use]
    pub fn unknown(self, name: &str, word: &str) -> String {
        let listed = self.check("").err().unwrap_or_default();
        format!("`{word}` is not a value of {name}; {listed}{}", self.hint(word))
    }

    /// Which value a text that is none may mean, for the end of a message; empty where none is near.
    #[must_use]
    pub fn hint(self, text: &str) -> String {
        let Self::Words(words) = self else { return String::new() };
        hint(text, words.iter().map(|word| word.word))
    }

    /// The value with this word; `None` of numbers, and where no value has it.
    #[must_use]
    pub fn with_word(self, text: &str) -> Option<Value> {
        let Self::Words(words) = self else { return None };
        let place = words.iter().position(|word| word.word == text)?;
        Some(Value::Word { place, word: words[place].word })
    }
}

/// The value of a parameter. Ordered as parameters are enumerated: numbers by size, words by their place in the enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// The config leaves it open: it follows from the size, or does not apply.
    Open,
    /// A number.
    Number(u32),
    /// A word.
    Word {
        /// Its place among the values.
        place: usize,
        /// The word in space files and CSV.
        word: &'static str,
    },
    /// What is found out on the device: in lists alone, never of a config.
    Auto,
    /// Every value that the device offers: in lists alone, never of a config.
    All,
}

/// As in CSV: an open value is empty.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => Ok(()),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word { word, .. } => f.write_str(word),
            Self::Auto => f.write_str(AUTO),
            Self::All => f.write_str(ALL),
        }
    }
}

/// The type of a parameter in Rust.
pub trait Typed: Sized {
    /// What it may be, as far as the type says.
    const VALUES: Values;
    /// Some value.
    const ANY: Self;

    /// It, as a value.
    fn value(self) -> Value;
    /// The value as this type; `None` where it is of another one.
    fn of(value: Value) -> Option<Self>;
}

impl<P: Parameter> Typed for P {
    const VALUES: Values = Values::Words(P::WORDS);
    const ANY: Self = P::VALUES[0];

    fn value(self) -> Value {
        Value::Word { place: self.place(), word: self.word() }
    }

    fn of(value: Value) -> Option<Self> {
        let Value::Word { place, word } = value else { return None };
        // It is nearly always the very word, which says so faster than its characters.
        let is_it = |own: &str| std::ptr::eq(own, word) || own == word;
        P::VALUES.get(place).copied().filter(|value| is_it(value.word()))
    }
}

impl Typed for u32 {
    const VALUES: Values = Values::Numbers(0, Self::MAX);
    const ANY: Self = 1;

    fn value(self) -> Value {
        Value::Number(self)
    }

    fn of(value: Value) -> Option<Self> {
        if let Value::Number(number) = value { Some(number) } else { None }
    }
}

/// A parameter that may be left open.
impl Typed for Option<u32> {
    const VALUES: Values = Values::Numbers(0, u32::MAX);
    const ANY: Self = None;

    fn value(self) -> Value {
        self.map_or(Value::Open, Value::Number)
    }

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Open => Some(None),
            Value::Number(number) => Some(Some(number)),
            Value::Word { .. } | Value::Auto | Value::All => None,
        }
    }
}
