// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: reduce-scan. The sweep up of Brent and Kung, but only until each run has RUN totals; the totals of the
// runs are scanned as Sklansky does; and the sweep down. Between the two: hardly more additions than the one, hardly
// more levels than the other. Source: Smith, GPUPrefixSums, "Reduce Scan" (there: spill factor 3).
//
// Shared bytes: those of the sweeps. Barriers: 6 + log2(WORKGROUP_SIZE / 8), rounded up, + 1.

#include "stages/block/sweep_pairs.glsl"

// Totals of one run: three levels.
const uint RUN = 8u;
// Totals behind the last whole run are left to the sweep down.
const uint RUNS = WORKGROUP_SIZE / RUN;

void scan_totals(const Element total) {
    const uint rank = invocation_rank();
    shared_totals[total_index(rank)] = total;
    barrier();
    for (uint run = 1u; run < RUN; run *= 2u) {
        add_pairs(run);
        barrier();
    }
    for (uint runs = 1u; runs < RUNS; runs *= 2u) {
        if (rank < RUNS && (rank & runs) != 0u) {
            const uint end = total_index((rank + 1u) * RUN - 1u);
            const uint end_before = total_index(rank / runs * runs * RUN - 1u);
            shared_totals[end] = combine(shared_totals[end_before], shared_totals[end]);
        }
        barrier();
    }
    for (uint run = RUN / 2u; run > 0u; run /= 2u) {
        pass_on(run);
        barrier();
    }
}
