//! Every kernel there is, its recipe and its plan. `resolve` is what a config comes to on a problem, a size and a
//! device, `rules` say which one can run what where, `shader` and `constants` what shaders are told, `level_passes` are
//! those of the families that have several passes, `copy_and_check` the kernels beside the scans. Each stands above
//! those that it uses.

mod constants;
mod copy_and_check;
mod level_passes;
pub(crate) mod resolve;
mod rules;
mod shader;
mod shared_memory;
mod user_operator;

use std::ops::RangeInclusive;

use scanbox_model::config::{Arguments, Config};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_model::space::Rejection;
use scanbox_pack::{ArgumentKind, Place, Recipe, RecipePass, RecipePasses, RecipeWord, ScratchPart, Split};

use self::constants::initial_words;
use self::copy_and_check::fill_recipe;
use self::resolve::{co_resident, passes_totals_on};
use self::shader::shader;
use crate::plan::{Build, Expected, Pass, Plan, PlanKind, PushWord, ScratchContent, Shader};
use crate::rounding::error_bound;

pub use constants::GUARD_WORD;
pub use copy_and_check::{
    CEILING_SHAPES, REPORT_WORDS, ceiling, ceiling_shapes, compare, compare_input_sums, compare_with_kept,
    copy, empty, empty_beside, fill, helper_shaders, poison, shapes_by_arguments, sum_input,
};
pub use resolve::{Resolved, input_kind, launched_per_call, resolved};
pub use rules::{legal, resident, variant_legal};
pub use scanbox_pack::levels::LAST_LEVEL_TILES;
pub use user_operator::{OPERATOR_LAWS, OperatorLaw, operator_check, operator_load, operator_shaders};

pub use crate::variant::{LineUse, MAX_BLOCKING, Variant};

/// How to run a variant of a config on a problem and a device, for any number of elements. The most elements of a
/// call that a variant names are left open too.
///
/// # Errors
/// The rule of [`legal`] that says no whatever the size is, or says no to the smallest size; those about a session,
/// which has an input, a reference and a comparison beside the scan, are left to [`plan`]. Or a rule about variants
/// (see [`plan_variant`]).
pub fn recipe(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    device: &DeviceProfile,
) -> Result<Recipe<Shader>, Rejection> {
    rules::variant_of_problem(config, variant, problem)?;
    let sizes = rules::sizes(config, problem, device)?;
    Ok(recipe_of(&Resolved::new(config, problem, *sizes.start(), device), variant, sizes))
}

/// The recipe of what is legal at these sizes.
fn recipe_of(resolved: &Resolved<'_>, variant: Variant, sizes: RangeInclusive<u64>) -> Recipe<Shader> {
    let kernel = &resolved.runs.kernel;
    let formula = resolved.formula();
    let arguments = match kernel.arguments {
        Arguments::Push => ArgumentKind::Pushed,
        Arguments::Block => ArgumentKind::Line,
        Arguments::Baked => ArgumentKind::Baked,
    };
    let passes = match formula.split {
        Split::ByLevels => RecipePasses::ByLevels(Box::new(level_passes::passes(resolved))),
        Split::Tiles | Split::AtMost(_) | Split::One => RecipePasses::One(only_pass(resolved, variant)),
    };
    let clears = formula.states.is_some_and(|states| states.content == ScratchContent::Anything);
    let recipe = Recipe {
        formula,
        min_n: *sizes.start(),
        max_n: *sizes.end(),
        n_from_memory: variant.max_n.is_some(),
        alignment: variant.alignment(kernel, &resolved.problem),
        co_resident: co_resident(kernel),
        arguments,
        fill: None,
        passes,
    };
    let recipe = recipe.map(|shader| of_variant(shader, variant));
    Recipe { fill: clears.then(|| fill_recipe(arguments, resolved.device)), ..recipe }
}

/// The pass of a family that has one.
fn only_pass(resolved: &Resolved<'_>, variant: Variant) -> RecipePass<Shader> {
    let Resolved { runs: Config { kernel, .. }, problem, .. } = resolved;
    let source = match problem.placement() {
        Placement::OutOfPlace => Place::Source,
        Placement::InPlace => Place::Target,
    };
    let mut places = vec![source, Place::Target];
    let mut words = vec![RecipeWord::Elements];
    if passes_totals_on(kernel.family) {
        places.extend([ScratchPart::All, ScratchPart::Groups, ScratchPart::States].map(Place::Scratch));
        if kernel.arguments == Arguments::Push {
            let turn = [PushWord::Epoch, PushWord::TicketBase, PushWord::Bank, PushWord::StaleGroups];
            words.extend(turn.map(RecipeWord::Same));
        }
    }
    words.extend(initial_words(problem.init()).map(RecipeWord::Same));
    // Behind the tile states, as in stages/state/tile_state_params.glsl.
    places.extend(variant.counted.then_some(Place::Counts));
    places.extend(variant.total.then_some(Place::Total));
    RecipePass { module: shader(resolved), places, words }
}

/// A shader of a config, as a variant builds it.
fn of_variant(mut shader: Shader, variant: Variant) -> Shader {
    shader.defines.extend(variant.blocking.map(|k| ("BLOCKING", k)));
    let defines = [
        (variant.counted, "COUNTED"),
        (variant.max_n.is_some(), Shader::N_FROM_MEMORY),
        (variant.any_element, "ANY_ELEMENT"),
        (variant.total, "WITH_TOTAL"),
    ];
    shader.defines.extend(defines.into_iter().filter(|(has, _)| *has).map(|(_, name)| (name, 1)));
    shader
}

/// The plan of a config that solves a problem for `n` elements on a device.
///
/// # Errors
/// The rule of [`legal`] that says no.
pub fn plan(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Result<Plan, Rejection> {
    plan_variant(config, Variant::default(), problem, n, device)
}

/// The plan of a variant of a config: its [`recipe`] at `n` elements, and what measuring needs beside. Where calls say
/// how many elements they have, it is laid out for the most of them, and `n` is what its calls say unless they are told
/// something else.
///
/// # Errors
/// The rule of [`legal`] that says no, or a rule about variants: only tiles of a chained scan can be blocked
/// (`blocking-needs-chained-scan`), 1 in 2 to 1 in 2^31 of them (`blocking-rate`), and only lookbacks that go from
/// tile to tile count (`counts-need-walk`). Only lines say how many elements a call has
/// (`n-from-memory-needs-block`), of one pass (`n-from-memory-needs-one-pass`); only scans of one pass have a total
/// beside them (`total-needs-scan`, `total-needs-one-pass`); only calls with a line have one that stays
/// (`line-needs-block`).
pub fn plan_variant(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plan, Rejection> {
    rules::variant_of_problem(config, variant, problem)?;
    let most = variant.max_n.unwrap_or(n);
    let resolved = Resolved::new(config, problem, most, device);
    rules::check(&resolved)?;
    let recipe = recipe_of(&resolved, variant, most..=most);
    let launch = recipe.laid_out(most).and_then(|laid_out| laid_out.at(n)).expect("the size is checked");
    let kernel = &resolved.runs.kernel;
    let kind = PlanKind::Config(Build {
        config: *config,
        variant,
        tile_state: passes_totals_on(kernel.family).then_some(kernel.tile_state),
        shared_bytes: resolved.shared_bytes().expect("that it fits is checked"),
    });
    let n = n.min(most);
    Ok(Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: if problem.mode() == Mode::Reduce { Expected::Total } else { Expected::Scan },
        error_bound: error_bound(&Resolved { n: n.max(1), ..resolved }),
        scratch: launch.scratch(),
        passes: launch.steps().map(|step| Pass::of_step(&step, launch.tiles())).collect(),
    })
}
