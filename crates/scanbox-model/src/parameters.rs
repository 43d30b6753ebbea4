//! The parameters of a config as a list: what filters and trends name by their column; and what filters name beside them.

use std::fmt;

use crate::config::{Config, Lookback, Parameter};

/// One parameter: the name of its column, and what a config has there.
#[derive(Debug, Clone, Copy)]
pub struct ParameterColumn {
    /// The name in CSV headers, filters and reports.
    pub name: &'static str,
    /// The value of a config.
    pub value: fn(&Config) -> Value,
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
}

impl Value {
    fn word<P: Parameter>(value: P) -> Self {
        let place = P::VALUES.iter().position(|other| *other == value).unwrap_or(P::VALUES.len());
        Self::Word { place, word: value.word() }
    }

    fn optional(value: Option<u32>) -> Self {
        value.map_or(Self::Open, Self::Number)
    }
}

/// As in CSV: an open value is empty.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => Ok(()),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word { word, .. } => f.write_str(word),
        }
    }
}

macro_rules! columns {
    ($($name:ident: $value:expr),+ $(,)?) => {
        /// Every parameter, in the order of labels and then of launch shapes.
        pub const PARAMETERS: &[ParameterColumn] =
            &[$(ParameterColumn { name: stringify!($name), value: $value }),+];
    };
}

columns! {
    family: |config| Value::word(config.kernel.family),
    batch_size: |config| Value::Number(config.kernel.batch_size),
    vector_width: |config| Value::word(config.kernel.vector_width),
    lookback: |config| Value::word(config.kernel.lookback),
    block_scan: |config| Value::word(config.kernel.block_scan),
    subgroup_scan: |config| Value::word(config.kernel.subgroup_scan),
    load_layout: |config| Value::word(config.kernel.load_layout),
    tile_order: |config| Value::word(config.kernel.tile_order),
    publish: |config| Value::word(config.kernel.publish),
    rendezvous: |config| Value::word(config.kernel.rendezvous),
    lookback_width: |config| Value::Number(config.kernel.lookback_width),
    max_spins: |config| {
        let falls_back = config.kernel.lookback == Lookback::Fallback;
        Value::optional(falls_back.then_some(config.kernel.max_spins))
    },
    back_off: |config| Value::word(config.kernel.back_off),
    state_stride: |config| Value::Number(config.kernel.state_stride),
    tile_state: |config| Value::word(config.kernel.tile_state),
    reset: |config| Value::word(config.kernel.reset),
    workgroup_size: |config| Value::Number(config.workgroup_size),
    workgroups: |config| Value::optional(config.workgroups),
    workgroups_per_unit: |config| Value::optional(config.workgroups_per_unit),
}

/// What follows from several parameters of a config: filters name it as they do a parameter, but it is no column.
pub const PROPERTIES: &[ParameterColumn] = &[ParameterColumn {
    name: "deterministic",
    // Yes first, as a list of words has it.
    value: |config| match config.kernel.is_deterministic() {
        true => Value::Word { place: 0, word: YES_OR_NO[0] },
        false => Value::Word { place: 1, word: YES_OR_NO[1] },
    },
}];

/// The values of a property.
pub const YES_OR_NO: [&str; 2] = ["yes", "no"];
