// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: raking (thesis 3.5). The invocations of one subgroup each reduce a share of the totals one by one, scan
// their shares, and write the prefixes. Without subgroups, 32 invocations, whose shares are scanned through shared
// memory.
//
// Shared bytes: 4 * (WORKGROUP_SIZE + MOST_RAKERS + 1). Barriers: 2.
#if SUBGROUPS
const MOST_RAKERS = 128u;
#else
const MOST_RAKERS = 32u;
const_assert (WORKGROUP_SIZE < MOST_RAKERS || WORKGROUP_SIZE % MOST_RAKERS == 0u);
#endif
var<workgroup> shared_totals: array<Element, WORKGROUP_SIZE + MOST_RAKERS>;
var<workgroup> shared_block_total: Element;

// Shares of even length begin in the same bank again and again: one element of padding makes their distance odd.
fn total_index(place: u32, share: u32) -> u32 {
    return place / share * (share | 1u) + place % share;
}

fn scan_totals(total: Element) -> Block {
#if SUBGROUPS
    let rakers = subgroup_length;
#else
    let rakers = min(MOST_RAKERS, WORKGROUP_SIZE);
#endif
    let share = WORKGROUP_SIZE / rakers;
    shared_totals[total_index(rank, share)] = total;
    workgroupBarrier();
    let first = rank * (share | 1u);
    var share_total = identity();
    if (rank < rakers) {
        for (var i = 0u; i < share; i++) {
            share_total = combine(share_total, shared_totals[first + i]);
        }
    }
#if SUBGROUPS
    if (own_subgroup == 0u) {
        let row = row_scan(share_total);
#else
    let row = row_scan(share_total);
    if (rank < rakers) {
#endif
        if (rank == rakers - 1u) { shared_block_total = row.total; }
        var prefix = row.before;
        for (var i = 0u; i < share; i++) {
            let own = shared_totals[first + i];
            shared_totals[first + i] = prefix;
            prefix = combine(prefix, own);
        }
    }
    workgroupBarrier();
    return Block(shared_totals[total_index(rank, share)], shared_block_total);
}
