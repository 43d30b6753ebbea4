//! The parameters of a config, each declared once ([`table`]): what labels, space files, columns, filters, shaders
//! and documents say of it comes from there.

#[macro_use]
pub mod words;
#[macro_use]
pub mod table;
mod document;
mod family;
mod label;
pub(crate) mod launch;
mod value;

pub use document::document;
pub use family::{FamilyEntry, Totals};
pub use label::{LabelError, LabelPart, begins_a_label};
pub use table::{Cells, Config, Declaration, Define, KERNEL_PARAMETERS, Kernel, Needs, PARAMETERS, Scope};
pub(crate) use value::{ALL, AUTO};
pub use value::{Typed, Value, Values};
pub use words::{Parameter, Word};

/// What follows from several parameters of a config: filters name it as they do a parameter, but it is no column.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// The name in filters.
    pub name: &'static str,
    /// What it may be.
    pub values: Values,
    /// That of a config.
    pub value: fn(&Config) -> Value,
}

/// Every property.
pub const PROPERTIES: &[Property] = &[Property {
    name: "deterministic",
    values: Values::Words(YES_OR_NO),
    value: |config| {
        let place = usize::from(!config.kernel.is_deterministic());
        Value::Word { place, word: YES_OR_NO[place].word }
    },
}];

/// Yes first, as lists of words have it.
const YES_OR_NO: &[Word] = &[
    Word { word: "yes", tag: "", meaning: "results have the same bits on every run" },
    Word { word: "no", tag: "", meaning: "results may differ from run to run" },
];

/// The parameter with this name.
#[must_use]
pub fn parameter(name: &str) -> Option<&'static Declaration> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

/// The names of all parameters, in the order of [`PARAMETERS`].
pub const PARAMETER_NAMES: [&str; PARAMETERS.len()] = {
    let mut names = [""; PARAMETERS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = PARAMETERS[place].name;
        place += 1;
    }
    names
};

impl Cells {
    /// What a row of a config says where its workgroups do not matter.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let mut cells = Self::default();
        for parameter in PARAMETERS.iter().filter(|parameter| parameter.column.is_some()) {
            parameter.set_cell(&mut cells, parameter.value(config));
        }
        cells
    }
}
