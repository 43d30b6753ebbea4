// SPDX-License-Identifier: MIT OR Apache-2.0
// Persistent scan: as many workgroups as the device keeps busy, each of which scans tile after tile. The next tile is
// loaded, and its total published, before the workgroup waits for the prefix of the current one. As
// kernels/glsl/persistent_scan.comp: tiles by ticket, taken one round ahead, each workgroup as many as it scans and one
// more; lookback gather, in which all invocations read the totals since the workgroup's last tile.
#define HAS_STATES 1
#define REDUCES_IN_LOOPS 1
#include "place.wgsl"
#include "params.wgsl"
#include "stages/tile/element.wgsl"
#include "stages/subgroup/operator.wgsl"
#include "arrays.wgsl"
#include "stages/tile/thread_scan.wgsl"
#include "stages/tile/mode.wgsl"
#include "stages/tile/load_store.wgsl"
#include "stages/subgroup/subgroup_scan.wgsl"
#include "stages/block/block_scan.wgsl"
#include "stages/block/shares.wgsl"
#include "stages/state/tile_state.wgsl"

var<workgroup> shared_next_tile: u32;

// What has been added up for good: the totals of all tiles before this one.
var<private> private_done: u32;
var<private> private_done_prefix: Element;

// The total of all tiles before this one, in all invocations. Barriers: 1.
fn find_prefix_onward(tile: u32) -> Element {
    var share = identity();
    var next = private_done + rank;
    while (any_of_subgroup(next < tile)) {
        if (next < tile) {
            let seen = load_state(next);
            if (seen.state != INVALID) {
                share = combine(share, seen.value);
                next += WORKGROUP_SIZE;
            }
        }
    }
    let prefix = combine(private_done_prefix, shares_combined(share));
    private_done = tile;
    private_done_prefix = prefix;
    return prefix;
}

#include "main_begin.wgsl"
    private_done_prefix = identity();
    let full_tiles = params.n / TILE_ELEMENTS;
    if (rank == 0u) { shared_next_tile = take_ticket(); }
    var tile = workgroupUniformLoad(&shared_next_tile);
    // The last tile may be a part of one. It comes after all others, and nobody needs its total.
    if (tile < full_tiles) {
        var items: array<Vector, BATCH_SIZE>;
        load_full_tile(tile, &items);
        if (rank == 0u) { shared_next_tile = take_ticket(); }
        var block = block_reduce(&items);
        if (rank == 0u) { publish(tile, AGGREGATE, block.total); }
        loop {
            let next = workgroupUniformLoad(&shared_next_tile);
            let more = next < full_tiles;
            var next_items: array<Vector, BATCH_SIZE>;
            var next_block = Block(identity(), identity());
            if (more) { load_full_tile(next, &next_items); }
            subgroup_scan(&items);
            if (more) {
                next_block = block_reduce(&next_items);
                if (rank == 0u) {
                    publish(next, AGGREGATE, next_block.total);
                    shared_next_tile = take_ticket();
                }
            }
            let prefix = find_prefix_onward(tile);
            store_full_tile(tile, &items, combine(prefix, block.before));
            tile = next;
            if (!more) { break; }
            items = next_items;
            block = next_block;
        }
        // Totals and shares of the last round are still being read.
        workgroupBarrier();
    }
    if (tile == full_tiles && tile < tile_count()) {
        var items: array<Vector, BATCH_SIZE>;
        load_tile(tile, &items);
        let block = block_scan(&items);
        let prefix = find_prefix_onward(tile);
        store_tile(tile, &items, combine(prefix, block.before));
    }
}
