//! The label grammar, which follows from the table.
//!
//! A label is made of tags joined by dots, one for each parameter in the order of the table; a parameter at its
//! default is left out. A word has a tag of its own, a number stands behind the tag of its parameter:
//! `b4.vec4.par.rake.wg256.g1024` is a complete label. The label of a kernel is that of its configs without the
//! launch shape, `b4.vec4.par.rake`. Printing and parsing are inverse: a label in another order, or with a default
//! written out, is refused.

use std::fmt;
use std::str::FromStr;

use super::launch::{WORKGROUP_SIZE, WORKGROUPS, WORKGROUPS_PER_UNIT};
use super::table::ANY_CONFIG;
use super::{Config, Declaration, KERNEL_PARAMETERS, Kernel, PARAMETERS, Value, Values};
use crate::nearest::hint;

/// Why a text is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{label}` is not a label: {reason} (a complete one is b4.vec4.par.rake.wg256.g1024)")]
pub struct LabelError {
    /// The text.
    pub label: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tags(f, &Config { kernel: *self, ..ANY_CONFIG }, KERNEL_PARAMETERS)
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tags(f, self, PARAMETERS)
    }
}

fn write_tags(
    f: &mut fmt::Formatter<'_>,
    config: &Config,
    parameters: &'static [Declaration],
) -> fmt::Result {
    let mut dot = "";
    for LabelPart { tag, .. } in parts(config, parameters) {
        write!(f, "{dot}{tag}")?;
        dot = ".";
    }
    Ok(())
}

/// One part of a label.
#[derive(Debug, Clone)]
pub struct LabelPart {
    /// The tag, as it stands in the label.
    pub tag: String,
    /// The parameter that it is of.
    pub parameter: &'static Declaration,
    /// The value that it stands for.
    pub value: Value,
}

impl LabelPart {
    /// Every part of the label of a config.
    pub fn of_config(config: &Config) -> impl Iterator<Item = Self> + use<> {
        parts(config, PARAMETERS)
    }

    /// Every part of the label of a kernel.
    pub fn of_kernel(kernel: &Kernel) -> impl Iterator<Item = Self> + use<> {
        parts(&Config { kernel: *kernel, ..ANY_CONFIG }, KERNEL_PARAMETERS)
    }

    /// What a tag may be, whichever label it stands in.
    pub fn of_tag(tag: &str) -> impl Iterator<Item = Self> {
        PARAMETERS.iter().filter_map(move |parameter| {
            Some(Self { tag: tag.to_owned(), parameter, value: value_of(parameter, tag)? })
        })
    }
}

fn parts(config: &Config, parameters: &'static [Declaration]) -> impl Iterator<Item = LabelPart> + use<> {
    let config = *config;
    parameters.iter().filter_map(move |parameter| {
        let value = (parameter.get)(&config);
        let tag = match (value, parameter.values) {
            (value, _) if Some(value) == parameter.default => return None,
            (Value::Word { place, .. }, Values::Words(words)) => words[place].tag.to_owned(),
            (value, _) => format!("{}{value}", parameter.tag),
        };
        Some(LabelPart { tag, parameter, value })
    })
}

/// Tags of a label, taken one by one in grammar order.
struct Tags<'a> {
    label: &'a str,
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Tags<'a> {
    fn new(label: &'a str) -> Self {
        Self { label, rest: label.split('.').peekable() }
    }

    /// Takes the next tag if it is one of this parameter; else the parameter has its default.
    fn take(&mut self, parameter: &Declaration) -> Result<Value, LabelError> {
        match self.rest.peek().and_then(|tag| value_of(parameter, tag)) {
            Some(value) => {
                self.rest.next();
                Ok(value)
            }
            None => parameter.default.ok_or_else(|| self.expected(&described(parameter))),
        }
    }

    fn kernel(&mut self) -> Result<Config, LabelError> {
        KERNEL_PARAMETERS
            .iter()
            .try_fold(ANY_CONFIG, |config, parameter| Ok(parameter.with(config, self.take(parameter)?)))
    }

    fn end(&mut self) -> Result<(), LabelError> {
        if self.rest.peek().is_none() { Ok(()) } else { Err(self.expected("the end")) }
    }

    fn expected(&mut self, what: &str) -> LabelError {
        let found = self.rest.peek().map_or("the end".to_owned(), |tag| {
            format!("`{}`{}", tag.chars().take(20).collect::<String>(), hint_of(tag))
        });
        // A label from a file can be anything: show its beginning only.
        let label = self.label.chars().take(80).collect();
        LabelError { label, reason: format!("expected {what}, found {found}") }
    }
}

/// What the writer of a tag may have meant that stands where there cannot be one.
fn hint_of(tag: &str) -> String {
    if let Some(part) = LabelPart::of_tag(tag).next() {
        return format!("; {} stands elsewhere: the order of parts is fixed", part.parameter.name);
    }
    hint(tag, word_tags())
}

/// The tags of all words. Defaults have none.
fn word_tags() -> impl Iterator<Item = &'static str> {
    let words = PARAMETERS.iter().filter_map(|parameter| match parameter.values {
        Values::Words(words) => Some(words),
        Values::Numbers(..) => None,
    });
    words.flatten().map(|word| word.tag).filter(|tag| !tag.is_empty())
}

/// The value that a tag stands for. A default has none.
fn value_of(parameter: &Declaration, tag: &str) -> Option<Value> {
    let value = match parameter.values {
        Values::Words(words) => {
            let place = words.iter().position(|word| !tag.is_empty() && word.tag == tag)?;
            Value::Word { place, word: words[place].word }
        }
        Values::Numbers(least, most) => {
            let digits = tag.strip_prefix(parameter.tag)?;
            let number: u32 = digits.parse().ok().filter(|number| (least..=most).contains(number))?;
            // No sign, no leading zeros.
            Some(Value::Number(number)).filter(|_| number.to_string() == digits)?
        }
    };
    (Some(value) != parameter.default).then_some(value)
}

/// What a label has to have at the place of a parameter without a default.
fn described(parameter: &Declaration) -> String {
    match parameter.values {
        Values::Words(words) => {
            let tags: Vec<_> = words.iter().map(|word| word.tag).collect();
            format!("the {} ({})", parameter.name, tags.join(", "))
        }
        Values::Numbers(least, most) => {
            let (name, tag) = (parameter.name.replace('_', " "), parameter.tag);
            format!("the {name} ({tag}{least} to {tag}{most})")
        }
    }
}

impl FromStr for Kernel {
    type Err = LabelError;

    fn from_str(label: &str) -> Result<Self, LabelError> {
        let mut tags = Tags::new(label);
        let config = tags.kernel()?;
        tags.end()?;
        Ok(config.kernel)
    }
}

impl FromStr for Config {
    type Err = LabelError;

    fn from_str(label: &str) -> Result<Self, LabelError> {
        let mut tags = Tags::new(label);
        let mut config = tags.kernel()?;
        config = WORKGROUP_SIZE.with(config, tags.take(&WORKGROUP_SIZE)?);
        config = WORKGROUPS.with(config, tags.take(&WORKGROUPS)?);
        // A launch shape fixes the size, or says how many workgroups each unit gets, or neither.
        if config.workgroups.is_none() {
            config = WORKGROUPS_PER_UNIT.with(config, tags.take(&WORKGROUPS_PER_UNIT)?);
        }
        tags.end()?;
        Ok(config)
    }
}

impl From<Config> for String {
    fn from(config: Config) -> Self {
        config.to_string()
    }
}

impl TryFrom<String> for Config {
    type Error = LabelError;

    fn try_from(label: String) -> Result<Self, LabelError> {
        label.parse()
    }
}

/// Whether some label begins like that: it may be cut anywhere, also within a tag. (That its tags stand in the right
/// order is not looked at.)
#[must_use]
pub fn begins_a_label(text: &str) -> bool {
    let numbers = || PARAMETERS.iter().map(|parameter| parameter.tag).filter(|tag| !tag.is_empty());
    let number = |tag: &str| {
        let letters = tag.trim_end_matches(|letter: char| letter.is_ascii_digit());
        letters.len() < tag.len() && numbers().any(|number| number == letters)
    };
    let is_tag = |tag: &str| word_tags().any(|word| word == tag) || number(tag);
    let begins_tag =
        |tag: &str| is_tag(tag) || word_tags().chain(numbers()).any(|word| word.starts_with(tag));
    let (whole, last) = text.rsplit_once('.').map_or((None, text), |(whole, last)| (Some(whole), last));
    whole.into_iter().flat_map(|whole| whole.split('.')).all(is_tag) && begins_tag(last)
}
