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

use crate::config::Config;
use crate::parameters::{PARAMETERS, PROPERTIES, YES_OR_NO};

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
            let is_property = PROPERTIES.iter().any(|property| property.name == key);
            let other = values.iter().find(|value| !YES_OR_NO.contains(&value.as_str()));
            if let Some(value) = other.filter(|_| is_property) {
                return Err(failed(format!("`{value}` is no value of {key}; it is yes or no")));
            }
            conditions.push(Condition { key, values });
        }
        Ok(Self(conditions))
    }
}
