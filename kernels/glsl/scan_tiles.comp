#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Scan-then-propagate, first passes: each workgroup scans one tile of a level on its own, and makes an element of the
// next level of its total. Where MODE is MODE_EXCLUSIVE the initial value is the identity here: the last pass brings
// the real one.
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
    const uint tile = take_tile();
    if (tile >= tile_count()) {
        pass_on_arguments();
        return;
    }
    Vector items[BATCH_SIZE];
    load_tile(tile, items);
    block_scan(items);
    if (invocation_rank() == 0u) {
        store_tile_total(tile, block_total());
    }
    block_scan_end();
    store_tile(tile, items, block_prefix());
    pass_on_arguments();
}
