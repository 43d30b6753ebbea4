//! Plans of variants, and the rules about them.

use scanbox_model::config::{Config, Family, Lookback};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::space::Rejection;

use super::plan;
use crate::plan::{Binding, Plan, PlanKind};
use crate::variant::{MAX_BLOCKING, Variant};

/// The plan of a variant of a config.
///
/// # Errors
/// The rule of [`super::legal`] that says no, or a rule about variants: only tiles of a chained scan can be blocked
/// (`blocking-needs-chained-scan`), 1 in 2 to 1 in 2^31 of them (`blocking-rate`), and only lookbacks that go from
/// tile to tile count (`counts-need-walk`).
pub fn plan_variant(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plan, Rejection> {
    variant_legal(config, variant)?;
    let mut plan = plan(config, problem, n, device)?;
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
            pass.bindings.push(Binding::Counts(config.tiles(n)));
        }
    }
    Ok(plan)
}

/// Whether a config has a variant, at any size and on any device.
///
/// # Errors
/// The rule about variants that says no (see [`plan_variant`]).
pub fn variant_legal(config: &Config, variant: Variant) -> Result<(), Rejection> {
    let reject = |rule: &'static str, detail: String| Err(Rejection { rule: rule.into(), detail });
    let Config { kernel, .. } = config;
    if let Some(k) = variant.blocking {
        if kernel.family != Family::ChainedScan {
            let detail = format!(
                "simulated blocking of family {}: only tiles of a chained scan are blocked",
                kernel.family
            );
            return reject("blocking-needs-chained-scan", detail);
        }
        if !(1..=MAX_BLOCKING).contains(&k) {
            let detail = format!("1 in 2^{k} tiles blocked: the exponent is from 1 to {MAX_BLOCKING}");
            return reject("blocking-rate", detail);
        }
    }
    let walks = matches!(kernel.lookback, Lookback::Sequential | Lookback::Parallel | Lookback::Fallback);
    if variant.counted && !walks {
        let detail =
            format!("counts of lookback {}: those that go from tile to tile have them", kernel.lookback);
        return reject("counts-need-walk", detail);
    }
    Ok(())
}
