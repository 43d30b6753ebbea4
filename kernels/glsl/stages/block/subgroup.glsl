// Block scan: subgroup scans. Each subgroup scans its own part; then each of them reads the totals of all, and once more when it
// asks for what comes before its part, so that one barrier is enough, and the total is there first.
// Totals of subgroups that are not there are read from the last one and left out: a branch around each read, of which a workgroup of
// many subgroups has dozens, keeps SwiftShader compiling for ever.
//
// Shared bytes: 4 * SUBGROUPS. Barriers: 1, none in a workgroup of one subgroup.

shared Element shared_subgroup_totals[SUBGROUPS];

Element private_block_total;

void give_total(const Element total) {
    if (SUBGROUPS == 1u) {
        private_block_total = total;
    } else if (own_lane == 0) {
        shared_subgroup_totals[own_subgroup] = total;
    }
}

void take_totals() {
    if (SUBGROUPS == 1u) {
        return;
    }
    barrier();
    private_block_total = identity();
#if FEW_SUBGROUPS
    [[unroll]] for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        private_block_total = combine(private_block_total, shared_subgroup_totals[subgroup]);
    }
#else
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + own_lane;
        const Element other = shared_subgroup_totals[min(subgroup, SUBGROUPS - 1u)];
        private_block_total = combine(private_block_total, subgroup_reduce(VALUE_IF(subgroup < SUBGROUPS, other)));
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
    Element prefix = identity();
#if FEW_SUBGROUPS
    [[unroll]] for (uint subgroup = 0u; subgroup + 1u < SUBGROUPS; ++subgroup) {
        const Element other = shared_subgroup_totals[subgroup];
        prefix = combine(prefix, VALUE_IF(subgroup < own_subgroup, other));
    }
#elif WORKGROUP_SIZE > SUBGROUP_SIZE
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + own_lane;
        const Element other = shared_subgroup_totals[min(subgroup, SUBGROUPS - 1u)];
        prefix = combine(prefix, subgroup_reduce(VALUE_IF(subgroup < own_subgroup, other)));
    }
#endif
    return prefix;
}
