// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: shares. What the invocations of a workgroup have found each on its own of what comes before the tile,
// combined.
//
// give_share(share): called by all invocations, each with its share; give_reduced_share(share) where it is that of the
//   subgroup already, in all its invocations.
// tile_prefix(): all shares combined. part_prefix(): that and block_prefix() combined, for the price of one of them.
//   Both are valid in all invocations after the next barrier; called by whole subgroups.
// Shares are combined in the order of their invocations, which is that of the tiles where the order matters
// (stages/lookback/run.glsl).
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

Element share_if(const uint subgroup, const uint count) {
    const Element share = shared_shares[min(subgroup, SUBGROUPS - 1u)];
    return VALUE_IF(subgroup < count, share);
}

#define COMBINES combine_shares(const uint count, const uint most)
#define TAKEN share_if(subgroup, count)
#define ONE_BY_ONE FEW_SUBGROUPS
#include "stages/block/combine_subgroups.glsl"

Element tile_prefix() {
    if (SUBGROUPS == 1u) {
        return private_share;
    }
    return combine_shares(SUBGROUPS, SUBGROUPS);
}

#if BLOCK_SCAN != BLOCK_SCAN_SUBGROUP || FEW_SUBGROUPS || WORKGROUP_SIZE == SUBGROUP_SIZE || IN_ORDER

Element part_prefix() {
    return combine(tile_prefix(), block_prefix());
}

#else

// Shares and totals of subgroups are combined before the subgroup operation, not by one each.
Element share_and_total_if(const uint subgroup, const uint count) {
    const Element share = shared_shares[min(subgroup, SUBGROUPS - 1u)];
    const Element total = total_if(subgroup, count);
    return combine(VALUE_IF(subgroup < SUBGROUPS, share), total);
}

#define COMBINES combine_shares_and_totals(const uint count, const uint most)
#define TAKEN share_and_total_if(subgroup, count)
#define ONE_BY_ONE 0
#include "stages/block/combine_subgroups.glsl"

Element part_prefix() {
    return combine_shares_and_totals(own_subgroup, SUBGROUPS);
}

#endif
