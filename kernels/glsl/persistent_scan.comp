#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Persistent scan: as many workgroups as the device keeps busy, each of which scans tile after tile. The next tile is
// loaded, and its total published, before the workgroup waits for the prefix of the current one: at any time all
// workgroups together have published more tiles than anybody waits for, so waits are short or none.
//
// Traffic: n elements read, n written, one tile state written per tile. Only totals are published, never inclusive
// prefixes: a workgroup keeps the prefix of its last tile and adds what lies between. In two levels it reads at most
// GROUP_TILES totals of tiles and the sums of the groups since its last tile. With fallback it adds up itself what does
// not come, and needs no progress of others.
// Source of the idea: StreamScan (Yan et al. 2013) and Merrill and Garland 2016; the overlap with the next tile is
//   ours.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#define REQUIRE_TILE_STATE
#define PERSISTENT
#include "kernel.glsl"
#define SCANS_FEW (WORKGROUP_SIZE >= 256 && BATCH_SIZE > 1 && TILE_ORDER != TILE_ORDER_TICKET)
// Whether few elements are several rows: arrays that stay while others write, and whose elements are what they hold.
#define FEW_APART \
    (SCANS_FEW && WORKGROUP_SIZE >= 512 && !IN_PLACE && !REVERSE && !TRANSFORM_INPUT && !TRANSFORM_OUTPUT)
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"
#include "stages/state/tile_state_params.glsl"
#include "stages/tile/tile_order.glsl"
#include "stages/tile/thread_scan.glsl"
#include "stages/tile/mode.glsl"
#include "stages/tile/load_store.glsl"
#include "stages/subgroup/subgroup_scan.glsl"
#include "stages/state/tile_state.glsl"
// Whether what stays from tile to tile is in shared memory: the prefix of a workgroup's last tile, and where the arrays
// are. The loop has no registers to spare where a vector takes eight of them: 2x2 matrices in six rows of two take 2 to
// 9 % less from 2^22 on, on an NVIDIA H200. The fastest kernel of single matrices would take 3 % more, those of
// elements of 8 bytes 1 to 5 %.
#define KEEPS_IN_SHARED \
    (ELEMENT_BYTES == 16 && LANES > 1 && ARGUMENTS == ARGUMENTS_BLOCK && LOOKBACK == LOOKBACK_GATHER && \
     RENDEZVOUS == RENDEZVOUS_BARRIER)
#include "stages/lookback/back_off.glsl"
#include "stages/state/group_state.glsl"
#include "stages/lookback/onward.glsl"
#include "stages/block/rendezvous.glsl"
#include "stages/state/leave.glsl"
#if SCANS_FEW
#include "stages/block/few_elements.glsl"
#endif

// Whether tiles are scanned before their totals are published. Where the order of elements matters, a total takes as
// many shuffles as the scan, which has it as well.
#define SCANS_AHEAD (IN_ORDER && LOAD_LAYOUT == LOAD_LAYOUT_STRIPED && BATCH_SIZE > 1 && !FALLS_BACK)

// What a subgroup adds to the total of a tile that others may have to add up.
#if SCANS_AHEAD
#define TOTAL_OF_SUBGROUP subgroup_scan
#elif FALLS_BACK
#define TOTAL_OF_SUBGROUP subgroup_part
#else
#define TOTAL_OF_SUBGROUP subgroup_total
#endif

#if KEEPS_IN_SHARED
shared Address shared_source_address;
shared Address shared_target_address;

// Before a barrier.
void keep_arrays() {
    if (invocation_rank() == 0u) {
        shared_source_address = params.source_address;
        shared_target_address = params.target_address;
    }
}

#define RECALL(array) params.array = shared_##array
#else
#define keep_arrays()
#define RECALL(array)
#endif

// Scans full tiles until there are no more of them for this workgroup. tile, round: the first, then what comes next.
// The last tile may be a part of one. It comes after all others, and nobody needs its total, so that the loop knows
// full tiles only: whatever else stood between a load and its use would keep loads from being under way for long.
// Loaded ahead as the others are, it would cost large inputs more (0.3 %) than it gains.
void scan_full_tiles(const uint full_tiles, inout uint tile, inout uint round) {
    Vector items[BATCH_SIZE];
    load_full_tile(tile, items);
    choose_second_tile();
    keep_arrays();
    arrive(0u, tile, TOTAL_OF_SUBGROUP(items));
#if FALLS_BACK
    count_reader();
#endif

    for (;; ++round) {
        const uint next = next_tile(round);
        const bool more = next < full_tiles;
        Vector next_items[BATCH_SIZE];
        if (more) {
            RECALL(source_address);
            load_full_tile(next, next_items);
        }
#if !SCANS_AHEAD
        subgroup_scan(items);
#endif
        if (more) {
            arrive(round + 1u, next, TOTAL_OF_SUBGROUP(next_items));
        }
        begin_tile(tile);
        const Element prefix = wait_for_prefix(round, tile, more);
        add_prefix(items, combine(prefix, total_of_earlier_subgroups(round)));
        store_last(tile);
        RECALL(target_address);
        store_full_tile(tile, items);
        expect_to_leave(tile);
        tile = next;
        if (!more) {
            break;
        }
        end_round(round);
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            items[k] = next_items[k];
        }
    }
    RECALL(source_address);
    round += 1u;
}

void scan_last_tile(const uint tile, const uint round) {
    Vector items[BATCH_SIZE];
    load_partial_tile(tile, items);
    expect_to_leave(tile);
    arrive_unpublished(round, subgroup_total(items));
#if FALLS_BACK
    if (round == 0u) {
        count_reader();
    }
#endif
    subgroup_scan(items);
    begin_tile(tile);
    const Element prefix = wait_for_prefix(round, tile, false);
    add_prefix(items, combine(prefix, total_of_earlier_subgroups(round)));
    store_last(tile);
    store_partial_tile(tile, items);
}

#if SCANS_FEW
void scan_few_elements() {
    load_record_of_few();
    scan_few();
    store_empty(workgroup_rank());
    pass_on_record_of_few();
}
#endif

MAIN {
    read_arguments();
    read_initial_value();
    read_turn();
    clear_stale_groups();
#if FEW_APART
    // Compilers keep the order: few elements take 4 % longer where their part, with several rows, stands first.
    if (!is_few()) {
#elif SCANS_FEW
    if (is_few()) {
        scan_few_elements();
        return;
    }
#endif
    uint tile = rendezvous_begin();
    const uint full_tiles = ELEMENTS / TILE_ELEMENTS;
    uint round = 0u;
#if FALLS_BACK
    if (tile >= tile_count()) {
        store_empty(tile);
        leave_without_tile();
        pass_on_arguments();
        return;
    }
#endif
    if (tile < full_tiles) {
        scan_full_tiles(full_tiles, tile, round);
    }
    if (tile == full_tiles && tile < tile_count()) {
        scan_last_tile(tile, round);
    }
    store_empty(tile);
    barrier();
    leave();
    pass_on_arguments();
#if FEW_APART
    } else {
        scan_few_elements();
    }
#endif
}
