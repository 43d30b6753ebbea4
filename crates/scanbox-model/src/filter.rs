//! Filters: which configs of a space to keep.
//!
//! ```text
//! filter    = condition { "," condition }              (all must hold)
//! condition = parameter "=" value { "|" value }        (one must match)
//! ```
//!
//! `parameter` is the name of a parameter's column, or `config` for the beginning of the label:
//! `lookback=parallel,workgroup_size=256|512`, `config=b4.vec4.par.rake`.

use std::str::FromStr;

use serde::Deserialize;

use crate::config::{Config, Parameter};

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

/// What a config has for a name.
type Value = fn(&Config) -> String;

/// The names that a condition may have, with what a config has there.
const KEYS: &[(&str, Value)] = &[
    ("config", |config| config.to_string()),
    ("family", |config| config.kernel.family.word().to_owned()),
    ("batch_size", |config| config.kernel.batch_size.to_string()),
    ("vector_width", |config| config.kernel.vector_width.word().to_owned()),
    ("workgroup_size", |config| config.workgroup_size.to_string()),
    ("workgroups", |config| config.workgroups.map_or(String::new(), |count| count.to_string())),
    ("workgroups_per_unit", |config| {
        config.workgroups_per_unit.map_or(String::new(), |count| count.to_string())
    }),
    ("lookback", |config| config.kernel.lookback.word().to_owned()),
    ("block_scan", |config| config.kernel.block_scan.word().to_owned()),
    ("subgroup_scan", |config| config.kernel.subgroup_scan.word().to_owned()),
    ("load_layout", |config| config.kernel.load_layout.word().to_owned()),
    ("tile_order", |config| config.kernel.tile_order.word().to_owned()),
    ("publish", |config| config.kernel.publish.word().to_owned()),
    ("rendezvous", |config| config.kernel.rendezvous.word().to_owned()),
    ("lookback_width", |config| config.kernel.lookback_width.to_string()),
    ("back_off", |config| config.kernel.back_off.word().to_owned()),
    ("state_stride", |config| config.kernel.state_stride.to_string()),
    ("tile_state", |config| config.kernel.tile_state.word().to_owned()),
    ("reset", |config| config.kernel.reset.word().to_owned()),
];

impl Filter {
    /// Whether the config is to be kept.
    #[must_use]
    pub fn accepts(&self, config: &Config) -> bool {
        self.0.iter().all(|condition| {
            let found = KEYS.iter().find(|(key, _)| *key == condition.key).map(|(_, value)| value(config));
            found.is_some_and(|found| {
                condition.values.iter().any(|value| match condition.key {
                    "config" => found.starts_with(value),
                    _ => found == *value,
                })
            })
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
            let key = KEYS.iter().find(|(name, _)| *name == key.trim()).map(|(name, _)| *name).ok_or_else(
                || {
                    let names: Vec<_> = KEYS.iter().map(|(name, _)| *name).collect();
                    failed(format!("there is no parameter `{}`; there are {}", key.trim(), names.join(", ")))
                },
            )?;
            let values: Vec<String> = values.split('|').map(|value| value.trim().to_owned()).collect();
            if values.iter().any(String::is_empty) {
                return Err(failed(format!("`{condition}` has an empty value")));
            }
            conditions.push(Condition { key, values });
        }
        Ok(Self(conditions))
    }
}
