//! Filters: which configs of a space to keep.
//!
//! ```text
//! filter    = condition { "," condition }              (all must hold)
//! condition = parameter "=" value { "|" value }        (one must match)
//! ```
//!
//! `parameter` is the name of a parameter's column, or `config` for the beginning of the label:
//! `lookback=parallel,workgroup_size=256|512`, `config=b4.vec4.par.rake`; or `deterministic`, which is `yes` where
//! the result has the same bits on every run ([`crate::config::Kernel::is_deterministic`]), else `no`.
//!
//! `auto` of a parameter whose best value is found out on the device stands for that value ([`Filter::with`]).

use std::str::FromStr;

use serde::Deserialize;

use crate::nearest::hint;
use crate::parameters::{AUTO, Config, Declaration, PARAMETERS, PROPERTIES, Property, Value, begins_a_label};

/// A condition on configs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Filter(Vec<Condition>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    /// One of [`keys`].
    key: &'static str,
    values: Vec<String>,
}

/// Why a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a filter: {reason} (for example lookback=parallel,workgroup_size=256|512)")]
pub struct FilterError {
    text: String,
    reason: String,
}

/// The name for the beginning of the label.
const LABEL: &str = "config";

/// What a condition is about.
enum ConditionKey {
    Label,
    Parameter(&'static Declaration),
    Property(&'static Property),
}

/// Everything that a condition may be about.
fn keys() -> impl Iterator<Item = ConditionKey> {
    let parameters = PARAMETERS.iter().map(ConditionKey::Parameter);
    std::iter::once(ConditionKey::Label)
        .chain(parameters)
        .chain(PROPERTIES.iter().map(ConditionKey::Property))
}

impl ConditionKey {
    fn named(name: &str) -> Option<Self> {
        keys().find(|key| key.name() == name)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Label => LABEL,
            Self::Parameter(parameter) => parameter.name,
            Self::Property(property) => property.name,
        }
    }

    /// Whether a text is a value of it, or why not.
    fn check(&self, value: &str) -> Result<(), String> {
        match self {
            Self::Label if begins_a_label(value) => Ok(()),
            Self::Label => Err("it is the beginning of a label, such as b4.vec4.par.rake.wg256".to_owned()),
            Self::Parameter(parameter) if parameter.found && value == AUTO => Ok(()),
            Self::Parameter(parameter) if parameter.found => {
                parameter.values.check(value).map_err(|what| format!("{what}, {AUTO}"))
            }
            Self::Parameter(parameter) => parameter.values.check(value),
            Self::Property(property) => property.values.check(value),
        }
    }

    /// Which value a text that is none may mean.
    fn hint(&self, value: &str) -> String {
        match self {
            Self::Label => String::new(),
            Self::Parameter(parameter) => parameter.values.hint(value),
            Self::Property(property) => property.values.hint(value),
        }
    }

    fn accepts(&self, wanted: &[String], config: &Config) -> bool {
        let value = match self {
            Self::Label => {
                let label = config.to_string();
                return wanted.iter().any(|beginning| label.starts_with(beginning));
            }
            Self::Parameter(parameter) => parameter.value(config),
            Self::Property(property) => (property.value)(config),
        };
        wanted.contains(&value.to_string())
    }
}

impl Condition {
    /// The parameter that it is about, if its best value is found out on the device.
    fn found(&self) -> Option<&'static Declaration> {
        PARAMETERS.iter().find(|parameter| parameter.name == self.key && parameter.found)
    }
}

impl Filter {
    /// Whether it depends on what is found out on the device.
    #[must_use]
    pub fn asks_device(&self) -> bool {
        let is_open = |condition: &Condition| {
            condition.found().is_some() && condition.values.iter().any(|value| value == AUTO)
        };
        self.0.iter().any(is_open)
    }

    /// The same with what `found` says that `auto` stands for. Without it, no config has the value `auto` of such a
    /// parameter.
    #[must_use]
    pub fn with(&self, found: impl Fn(&Declaration) -> Value) -> Self {
        let mut conditions = self.0.clone();
        for condition in &mut conditions {
            let Some(parameter) = condition.found() else { continue };
            for value in condition.values.iter_mut().filter(|value| *value == AUTO) {
                *value = found(parameter).to_string();
            }
        }
        Self(conditions)
    }

    /// Whether the config is to be kept.
    #[must_use]
    pub fn accepts(&self, config: &Config) -> bool {
        let holds = |condition: &Condition| {
            ConditionKey::named(condition.key).is_some_and(|key| key.accepts(&condition.values, config))
        };
        self.0.iter().all(holds)
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
            let key = ConditionKey::named(key.trim()).ok_or_else(|| {
                let names: Vec<_> = keys().map(|key| key.name()).collect();
                let near = hint(key.trim(), &names);
                failed(format!(
                    "there is no parameter `{}`; there are {}{near}",
                    key.trim(),
                    names.join(", ")
                ))
            })?;
            let values: Vec<String> = values.split('|').map(|value| value.trim().to_owned()).collect();
            if values.iter().any(String::is_empty) {
                return Err(failed(format!("`{condition}` has an empty value")));
            }
            for value in &values {
                let checked = key.check(value);
                checked.map_err(|what| {
                    let near = key.hint(value);
                    failed(format!("`{value}` is not a value of {}; {what}{near}", key.name()))
                })?;
            }
            conditions.push(Condition { key: key.name(), values });
        }
        Ok(Self(conditions))
    }
}
