//! Recipes of scans: plans with the number of elements left open, as data.
//!
//! [`Recipe`] is what a kernel needs for any number of elements, [`Formula`] the part of it that depends on that
//! number, [`Launch`] what both come to for one. [`mod@layout`] is what stands where in scratch memory and in lines of
//! arguments. Whoever has a recipe and its modules can run the scan: nothing here knows a config, a rule or a driver.
//! Depends on no other crate, since programs that scan depend on it.
//! Neighbours: `scanbox-kernels` above, which makes recipes.

pub mod layout;
pub mod scratch;
pub mod levels;
pub mod formula;
pub mod recipe;
pub mod launch;

pub use formula::{Formula, GroupState, Split, StatesBegin, StatesFormula, TicketRule};
pub use launch::{LaidOut, Launch, Step, Steps};
pub use levels::Levels;
pub use recipe::{
    ArgumentKind, CallSizes, FillRecipe, LevelPasses, Place, Recipe, RecipePass, RecipePasses, RecipeWord,
    ScratchPart,
};
pub use scratch::{PushWord, Scratch, ScratchContent, Tickets};
