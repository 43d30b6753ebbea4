// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: Blelloch 1990 (thesis 3.5). All invocations sweep up a tree of partial totals and down again, with a
// barrier per level.
//
// Shared bytes: those of the totals, padded, and of one element. Barriers: 2 * log2(WORKGROUP_SIZE) + 2.
const_assert ((WORKGROUP_SIZE & (WORKGROUP_SIZE - 1u)) == 0u);
// Shared memory banks of all known hardware; only speed depends on it.
const BANKS = 32u;
var<workgroup> shared_totals: array<Element, WORKGROUP_SIZE + WORKGROUP_SIZE / BANKS>;
var<workgroup> shared_block_total: Element;

fn total_index(place: u32) -> u32 { return place + place / BANKS; }

fn scan_totals(total: Element) -> Block {
    shared_totals[total_index(rank)] = total;
    for (var stride = 1u; stride < WORKGROUP_SIZE; stride *= 2u) {
        workgroupBarrier();
        if (rank < WORKGROUP_SIZE / (2u * stride)) {
            let left = total_index(stride * (2u * rank + 1u) - 1u);
            let right = total_index(stride * (2u * rank + 2u) - 1u);
            shared_totals[right] = combine(shared_totals[left], shared_totals[right]);
        }
    }
    // The invocation that made the total clears its place.
    if (rank == 0u) {
        let last = total_index(WORKGROUP_SIZE - 1u);
        shared_block_total = shared_totals[last];
        shared_totals[last] = identity();
    }
    for (var stride = WORKGROUP_SIZE / 2u; stride > 0u; stride /= 2u) {
        workgroupBarrier();
        if (rank < WORKGROUP_SIZE / (2u * stride)) {
            let left = total_index(stride * (2u * rank + 1u) - 1u);
            let right = total_index(stride * (2u * rank + 2u) - 1u);
            let left_total = shared_totals[left];
            shared_totals[left] = shared_totals[right];
            shared_totals[right] = combine(shared_totals[right], left_total);
        }
    }
    workgroupBarrier();
    return Block(shared_totals[total_index(rank)], shared_block_total);
}
