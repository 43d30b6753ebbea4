//! Filters: which configs of a space to keep.
//!
//! ```text
//! filter    = condition { "," condition }              (all must hold)
//! condition = parameter "=" value { "|" value }        (one must match)
//! ```
//!
//! `parameter` is the name of a parameter's column, or `config` for the beginning of the label:
//! `lookback=parallel,workgroup_size=256|512`, `config=b4.vec4.par.rake`; or `deterministic`, which is `yes` where the result
//! has the same bits on every run ([`crate::config::Kernel::is_deterministic`]), else `no`.

use std::str::FromStr;

use serde::Deserialize;

use crate::config::{Config, NUMBER_TAGS, label_tags};
use crate::parameters::{PARAMETERS, PROPERTIES};

/// A condition on configs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Filter(Vec<Condition>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    key: &'static str,
    values: Vec<String>,
}

/// Why a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no filter: {reason} (for example lookback=parallel,workgroup_size=256|512)")]
pub struct FilterError {
    text: String,
    reason: String,
}

/// The name for the beginning of the label.
const LABEL: &str = "config";

/// Every name that a condition may have.
fn keys() -> impl Iterator<Item = &'static str> {
    std::iter::once(LABEL).chain(PARAMETERS.iter().chain(PROPERTIES).map(|parameter| parameter.name))
}

impl Filter {
    /// Whether the config is to be kept.
    #[must_use]
    pub fn accepts(&self, config: &Config) -> bool {
        self.0.iter().all(|condition| {
            let wanted = &condition.values;
            match PARAMETERS.iter().chain(PROPERTIES).find(|parameter| parameter.name == condition.key) {
                Some(parameter) => wanted.contains(&(parameter.value)(config).to_string()),
                None => {
                    let label = config.to_string();
                    wanted.iter().any(|beginning| label.starts_with(beginning))
                }
            }
        })
    }
}

/// Whether some label begins like that: it may be cut anywhere, also within a tag. (That its tags stand in the right order is
/// not looked at.)
fn begins_a_label(text: &str) -> Result<(), String> {
    let words = label_tags();
    let number = |tag: &str| {
        let letters = tag.trim_end_matches(|letter: char| letter.is_ascii_digit());
        letters.len() < tag.len() && NUMBER_TAGS.contains(&letters)
    };
    let is_tag = |tag: &&str| words.contains(tag) || number(tag);
    let begins_tag =
        |tag: &str| is_tag(&tag) || words.iter().chain(&NUMBER_TAGS).any(|word| word.starts_with(tag));
    let (whole, last) = text.rsplit_once('.').map_or((None, text), |(whole, last)| (Some(whole), last));
    if whole.into_iter().flat_map(|whole| whole.split('.')).all(|tag| is_tag(&tag)) && begins_tag(last) {
        return Ok(());
    }
    Err("it is the beginning of a label, such as b4.vec4.par.rake.wg256".to_owned())
}

impl TryFrom<String> for Filter {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let failed = |reason: String| FilterError { text: text.chars().take(80).collect(), reason };
        let mut conditions = Vec::new();
        for condition in text.split(',') {
            let (key, values) =
                condition.split_once('=').ok_or_else(|| failed(format!("`{condition}` has no `=`")))?;
            let key = keys().find(|name| *name == key.trim()).ok_or_else(|| {
                let names: Vec<_> = keys().collect();
                failed(format!("there is no parameter `{}`; there are {}", key.trim(), names.join(", ")))
            })?;
            let values: Vec<String> = values.split('|').map(|value| value.trim().to_owned()).collect();
            if values.iter().any(String::is_empty) {
                return Err(failed(format!("`{condition}` has an empty value")));
            }
            let parameter = PARAMETERS.iter().chain(PROPERTIES).find(|parameter| parameter.name == key);
            for value in &values {
                let checked = match parameter {
                    Some(parameter) => parameter.values.check(value),
                    None => begins_a_label(value),
                };
                checked.map_err(|what| failed(format!("`{value}` is no value of {key}; {what}")))?;
            }
            conditions.push(Condition { key, values });
        }
        Ok(Self(conditions))
    }
}
