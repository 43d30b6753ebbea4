// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: Blelloch 1990 (thesis 3.5). All invocations sweep up a tree of partial totals and down again, with a
// barrier per level.
//
// Shared bytes: those of the totals, and of one element. Barriers: 2 * log2(WORKGROUP_SIZE) + 1.
// WORKGROUP_SIZE must be a power of two.

#if (WORKGROUP_SIZE & (WORKGROUP_SIZE - 1)) != 0
#error "the Blelloch block scan needs a WORKGROUP_SIZE that is a power of two"
#endif

#include "stages/block/padded_totals.glsl"

shared Element shared_block_total;

void scan_totals(const Element total) {
    const uint rank = invocation_rank();
    shared_totals[total_index(rank)] = total;

    for (uint stride = 1u; stride < WORKGROUP_SIZE; stride *= 2u) {
        barrier();
        if (rank < WORKGROUP_SIZE / (2u * stride)) {
            const uint left = total_index(stride * (2u * rank + 1u) - 1u);
            const uint right = total_index(stride * (2u * rank + 2u) - 1u);
            shared_totals[right] = combine(shared_totals[left], shared_totals[right]);
        }
    }

    // The invocation that made the total clears its place.
    if (rank == 0u) {
        const uint last = total_index(WORKGROUP_SIZE - 1u);
        shared_block_total = shared_totals[last];
        shared_totals[last] = identity();
    }

    for (uint stride = WORKGROUP_SIZE / 2u; stride > 0u; stride /= 2u) {
        barrier();
        if (rank < WORKGROUP_SIZE / (2u * stride)) {
            const uint left = total_index(stride * (2u * rank + 1u) - 1u);
            const uint right = total_index(stride * (2u * rank + 2u) - 1u);
            const Element left_total = shared_totals[left];
            shared_totals[left] = shared_totals[right];
            shared_totals[right] = combine(shared_totals[right], left_total);
        }
    }
}

Element block_total() {
    return shared_block_total;
}

Element block_prefix() {
    return shared_totals[total_index(invocation_rank())];
}
