#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Scan-then-propagate, last passes: each workgroup combines what comes before its tile with every element of it, in
// place.
//
// Traffic: n elements read, n written. Elements need nothing of each other: the catalog gives it rows, whatever the
//   layout is.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#include "kernel.glsl"
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"
#include "stages/tile/levels.glsl"
#include "stages/tile/thread_scan.glsl"
#include "stages/tile/mode.glsl"
#include "stages/tile/load_store.glsl"

MAIN {
    read_arguments();
    read_initial_value();
    const uint tile = take_tile_from_end();
    if (tile >= tile_count()) {
        pass_on_arguments();
        return;
    }
    const Element before = what_comes_first(tile_prefix(tile));
    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        vector_add(items[k], before);
    }
    if (is_full(tile)) {
        store_full_tile(tile, items);
    } else {
        store_partial_tile(tile, items);
    }
    pass_on_arguments();
}
