// SPDX-License-Identifier: MIT OR Apache-2.0
// One workgroup scans everything, tile by tile, with a carry from tile to tile. As kernels/glsl/one_workgroup.comp.
#define HAS_STATES 0
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

#include "main_begin.wgsl"
    // The dispatch may have more workgroups than the one that works.
    if (workgroup != 0u) { return; }
    var carry = identity();
    let tiles = tile_count();
    for (var tile = 0u; tile < tiles; tile++) {
        // The shared memory of the tile before is still being read.
        workgroupBarrier();
        var items: array<Vector, BATCH_SIZE>;
        load_tile(tile, &items);
#if MODE == MODE_REDUCE
        let block = block_reduce(&items);
#else
        let block = block_scan(&items);
        store_tile(tile, &items, combine(carry, block.before));
#endif
        carry = combine(carry, block.total);
    }
#if MODE == MODE_REDUCE
    if (rank == 0u) { store_total(carry); }
#endif
}
