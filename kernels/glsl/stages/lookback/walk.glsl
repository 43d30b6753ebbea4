// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: walks. Shared bytes: 4. Barriers: 0.

shared Element shared_tile_prefix;

#if LOOKBACK == LOOKBACK_SEQUENTIAL
#include "stages/lookback/sequential.glsl"
#elif LOOKBACK == LOOKBACK_CHAIN
#include "stages/lookback/chain.glsl"
#elif LOOKBACK_WIDTH == 1
#include "stages/lookback/parallel.glsl"
#else
#include "stages/lookback/wide.glsl"
#endif

void publish_total(const uint tile, const Element total) {
#if LOOKBACK == LOOKBACK_CHAIN
    if (tile == 0u) {
        publish(tile, INCLUSIVE, total);
    }
#else
    publish(tile, tile == 0u ? INCLUSIVE : AGGREGATE, total);
#endif
}

bool others_need_lookback(const uint tile) {
    return true;
}

void lookback(const uint tile) {
    if (own_subgroup == 0) {
        Element prefix = identity();
        if (tile != 0u) {
            prefix = find_prefix(tile);
        }
        if (own_lane == 0) {
            if (tile != 0u) {
                publish(tile, INCLUSIVE, combine(prefix, block_total()));
            }
            shared_tile_prefix = prefix;
            write_counts(tile);
        }
    }
}

Element tile_prefix() {
    return shared_tile_prefix;
}

Element part_prefix() {
    return combine(tile_prefix(), block_prefix());
}
