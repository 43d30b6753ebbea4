// Stage: shares. What the invocations of a workgroup have found each on its own of what comes before the tile, combined.
//
// give_share(share): called by all invocations, each with its share; give_reduced_share(share) where it is that of the subgroup
//   already, in all its invocations.
// tile_prefix(): all shares combined. part_prefix(): that and block_prefix() combined, for the price of one of them. Both are valid in
//   all invocations after the next barrier; called by whole subgroups.
// The order in which shares are combined is not that of the tiles: for commutative operators only.
// Shared bytes: 4 * SUBGROUPS. Barriers: 0.

shared Element shared_shares[SUBGROUPS];

// A workgroup of one subgroup keeps its only share in registers.
Element private_share;

void give_reduced_share(const Element share) {
    private_share = share;
    if (SUBGROUPS > 1u && own_lane == 0) {
        shared_shares[own_subgroup] = share;
    }
}

void give_share(const Element share) {
    give_reduced_share(subgroup_reduce(share));
}

Element tile_prefix() {
    if (SUBGROUPS == 1u) {
        return private_share;
    }
    Element prefix = identity();
#if FEW_SUBGROUPS
    [[unroll]] for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        prefix = combine(prefix, shared_shares[subgroup]);
    }
#else
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + own_lane;
        const Element share = shared_shares[min(subgroup, SUBGROUPS - 1u)];
        prefix = combine(prefix, subgroup_reduce(VALUE_IF(subgroup < SUBGROUPS, share)));
    }
#endif
    return prefix;
}

Element part_prefix() {
#if BLOCK_SCAN != BLOCK_SCAN_SUBGROUP || FEW_SUBGROUPS || WORKGROUP_SIZE == SUBGROUP_SIZE
    return combine(tile_prefix(), block_prefix());
#else
    // Shares and totals of subgroups are combined before the subgroup operation, not by one each.
    Element prefix = identity();
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + own_lane;
        const Element share = shared_shares[min(subgroup, SUBGROUPS - 1u)];
        const Element other = shared_subgroup_totals[min(subgroup, SUBGROUPS - 1u)];
        const Element before = VALUE_IF(subgroup < own_subgroup, other);
        prefix = combine(prefix, subgroup_reduce(combine(VALUE_IF(subgroup < SUBGROUPS, share), before)));
    }
    return prefix;
#endif
}
