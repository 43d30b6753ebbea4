#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Reduce-then-scan, last passes: each workgroup scans one tile of a level behind what comes before it, which the next
// level holds.
//
// Traffic: n elements read, n written.

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
#include "stages/subgroup/subgroup_scan.glsl"
#include "stages/block/block_scan.glsl"

MAIN {
    read_arguments();
    read_initial_value();
    const uint tile = take_tile_from_end();
    if (tile >= tile_count()) {
        pass_on_arguments();
        return;
    }
    // Before the tile, so that the loads are under way together.
    const Element prefix = tile_prefix(tile);
    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    block_scan(items);
    block_scan_end();
    store_tile(tile, items, combine(prefix, block_prefix()));
    pass_on_arguments();
}
