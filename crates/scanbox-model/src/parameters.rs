//! The parameters of a config as a list: what filters and trends name by their column; and what filters name beside them.

use std::fmt;

use crate::config::{
    BackOff, BlockScan, Config, Family, LoadLayout, Lookback, Parameter, Publish, Rendezvous, Reset,
    SubgroupScan, TileOrder, TileState, VectorWidth,
};
use crate::space::{
    MAX_BATCH_SIZE, MAX_LOOKBACK_WIDTH, MAX_MAX_SPINS, MAX_STATE_STRIDE, MAX_WORKGROUP_SIZE, MAX_WORKGROUPS,
    MAX_WORKGROUPS_PER_UNIT,
};

/// One parameter: the name of its column, and what a config has there.
#[derive(Debug, Clone, Copy)]
pub struct ParameterColumn {
    /// The name in CSV headers, filters and reports.
    pub name: &'static str,
    /// The value of a config.
    pub value: fn(&Config) -> Value,
    /// What it may be.
    pub values: Values,
}

/// The values that a parameter may have.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
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
            Self::Words(words) if words().contains(&text) => Ok(()),
            Self::Words(words) => Err(format!("it is one of {}", words().join(", "))),
            Self::Numbers(least, most) => {
                let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
                match number.filter(|number| (least..=most).contains(number)) {
                    Some(_) => Ok(()),
                    None => Err(format!("it is a number from {least} to {most}")),
                }
            }
        }
    }
}

fn words<P: Parameter>() -> Vec<&'static str> {
    P::VALUES.iter().map(|value| value.word()).collect()
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
    ($($name:ident ($values:expr): $value:expr),+ $(,)?) => {
        /// Every parameter, in the order of labels and then of launch shapes.
        pub const PARAMETERS: &[ParameterColumn] =
            &[$(ParameterColumn { name: stringify!($name), value: $value, values: $values }),+];
    };
}

columns! {
    family (Values::Words(words::<Family>)): |config| Value::word(config.kernel.family),
    batch_size (Values::Numbers(1, MAX_BATCH_SIZE)): |config| Value::Number(config.kernel.batch_size),
    vector_width (Values::Words(words::<VectorWidth>)): |config| Value::word(config.kernel.vector_width),
    lookback (Values::Words(words::<Lookback>)): |config| Value::word(config.kernel.lookback),
    block_scan (Values::Words(words::<BlockScan>)): |config| Value::word(config.kernel.block_scan),
    subgroup_scan (Values::Words(words::<SubgroupScan>)): |config| Value::word(config.kernel.subgroup_scan),
    load_layout (Values::Words(words::<LoadLayout>)): |config| Value::word(config.kernel.load_layout),
    tile_order (Values::Words(words::<TileOrder>)): |config| Value::word(config.kernel.tile_order),
    publish (Values::Words(words::<Publish>)): |config| Value::word(config.kernel.publish),
    rendezvous (Values::Words(words::<Rendezvous>)): |config| Value::word(config.kernel.rendezvous),
    lookback_width (Values::Numbers(1, MAX_LOOKBACK_WIDTH)): |config| Value::Number(config.kernel.lookback_width),
    max_spins (Values::Numbers(0, MAX_MAX_SPINS)): |config| {
        let falls_back = config.kernel.lookback == Lookback::Fallback;
        Value::optional(falls_back.then_some(config.kernel.max_spins))
    },
    back_off (Values::Words(words::<BackOff>)): |config| Value::word(config.kernel.back_off),
    state_stride (Values::Numbers(1, MAX_STATE_STRIDE)): |config| Value::Number(config.kernel.state_stride),
    tile_state (Values::Words(words::<TileState>)): |config| Value::word(config.kernel.tile_state),
    reset (Values::Words(words::<Reset>)): |config| Value::word(config.kernel.reset),
    workgroup_size (Values::Numbers(1, MAX_WORKGROUP_SIZE)): |config| Value::Number(config.workgroup_size),
    workgroups (Values::Numbers(1, MAX_WORKGROUPS)): |config| Value::optional(config.workgroups),
    workgroups_per_unit (Values::Numbers(1, MAX_WORKGROUPS_PER_UNIT)): |config| {
        Value::optional(config.workgroups_per_unit)
    },
}

/// What follows from several parameters of a config: filters name it as they do a parameter, but it is no column.
pub const PROPERTIES: &[ParameterColumn] = &[ParameterColumn {
    name: "deterministic",
    values: Values::Words(|| YES_OR_NO.to_vec()),
    // Yes first, as a list of words has it.
    value: |config| match config.kernel.is_deterministic() {
        true => Value::Word { place: 0, word: YES_OR_NO[0] },
        false => Value::Word { place: 1, word: YES_OR_NO[1] },
    },
}];

/// The values of a property.
pub const YES_OR_NO: [&str; 2] = ["yes", "no"];
