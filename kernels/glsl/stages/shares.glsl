// Stage: shares. What the invocations of a workgroup have found each on its own of what comes before the tile, combined.
//
// give_share(share): called by all invocations, each with its share.
// tile_prefix(): all shares combined. Valid in all invocations after the next barrier; called by whole subgroups.
// The order in which shares are combined is not that of the tiles: for commutative operators only.
// Shared bytes: 4 * SUBGROUPS. Barriers: 0.

shared Element shared_shares[SUBGROUPS];

// A workgroup of one subgroup keeps its only share in registers.
Element private_share;

void give_share(const Element share) {
    private_share = subgroup_reduce(share);
    if (SUBGROUPS > 1u && gl_SubgroupInvocationID == 0) {
        shared_shares[gl_SubgroupID] = private_share;
    }
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
        const uint subgroup = first + gl_SubgroupInvocationID;
        prefix = combine(prefix, subgroup_reduce(subgroup < SUBGROUPS ? shared_shares[subgroup] : identity()));
    }
#endif
    return prefix;
}
