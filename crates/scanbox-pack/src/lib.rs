//! Recipes of scans: plans with the number of elements left open, as data.
//!
//! [`Recipe`] is what a kernel needs for any number of elements, [`Formula`] the part of it that depends on that
//! number, [`Launch`] what both come to for one. [`mod@layout`] is what stands where in scratch memory and in lines of
//! arguments. Whoever has a recipe and its modules can run the scan: nothing here knows a config, a rule or a driver.
//!
//! [`Pack`] is a file of recipes and their modules ([`mod@file`]), which says what to take for what number of elements
//! on which device ([`mod@choose`]).
//!
//! Depends on no other crate, since programs that scan depend on it; feature `json` adds serde, for the JSON form.
//! Neighbours: `scanbox-kernels` above, which makes recipes.

pub mod layout;
pub mod scratch;
pub mod levels;
pub mod formula;
pub mod recipe;
pub mod launch;
pub mod promises;
mod version;
pub mod error;
pub mod spirv;
pub mod contents;
pub mod call_trait;
pub mod pack;
pub mod file;
pub mod choose;
mod built_in;
mod check;
mod coded;
#[cfg(feature = "json")]
pub mod json;

pub use call_trait::CallTrait;
pub use choose::{Chosen, NotChosen, Reason, SeenDevice, Wish};
pub use contents::{
    Breakpoint, CallUse, ChoiceTable, ModuleHash, PackData, PackDevice, PackModule, PackProblem, PackRecipe,
    PackTime, ScanMode, ScanProblem,
};
pub use error::PackError;
pub use formula::{FewSplit, Formula, GroupState, Split, StatesBegin, StatesFormula, TicketRule};
pub use launch::{LaidOut, Launch, Step, Steps};
pub use levels::Levels;
pub use pack::Pack;
pub use promises::{FeatureSet, Promises};
pub use recipe::{
    ArgumentKind, CallSizes, FillRecipe, LevelPasses, Place, Prepare, Recipe, RecipePass, RecipePasses,
    RecipeWord, ScratchPart,
};
pub use scratch::{PushWord, Scratch, ScratchContent, Tickets};
