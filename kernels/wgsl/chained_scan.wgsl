// SPDX-License-Identifier: MIT OR Apache-2.0
// Chained scan with decoupled lookback: one pass over tiles, one tile per workgroup. As kernels/glsl/chained_scan.comp.
#define HAS_STATES 1
// Sums of parallel lookbacks are right, and faster, by subgroupAdd.
#if LOOKBACK == LOOKBACK_FALLBACK || LOOKBACK == LOOKBACK_PARALLEL && OPERATOR != OPERATOR_ADD
#define REDUCES_IN_LOOPS 1
#else
#define REDUCES_IN_LOOPS 0
#endif
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
#include "stages/state/tile_state.wgsl"
#include "stages/lookback/counts.wgsl"
#include "stages/lookback/blocking.wgsl"
#include "stages/lookback/lookback.wgsl"

#if TILE_ORDER == TILE_ORDER_TICKET
var<workgroup> shared_tile: u32;
#endif

// Publishes the total of the own tile, unless the workgroup plays one that has lost its processor.
fn publish_own_total(tile: u32, total: Element) {
    if (rank == 0u && !is_blocked(tile)) { publish_total(tile, total); }
}

#include "main_begin.wgsl"
#if TILE_ORDER == TILE_ORDER_TICKET
    if (rank == 0u) { shared_tile = take_ticket(); }
    let tile = workgroupUniformLoad(&shared_tile);
#else
    let tile = workgroup;
#endif
    // The dispatch may have more workgroups than there are tiles.
    if (tile >= tile_count()) { return; }
    var items: array<Vector, BATCH_SIZE>;
    load_tile(tile, &items);
#if MODE == MODE_REDUCE
    // Of all tiles the last one stores; the others look back where others need it.
    let block = block_reduce(&items);
    publish_own_total(tile, block.total);
    let is_last = tile == tile_count() - 1u;
    if (others_need_lookback(tile) || is_last) {
        let prefix = lookback(tile, block.total);
        if (is_last && rank == 0u) { store_total(combine(prefix, block.total)); }
    }
#else
#if PUBLISH == PUBLISH_AFTER_SCAN
    let block = block_scan(&items);
    publish_own_total(tile, block.total);
#else
    let block = block_reduce(&items);
    publish_own_total(tile, block.total);
    subgroup_scan(&items);
#endif
    let prefix = lookback(tile, block.total);
    store_tile(tile, &items, combine(prefix, block.before));
#endif
}
