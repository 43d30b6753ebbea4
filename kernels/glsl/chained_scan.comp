#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Chained scan with decoupled lookback: one pass over tiles, one tile per workgroup.
//
// Phases: take a tile, load it, scan it within the workgroup, publish its total, find the total of all tiles before
// it, store; a reduction stores the total of all. Traffic: n elements read, n written, one tile state written once or
// twice and read a few times per tile.
// Source: ScanBox thesis, chapter 3; Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back" (2016). kernels/README.md has the stage contracts.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#define REQUIRE_TILE_STATE
#define HOLDS_PLACE (LOOKBACK == LOOKBACK_GATHER || LOOKBACK == LOOKBACK_GATHER_FALLBACK)
#include "kernel.glsl"
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
#include "stages/state/group_state.glsl"
#include "stages/lookback/lookback.glsl"
#include "stages/lookback/blocking.glsl"
#include "stages/state/leave.glsl"

// Publishes the total of the own tile, unless the workgroup plays one that has lost its processor.
void publish_own_total(const uint tile, const Element total) {
    know_turn();
    if (!is_blocked(tile)) {
        if (invocation_rank() == 0u) {
            publish_total(tile, total);
        }
    }
    count_reader();
}

#if MODE == MODE_REDUCE

// Of all tiles the last one stores; the others look back where others need it.
void publish_and_store(const uint tile, inout Vector items[BATCH_SIZE]) {
    const Element before_scan = total_before_scan(items);
    block_reduce(items);
    publish_own_total(tile, total_for_others(before_scan));
    const bool is_last = tile == tile_count() - 1u;
    if (others_need_lookback(tile) || is_last) {
        lookback(tile);
        lookback_end();
        const Element prefix = tile_prefix();
        if (is_last && invocation_rank() == 0u) {
            store_total(combine(prefix, block_total()));
        }
    }
}

#else

void scan_and_publish(const uint tile, inout Vector items[BATCH_SIZE]) {
    const Element before_scan = total_before_scan(items);
#if PUBLISH == PUBLISH_AFTER_SCAN
    block_scan(items);
    publish_own_total(tile, total_for_others(before_scan));
    lookback(tile);
#elif LOOKBACK != LOOKBACK_CHAIN
    block_reduce(items);
    publish_own_total(tile, total_for_others(before_scan));
    block_scan_reduced(items);
    lookback(tile);
#else
    // The next tile waits for the prefix of this one: it is passed on before anything is scanned.
    block_reduce(items);
    publish_own_total(tile, total_for_others(before_scan));
    lookback(tile);
    block_scan_reduced(items);
#endif
    lookback_end();
}

void publish_and_store(const uint tile, inout Vector items[BATCH_SIZE]) {
    scan_and_publish(tile, items);
    store_tile(tile, items, part_prefix());
}

#endif

MAIN {
    read_arguments();
    read_initial_value();
    read_turn();
    clear_stale_groups();
    const uint tile = take_tile();
    Vector items[BATCH_SIZE];
    // One question for nearly all tiles: the time of a small input is that of a few steps one after the other.
    if (is_full(tile)) {
        load_full_tile(tile, items);
    } else if (tile < tile_count()) {
        load_partial_tile(tile, items);
    } else {
        // The dispatch may have more workgroups than there are tiles.
        store_empty(tile);
        leave_without_tile();
        pass_on_arguments();
        return;
    }
    expect_to_leave(tile);
    share_turn();
    expect_to_wait();
    publish_and_store(tile, items);
    leave();
    pass_on_arguments();
}
