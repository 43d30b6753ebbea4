// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: Kogge-Stone 1973 (Hillis and Steele 1986). In each level every invocation adds what stands twice as far
// before it as in the level before: the fewest levels, and the most additions, n log n.
//
// Two copies of the totals take turns, so that a level needs one barrier: nobody writes what others may still be
// reading.
// Shared bytes: 4 * 2 * WORKGROUP_SIZE. Barriers: log2(WORKGROUP_SIZE), rounded up, + 1. Any WORKGROUP_SIZE.

shared Element shared_totals[2u * WORKGROUP_SIZE];

// Which of the two copies holds the scan: the one that the level after the last would read.
uint scanned_copy() {
    uint copy = 0u;
    [[unroll]] for (uint distance = 1u; distance < WORKGROUP_SIZE; distance *= 2u) {
        copy ^= 1u;
    }
    return copy * WORKGROUP_SIZE;
}

void scan_totals(const Element total) {
    const uint rank = invocation_rank();
    Element inclusive = total;
    uint copy = 0u;
    [[unroll]] for (uint distance = 1u; distance < WORKGROUP_SIZE; distance *= 2u) {
        shared_totals[copy + rank] = inclusive;
        barrier();
        if (rank >= distance) {
            inclusive = combine(shared_totals[copy + rank - distance], inclusive);
        }
        copy = WORKGROUP_SIZE - copy;
    }
    shared_totals[copy + rank] = inclusive;
    barrier();
}

Element block_total() {
    return shared_totals[scanned_copy() + WORKGROUP_SIZE - 1u];
}

Element block_prefix() {
    const uint rank = invocation_rank();
    return rank == 0u ? identity() : shared_totals[scanned_copy() + rank - 1u];
}
