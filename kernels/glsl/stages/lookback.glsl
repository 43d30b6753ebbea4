// Stage: lookback. Publishes the total of the tile and finds the total of all tiles before it.
//
// lookback(tile, total): called by subgroup 0. Reads and writes tile states.
// tile_prefix(): the total of all tiles before this one. Valid in all invocations after the next barrier.
// Shared bytes: 4. Barriers: 0.
// A tile waits only for tiles with smaller indices, whose workgroups have started (stages/ticket.glsl).

shared Element shared_tile_prefix;

#if LOOKBACK == LOOKBACK_SEQUENTIAL
#include "lookback_sequential.glsl"
#elif LOOKBACK == LOOKBACK_PARALLEL
#include "lookback_parallel.glsl"
#endif

void lookback(const uint tile, const Element total) {
    const bool leader = gl_SubgroupInvocationID == 0;
    Element prefix = identity();
    if (tile != 0u) {
        if (leader) {
            publish(tile, AGGREGATE, total);
        }
        prefix = find_prefix(tile);
    }
    if (leader) {
        publish(tile, INCLUSIVE, combine(prefix, total));
        shared_tile_prefix = prefix;
    }
}

Element tile_prefix() {
    return shared_tile_prefix;
}
