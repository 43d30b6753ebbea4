// Stage: lookback. Publishes the total of the tile and finds the total of all tiles before it.
//
// publish_total(tile, total): called by all invocations; total counts in the first one.
// total_to_publish(items): called by all invocations before items are scanned, where PUBLISHES_OTHER_TOTAL: the total that
//   publish_total gets then, instead of that of the block scan.
// others_need_lookback(tile): whether tiles behind this one find what they need only because it looks back.
// lookback(tile), lookback_end(): called by all invocations, one after the other.
// tile_prefix(): the total of all tiles before this one. Valid in all invocations after lookback_end, which is a barrier unless
//   the lookback itself ends with one, or after any other barrier; called by whole subgroups.
// part_prefix(): that and block_prefix() combined. Valid where both are.
// A tile waits only for tiles with smaller indices, whose workgroups have started (stages/tile/tile_order.glsl).
//
// LOOKBACK_SEQUENTIAL, LOOKBACK_PARALLEL: subgroup 0 walks back until it meets an inclusive prefix, and publishes its own.
// LOOKBACK_GATHER, LOOKBACK_TWO_LEVEL: every invocation reads some of the totals of all predecessors; nobody publishes
//   an inclusive prefix, so nobody waits for more than one hop, or two where groups are published.
// LOOKBACK_CHAIN: as LOOKBACK_SEQUENTIAL, but it only ever looks at the tile before its own, until there is an inclusive prefix.
// LOOKBACK_FALLBACK: as LOOKBACK_PARALLEL, but who waits too long adds up the tile that it waits for itself.

#include "stages/lookback/counts.glsl"

#if LOOKBACK == LOOKBACK_SEQUENTIAL || LOOKBACK == LOOKBACK_PARALLEL || LOOKBACK == LOOKBACK_CHAIN
#include "stages/lookback/walk.glsl"
#elif LOOKBACK == LOOKBACK_FALLBACK
#include "stages/lookback/fallback.glsl"
#else
#include "stages/lookback/gather.glsl"
#endif

void lookback_end() {
#if LOOKBACK != LOOKBACK_FALLBACK
    barrier();
#endif
}
