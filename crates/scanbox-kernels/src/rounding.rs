//! How far sums of floats may be off: what "correct" means where results depend on the order of combining.
//!
//! The kernel decides the order. Whatever it is, a sum in which no term passes through more than d roundings is within
//! gamma(d) = d u / (1 - d u) of the exact one, relative to the sum of the magnitudes of its terms, where u is the unit
//! roundoff (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). d follows from the stages.

use scanbox_model::config::{Family, Lookback};
use scanbox_model::problem::{Element, ElementValue, Operator, Problem};
use scanbox_model::space::Rejection;
use scanbox_pack::Levels;

use crate::catalog::resolve::Resolved;
use crate::input::Input;
use crate::plan::Plan;

/// The largest error of an element of the output that counts as right on an input whose sums round, as a share of the
/// sum of the magnitudes that make it up; 0 where nothing is rounded. Of a user's operator, the tolerance of its file.
#[must_use]
pub fn error_bound(resolved: &Resolved<'_>) -> f64 {
    let Resolved { problem, n, .. } = resolved;
    if let Some(user) = problem.user() {
        return user.tolerance.share().into();
    }
    if !problem.rounds() || problem.operator() != Operator::Add {
        return 0.0;
    }
    let (unit, reference_unit) = match problem.element() {
        Element::F32 => (f64::EPSILON * (1u64 << 28) as f64, f64::EPSILON / 2.0),
        // In pairs, what is lost is added up with the precision of the type.
        _ => (f64::EPSILON / 2.0, f64::EPSILON * f64::EPSILON),
    };
    let depth = roundings(resolved) as f64 * unit;
    // More than this is no bound at all.
    let gamma = if depth < 0.5 { depth / (1.0 - depth) } else { 1.0 };
    // The reference is rounded as well, and at its end to the type.
    gamma + *n as f64 * reference_unit + unit
}

/// What counts as right of a plan on an input, where that is known. One whose elements have one right answer is
/// compared exactly, whatever rounds on others.
#[must_use]
pub fn bound_on(plan: &Plan, input: Option<Input>) -> f64 {
    let is_exact = input.is_some_and(|input| input.is_exact(&plan.problem, plan.n));
    if is_exact { 0.0 } else { plan.error_bound }
}

/// Whether a bound leaves something of the sums of `n` reals to be wrong: at half of the elements, an answer without
/// them.
///
/// # Errors
/// The rule that says no: the bound is that large, or the initial value is.
pub fn tells(problem: &Problem, n: u64, error_bound: f64) -> Result<(), Rejection> {
    let initial = problem.init().and_then(ElementValue::float).unwrap_or(0.0).abs();
    // Reals from 0 to 1, at half of the way.
    let sum = n as f64 / 4.0;
    if error_bound * (initial + sum) < sum {
        return Ok(());
    }
    let beside = if initial > 0.0 { format!(" with the initial value {initial}") } else { String::new() };
    let detail = format!(
        "{problem}: sums of {n} reals{beside} may be off by a share of {error_bound:.1e}, so that they count as right \
         without most of their elements"
    );
    Err(Rejection { rule: "bound-hides-what-is-wrong".into(), detail })
}

/// Roundings that an element may pass through on its way into the output, at most. Combining with an identity rounds
/// nothing.
fn roundings(resolved: &Resolved<'_>) -> u64 {
    let &Resolved { config, n, .. } = resolved;
    let kernel = &config.kernel;
    let subgroup_size = u64::from(resolved.subgroup_size());
    let subgroups = u64::from(config.workgroup_size) / subgroup_size;
    let tiles = config.tiles(n);
    // Within an invocation; row by row; in a subgroup operation, however a driver makes it; among the subgroups,
    // twice; and the two sweeps of the block scans that have no subgroups (Kogge-Stone and Sklansky have as many
    // levels as one of them).
    let tile = u64::from(kernel.items_per_invocation())
        + u64::from(kernel.batch_size)
        + 2 * subgroup_size
        + 3 * subgroups
        + 2 * u64::from(config.workgroup_size.ilog2());
    let before = match kernel.family {
        // Its tile on each level up to the last, where a carry goes over few tiles; and a prefix for each level down.
        Family::ReduceThenScan | Family::ScanThenPropagate => {
            let levels = Levels::new(resolved.formula().tile_elements, n);
            levels.lengths().len() as u64 * (tile + 2) + levels.last_tiles()
        }
        Family::Recompute => n.div_ceil(u64::from(config.workgroup_size)) + subgroup_size + subgroups,
        _ if kernel.lookback == Lookback::None => tiles,
        // Each tile that is looked at adds itself, and each inclusive prefix is handed on at most once per tile.
        _ => 2 * tiles + subgroup_size + subgroups,
    };
    // The prefix of the tile, that of the invocation, and an initial value.
    tile + before + 3
}
