// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: subgroup scans. Each subgroup scans its own part; then each of them reads the totals of all, and once
// more when it asks for what comes before its part, so that one barrier is enough, and the total is there first.
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

// The total of a subgroup where it is one of the first `count`. Of one that is not there, that of the last one is read.
Element total_if(const uint subgroup, const uint count) {
#if SWIFTSHADER_BRANCHES_AROUND_READS
    const Element total = shared_subgroup_totals[min(subgroup, SUBGROUPS - 1u)];
    return VALUE_IF(subgroup < count, total);
#else
    return subgroup < count ? shared_subgroup_totals[subgroup] : identity();
#endif
}

#define COMBINES combine_totals(const uint count, const uint most)
#define TAKEN total_if(subgroup, count)
#define ONE_BY_ONE FEW_SUBGROUPS
#include "stages/block/combine_subgroups.glsl"

void take_totals() {
    if (SUBGROUPS == 1u) {
        return;
    }
    barrier();
    private_block_total = combine_totals(SUBGROUPS, SUBGROUPS);
}

void block_scan(inout Vector items[BATCH_SIZE]) {
    give_total(subgroup_scan(items));
    take_totals();
}

#if SUBGROUP_SCAN == SUBGROUP_SCAN_EXCHANGE

RowScan private_scan;

void block_reduce(const Vector items[BATCH_SIZE]) {
    give_total(begin_scan(items, private_scan));
    take_totals();
}

void block_scan_reduced(inout Vector items[BATCH_SIZE]) {
    end_scan(items, private_scan);
}

#else

void block_reduce(const Vector items[BATCH_SIZE]) {
    give_total(subgroup_total(items));
    take_totals();
}

void block_scan_reduced(inout Vector items[BATCH_SIZE]) {
    subgroup_scan(items);
}

#endif

void block_scan_end() {
}

Element block_total() {
    return private_block_total;
}

Element block_prefix() {
    return combine_totals(own_subgroup, SUBGROUPS - 1u);
}
