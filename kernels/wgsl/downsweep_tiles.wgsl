// SPDX-License-Identifier: MIT OR Apache-2.0
// Reduce-then-scan, last passes: each workgroup scans one tile of a level behind what comes before it. As
// kernels/glsl/downsweep_tiles.comp.
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
    let tile = tile_from_end(workgroup);
    if (tile >= tile_count()) { return; }
    // Before the tile, so that the loads are under way together.
    let prefix = tile_prefix(tile);
    var items: array<Vector, BATCH_SIZE>;
    load_tile(tile, &items);
    let block = block_scan(&items);
    store_tile(tile, &items, combine(prefix, block.before));
}
