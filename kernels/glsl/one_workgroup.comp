#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// One workgroup scans everything, tile by tile, with a carry from tile to tile: nothing is shared with other
// workgroups.
//
// Traffic: n elements read, n written. Wins where starting and meeting other workgroups costs more than all the work.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
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

#if MODE == MODE_REDUCE

void scan_tile(const uint tile, inout Vector items[BATCH_SIZE], const Element carry) {
    block_reduce(items);
    block_scan_end();
}

void store_end(const Element carry) {
    if (invocation_rank() == 0u) {
        store_total(carry);
    }
}

#else

void scan_tile(const uint tile, inout Vector items[BATCH_SIZE], const Element carry) {
    block_scan(items);
    block_scan_end();
    store_tile(tile, items, combine(carry, block_prefix()));
}

void store_end(const Element carry) {
    store_empty(0u);
}

#endif

MAIN {
    read_arguments();
    read_initial_value();
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
        scan_tile(tile, items, carry);
        carry = combine(carry, block_total());
    }
    store_end(carry);
    pass_on_arguments();
}
