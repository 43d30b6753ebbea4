// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: subgroup scans. Each subgroup scans its own part; then each of them reads the totals of all.
//
// Shared bytes: 4 * MOST_SUBGROUPS. Barriers: 1, none in a workgroup of one subgroup.
var<workgroup> shared_totals: array<Element, MOST_SUBGROUPS>;

fn combine_totals(total: Element) -> Block {
#if MOST_SUBGROUPS == 1
    return Block(identity(), total);
#else
    if (lane == 0u) { shared_totals[own_subgroup] = total; }
    workgroupBarrier();
    var block = Block(identity(), identity());
#if MOST_SUBGROUPS > FEW_SUBGROUPS
    for (var first = 0u; first < subgroups; first += subgroup_length) {
        let other = first + lane;
        var theirs = identity();
        if (other < subgroups) { theirs = shared_totals[other]; }
        block.total = combine(block.total, row_reduce(theirs));
        let earlier = select(identity(), theirs, other < own_subgroup);
        block.before = combine(block.before, row_reduce(earlier));
    }
#else
#for other in 0..MOST_SUBGROUPS
    if (other < subgroups) {
        if (other == own_subgroup) { block.before = block.total; }
        block.total = combine(block.total, shared_totals[other]);
    }
#endfor
#endif
    return block;
#endif
}

fn block_scan(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Block {
    return combine_totals(subgroup_scan(items));
}

fn block_reduce(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Block {
    return combine_totals(row_reduce(thread_total(items)));
}
