// Stage: block scan. Scans the totals of the invocations of a workgroup.
//
// block_scan(total): every invocation gives its total.
// block_total(): the total of the tile. Valid in subgroup 0 after block_scan, in all after the next barrier.
// block_prefix(): what comes before the items of this invocation in the tile. Valid after the barrier that follows
//   block_scan.

#if BLOCK_SCAN == BLOCK_SCAN_RAKING
#include "block_scan_raking.glsl"
#elif BLOCK_SCAN == BLOCK_SCAN_BLELLOCH
#include "block_scan_blelloch.glsl"
#endif
