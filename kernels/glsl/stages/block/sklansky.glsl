// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: Sklansky 1960. In each level the invocations of every second run add the total of the run before theirs,
// and runs become twice as long: the fewest levels, half of the additions of Kogge-Stone, and one value that many read.
//
// In place with one barrier per level: what is read ends a run of the first kind, what is written is in one of the
// second.
// Shared bytes: 4 * WORKGROUP_SIZE. Barriers: log2(WORKGROUP_SIZE), rounded up, + 1. Any WORKGROUP_SIZE.

shared Element shared_totals[WORKGROUP_SIZE];

void scan_totals(const Element total) {
    const uint rank = invocation_rank();
    Element inclusive = total;
    shared_totals[rank] = inclusive;
    barrier();
    for (uint run = 1u; run < WORKGROUP_SIZE; run *= 2u) {
        if ((rank & run) != 0u) {
            inclusive = combine(shared_totals[rank / run * run - 1u], inclusive);
            shared_totals[rank] = inclusive;
        }
        barrier();
    }
}

Element block_total() {
    return shared_totals[WORKGROUP_SIZE - 1u];
}

Element block_prefix() {
    const uint rank = invocation_rank();
    return rank == 0u ? identity() : shared_totals[rank - 1u];
}
