// SPDX-License-Identifier: MIT OR Apache-2.0
// Every workgroup adds up all elements before its tile itself: nobody waits. As kernels/glsl/recompute_scan.comp.
#define HAS_STATES 0
#define REDUCES_IN_LOOPS 0
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

// All tiles before this one are full: whole rows of one vector per invocation.
fn share_before(tile: u32) -> Element {
    var share = identity();
    for (var row = 0u; row < tile * BATCH_SIZE; row++) {
        share = combine(share, vector_total(source_at(row * WORKGROUP_SIZE + rank)));
    }
    return share;
}

#include "main_begin.wgsl"
    let tile = workgroup;
    if (tile >= tile_count()) { return; }
    var items: array<Vector, BATCH_SIZE>;
    load_tile(tile, &items);
    let prefix = shares_combined(share_before(tile));
    let block = block_scan(&items);
    store_tile(tile, &items, combine(prefix, block.before));
}
