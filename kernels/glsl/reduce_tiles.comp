#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Reduce-then-scan, first passes: each workgroup adds up one tile of a level, and makes an element of the next level of
// it.
//
// Traffic: n elements read. Nothing is scanned, so that the catalog gives it rows and subgroup operations whatever the
// kernel has in its other passes: nothing has to be exchanged through shared memory.

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
    const uint tile = take_tile();
    if (tile >= tile_count()) {
        pass_on_arguments();
        return;
    }
    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    block_reduce(items);
    if (invocation_rank() == 0u) {
        store_tile_total(tile, block_total());
    }
    pass_on_arguments();
}
