#version 460
// Every workgroup adds up all elements before its tile itself: no workgroup waits for another one, and there is no state.
//
// Traffic: n elements written, and with t tiles about n * (t + 1) / 2 read, mostly from caches. Wins for a few tiles, where
// reading what others have read costs less than the way of a total from one workgroup to the others.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#include "params.glsl"
#include "stages/element.glsl"
#include "stages/operator.glsl"

layout(push_constant) uniform Params {
    DISPATCH_WORDS
    Address source_address;
    Address target_address;
    uint n;  // elements
    INITIAL_WORDS
} params;

#define TILE_ORDER TILE_ORDER_WORKGROUP_ID
#include "stages/tile_order.glsl"
#include "stages/thread_scan.glsl"
#include "stages/mode.glsl"
#include "stages/load_store.glsl"
#include "stages/subgroup_scan.glsl"
#include "stages/block_scan.glsl"
#include "stages/lookback_recompute.glsl"

MAIN {
    const uint tile = take_tile();
    if (tile >= tile_count()) {
        return;
    }
    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    // Before the scan, so that its loads are under way together with those of the tile.
    recompute(tile);
    block_scan(items);
    block_scan_end();
    store_tile(tile, items, combine(tile_prefix(), block_prefix()));
}
