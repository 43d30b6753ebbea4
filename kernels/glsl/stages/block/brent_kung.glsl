// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: Brent and Kung 1982. A sweep up makes totals of runs that double, a sweep down fills in what is between
// them: the fewest additions, 2 n, and twice the levels. Unlike Blelloch's, its result is inclusive, and nothing is
// cleared.
//
// Shared bytes: those of the sweeps. Barriers: 2 * log2(WORKGROUP_SIZE) for powers of two, as many or one more for
//   others.

#include "stages/block/sweep_pairs.glsl"

void scan_totals(const Element total) {
    shared_totals[total_index(invocation_rank())] = total;
    barrier();
    uint run = 1u;
    for (; 2u * run <= WORKGROUP_SIZE; run *= 2u) {
        add_pairs(run);
        barrier();
    }
    // The longest run that has one of half its length behind it.
    run /= 2u;
    if (3u * run > WORKGROUP_SIZE) {
        run /= 2u;
    }
    for (; run > 0u; run /= 2u) {
        pass_on(run);
        barrier();
    }
}
