// Block scan: subgroup scans. Each subgroup scans its own part; then each of them reads the totals of all and finds what
// comes before its part, so that one barrier is enough.
//
// Shared bytes: 4 * SUBGROUPS. Barriers: 1.

shared Element shared_subgroup_totals[SUBGROUPS];

Element private_block_total;
Element private_block_prefix;

void gather_totals(const Element total) {
    if (gl_SubgroupInvocationID == 0) {
        shared_subgroup_totals[gl_SubgroupID] = total;
    }
    barrier();
    private_block_total = identity();
    private_block_prefix = identity();
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + gl_SubgroupInvocationID;
        const Element other = subgroup < SUBGROUPS ? shared_subgroup_totals[subgroup] : identity();
        private_block_total = combine(private_block_total, subgroup_reduce(other));
        const Element before = subgroup < gl_SubgroupID ? other : identity();
        private_block_prefix = combine(private_block_prefix, subgroup_reduce(before));
    }
}

void block_scan(inout Vector items[BATCH_SIZE]) {
    gather_totals(subgroup_scan(items));
}

void block_reduce(const Vector items[BATCH_SIZE]) {
    gather_totals(subgroup_total(items));
}

void block_scan_reduced(inout Vector items[BATCH_SIZE]) {
    subgroup_scan(items);
}

void block_scan_end() {
}

Element block_total() {
    return private_block_total;
}

Element block_prefix() {
    return private_block_prefix;
}
