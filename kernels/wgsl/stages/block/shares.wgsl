// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: shares. What subgroups have found each on its own, combined. Called by all invocations of the workgroup.
//
// shares_combined(share): the shares of all invocations combined, in all of them.
// Barriers: 1. Whoever calls it again has another barrier in between.
var<workgroup> shared_shares: array<Element, MOST_SUBGROUPS>;

fn shares_combined(share: Element) -> Element {
    let part = row_reduce(share);
#if MOST_SUBGROUPS == 1
    return part;
#else
    if (lane == 0u) { shared_shares[own_subgroup] = part; }
    workgroupBarrier();
#if MOST_SUBGROUPS > FEW_SUBGROUPS
    var total = identity();
    for (var first = 0u; first < subgroups; first += subgroup_length) {
        let other = first + lane;
        var theirs = identity();
        if (other < subgroups) { theirs = shared_shares[other]; }
        total = combine(total, row_reduce(theirs));
    }
#else
    var total = shared_shares[0];
#for other in 1..MOST_SUBGROUPS
    if (other < subgroups) { total = combine(total, shared_shares[other]); }
#endfor
#endif
    return total;
#endif
}
