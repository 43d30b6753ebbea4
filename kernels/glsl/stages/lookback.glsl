// Stage: lookback. Publishes the total of the tile and finds the total of all tiles before it.
//
// publish_total(tile, total): called by all invocations; total counts in the first one.
// others_need_lookback(tile): whether tiles behind this one find what they need only because it looks back.
// lookback(tile): called by all invocations.
// tile_prefix(): the total of all tiles before this one. Valid in all invocations after the next barrier; called by whole
//   subgroups.
// A tile waits only for tiles with smaller indices, whose workgroups have started (stages/tile_order.glsl).
//
// LOOKBACK_SEQUENTIAL, LOOKBACK_PARALLEL: subgroup 0 walks back until it meets an inclusive prefix, and publishes its own.
// LOOKBACK_GATHER, LOOKBACK_TWO_LEVEL: every invocation reads some of the totals of all predecessors; nobody publishes
//   an inclusive prefix, so nobody waits for more than one hop, or two where groups are published.

// LOOKBACK_CHAIN: the same, but it only ever looks at the tile before its own, until there is an inclusive prefix.

#if LOOKBACK == LOOKBACK_SEQUENTIAL || LOOKBACK == LOOKBACK_PARALLEL || LOOKBACK == LOOKBACK_CHAIN
#include "lookback_walk.glsl"
#else
#include "lookback_gather.glsl"
#endif
