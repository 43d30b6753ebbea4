// SPDX-License-Identifier: MIT OR Apache-2.0
// Scan-then-propagate, last passes: each workgroup combines what comes before its tile with every element of it, in
// place. As kernels/glsl/propagate.comp.
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
    let prefix = tile_prefix(tile);
    var items: array<Vector, BATCH_SIZE>;
    load_tile(tile, &items);
    store_tile(tile, &items, prefix);
}
