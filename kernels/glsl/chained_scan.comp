#version 460
// Chained scan with decoupled lookback: one pass over tiles, one tile per workgroup.
//
// Phases: take a tile, load it, scan it within the workgroup, publish its total, find the total of all tiles before
// it, store; a reduction stores the total of all. Traffic: n elements read, n written, one tile state written once or twice and read a few times per tile.
// Source: ScanBox thesis, chapter 3; Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back" (2016). kernels/README.md has the stage contracts.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#define REQUIRE_TILE_STATE
#define HOLDS_PLACE (LOOKBACK == LOOKBACK_GATHER)
#include "params.glsl"
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"
#include "stages/state/tile_state_params.glsl"
#include "stages/tile/tile_order.glsl"
#include "stages/tile/thread_scan.glsl"
#include "stages/tile/mode.glsl"
#include "stages/tile/load_store.glsl"
#include "stages/subgroup/subgroup_scan.glsl"
#include "stages/block/block_scan.glsl"
#include "stages/state/tile_state.glsl"
#include "stages/lookback/back_off.glsl"
#if LOOKBACK == LOOKBACK_TWO_LEVEL
#include "stages/state/group_state.glsl"
#endif
#include "stages/lookback/lookback.glsl"
#include "stages/lookback/blocking.glsl"
#include "stages/state/leave.glsl"

MAIN {
#if LOOKBACK == LOOKBACK_TWO_LEVEL
    clear_stale_groups();
#endif
    const uint tile = take_tile();
    Vector items[BATCH_SIZE];
    // One question for nearly all tiles: the time of a small input is that of a few steps one after the other.
    if (is_full(tile)) {
        load_full_tile(tile, items);
    } else if (tile < tile_count()) {
        load_partial_tile(tile, items);
    } else {
        // The dispatch may have more workgroups than there are tiles.
        leave();
        return;
    }
#ifdef PUBLISHES_OTHER_TOTAL
    const Element own_total = total_to_publish(items);
#define OWN_TOTAL own_total
#else
#define OWN_TOTAL block_total()
#endif

#if MODE == MODE_REDUCE
    block_reduce(items);
    if (!is_blocked(tile)) {
        publish_total(tile, OWN_TOTAL);
    }
    const bool is_last = tile == tile_count() - 1u;
    if (others_need_lookback(tile) || is_last) {
        lookback(tile);
        lookback_end();
        const Element prefix = tile_prefix();
        if (is_last && invocation_rank() == 0u) {
            store_total(combine(prefix, block_total()));
        }
    }
#else
#if PUBLISH == PUBLISH_BEFORE_SCAN
    block_reduce(items);
    if (!is_blocked(tile)) {
        publish_total(tile, OWN_TOTAL);
    }
#if LOOKBACK == LOOKBACK_CHAIN
    // The next tile waits for the prefix of this one: it is passed on before anything is scanned.
    lookback(tile);
    block_scan_reduced(items);
#else
    block_scan_reduced(items);
    lookback(tile);
#endif
#else
    block_scan(items);
    if (!is_blocked(tile)) {
        publish_total(tile, OWN_TOTAL);
    }
    lookback(tile);
#endif
    lookback_end();
    store_tile(tile, items, part_prefix());
#endif
    leave();
}
