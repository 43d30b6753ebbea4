// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: SIMD raking (thesis 3.5). One subgroup scans the totals of all invocations: each of its invocations
// reduces its share one by one, one subgroup scan combines the shares, and each writes the prefixes of its share.
//
// Shared bytes: 4 * (WORKGROUP_SIZE + padding of one element per share + 1). Barriers: 1.

const uint SHARE = WORKGROUP_SIZE / SUBGROUP_SIZE;
// Shares of even length start in the same bank again and again: one element of padding makes their distance odd.
const uint SHARE_STRIDE = SHARE | 1u;

shared Element shared_totals[SUBGROUP_SIZE * SHARE_STRIDE];
shared Element shared_block_total;

uint total_index(const uint rank) {
    return rank / SHARE * SHARE_STRIDE + rank % SHARE;
}

void scan_totals(const Element total) {
    shared_totals[total_index(invocation_rank())] = total;
    barrier();
    if (own_subgroup == 0) {
        const uint first = own_lane * SHARE_STRIDE;
        Element share_total = shared_totals[first];
        UNROLLED_FOR_LAVAPIPE for (uint i = 1u; i < SHARE; ++i) {
            share_total = combine(share_total, shared_totals[first + i]);
        }
        Element prefix = subgroup_exclusive_scan(share_total);
        if (own_lane == SUBGROUP_SIZE - 1) {
            shared_block_total = combine(prefix, share_total);
        }
        UNROLLED_FOR_LAVAPIPE for (uint i = 0u; i < SHARE; ++i) {
            const Element own = shared_totals[first + i];
            shared_totals[first + i] = prefix;
            prefix = combine(prefix, own);
        }
        subgroupBarrier();
    }
}

Element block_total() {
    return shared_block_total;
}

Element block_prefix() {
    return shared_totals[total_index(invocation_rank())];
}
