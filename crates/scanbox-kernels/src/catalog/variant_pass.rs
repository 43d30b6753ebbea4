//! What a variant adds to a pass: defines, places, and words that stand in memory instead.

use scanbox_model::config::Arguments;
use scanbox_model::problem::Problem;
use scanbox_pack::{Place, RecipePass, RecipeWord};

use super::constants::{init_define, initial_words};
use crate::plan::Shader;
use crate::variant::Variant;

/// Whether a word of its own says how many elements a call has: pushed arguments are there before anybody knows.
pub(super) fn has_own_word(variant: Variant, arguments: Arguments) -> bool {
    variant.max_n.is_some() && arguments == Arguments::Push
}

/// A pass as a variant builds it, which begins with the initial value of `begins`, where there is one.
pub(super) fn of_variant(
    mut pass: RecipePass<Shader>,
    variant: Variant,
    begins: Option<&Problem>,
) -> RecipePass<Shader> {
    let reads_init = variant.init_in_memory && begins.is_some();
    if let Some((problem, words)) = begins.and_then(|problem| Some((problem, problem.init_words()?))) {
        pass.module.defines.extend(init_define(problem));
        pass.words.extend(initial_words(problem, words).filter(|_| !reads_init).map(RecipeWord::Same));
    } else if let Some(problem) = begins.filter(|_| reads_init) {
        pass.module.defines.extend(init_define(problem));
    }
    // Behind the tile states, as in stages/state/tile_state_params.glsl.
    let places = [
        (variant.counted, Place::Counts),
        (variant.total, Place::Total),
        (reads_init, Place::Initial),
        (has_own_word(variant, pass.module.arguments()), Place::Elements),
    ];
    pass.places.extend(places.into_iter().filter(|(has, _)| *has).map(|(_, place)| place));
    let defines = [
        (variant.counted, "COUNTED"),
        (variant.max_n.is_some(), Shader::N_FROM_MEMORY),
        (variant.any_element, "ANY_ELEMENT"),
        (variant.late, "LATE"),
        (variant.total, "WITH_TOTAL"),
        (reads_init, "INIT_FROM_MEMORY"),
    ];
    let defines = defines.into_iter().filter(|(has, _)| *has).map(|(_, name)| (name, 1));
    pass.module.defines.extend(variant.blocking.map(|k| ("BLOCKING", k)).into_iter().chain(defines));
    pass
}
