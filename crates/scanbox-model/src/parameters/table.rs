//! The table of the parameters: the only place that lists them.
//!
//! An entry has the name and the type of a parameter, its meaning as its comment, and what else differs from
//! what its type says ([`Declaration`]). The table is a macro, because three structs have a field for each
//! parameter: [`Kernel`], [`Cells`] and the product of a space file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::launch::{WORKGROUP_SIZE, WORKGROUPS, WORKGROUPS_PER_UNIT};
use super::value::{AUTO, Typed, Value, Values};
use super::words::{
    Arguments, BackOff, BlockScan, Family, LoadLayout, Lookback, Publish, Rendezvous, Reset, SubgroupScan,
    SubgroupSize, TileOrder, TileState, VectorWidth, Word,
};

/// More vectors per invocation than this do not fit any register file (256 registers at most).
const MAX_BATCH_SIZE: u32 = 64;
/// Wider windows than this do not fit the registers of a lookback.
const MAX_LOOKBACK_WIDTH: u32 = 8;
/// What the paper of decoupled fallback uses on all its devices (section 5.1).
const DEFAULT_MAX_SPINS: u32 = 4;
/// So many looks in vain take milliseconds, a thousand times as long as any tile.
const MAX_MAX_SPINS: u32 = 1 << 16;
/// What the fixed back-off had before it could be chosen.
const DEFAULT_PAUSE_ROUNDS: u32 = 4;
/// Some 30 microseconds on an NVIDIA H200: longer than a whole call for few elements.
const MAX_PAUSE_ROUNDS: u32 = 1 << 10;
/// Words of 8 bytes, so 128 bytes: states that are further apart than a cache line gain nothing.
const MAX_STATE_STRIDE: u32 = 16;

/// Hands the parameters of a kernel to a macro, in the order of labels.
macro_rules! with_parameters {
    ($use:ident) => {
        $use! {
            tile {
                /// How the device-wide scan is organised: which root shader runs.
                family: Family { column: Some(17) }
                /// Vectors that one invocation loads per tile.
                batch_size: u32 {
                    values: Values::Numbers(1, MAX_BATCH_SIZE), tag: "b",
                    unit: "vectors",
                    column: Some(18),
                    define: Some(Define::always("BATCH_SIZE")),
                }
                /// Elements per vector.
                vector_width: VectorWidth {
                    column: Some(19),
                    define: Some(Define { numbers: &[1, 2, 4], ..Define::always("LANES") }),
                }
            }
            stages {
                /// How the exclusive prefix of a tile is found.
                lookback: Lookback { column: Some(22), define: Some(Define::states("LOOKBACK")) }
                /// How a workgroup scans the totals of its invocations.
                block_scan: BlockScan { column: Some(23), define: Some(Define::scan("BLOCK_SCAN")) }
                /// How a subgroup scans its part of a tile.
                subgroup_scan: SubgroupScan {
                    column: Some(64),
                    define: Some(Define::scan("SUBGROUP_SCAN")),
                    needs: Some(Needs {
                        rule: "shuffle-needs-subgroup-scan",
                        parameter: "block_scan",
                        one_of: &["subgroup"],
                        detail: "subgroup scan {value} with block scan {other}",
                        ..Needs::NONE
                    }),
                }
                /// How vectors reach their invocations.
                load_layout: LoadLayout {
                    column: Some(24),
                    define: Some(Define::scan("LOAD_LAYOUT")),
                    always_listed: true,
                    needs: Some(Needs {
                        rule: "striped-needs-subgroup-scan",
                        words: &["striped"],
                        parameter: "block_scan",
                        one_of: &["subgroup"],
                        detail: "load layout striped with block scan {other}: rows need subgroup",
                        ..Needs::NONE
                    }),
                }
                /// Which tile a workgroup works on.
                tile_order: TileOrder { column: Some(51), define: Some(Define::states("TILE_ORDER")) }
                /// When the total of a tile is published.
                publish: Publish {
                    column: Some(52),
                    define: Some(Define::states("PUBLISH")),
                    needs: Some(Needs {
                        rule: "before-scan-needs-subgroup-scan",
                        parameter: "block_scan",
                        one_of: &["subgroup"],
                        detail: "the total before the scan with block scan {other}",
                        ..Needs::NONE
                    }),
                }
                /// How the subgroups of a workgroup wait for each other.
                rendezvous: Rendezvous { column: Some(53), define: Some(Define::states("RENDEZVOUS")) }
                /// Tile states that one invocation of a parallel lookback looks at at once.
                lookback_width: u32 {
                    values: Values::Numbers(1, MAX_LOOKBACK_WIDTH),
                    tag: "width",
                    unit: "tile states",
                    default: Some(Value::Number(1)),
                    column: Some(54),
                    define: Some(Define::states("LOOKBACK_WIDTH")),
                    needs: Some(Needs {
                        rule: "width-needs-parallel",
                        parameter: "lookback",
                        one_of: &["parallel"],
                        detail: "a lookback width of {value} with lookback {other}",
                        ..Needs::NONE
                    }),
                }
                /// How often a lookback with fallback looks again at a tile that has published nothing, before it
                /// adds the tile up itself; the default for all others, where it has no meaning.
                max_spins: u32 {
                    values: Values::Numbers(0, MAX_MAX_SPINS),
                    tag: "spins",
                    unit: "looks",
                    default: Some(Value::Number(DEFAULT_MAX_SPINS)),
                    column: Some(71),
                    define: Some(Define::states("MAX_SPINS")),
                    needs: Some(Needs {
                        rule: "spins-need-fallback",
                        parameter: "lookback",
                        one_of: &["fallback", "gather-fallback"],
                        detail: "a maximum spin count of {value} with lookback {other}, which waits as long as it takes",
                        else_open: true,
                        ..Needs::NONE
                    }),
                }
                /// What happens between two looks at a state.
                back_off: BackOff { column: Some(55), define: Some(Define::states("BACK_OFF")) }
                /// How long the fixed back-off pauses; the default for all others, where it has no meaning.
                pause_rounds: u32 {
                    values: Values::Numbers(1, MAX_PAUSE_ROUNDS),
                    tag: "rounds",
                    unit: "atomic additions in shared memory",
                    default: Some(Value::Number(DEFAULT_PAUSE_ROUNDS)),
                    define: Some(Define::states("PAUSE_ROUNDS")),
                    needs: Some(Needs {
                        rule: "rounds-need-fixed-back-off",
                        parameter: "back_off",
                        one_of: &["fixed"],
                        detail: "{value} rounds of a pause with back-off {other}",
                        else_open: true,
                        ..Needs::NONE
                    }),
                }
                /// Words from one tile state to the next; 1: no gaps.
                state_stride: u32 {
                    values: Values::Numbers(1, MAX_STATE_STRIDE),
                    tag: "stride",
                    unit: "words",
                    default: Some(Value::Number(1)),
                    column: Some(56),
                    define: Some(Define::states("STATE_STRIDE")),
                }
                /// How tiles publish.
                tile_state: TileState {
                    column: Some(25),
                    always_listed: true,
                    define: Some(Define::states("TILE_STATE")),
                }
                /// How stale tile states are recognized.
                reset: Reset {
                    column: Some(26),
                    always_listed: true,
                    define: Some(Define::states("RESET")),
                    needs: Some(Needs {
                        rule: "turn-needs-push",
                        words: &["turn"],
                        parameter: "arguments",
                        one_of: &["push"],
                        detail: "reset turn with arguments {other}: with these the device counts its calls by reset epoch",
                        ..Needs::NONE
                    }),
                }
                /// Where a kernel finds its arguments.
                arguments: Arguments {
                    define: Some(Define::scan("ARGUMENTS")),
                    found: true,
                }
                /// Invocations of a subgroup, where the device offers a choice.
                subgroup_size: SubgroupSize { offered: true }
            }
        }
    };
}

/// Reads a parameter.
type Read<T> = fn(&T) -> Value;

/// Writes a parameter.
type Write<T> = fn(&mut T, Value);

/// What one parameter is: an entry of the table.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// The name in space files, CSV headers, filters and reports.
    pub name: &'static str,
    /// What it says, in words.
    pub meaning: &'static str,
    /// What its numbers count; empty for words.
    pub unit: &'static str,
    /// What it may be.
    pub values: Values,
    /// What labels and space files leave out; `None` where they always say it.
    pub default: Option<Value>,
    /// What stands before a number in labels; words have a tag each.
    pub tag: &'static str,
    /// Whether space files that are written have it even where it is the default.
    pub always_listed: bool,
    /// Its place among the columns of a row. A parameter without one is in the label of the row alone: files that
    /// have nothing but its default are as they were before there was such a parameter.
    pub column: Option<usize>,
    /// What its values have to be combined with.
    pub needs: Option<Needs>,
    /// The define of shaders that depend on it.
    pub define: Option<Define>,
    /// Whether lists and filters may say `auto`, for what is found out on the device. Configs never have it.
    pub found: bool,
    /// Whether lists may say `all`, for every value that the device offers. Configs never have it.
    pub offered: bool,
    /// Reads it from a config.
    pub(super) get: Read<Config>,
    /// Writes it to a config; a value of another type changes nothing.
    pub(super) set: Write<Config>,
    /// What a row says.
    pub(super) cell: Read<Cells>,
    /// Writes that.
    pub(super) set_cell: Write<Cells>,
}

/// The define of a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Define {
    /// Its name; those of the numbers of words begin with it.
    pub name: &'static str,
    /// Which shaders have it.
    pub scope: Scope,
    /// The numbers of words; their places where there are none. `auto` has none: what it stands for is known before.
    pub numbers: &'static [u32],
}

/// Which shaders have a define.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All.
    Always,
    /// Those that scan.
    Scan,
    /// Those whose workgroups pass the totals of tiles on, where the parameter has a meaning.
    TileStates,
}

impl Define {
    const fn always(name: &'static str) -> Self {
        Self { name, scope: Scope::Always, numbers: &[] }
    }

    const fn scan(name: &'static str) -> Self {
        Self { scope: Scope::Scan, ..Self::always(name) }
    }

    const fn states(name: &'static str) -> Self {
        Self { scope: Scope::TileStates, ..Self::always(name) }
    }

    /// The number of a word among these; `None` of `auto`.
    #[must_use]
    pub fn number(&self, words: &[Word], place: usize) -> Option<u32> {
        let before = words.iter().take(place).filter(|word| word.word != AUTO).count();
        let number = self.numbers.get(place).copied().or(u32::try_from(before).ok());
        number.filter(|_| words[place].word != AUTO)
    }
}

/// A rule of combination: values of one parameter that go with some of another one only.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The name of the rule.
    pub rule: &'static str,
    /// The values that need it; every value but the default where none is named.
    pub words: &'static [&'static str],
    /// The name of the other parameter.
    pub parameter: &'static str,
    /// What that has to be.
    pub one_of: &'static [&'static str],
    /// What a rejection says: `{value}` and `{other}` stand for the two values.
    pub detail: &'static str,
    /// Whether the parameter has no meaning at all beside other values: reports leave it open there.
    pub else_open: bool,
}

impl Needs {
    /// What entries fill in.
    const NONE: Self =
        Self { rule: "", words: &[], parameter: "", one_of: &[], detail: "", else_open: false };

    /// What the config has there, and whether it will do.
    fn other(&self, config: &Config) -> (Value, bool) {
        let other = super::parameter(self.parameter).expect("a rule names a parameter of the table");
        let value = (other.get)(config);
        (value, matches!(value, Value::Word { word, .. } if self.one_of.contains(&word)))
    }
}

impl Declaration {
    /// A parameter that is as its type says.
    pub(super) const fn new<T: Typed>(
        name: &'static str,
        meaning: &'static str,
        (get, set): (Read<Config>, Write<Config>),
        (cell, set_cell): (Read<Cells>, Write<Cells>),
    ) -> Self {
        let default = match T::VALUES {
            Values::Words(words) if words[0].tag.is_empty() => {
                Some(Value::Word { place: 0, word: words[0].word })
            }
            Values::Words(_) | Values::Numbers(..) => None,
        };
        Self {
            name,
            meaning,
            unit: "",
            values: T::VALUES,
            default,
            tag: "",
            always_listed: false,
            column: None,
            needs: None,
            define: None,
            found: false,
            offered: false,
            get,
            set,
            cell,
            set_cell,
        }
    }

    /// Its define and the number of a config, in which nothing is left to `auto`; `None` where it has none there.
    #[must_use]
    pub fn define_of(&self, config: &Config) -> Option<(&'static str, u32)> {
        let define = self.define?;
        let number = match (self.value(config), self.values) {
            (Value::Number(number), _) => number,
            (Value::Word { place, .. }, Values::Words(words)) => define.number(words, place)?,
            _ => return None,
        };
        Some((define.name, number))
    }

    /// The value of a config; open where it has no meaning.
    #[must_use]
    pub fn value(&self, config: &Config) -> Value {
        if self.applies(config) { (self.get)(config) } else { Value::Open }
    }

    /// Whether it has a meaning for a config.
    #[must_use]
    pub fn applies(&self, config: &Config) -> bool {
        self.needs.is_none_or(|needs| !needs.else_open || needs.other(config).1)
    }

    /// The same config with this value. A value that is none of the parameter's changes nothing.
    #[must_use]
    pub fn with(&self, mut config: Config, value: Value) -> Config {
        (self.set)(&mut config, value);
        config
    }

    /// What a row says of it; open where that is nothing.
    #[must_use]
    pub fn cell(&self, cells: &Cells) -> Value {
        (self.cell)(cells)
    }

    /// Writes what a row says of it; a value of another type is nothing.
    pub fn set_cell(&self, cells: &mut Cells, value: Value) {
        (self.set_cell)(cells, value);
    }

    /// Whether the value goes with the others of the config.
    ///
    /// # Errors
    /// The name of the rule that says no, and what it says.
    pub fn check(&self, config: &Config) -> Result<(), (&'static str, String)> {
        let value = (self.get)(config);
        if let (Value::Number(number), Values::Numbers(least, most)) = (value, self.values)
            && !(least..=most).contains(&number)
        {
            let detail = format!("{} {number}: it is a number from {least} to {most}", self.name);
            return Err(("out-of-bounds", detail));
        }
        let Some(needs) = self.needs else { return Ok(()) };
        let concerned = match value {
            Value::Word { word, .. } if !needs.words.is_empty() => needs.words.contains(&word),
            _ => Some(value) != self.default,
        };
        if !concerned {
            return Ok(());
        }
        let (other, goes) = needs.other(config);
        let detail =
            || needs.detail.replace("{value}", &value.to_string()).replace("{other}", &other.to_string());
        if goes { Ok(()) } else { Err((needs.rule, detail())) }
    }
}

/// Makes the structs and the list.
macro_rules! declare {
    (
        tile { $($tile:tt)+ }
        stages { $($stages:tt)+ }
    ) => { declare! { $($tile)+ $($stages)+ } };
    ($($(#[doc = $meaning:literal])+ $name:ident: $type:ident { $($key:ident: $value:expr),* $(,)? })+) => {
        /// What is compiled in, apart from the workgroup size and the problem: the unit that one application would
        /// ship.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct Kernel {
            $($(#[doc = $meaning])+ pub $name: $type,)+
        }

        /// What the columns of a row say of its config; nothing where a column is missing or empty.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Cells {
            $($(#[doc = $meaning])+ pub $name: Option<$type>,)+
            /// Invocations per workgroup.
            pub workgroup_size: Option<u32>,
            /// Workgroups that worked on the call.
            pub workgroups: Option<u32>,
            /// Workgroups per compute unit.
            pub workgroups_per_unit: Option<u32>,
        }

        /// Some config, for code that sets every parameter.
        pub(crate) const ANY_CONFIG: Config = Config {
            kernel: Kernel { $($name: <$type as Typed>::ANY),+ },
            workgroup_size: 1,
            workgroups: None,
            workgroups_per_unit: None,
        };

        /// Every parameter, in the order of labels: those of kernels, then those of launch shapes.
        pub const PARAMETERS: &[Declaration] = &[
            $(Declaration {
                $($key: $value,)*
                ..Declaration::new::<$type>(
                    stringify!($name),
                    concat!($($meaning),+),
                    (
                        |config| Typed::value(config.kernel.$name),
                        |config, value| {
                            if let Some(value) = Typed::of(value) {
                                config.kernel.$name = value;
                            }
                        },
                    ),
                    (
                        |cells| cells.$name.map_or(Value::Open, Typed::value),
                        |cells, value| cells.$name = Typed::of(value),
                    ),
                )
            },)+
            WORKGROUP_SIZE,
            WORKGROUPS,
            WORKGROUPS_PER_UNIT,
        ];
    };
}

with_parameters!(declare);

/// The parameters of a [`Kernel`], in the order of labels.
pub const KERNEL_PARAMETERS: &[Declaration] = PARAMETERS.split_at(PARAMETERS.len() - 3).0;

/// A kernel plus its launch shape. Serialized it is its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Config {
    /// What is compiled in.
    pub kernel: Kernel,
    /// Invocations per workgroup.
    pub workgroup_size: u32,
    /// Workgroups per call, where the config fixes them; otherwise they follow from the input size.
    pub workgroups: Option<u32>,
    /// Workgroups per compute unit of the device, for kernels whose workgroups go from tile to tile.
    pub workgroups_per_unit: Option<u32>,
}
