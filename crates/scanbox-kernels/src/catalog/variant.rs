//! Variants: builds of a kernel that are no kernels of their own. They show how a lookback behaves, and are no part of a label:
//! what is measured of them says so beside it.

use std::fmt;

use scanbox_model::config::{Config, Family, Lookback};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::space::Rejection;
use serde::{Deserialize, Serialize};

use super::plan;
use crate::plan::{Binding, Plan};

/// What a build of a kernel has that others do not. The default has nothing, and is compiled from the same defines as before
/// there were variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Variant {
    /// Simulated blocking: 1 in 2^k tiles never publishes its total, the first tile among them (stages/lookback/blocking.glsl).
    pub blocking: Option<u32>,
    /// Whether workgroups count what their lookback does (stages/lookback/counts.glsl). It takes registers and time.
    pub counted: bool,
}

/// 1 in 2^31 tiles is none but the first.
pub const MAX_BLOCKING: u32 = 31;

impl Variant {
    /// A build with simulated blocking, or none.
    #[must_use]
    pub fn blocked(blocking: Option<u32>) -> Self {
        Self { blocking, counted: false }
    }

    /// The same, with counts.
    #[must_use]
    pub fn counted(self) -> Self {
        Self { counted: true, ..self }
    }
}

impl fmt::Display for Variant {
    /// ` blocked 1 in 8 counted`: what stands behind a label in messages; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(k) = self.blocking {
            write!(f, " blocked 1 in {}", 1u64 << k.min(63))?;
        }
        if self.counted { f.write_str(" counted") } else { Ok(()) }
    }
}

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
    plan.label = format!("{}{variant}", plan.label);
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
