// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: lookback. How a tile gets the total of all tiles before it. Called by all invocations of the workgroup.
//
// publish_total(tile, total): called by one invocation.
// others_need_lookback(tile): whether tiles behind this one find what they need only because it looks back.
// lookback(tile, total): the total of all tiles before this one, in all invocations.
// Shared bytes: some words, gather: those of shares. Barriers: 1, with fallback 1 and 2 or 3 per fallback.
#if LOOKBACK == LOOKBACK_GATHER
#include "stages/lookback/gather.wgsl"
#else

fn others_need_lookback(tile: u32) -> bool { return true; }

#if LOOKBACK == LOOKBACK_CHAIN
fn publish_total(tile: u32, total: Element) {
    if (tile == 0u) { publish(tile, INCLUSIVE, total); }
}
#else
fn publish_total(tile: u32, total: Element) {
    publish(tile, select(AGGREGATE, INCLUSIVE, tile == 0u), total);
}
#endif

#if LOOKBACK == LOOKBACK_FALLBACK
#include "stages/lookback/fallback.wgsl"
#else
var<workgroup> shared_tile_prefix: Element;

#if LOOKBACK == LOOKBACK_PARALLEL
#include "stages/lookback/parallel.wgsl"
#else
#include "stages/lookback/sequential.wgsl"
#endif

fn lookback(tile: u32, total: Element) -> Element {
#if LOOKBACK == LOOKBACK_PARALLEL
    if (own_subgroup == 0u) {
#else
    if (rank == 0u) {
#endif
        var prefix = identity();
        if (tile != 0u) {
            prefix = find_prefix(tile);
        }
        if (rank == 0u) {
            if (tile != 0u) {
                publish_prefix(tile, combine(prefix, total));
            }
            shared_tile_prefix = prefix;
            write_counts(tile);
        }
    }
    workgroupBarrier();
    return shared_tile_prefix;
}
#endif
#endif
