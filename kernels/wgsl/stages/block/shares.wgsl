// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: shares. What subgroups have found each on its own, combined. Called by all invocations of the workgroup.
//
// shares_combined(share): the shares of all invocations combined, in all of them.
// Barriers: 1. Whoever calls it again has another barrier in between.
var<workgroup> shared_shares: array<Element, MOST_SUBGROUPS>;

fn shares_combined(share: Element) -> Element {
    let part = row_reduce(share);
    if (MOST_SUBGROUPS == 1u) { return part; }
    if (lane == 0u) { shared_shares[own_subgroup] = part; }
    workgroupBarrier();
#if SUBGROUPS
    if (MOST_SUBGROUPS > FEW_SUBGROUPS) {
        var all = identity();
        for (var first = 0u; first < subgroups; first += subgroup_length) {
            let other = first + lane;
            var theirs = identity();
            if (other < subgroups) { theirs = shared_shares[other]; }
            all = combine(all, row_reduce(theirs));
        }
        return all;
    }
#endif
    var total = shared_shares[0];
    for (var other = 1u; other < subgroups; other++) {
        total = combine(total, shared_shares[other]);
    }
    return total;
}
