//! What a recipe comes to for a number of elements. Nothing here allocates.

use crate::layout::TURN_WORD;
use crate::levels::Levels;
use crate::recipe::{
    CallSizes, FillRecipe, LevelPasses, Place, Prepare, Recipe, RecipePass, RecipePasses, RecipeWord,
    ScratchPart,
};
use crate::scratch::{PushWord, Scratch, Tickets};

impl<M> Recipe<M> {
    /// A call of `n` elements, in scratch memory for just as many; `None` where it does not take them.
    #[must_use]
    pub fn at(&self, n: u64) -> Option<Launch<'_, M>> {
        self.laid_out(n)?.at(n)
    }

    /// The recipe in scratch memory for `max_n` elements at most; `None` where it does not take them.
    #[must_use]
    pub fn laid_out(&self, max_n: u64) -> Option<LaidOut<'_, M>> {
        self.takes(max_n).then_some(LaidOut { recipe: self, max_n: max_n.max(1) })
    }
}

/// A recipe in scratch memory that is laid out for the most elements of a call.
#[derive(Debug)]
pub struct LaidOut<'a, M> {
    pub(crate) recipe: &'a Recipe<M>,
    pub(crate) max_n: u64,
}

impl<M> Clone for LaidOut<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for LaidOut<'_, M> {}

impl<'a, M> LaidOut<'a, M> {
    /// The most elements of a call.
    #[must_use]
    pub fn max_n(&self) -> u64 {
        self.max_n
    }

    /// Bytes of scratch memory that calls of any number of elements need.
    #[must_use]
    pub fn scratch_bytes(&self) -> u64 {
        self.recipe.formula.scratch_bytes(self.max_n)
    }

    /// What makes its scratch memory fit for a first call, whatever stands there, with a barrier between; nothing where
    /// every call does that itself.
    pub fn prepare(&self) -> impl Iterator<Item = Step<'a, M>> + use<'a, M> {
        let bytes = self.scratch_bytes();
        let steps = move |Prepare { zeros, turn }: &'a Prepare<M>| {
            let turn = turn.as_ref().map(|pass| Step::alone(pass, 1, 1));
            [Some(zeros.step(bytes)), turn].into_iter().flatten()
        };
        self.recipe.prepare.iter().flat_map(steps)
    }

    /// A call of `n` elements; `None` where they are more than it is laid out for, or fewer than the recipe takes, or
    /// all calls that have any have as many as it is laid out for. Where they find in memory how many they have, `n` is
    /// what stands there, and may be any number.
    #[must_use]
    pub fn at(&self, n: u64) -> Option<Launch<'a, M>> {
        let Self { recipe, max_n } = *self;
        let formula = &recipe.formula;
        let least = match recipe.call_sizes {
            CallSizes::Same if n > 0 => max_n,
            CallSizes::Same | CallSizes::Told | CallSizes::InMemory => recipe.min_n,
        };
        // As many workgroups start as the largest call has.
        let sized = if recipe.call_sizes == CallSizes::InMemory { max_n } else { n };
        if !(least..=max_n).contains(&sized) {
            return None;
        }
        // One workgroup sees to it that a call without elements leaves things as they should be.
        let sized = sized.max(1);
        // Whoever finds what earlier calls have left finds it where they had it.
        let laid = if formula.content(sized).is_stateless() { sized } else { max_n };
        Some(Launch { recipe, told: n, sized, laid })
    }
}

/// One call of a recipe.
#[derive(Debug)]
pub struct Launch<'a, M> {
    recipe: &'a Recipe<M>,
    /// Elements that the call is told.
    told: u64,
    /// Elements that it starts workgroups for.
    sized: u64,
    /// Elements that its scratch memory is laid out for.
    laid: u64,
}

impl<M> Clone for Launch<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Launch<'_, M> {}

impl<'a, M> Launch<'a, M> {
    /// The scratch memory that it uses.
    #[must_use]
    pub fn scratch(&self) -> Scratch {
        self.recipe.formula.scratch(self.laid, self.sized)
    }

    /// Tiles that it has states for, and counts where workgroups count.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        self.recipe.formula.tiles(self.sized)
    }

    /// What comes in front of its passes: the fill of its scratch memory, where there is one.
    #[must_use]
    pub fn fill(&self) -> Option<Step<'a, M>> {
        let fill = self.recipe.fill.as_ref()?;
        Some(fill.step(self.recipe.formula.scratch_bytes(self.laid)))
    }

    /// Its passes, in order.
    #[must_use]
    pub fn steps(&self) -> Steps<'a, M> {
        let levels = match &self.recipe.passes {
            RecipePasses::One(_) => None,
            RecipePasses::ByLevels(passes) => {
                Some((&**passes, Levels::new(self.recipe.formula.tile_elements, self.sized)))
            }
        };
        Steps { launch: *self, levels, next: 0 }
    }

    fn only_step(&self, pass: &'a RecipePass<M>) -> Step<'a, M> {
        let Recipe { formula, co_resident, .. } = self.recipe;
        Step {
            pass,
            n: self.told,
            most: self.laid,
            workgroups: formula.workgroups(self.sized),
            tickets: formula.tickets(self.sized),
            co_resident: *co_resident && formula.is_split_by_tiles(self.sized),
            offsets: [formula.groups_offset(self.laid), formula.states_offset(self.laid)],
        }
    }

    fn step_of_levels(&self, passes: &'a LevelPasses<M>, levels: &Levels, at: usize) -> Option<Step<'a, M>> {
        let last = levels.last();
        let (pair, level) = match at.checked_sub(last) {
            None => (&passes.up, at),
            Some(0) => (&passes.last, last),
            Some(back) => (passes.down.as_ref()?, last.checked_sub(back)?),
        };
        let length = levels.lengths()[level];
        let element_bytes = self.recipe.formula.element_bytes.into();
        Some(Step {
            pass: &pair[usize::from(level > 0)],
            // There is a level even where there are no elements.
            n: if level == 0 { self.told } else { length },
            most: length,
            workgroups: if at == last { 1 } else { self.recipe.formula.tiles(length) },
            tickets: Tickets::None,
            co_resident: false,
            offsets: [level, level + 1].map(|level| levels.offset(level, element_bytes)),
        })
    }
}

/// The passes of a call, in order.
#[derive(Debug)]
pub struct Steps<'a, M> {
    launch: Launch<'a, M>,
    levels: Option<(&'a LevelPasses<M>, Levels)>,
    next: usize,
}

impl<'a, M> Iterator for Steps<'a, M> {
    type Item = Step<'a, M>;

    fn next(&mut self) -> Option<Step<'a, M>> {
        let at = self.next;
        self.next += 1;
        match (&self.levels, &self.launch.recipe.passes) {
            (Some((passes, levels)), _) => self.launch.step_of_levels(passes, levels, at),
            (None, RecipePasses::One(pass)) => (at == 0).then(|| self.launch.only_step(pass)),
            (None, RecipePasses::ByLevels(_)) => None,
        }
    }
}

impl<M> FillRecipe<M> {
    /// The fill of so many bytes.
    #[must_use]
    pub fn step(&self, bytes: u64) -> Step<'_, M> {
        let words = bytes.div_ceil(4);
        Step::alone(&self.pass, words, words.div_ceil(u64::from(self.words_per_workgroup).max(1)))
    }
}

/// One dispatch of a call.
#[derive(Debug)]
pub struct Step<'a, M> {
    pass: &'a RecipePass<M>,
    n: u64,
    /// Elements that its memory is laid out for.
    most: u64,
    /// Workgroups that have to start; whoever records them spreads them over dimensions and may start more.
    pub workgroups: u64,
    /// Tickets that are taken.
    pub tickets: Tickets,
    /// Whether all workgroups have to run at the same time, so that no more than these may start.
    pub co_resident: bool,
    /// Where groups and states begin in the scratch memory, or the level of the pass and the one above.
    offsets: [u64; 2],
}

impl<'a, M> Step<'a, M> {
    /// One beside the passes of a scan, of so many words.
    fn alone(pass: &'a RecipePass<M>, words: u64, workgroups: u64) -> Self {
        let tickets = Tickets::None;
        Self { pass, n: words, most: words, workgroups, tickets, co_resident: false, offsets: [0; 2] }
    }

    /// Its module.
    #[must_use]
    pub fn module(&self) -> &'a M {
        &self.pass.module
    }

    /// Memory whose addresses its shader gets, in this order.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<'a, M> {
        let [first, second] = self.offsets;
        self.pass.places.iter().map(move |place| match place {
            Place::Source => Place::Source,
            Place::Target => Place::Target,
            Place::Counts => Place::Counts,
            Place::Total => Place::Total,
            Place::Initial => Place::Initial,
            Place::Elements => Place::Elements,
            Place::Scratch(part) => Place::Scratch(match part {
                ScratchPart::All => 0,
                ScratchPart::Turn => 4 * TURN_WORD,
                ScratchPart::Groups | ScratchPart::Level => first,
                ScratchPart::States | ScratchPart::LevelAbove => second,
            }),
        })
    }

    /// The words that its shader gets behind the addresses.
    pub fn words(&self) -> impl Iterator<Item = PushWord> + use<'a, M> {
        let [n, most] = [self.n, self.most].map(|n| PushWord::Value(u32::try_from(n).unwrap_or(u32::MAX)));
        self.pass.words.iter().map(move |word| match word {
            RecipeWord::Elements => n,
            RecipeWord::MostElements => most,
            RecipeWord::Same(word) => *word,
        })
    }
}
