// SPDX-License-Identifier: MIT OR Apache-2.0
// Reduce-then-scan, first passes: each workgroup adds up one tile of a level. As kernels/glsl/reduce_tiles.comp.
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
#include "stages/tile/levels.wgsl"

#include "main_begin.wgsl"
    let tile = workgroup;
    if (tile >= tile_count()) { return; }
    var items: array<Vector, BATCH_SIZE>;
    load_tile(tile, &items);
    let block = block_reduce(&items);
    if (rank == 0u) { store_tile_total(tile, block.total); }
}
