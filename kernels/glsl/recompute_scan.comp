#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Every workgroup adds up all elements before its tile itself: no workgroup waits for another one, and there is no
// state.
//
// Traffic: n elements written, and with t tiles about n * (t + 1) / 2 read, mostly from caches. Wins for a few tiles,
// where reading what others have read costs less than the way of a total from one workgroup to the others.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#define REQUIRE_SCAN_BESIDE
#define HOLDS_PLACE 1
#include "kernel.glsl"
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"
#include "stages/tile/independent_params.glsl"
#include "stages/tile/tile_order.glsl"
#include "stages/tile/thread_scan.glsl"
#include "stages/tile/mode.glsl"
#include "stages/tile/load_store.glsl"
#include "stages/subgroup/subgroup_scan.glsl"
#include "stages/block/block_scan.glsl"
#include "stages/lookback/recompute.glsl"

// Twice in the program, with and without partial vectors: one question at its beginning, and none on the way.
void scan_tile(const uint tile, const bool full) {
    Vector items[BATCH_SIZE];
    if (full) {
        load_full_tile(tile, items);
    } else {
        load_partial_tile(tile, items);
    }
    // Before the scan, so that its loads are under way together with those of the tile.
    const Element share = share_before(tile);
    scan_behind(share, items);
    add_prefix(items, part_prefix());
    store_last(tile);
    if (full) {
        store_full_tile(tile, items);
    } else {
        store_partial_tile(tile, items);
    }
}

MAIN {
    read_arguments();
    read_initial_value();
    const uint tile = take_tile();
    if (is_full(tile)) {
        scan_tile(tile, true);
    } else if (tile < tile_count()) {
        scan_tile(tile, false);
    } else {
        store_empty(tile);
    }
    pass_on_arguments();
}
