#version 460
// Chained scan with decoupled lookback: one pass over tiles, one tile per workgroup.
//
// Phases: take a tile, load it, scan it within the workgroup, publish its total, find the total of all tiles before
// it, store. Traffic: n elements read, n written, one tile state written twice and read a few times per tile.
// Source: ScanBox thesis, chapter 3; Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back" (2016). kernels/README.md has the stage contracts.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#include "params.glsl"
#include "stages/element.glsl"
#include "stages/operator.glsl"

layout(push_constant) uniform Params {
    uvec2 source_address;
    uvec2 target_address;
    uvec2 ticket_address;
    uvec2 states_address;
    uint n;            // elements
    uint epoch;        // differs from call to call on the same memory
    uint ticket_base;  // value of the ticket before this call
} params;

#include "stages/ticket.glsl"
#include "stages/load_store.glsl"
#include "stages/thread_scan.glsl"
#include "stages/block_scan.glsl"
#include "stages/tile_state.glsl"
#include "stages/lookback.glsl"

void main() {
    const uint tile = take_tile();
    // The dispatch may have more workgroups than there are tiles.
    if (tile >= tile_count()) {
        return;
    }

    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    const Element invocation_total = thread_scan(items);

    block_scan(invocation_total);
    if (gl_SubgroupID == 0) {
        lookback(tile, block_total());
    }
    barrier();
    const Element prefix = combine(tile_prefix(), block_prefix());

    store_tile(tile, items, prefix);
}
