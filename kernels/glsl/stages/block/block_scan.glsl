// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: block scan. Scans the items of a workgroup, up to what comes before an invocation's items in the tile.
//
// block_scan(items): scans the items of each invocation (or subgroup), and the totals of them all.
// block_total(): the total of the tile. Valid in subgroup 0 after block_scan, in all after block_scan_end.
// block_prefix(): what comes before the items of this invocation (or subgroup) in the tile. Valid after block_scan_end,
//   or after any other barrier. (Raking and Blelloch need one; the others have ended with one.) Called by whole
//   subgroups, before the next block_scan or after a barrier behind it.
// block_reduce(items): makes block_total and block_prefix valid as block_scan does, and leaves the items alone.
// block_scan_reduced(items): where BLOCK_SCAN is BLOCK_SCAN_SUBGROUP, the rest: the total is then known before anything
//   is scanned.

#if BLOCK_SCAN == BLOCK_SCAN_RAKING
#include "stages/block/raking.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_BLELLOCH
#include "stages/block/blelloch.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_SUBGROUP
#include "stages/block/subgroup.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_KOGGE_STONE
#include "stages/block/kogge_stone.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_SKLANSKY
#include "stages/block/sklansky.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_BRENT_KUNG
#include "stages/block/brent_kung.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_REDUCE_SCAN
#include "stages/block/reduce_scan.glsl"
#endif

#if BLOCK_SCAN != BLOCK_SCAN_SUBGROUP
void block_scan(inout Vector items[BATCH_SIZE]) {
    scan_totals(thread_scan(items));
}

void block_reduce(const Vector items[BATCH_SIZE]) {
    scan_totals(thread_total(items));
}

void block_scan_end() {
#if BLOCK_SCAN == BLOCK_SCAN_RAKING || BLOCK_SCAN == BLOCK_SCAN_BLELLOCH
    barrier();
#endif
}
#endif
