//! Values of columns, as text and back.

use std::sync::Arc;

use super::{Cache, Selection, Selections, Status};
use crate::api::Api;
use crate::call_form::CallForm;
use crate::parameters::Parameter;
use crate::problem::{Direction, Element, InitSource, Mode, Placement, Total};
use crate::timer::Timer;
use crate::user_operator::OperatorName;

/// Yes or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flag(pub bool);

/// Times in nanoseconds, one of each round, to a tenth.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RoundMedians(pub Vec<f64>);

/// A small share, written with three significant digits.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(pub f64);

/// A cell of a column that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCell {
    /// The name of the column.
    pub column: Arc<str>,
    /// Its text.
    pub text: String,
}

/// A value of one column, as text and back.
pub(super) trait CsvCell: Sized {
    fn write(&self) -> String;
    fn read(text: &str) -> Result<Self, String>;
    /// Replaces the value, and keeps the memory of a text.
    fn fill(&mut self, text: &str) -> Result<(), String> {
        *self = Self::read(text)?;
        Ok(())
    }
}

macro_rules! number_cell {
    ($($type:ty),+) => {$(
        impl CsvCell for $type {
            fn write(&self) -> String {
                self.to_string()
            }
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| no_whole_number(text, u64::from(<$type>::MAX)))
            }
        }
    )+};
}
number_cell!(u32, u64);

/// Why a text is no whole number from 0 to `most`.
fn no_whole_number(text: &str, most: u64) -> String {
    let shown = excerpt(text);
    match text.trim().parse::<f64>() {
        Ok(number) if !number.is_finite() => format!("`{shown}` is not a number"),
        Ok(number) if number < 0.0 => format!("`{shown}` is negative; it must be a whole number from 0"),
        Ok(number) if number > most as f64 => format!("`{shown}` is too large; it is at most {most}"),
        Ok(number) if number.fract() != 0.0 => {
            format!("`{shown}` has a fraction; it must be a whole number")
        }
        Ok(_) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("`{shown}` is too large; it is at most {most}")
        }
        Ok(_) => format!("`{shown}` must be written in digits alone"),
        Err(_) => format!("`{shown}` is not a number"),
    }
}

/// The beginning of a text from a file, for a message.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

impl CsvCell for f64 {
    fn write(&self) -> String {
        format!("{self:.2}")
    }
    fn read(text: &str) -> Result<Self, String> {
        text.parse::<Self>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("`{}` is not a number", excerpt(text)))
    }
}

impl CsvCell for Ratio {
    fn write(&self) -> String {
        if self.0 == 0.0 { "0".to_owned() } else { format!("{:.2e}", self.0) }
    }
    fn read(text: &str) -> Result<Self, String> {
        <f64 as CsvCell>::read(text).map(Self)
    }
}

impl CsvCell for String {
    fn write(&self) -> String {
        self.clone()
    }
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
    fn fill(&mut self, text: &str) -> Result<(), String> {
        self.clear();
        self.push_str(text);
        Ok(())
    }
}

impl CsvCell for Flag {
    fn write(&self) -> String {
        if self.0 { "yes".to_owned() } else { String::new() }
    }
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "yes" => Ok(Self(true)),
            "" => Ok(Self(false)),
            other => Err(format!("`{}` is neither yes nor empty", excerpt(other))),
        }
    }
}

impl CsvCell for Status {
    fn write(&self) -> String {
        self.word().to_owned()
    }
    fn read(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|status| status.word() == text)
            .ok_or_else(|| format!("`{}` is not a status", excerpt(text)))
    }
}

impl CsvCell for Cache {
    fn write(&self) -> String {
        self.word().to_owned()
    }
    fn read(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|cache| cache.word() == text);
        found.ok_or_else(|| format!("`{}` is neither hot nor cold", excerpt(text)))
    }
}

impl CsvCell for Selections {
    fn write(&self) -> String {
        self.iter().map(|selection| selection.word()).collect::<Vec<_>>().join("+")
    }
    fn read(text: &str) -> Result<Self, String> {
        let word = |word: &str| Selection::ALL.into_iter().find(|selection| selection.word() == word);
        let words = text.split('+').filter(|_| !text.is_empty()).map(word);
        words.collect::<Option<_>>().ok_or_else(|| format!("`{}` is not a selection", excerpt(text)))
    }
}

impl CsvCell for RoundMedians {
    fn write(&self) -> String {
        self.0.iter().map(|ns| format!("{ns:.1}")).collect::<Vec<_>>().join("+")
    }
    fn read(text: &str) -> Result<Self, String> {
        text.split('+')
            .filter(|_| !text.is_empty())
            .map(<f64 as CsvCell>::read)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

macro_rules! parameter_cell {
    ($($type:ty),+) => {$(
        impl CsvCell for $type {
            fn write(&self) -> String {
                self.word().to_owned()
            }
            fn read(text: &str) -> Result<Self, String> {
                Self::from_word(text)
            }
        }
    )+};
}
parameter_cell!(Mode, Element, Placement, Direction, Total, InitSource);

impl CsvCell for OperatorName {
    fn write(&self) -> String {
        self.as_str().to_owned()
    }
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }
}

impl<T: CsvCell> CsvCell for Option<T> {
    fn write(&self) -> String {
        self.as_ref().map_or_else(String::new, CsvCell::write)
    }
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(None) } else { T::read(text).map(Some) }
    }
}

impl CsvCell for CallForm {
    fn write(&self) -> String {
        self.to_string()
    }
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }
}

impl CsvCell for Api {
    fn write(&self) -> String {
        self.to_string()
    }
    fn read(text: &str) -> Result<Self, String> {
        // Files from before there was a choice.
        if text.is_empty() { Ok(Self::default()) } else { text.parse() }
    }
}

impl CsvCell for Timer {
    fn write(&self) -> String {
        self.word().to_owned()
    }
    fn read(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|timer| timer.word() == text);
        found.ok_or_else(|| format!("`{}` is neither timestamps nor wall", excerpt(text)))
    }
}

/// A switch.
impl CsvCell for bool {
    fn write(&self) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(format!("`{}` is neither on nor off", excerpt(other))),
        }
    }
}
