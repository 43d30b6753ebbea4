#version 460
// One workgroup scans everything, tile by tile, with a carry from tile to tile: nothing is shared with other workgroups.
//
// Traffic: n elements read, n written. Wins where starting and meeting other workgroups costs more than all the work.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#include "params.glsl"
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"

layout(push_constant) uniform Params {
    DISPATCH_WORDS
    Address source_address;
    Address target_address;
    uint n;  // elements
    INITIAL_WORDS
} params;

#define TILE_ORDER TILE_ORDER_WORKGROUP_ID
#include "stages/tile/tile_order.glsl"
#include "stages/tile/thread_scan.glsl"
#include "stages/tile/mode.glsl"
#include "stages/tile/load_store.glsl"
#include "stages/subgroup/subgroup_scan.glsl"
#include "stages/block/block_scan.glsl"

MAIN {
    // The dispatch may have more workgroups than the one that works.
    if (workgroup_rank() != 0u) {
        return;
    }
    Element carry = identity();
    const uint tiles = tile_count();
    for (uint tile = 0u; tile < tiles; ++tile) {
        if (tile != 0u) {
            // The shared memory of the tile before is still being read.
            barrier();
        }
        Vector items[BATCH_SIZE];
        load_tile(tile, items);
#if MODE == MODE_REDUCE
        block_reduce(items);
        block_scan_end();
#else
        block_scan(items);
        block_scan_end();
        store_tile(tile, items, combine(carry, block_prefix()));
#endif
        carry = combine(carry, block_total());
    }
#if MODE == MODE_REDUCE
    if (invocation_rank() == 0u) {
        store_total(carry);
    }
#endif
}
