// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: group state, the second level of a two-level lookback: the totals of GROUP_TILES successive tiles, combined.
// Other lookbacks have no groups: for them nothing happens here.
//
// clear_stale_groups(): called by all invocations, once per workgroup, at any time. (Where the device turns itself,
//   end_turn does this: who has no tile may see the next turn.)
// clear_groups(bank): one whole workgroup clears what a call on the same scratch memory may leave in a bank.
// add_to_group(tile, total): one invocation per tile, with its total.
// ends_group(tile), publish_group(tile): whether a workgroup with this tile has to publish its group; called by one
//   whole subgroup then, behind the publication of the tile's total. It waits for those of the group's other tiles.
// published_group_count(): how many groups are published in states of their own.
// load_group(group): the word of a group. Nothing is done with it yet, as with load_state.
// no_group(): some word, for places where nothing is loaded.
// group_is_whole(word), group_total(word): whether it has the totals of all tiles of the group, and these combined.
//
// GROUP_STATE_ADDED: atomic sums, for sums of integers. GROUP_STATE_PUBLISHED: by the last tile, for everything else.

#if LOOKBACK == LOOKBACK_TWO_LEVEL

uint group_count() {
    return (tile_count() + GROUP_TILES - 1u) / GROUP_TILES;
}

#if N_VARIES
#define MOST_GROUPS ((MOST_TILES + GROUP_TILES - 1u) / GROUP_TILES)
#else
#define MOST_GROUPS group_count()
#endif

#if GROUP_STATE == GROUP_STATE_ADDED
#include "stages/state/group_added.glsl"
#else
#include "stages/state/group_published.glsl"
#endif

void clear_stale_groups() {
#if HOST_TURNS
    if (GROUP_WORDS > 0u) {
        const uint first = workgroup_rank() * WORKGROUP_SIZE + invocation_rank();
        clear_bank(1u - BANK, params.stale_groups, first, params.workgroups * WORKGROUP_SIZE);
    }
#endif
}

void clear_groups(const uint bank) {
    clear_bank(bank, in_whole_rows(MOST_GROUPS) * GROUP_WORDS, invocation_rank(), WORKGROUP_SIZE);
}

#else

void clear_stale_groups() {
}

void clear_groups(const uint bank) {
}

void add_to_group(const uint tile, const Element total) {
}

bool ends_group(const uint tile) {
    return false;
}

void publish_group(const uint tile) {
}

uint published_group_count() {
    return 0u;
}

#endif
