// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: block scan. Called by all invocations of the workgroup together.
//
// block_scan(items): scans the items of each invocation (by subgroups: of each subgroup), and the totals of them all.
// block_reduce(items): adds them up, and leaves them alone.
// Both return: what comes before the items of the invocation (of the subgroup) in the tile, and the total of the tile.
// Called again behind a barrier.
struct Block { before: Element, total: Element }

#if BLOCK_SCAN == BLOCK_SCAN_SUBGROUP
#include "stages/block/subgroup.wgsl"
#else
#if BLOCK_SCAN == BLOCK_SCAN_RAKING
#include "stages/block/raking.wgsl"
#elif BLOCK_SCAN == BLOCK_SCAN_BLELLOCH
#include "stages/block/blelloch.wgsl"
#else
#include "stages/block/kogge_stone.wgsl"
#endif

fn block_scan(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Block {
    return scan_totals(thread_scan(items));
}

fn block_reduce(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Block {
    return scan_totals(thread_total(items));
}
#endif
