//! Every kernel there is, its recipe and its plan. `resolve` is what a config comes to on a problem, a size and a
//! device, `rules` say which one can run what where, `needs` what it counts on there, `shader` and `constants` what
//! shaders are told, `level_passes` are those of the families that have several passes, `copy_and_check` the kernels
//! beside the scans. Each stands above those that it uses.

mod constants;
mod copy_and_check;
mod level_passes;
mod needs;
pub(crate) mod resolve;
mod rule_list;
mod rules;
mod shader;
mod shared_memory;
mod subgroup_scans;
mod user_operator;
mod variant_pass;
mod webgpu;

use std::ops::RangeInclusive;

use scanbox_model::config::{Arguments, Config, Kernel, Reset};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_model::space::Rejection;
use scanbox_pack::{
    ArgumentKind, CallSizes, Formula, Place, Recipe, RecipePass, RecipePasses, RecipeWord, ScratchPart,
    Split, StatesFormula,
};

use self::constants::{direction_defines, transform_defines};
use self::copy_and_check::{fill_recipe, prepare_recipe};
use self::resolve::{co_resident, passes_totals_on};
use self::shader::shader;
use self::variant_pass::{has_own_word, of_variant};
use crate::plan::{Build, CallFacts, Expected, Pass, Plan, PlanKind, PushWord, ScratchContent, Shader};
use crate::rounding::error_bound;

pub use constants::GUARD_WORD;
pub use copy_and_check::{
    CEILING_SHAPES, REPORT_WORDS, ceiling, ceiling_shapes, compare, compare_input_sums, compare_with_kept,
    copy, empty, empty_beside, fill, helper_shaders, poison, shapes_by_arguments, sum_input,
};
pub use needs::{Waiting, needed, needs, promises, waiting};
pub use resolve::{ASSUMED_UNITS, Resolved, input_kind, launched_per_call, resolved};
pub use rule_list::{RuleEntry, rules};
pub use rules::{legal, resident, total_is_known, variant_legal};
pub use scanbox_pack::levels::LAST_LEVEL_TILES;
pub use shared_memory::whole_sector_vector;
pub use user_operator::{
    LAW_SAMPLES, Law, OPERATOR_LAWS, OperatorLaw, SEEN_DIFFERENT, SHOWN_ELEMENTS, TRIED_LAWS, TriedLaw,
    operator_check, operator_finish, operator_laws, operator_load, operator_shaders,
};

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
    let variant = variant.of_problem(problem);
    rules::variant_of_problem(config, variant, problem)?;
    webgpu::has_no_recipe(device)?;
    let sizes = rules::sizes(config, problem, device)?;
    let resolved = Resolved::new(config, problem, *sizes.start(), device);
    // Calls that turn by themselves, or find in memory how many elements they have, may have none. So may all others
    // that store something then, unless the host counts them.
    let turns = resolved.runs.kernel.reset == Reset::Turn || variant.max_n.is_some();
    let stores = variant.total || problem.mode() == Mode::Reduce;
    let counted = matches!(resolved.formula().content(1), ScratchContent::Tagged { .. });
    let takes_none = turns || (stores && !counted);
    let least = if takes_none && *sizes.start() == 1 { 0 } else { *sizes.start() };
    Ok(recipe_of(&resolved, variant, least..=*sizes.end()))
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
        Split::ByLevels => RecipePasses::ByLevels(Box::new(level_passes::passes(resolved, variant))),
        Split::Tiles | Split::AtMost(_) | Split::AtMostOrFew(_) | Split::One => {
            RecipePasses::One(only_pass(resolved, variant))
        }
    };
    let content = formula.content(*sizes.end());
    // All modules of a recipe are for subgroups of one size.
    let own_choice;
    let device = match resolved.subgroup_size() {
        size if size == resolved.device.subgroup_size => resolved.device,
        size => {
            own_choice = resolved.device.with_subgroups_of(size);
            &own_choice
        }
    };
    Recipe {
        formula,
        min_n: *sizes.start(),
        max_n: *sizes.end(),
        call_sizes: call_sizes(&formula, kernel, variant),
        alignment: variant.alignment(kernel, &resolved.problem),
        co_resident: co_resident(kernel),
        arguments,
        fill: (content == ScratchContent::Anything).then(|| fill_recipe(arguments, device)),
        prepare: prepare_recipe(content, device),
        passes,
    }
}

/// How many elements calls have that share their scratch memory. Where the device counts calls, it has to expect that
/// they differ.
fn call_sizes(formula: &Formula, kernel: &Kernel, variant: Variant) -> CallSizes {
    let self_turning = |states: StatesFormula| matches!(states.content, ScratchContent::SelfTurning { .. });
    if variant.max_n.is_some() {
        CallSizes::InMemory
    } else if formula.states.is_some_and(self_turning) && kernel.reset != Reset::Turn {
        CallSizes::Same
    } else {
        CallSizes::Told
    }
}

/// The pass of a family that has one.
fn only_pass(resolved: &Resolved<'_>, variant: Variant) -> RecipePass<Shader> {
    let Resolved { runs: Config { kernel, .. }, problem, .. } = resolved;
    let source = match problem.placement() {
        Placement::OutOfPlace => Place::Source,
        Placement::InPlace => Place::Target,
    };
    let mut places = vec![source, Place::Target];
    let has_own_word = has_own_word(variant, kernel.arguments);
    let mut words = vec![if has_own_word { RecipeWord::MostElements } else { RecipeWord::Elements }];
    if passes_totals_on(kernel.family) {
        places.extend([ScratchPart::All, ScratchPart::Groups, ScratchPart::States].map(Place::Scratch));
        match (kernel.arguments, kernel.reset) {
            // What is said already is not said twice.
            (Arguments::Push, Reset::Turn) => {
                words.extend((!has_own_word).then_some(RecipeWord::MostElements));
            }
            (Arguments::Push, _) => {
                let turn = [PushWord::Epoch, PushWord::TicketBase, PushWord::Bank, PushWord::StaleGroups];
                words.extend(turn.map(RecipeWord::Same));
            }
            (Arguments::Block | Arguments::Baked, _) => {}
        }
    }
    let mut module = shader(resolved);
    module.defines.extend(direction_defines(problem, true));
    module.defines.extend(transform_defines(problem, true, true));
    of_variant(RecipePass { module, places, words }, variant, Some(problem))
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
/// tile to tile count (`counts-need-walk`). What is baked says how many elements a call has
/// (`n-from-memory-needs-block`), the host counts calls by the elements that it knows of (`n-from-memory-needs-turn`),
/// and only one pass has its n in memory (`n-from-memory-needs-one-pass`); only scans of one pass have a total beside
/// them (`total-needs-scan`, `total-needs-one-pass`); who runs a plan has to know the initial value
/// (`init-needs-value`); only calls with a line have one that stays (`line-needs-block`).
pub fn plan_variant(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plan, Rejection> {
    let variant = variant.of_problem(problem);
    rules::variant_of_problem(config, variant, problem)?;
    rules::init_is_known(variant, problem)?;
    webgpu::variant_is_there(config, variant, device)?;
    let most = variant.max_n.unwrap_or(n);
    let resolved = Resolved::new(config, problem, most, device);
    rules::check(&resolved)?;
    Ok(plan_of(&resolved, variant, n))
}

/// The plan of a call of `n` elements, or none, on scratch memory that calls of other sizes share, up to `max_n`: its
/// scratch memory is that of the largest one. The host says n.
///
/// # Errors
/// The rule of [`legal`] that says no, or that the device does not count the calls (`sharing-needs-turn`).
pub fn plan_up_to(
    config: &Config,
    max_n: u64,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plan, Rejection> {
    if config.kernel.reset != Reset::Turn {
        let detail = format!(
            "{config} on the scratch memory of calls of other sizes: with reset turn they take turns"
        );
        return Err(Rejection { rule: "sharing-needs-turn".into(), detail });
    }
    let n = n.min(max_n);
    let largest = Resolved::new(config, problem, max_n, device);
    rules::check(&largest)?;
    rules::check(&Resolved { n: n.max(1), ..largest })?;
    Ok(plan_of(&largest, Variant::default().of_problem(problem), n))
}

/// The plan of a call of `n` elements on scratch memory for those of `largest`. Both are legal.
fn plan_of(largest: &Resolved<'_>, variant: Variant, n: u64) -> Plan {
    let recipe = recipe_of(largest, variant, 0..=largest.n);
    let launch = recipe.laid_out(largest.n).and_then(|laid_out| laid_out.at(n)).expect("the size is checked");
    let Resolved { config, runs: Config { kernel, .. }, problem, .. } = largest;
    let kind = PlanKind::Config(Build {
        config: *config,
        variant,
        tile_state: passes_totals_on(kernel.family).then_some(kernel.tile_state),
        shared_bytes: largest.shared_bytes().expect("that it fits is checked"),
    });
    let facts = CallFacts {
        tiles: launch.tiles(),
        n: u32::try_from(n).unwrap_or(u32::MAX),
        init: problem.first_words().unwrap_or_default(),
    };
    let n = n.min(largest.n);
    let plan = Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: if problem.mode() == Mode::Reduce { Expected::Total } else { Expected::Scan },
        error_bound: error_bound(&Resolved { n: n.max(1), ..*largest }),
        scratch: launch.scratch(),
        passes: launch.steps().map(|step| Pass::of_step(&step, &facts)).collect(),
    };
    webgpu::adapted(plan, largest.device)
}
