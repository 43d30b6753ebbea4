// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: lookback. Publishes the total of the tile and finds the total of all tiles before it.
//
// expect_to_wait(): called by all invocations before items are scanned, which has a barrier.
// total_before_scan(items): called by all invocations before items are scanned.
// total_for_others(before_scan): the total that publish_total gets, behind the block scan: its own, but where the one
//   from before has to be published, since scans add up in another order.
// publish_total(tile, total): called by one invocation.
// others_need_lookback(tile): whether tiles behind this one find what they need only because it looks back.
// lookback(tile), lookback_end(): called by all invocations, one after the other.
// tile_prefix(): the total of all tiles before this one. Valid in all invocations after lookback_end, which is a
//   barrier unless the lookback itself ends with one, or after any other barrier; called by whole subgroups.
// part_prefix(): that and block_prefix() combined. Valid where both are.
// A tile waits only for tiles with smaller indices, whose workgroups have started (stages/tile/tile_order.glsl).
//
// LOOKBACK_SEQUENTIAL, LOOKBACK_PARALLEL: subgroup 0 walks back until it meets an inclusive prefix, and publishes its
//   own.
// LOOKBACK_GATHER, LOOKBACK_TWO_LEVEL: every invocation reads some of the totals of all predecessors; nobody publishes
//   an inclusive prefix, so nobody waits for more than one hop, or two where groups are published.
// LOOKBACK_CHAIN: as LOOKBACK_SEQUENTIAL, but it only ever looks at the tile before its own, until there is an
//   inclusive prefix.
// LOOKBACK_FALLBACK, LOOKBACK_GATHER_FALLBACK: as LOOKBACK_PARALLEL and LOOKBACK_GATHER, but who waits too long adds up
//   the tile that it waits for itself.

#include "stages/lookback/counts.glsl"

#if LOOKBACK == LOOKBACK_SEQUENTIAL || LOOKBACK == LOOKBACK_PARALLEL || LOOKBACK == LOOKBACK_CHAIN
#include "stages/lookback/walk.glsl"
#elif LOOKBACK == LOOKBACK_FALLBACK
#include "stages/lookback/fallback.glsl"
#elif LOOKBACK == LOOKBACK_GATHER_FALLBACK
#include "stages/lookback/gather_fallback.glsl"
#else
#include "stages/lookback/gather.glsl"
#endif

#if LOOKBACK != LOOKBACK_GATHER_FALLBACK

void expect_to_wait() {
}

#endif

#if !FALLS_BACK || ANY_ORDER

Element total_before_scan(const Vector items[BATCH_SIZE]) {
    return identity();
}

Element total_for_others(const Element before_scan) {
    return block_total();
}

#endif

void lookback_end() {
#if !FALLS_BACK
    barrier();
#endif
}
