//! What becomes of blocked tiles on a replay device.

use std::time::Duration;

use scanbox_kernels::plan::Plan;

use crate::backend::LookbackCounts;

/// One in 2^k tiles of the plan is blocked.
fn blocking(plan: &Plan) -> Option<u32> {
    plan.build()?.variant.blocking
}

/// How often the workgroups of the plan look in vain before they fall back; none where they wait for ever.
fn max_spins(plan: &Plan) -> Option<u32> {
    let kernel = &plan.build()?.config.kernel;
    kernel.lookback.falls_back().then_some(kernel.max_spins)
}

/// Whether tiles of the plan wait for one that is blocked: all that cannot fall back do, if there are two.
pub(super) fn waits_for_ever(plan: &Plan) -> bool {
    let workgroups = plan.passes.iter().map(|pass| pass.workgroups).max().unwrap_or(0);
    blocking(plan).is_some() && max_spins(plan).is_none() && workgroups > 1
}

/// What lookbacks count on a device where every tile but the blocked ones is in time, and each blocked one is added
/// up once.
pub(super) fn counts(plan: &Plan, tiles: u64) -> LookbackCounts {
    let blocked = blocking(plan).map_or(0, |k| tiles.div_ceil(1 << k));
    // Nobody comes behind the last tile.
    let last_is_blocked = blocking(plan).is_some_and(|k| (tiles - 1).is_multiple_of(1 << k));
    let fallbacks = blocked - u64::from(last_is_blocked);
    LookbackCounts {
        workgroups: tiles,
        spins: fallbacks * (1 + u64::from(max_spins(plan).unwrap_or(0))),
        lookback_length: tiles - 1 + fallbacks,
        fallbacks,
        insertions: fallbacks,
    }
}

/// What comes to no end.
pub(super) fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
