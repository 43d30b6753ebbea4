#version 460
// Reduce-then-scan, first passes: each workgroup adds up one tile of a level, and makes an element of the next level of it.
//
// Traffic: n elements read. Nothing is scanned, so that the catalog gives it rows and subgroup operations whatever the kernel
// has in its other passes: nothing has to be exchanged through shared memory.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#include "params.glsl"
#include "stages/element.glsl"
#include "stages/operator.glsl"
#include "stages/levels.glsl"
#include "stages/thread_scan.glsl"
#include "stages/mode.glsl"
#include "stages/load_store.glsl"
#include "stages/subgroup_scan.glsl"
#include "stages/block_scan.glsl"

MAIN {
    const uint tile = take_tile();
    if (tile >= tile_count()) {
        return;
    }
    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    block_reduce(items);
    if (invocation_rank() == 0u) {
        store_tile_total(tile, block_total());
    }
}
