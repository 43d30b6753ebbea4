// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan, part of: the sweeps of Brent and Kung over the totals of a workgroup, one level at a time. Who calls them
// puts a barrier between levels. Any WORKGROUP_SIZE: runs that would end behind it are left out.
//
// add_pairs(run): up. pass_on(run): down.
// Shared bytes: those of the totals.

#include "stages/block/padded_totals.glsl"

// The last of the pair that an invocation has in a level, where pairs are of two runs of this length each.
uint pair_end(const uint run) {
    return (invocation_rank() + 1u) * 2u * run - 1u;
}

// One level up: the end of each pair of runs gets the total of both.
void add_pairs(const uint run) {
    const uint end = pair_end(run);
    if (end < WORKGROUP_SIZE) {
        shared_totals[total_index(end)] =
            combine(shared_totals[total_index(end - run)], shared_totals[total_index(end)]);
    }
}

// One level down: the end of each pair is scanned, so that of the run behind it can be.
void pass_on(const uint run) {
    const uint end = pair_end(run);
    if (end + run < WORKGROUP_SIZE) {
        shared_totals[total_index(end + run)] =
            combine(shared_totals[total_index(end)], shared_totals[total_index(end + run)]);
    }
}

Element block_total() {
    return shared_totals[total_index(WORKGROUP_SIZE - 1u)];
}

Element block_prefix() {
    const uint rank = invocation_rank();
    return rank == 0u ? identity() : shared_totals[total_index(max(rank, 1u) - 1u)];
}
