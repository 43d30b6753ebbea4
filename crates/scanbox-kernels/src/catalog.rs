//! Every kernel there is, and its plan. `resolve` is what a config comes to on a problem, a size and a device,
//! `rules` say which one can run what where, `shader` and `constants` what shaders are told, `levels` and
//! `level_passes` are those of the families that have several passes, `copy_and_check` the kernels beside the scans.
//! Each stands above those that it uses.

mod constants;
mod copy_and_check;
mod level_passes;
pub(crate) mod levels;
pub(crate) mod resolve;
mod rules;
mod shader;
mod shared_memory;
mod user_operator;

use scanbox_model::config::{Arguments, Config, Family, Reset, TileOrder};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_model::space::Rejection;

use self::constants::{define, initial_words, word};
use self::resolve::{GroupState, co_resident, has_levels, in_rows, passes_totals_on};
use self::shader::shader;
use crate::plan::{
    Binding, Build, Expected, Pass, Plan, PlanKind, PushWord, Scratch, Shader, TICKET_BYTES, Tickets,
};
use crate::rounding::error_bound;

pub use constants::GUARD_WORD;
pub use copy_and_check::{
    CEILING_SHAPES, REPORT_WORDS, ceiling, ceiling_shapes, compare, compare_input_sums, compare_with_kept,
    copy, empty, empty_beside, fill, helper_shaders, poison, shapes_by_arguments, sum_input,
};
pub use levels::LAST_LEVEL_TILES;
pub use resolve::{Resolved, input_kind, launched_per_call, resolved};
pub use rules::{legal, resident, variant_legal};
pub use user_operator::{OPERATOR_LAWS, OperatorLaw, operator_check, operator_load, operator_shaders};

pub use crate::variant::{LineUse, MAX_BLOCKING, Variant};

/// The plan of a config that solves a problem for `n` elements on a device.
///
/// # Errors
/// The rule of [`legal`] that says no.
pub fn plan(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Result<Plan, Rejection> {
    let resolved = Resolved::new(config, problem, n, device);
    rules::check(&resolved)?;
    let kernel = &resolved.runs.kernel;
    let source = match problem.placement() {
        Placement::OutOfPlace => Binding::Input,
        Placement::InPlace => Binding::Output,
    };
    let mut bindings = vec![source, Binding::Output];
    let mut words = vec![word(n)];
    let mut scratch = Scratch::NONE;
    let mut tickets = Tickets::None;
    if passes_totals_on(kernel.family) {
        let states = resolved.states_offset();
        let behind_states = states + in_rows(resolved.tiles()) * resolved.state_bytes();
        scratch = Scratch {
            bytes: resolved.scratch_bytes(),
            content: resolved.content(),
            bank_words: u32::try_from(resolved.bank_words()).expect("the words of a bank are checked"),
            tiles: resolved.tiles(),
            state_stride: kernel.state_stride,
        };
        bindings.extend([
            Binding::Scratch(0),
            // Published groups stand behind the states, and there is at least one.
            Binding::Scratch(match resolved.group_state() {
                Some(GroupState::Published) => behind_states,
                Some(GroupState::Added) | None => TICKET_BYTES,
            }),
            Binding::Scratch(states),
        ]);
        match (kernel.arguments, kernel.reset) {
            (Arguments::Push, Reset::Turn) => words.push(word(n)),
            (Arguments::Push, _) => {
                words.extend([PushWord::Epoch, PushWord::TicketBase, PushWord::Bank, PushWord::StaleGroups]);
            }
            (Arguments::Block | Arguments::Baked, _) => {}
        }
        let full_tiles = n / config.tile_elements();
        let full_tiles = u32::try_from(full_tiles).expect("tiles are checked against 32-bit indices");
        tickets = match (kernel.family, kernel.tile_order) {
            // One for each full tile that a workgroup scans, and one more, with which it stops.
            (Family::Persistent, TileOrder::Ticket) => Tickets::PerWorkgroup { more: full_tiles },
            // The same without the first: those whose first tile is full take as many as they scan. None where every
            // tile is the first one of a workgroup.
            (Family::Persistent, TileOrder::WorkgroupId) => {
                let all_first = resolved.workgroups() == resolved.tiles();
                Tickets::Exactly(if all_first { 0 } else { full_tiles })
            }
            (_, TileOrder::Ticket) => Tickets::PerWorkgroup { more: 0 },
            _ => Tickets::None,
        };
    }
    words.extend(initial_words(problem.init()));
    let (passes, scratch) = if has_levels(kernel.family) {
        level_passes::passes(&resolved)
    } else {
        let pass = Pass {
            shader: shader(&resolved),
            bindings,
            words,
            workgroups: resolved.workgroups(),
            tickets,
            co_resident: co_resident(kernel),
        };
        (vec![pass], scratch)
    };
    let kind = PlanKind::Config(Build {
        config: *config,
        variant: Variant::default(),
        tile_state: passes_totals_on(kernel.family).then_some(kernel.tile_state),
        shared_bytes: resolved.shared_bytes().expect("that it fits is checked"),
    });
    Ok(Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: if problem.mode() == Mode::Reduce { Expected::Total } else { Expected::Scan },
        error_bound: error_bound(&resolved),
        scratch,
        passes,
    })
}

/// The plan of a variant of a config. Where calls say how many elements they have, it is laid out for the most of
/// them, and `n` is what its calls say unless they are told something else.
///
/// # Errors
/// The rule of [`legal`] that says no, or a rule about variants: only tiles of a chained scan can be blocked
/// (`blocking-needs-chained-scan`), 1 in 2 to 1 in 2^31 of them (`blocking-rate`), and only lookbacks that go from
/// tile to tile count (`counts-need-walk`). What is baked says how many elements a call has
/// (`n-from-memory-needs-block`), the host counts calls by the elements that it knows of (`n-from-memory-needs-turn`),
/// and only one pass has its n in memory (`n-from-memory-needs-one-pass`); only scans of one pass have a total
/// beside them (`total-needs-scan`, `total-needs-one-pass`); only exclusive scans have an initial value
/// (`init-needs-exclusive`); only calls with a line have one that stays (`line-needs-block`).
pub fn plan_variant(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plan, Rejection> {
    variant_legal(config, variant)?;
    if variant.total && problem.mode() == Mode::Reduce {
        let detail = "the total beside a reduction: it is what a reduction stores";
        return Err(Rejection { rule: "total-needs-scan".into(), detail: detail.into() });
    }
    if variant.init_in_memory && problem.init().is_none() {
        let detail = format!(
            "{problem} with an initial value in memory: an exclusive scan has one, of scanbox's operators"
        );
        return Err(Rejection { rule: "init-needs-exclusive".into(), detail });
    }
    let mut plan = plan(config, problem, variant.max_n.unwrap_or(n), device)?;
    if let Some(max_n) = variant.max_n {
        plan.n = n.min(max_n);
        plan.bytes_moved = problem.bytes_moved(plan.n);
        plan.error_bound = error_bound(&Resolved::new(config, problem, plan.n.max(1), device));
    }
    if let PlanKind::Config(build) = &mut plan.kind {
        build.variant = variant;
    }
    plan.label = plan.kind.to_string();
    for pass in &mut plan.passes {
        if let Some(k) = variant.blocking {
            pass.shader.defines.push(("BLOCKING", k));
        }
        if variant.counted {
            pass.shader.defines.push(("COUNTED", 1));
            // Behind the tile states, as in stages/state/tile_state_params.glsl.
            pass.bindings.push(Binding::Counts(config.tiles(variant.max_n.unwrap_or(n))));
        }
        if variant.max_n.is_some() {
            pass.shader.defines.push((Shader::N_FROM_MEMORY, 1));
        }
        if variant.any_element {
            pass.shader.defines.push(("ANY_ELEMENT", 1));
        }
        if variant.total {
            pass.shader.defines.push(("WITH_TOTAL", 1));
            pass.bindings.push(Binding::Total);
        }
        // What scans tiles on their own begins with the identity.
        let begins = pass.shader.defines.contains(&("MODE", define(Mode::Exclusive)))
            && pass.shader.root != "scan_tiles.comp";
        if let Some(initial) = problem.init().filter(|_| variant.init_in_memory && begins) {
            pass.shader.defines.push(("INIT_FROM_MEMORY", 1));
            pass.bindings.push(Binding::Initial(initial.bits));
            pass.words.truncate(pass.words.len() - 2);
        }
        if variant.max_n.is_some() {
            let told = u32::try_from(n).unwrap_or(u32::MAX);
            match pass.shader.arguments() {
                // What stands in its place is the most, which is not said twice.
                Arguments::Push => {
                    pass.bindings.push(Binding::Elements(told));
                    if pass.shader.turns_itself() {
                        pass.words.remove(1);
                    }
                }
                Arguments::Block | Arguments::Baked => pass.words[0] = PushWord::Value(told),
            }
        }
    }
    Ok(plan)
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
    let largest = plan(config, problem, max_n, device)?;
    let n = n.min(max_n);
    let mut plan = plan(config, problem, n.max(1), device)?;
    (plan.n, plan.bytes_moved, plan.scratch) = (n, problem.bytes_moved(n), largest.scratch);
    for (pass, largest) in plan.passes.iter_mut().zip(largest.passes) {
        pass.bindings = largest.bindings;
        pass.words = largest.words;
        pass.words[0] = word(n);
    }
    Ok(plan)
}
