//! Recipes: a scan with the number of elements left open, as data.

use crate::formula::Formula;
use crate::scratch::PushWord;

/// How to run one kernel on one problem, for any number of elements that it takes. `M` stands for a compiled module:
/// whatever the owner of the recipe finds it by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recipe<M> {
    /// What follows from the number of elements.
    pub formula: Formula,
    /// The fewest elements that it takes.
    pub min_n: u64,
    /// The most elements that it takes.
    pub max_n: u64,
    /// How many elements calls have that share their scratch memory.
    pub call_sizes: CallSizes,
    /// What the addresses of source and target are multiples of, in bytes.
    pub alignment: u32,
    /// Whether all workgroups of a call have to run at the same time, so that no more than these may start.
    pub co_resident: bool,
    /// Where its shaders find their arguments.
    pub arguments: ArgumentKind,
    /// What clears its scratch memory in front of each call; none where nothing has to.
    pub fill: Option<FillRecipe<M>>,
    /// What makes scratch memory of unknown content fit for a first call; none where every call does that itself.
    pub prepare: Option<Prepare<M>>,
    /// The passes of a call, each of which depends on the one before.
    pub passes: RecipePasses<M>,
}

impl<M> Recipe<M> {
    /// Whether it takes so many elements.
    #[must_use]
    pub fn takes(&self, n: u64) -> bool {
        (self.min_n..=self.max_n).contains(&n)
    }

    /// Its passes, whichever of them a number of elements has; fill and preparation are not among them.
    pub fn all_passes(&self) -> impl Iterator<Item = &RecipePass<M>> {
        let (only, levels) = match &self.passes {
            RecipePasses::One(pass) => (Some(pass), None),
            RecipePasses::ByLevels(levels) => (None, Some(levels)),
        };
        let levels = levels
            .into_iter()
            .flat_map(|levels| levels.up.iter().chain(&levels.last).chain(levels.down.iter().flatten()));
        only.into_iter().chain(levels)
    }

    /// The modules of all that it ever runs: passes, fill, preparation. Some come twice.
    pub fn modules(&self) -> impl Iterator<Item = &M> {
        let prepare =
            self.prepare.iter().flat_map(|prepare| [Some(&prepare.zeros.pass), prepare.turn.as_ref()]);
        let fill = self.fill.iter().map(|fill| &fill.pass);
        self.all_passes().chain(fill).chain(prepare.flatten()).map(|pass| &pass.module)
    }

    /// Whether its passes go down through levels again, as those of a reduction do not.
    #[must_use]
    pub fn goes_down(&self) -> bool {
        matches!(&self.passes, RecipePasses::ByLevels(levels) if levels.down.is_some())
    }

    /// The same recipe with other names for its modules.
    pub fn map<N>(self, mut name: impl FnMut(M) -> N) -> Recipe<N> {
        let name = &mut name;
        let Self { formula, min_n, max_n, call_sizes, alignment, co_resident, arguments, .. } = self;
        let fill = self.fill.map(|fill| fill.map(name));
        let prepare = self.prepare.map(|Prepare { zeros, turn }| Prepare {
            zeros: zeros.map(name),
            turn: turn.map(|pass| pass.map(name)),
        });
        let passes = match self.passes {
            RecipePasses::One(pass) => RecipePasses::One(pass.map(name)),
            RecipePasses::ByLevels(passes) => {
                let LevelPasses { up, last, down } = *passes;
                RecipePasses::ByLevels(Box::new(LevelPasses {
                    up: up.map(|pass| pass.map(name)),
                    last: last.map(|pass| pass.map(name)),
                    down: down.map(|down| down.map(|pass| pass.map(name))),
                }))
            }
        };
        Recipe { formula, min_n, max_n, call_sizes, alignment, co_resident, arguments, fill, prepare, passes }
    }
}

/// How many elements calls have that share their scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CallSizes {
    /// All of them the same number.
    Same,
    /// As many as each is told, up to those that the memory is laid out for.
    Told,
    /// As many as each finds in memory, which may be any number: more than the memory is laid out for count as that
    /// many.
    InMemory,
}

/// Where shaders find their arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ArgumentKind {
    /// In push constants.
    #[default]
    Pushed,
    /// In a line of memory, whose address is a constant of the pipeline.
    Line,
    /// In constants of the pipeline.
    Baked,
}

/// The passes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RecipePasses<M> {
    /// One pass, whatever the number of elements is.
    One(RecipePass<M>),
    /// As many as there are levels.
    ByLevels(Box<LevelPasses<M>>),
}

/// The passes of a recipe that goes level by level (see [`crate::levels::Levels`]): up over all levels but the last
/// one, over that, and down again. Of each two passes the first one is that over the input, the other one that over
/// totals.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelPasses<M> {
    /// From a level to the totals of its tiles.
    pub up: [RecipePass<M>; 2],
    /// Over the last level, by one workgroup.
    pub last: [RecipePass<M>; 2],
    /// From the scanned totals of its tiles to a level; none of a reduction, which has no use for them.
    pub down: Option<[RecipePass<M>; 2]>,
}

/// One pass.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecipePass<M> {
    /// Its module.
    pub module: M,
    /// Memory whose addresses its shader gets, in this order, 8 bytes each.
    pub places: Vec<Place<ScratchPart>>,
    /// Words behind the addresses, 4 bytes each.
    pub words: Vec<RecipeWord>,
}

impl<M> RecipePass<M> {
    fn map<N>(self, name: &mut impl FnMut(M) -> N) -> RecipePass<N> {
        RecipePass { module: name(self.module), places: self.places, words: self.words }
    }
}

/// A pass that fills the scratch memory in front of a call with zeros. Its elements are the words that it fills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FillRecipe<M> {
    /// The pass.
    pub pass: RecipePass<M>,
    /// Words that a workgroup fills.
    pub words_per_workgroup: u32,
}

impl<M> FillRecipe<M> {
    fn map<N>(self, name: &mut impl FnMut(M) -> N) -> FillRecipe<N> {
        FillRecipe { pass: self.pass.map(name), words_per_workgroup: self.words_per_workgroup }
    }
}

/// What makes scratch memory of unknown content fit for a first call. Its arguments are pushed, wherever a call finds
/// its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prepare<M> {
    /// Fills all of it with zeros.
    pub zeros: FillRecipe<M>,
    /// Behind that, where the device counts calls: one workgroup that writes the first turn.
    pub turn: Option<RecipePass<M>>,
}

/// Memory that a pass works on. `S` says where in the scratch memory: an offset in bytes, or what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Place<S = u64> {
    /// What is scanned. A scan in place has no source.
    Source,
    /// The scan.
    Target,
    /// The scratch memory from here on.
    Scratch(S),
    /// Four words for each tile, in which workgroups say what their lookback did: builds for measuring alone.
    Counts,
    /// One element: the total of a scan that stores it.
    Total,
    /// One element: what an exclusive scan begins with, where no words say it.
    Initial,
    /// A word that says how many elements the call has, where its other arguments are pushed.
    Elements,
}

/// A part of the scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ScratchPart {
    /// All of it: the ticket comes first.
    All,
    /// The totals of groups of tiles.
    Groups,
    /// The states of tiles.
    States,
    /// The level that the pass goes over.
    Level,
    /// The level above, which has the totals of its tiles.
    LevelAbove,
    /// The turn, where the device counts calls.
    Turn,
}

/// A word that a pass is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RecipeWord {
    /// How many elements there are; of a pass over a level, those of the level.
    Elements,
    /// How many elements the scratch memory is laid out for.
    MostElements,
    /// A word that does not depend on the number of elements.
    Same(PushWord),
}
