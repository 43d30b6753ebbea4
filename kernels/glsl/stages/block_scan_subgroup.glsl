// Block scan: subgroup scans. Each subgroup scans its own part; then each of them reads the totals of all and finds what
// comes before its part, so that one barrier is enough.
//
// Shared bytes: 4 * SUBGROUPS. Barriers: 1, none in a workgroup of one subgroup.

shared Element shared_subgroup_totals[SUBGROUPS];

Element private_block_total;
Element private_block_prefix;

void give_total(const Element total) {
    if (SUBGROUPS == 1u) {
        private_block_total = total;
        private_block_prefix = identity();
    } else if (gl_SubgroupInvocationID == 0) {
        shared_subgroup_totals[gl_SubgroupID] = total;
    }
}

void take_totals() {
    if (SUBGROUPS == 1u) {
        return;
    }
    barrier();
    private_block_total = identity();
    private_block_prefix = identity();
#if FEW_SUBGROUPS
    [[unroll]] for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        if (subgroup == gl_SubgroupID) {
            private_block_prefix = private_block_total;
        }
        private_block_total = combine(private_block_total, shared_subgroup_totals[subgroup]);
    }
#else
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + gl_SubgroupInvocationID;
        const Element other = subgroup < SUBGROUPS ? shared_subgroup_totals[subgroup] : identity();
        private_block_total = combine(private_block_total, subgroup_reduce(other));
        const Element before = VALUE_IF(subgroup < gl_SubgroupID, other);
        private_block_prefix = combine(private_block_prefix, subgroup_reduce(before));
    }
#endif
}

void block_scan(inout Vector items[BATCH_SIZE]) {
    give_total(subgroup_scan(items));
    take_totals();
}

void block_reduce(const Vector items[BATCH_SIZE]) {
    give_total(subgroup_total(items));
    take_totals();
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
