// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: gather. All invocations together read the totals of all predecessors in one hop; nobody publishes an
// inclusive prefix, so nobody waits for more than that.
#include "stages/block/shares.wgsl"

fn publish_total(tile: u32, total: Element) { publish(tile, AGGREGATE, total); }

fn others_need_lookback(tile: u32) -> bool { return false; }

fn lookback(tile: u32, total: Element) -> Element {
    var share = identity();
    var next = rank;
    while (any_of_subgroup(next < tile)) {
        if (next < tile) {
            let seen = load_state(next);
            if (seen.state != INVALID) {
                share = combine(share, seen.value);
                next += WORKGROUP_SIZE;
            }
        }
    }
    return shares_combined(share);
}
