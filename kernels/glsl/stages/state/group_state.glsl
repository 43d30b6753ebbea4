// Stage: group state, the second level of a two-level lookback: the totals of GROUP_TILES successive tiles, combined.
//
// clear_stale_groups(): called by all invocations, once per workgroup, at any time.
// clear_groups(): one whole workgroup clears what the call has left in its bank.
// add_to_group(tile, total): one invocation per tile, with its total.
// closes_group(tile), close_group(tile): whether a workgroup with this tile has to complete its group; called by one whole
//   subgroup then, behind the publication of the tile's total. It waits for those of the group's other tiles.
// load_group(group): the word of a group. Nothing is done with it yet, as with load_state.
// no_group(): some word, for places where nothing is loaded.
// group_complete(word), group_total(word): whether it has the totals of all tiles of the group, and these combined.
//
// GROUP_STATE_ADDED: atomic sums, for sums of integers. GROUP_STATE_PUBLISHED: by the last tile, for everything else.

// Sums cannot carry an epoch, so that their words have to be zero before a call. There are two banks of them, right behind the
// ticket: a call uses one and clears the other, which the call before has used (the host knows how much of it).

const uint GROUP_TILES = 32u;
const uint BANK_WORDS = 65536u;  // of 8 bytes

uint group_count() {
    return (tile_count() + GROUP_TILES - 1u) / GROUP_TILES;
}

layout(buffer_reference, std430, buffer_reference_align = 8) buffer GroupBanks {
    uvec2 ticket_line[32];
    uvec2 at[];
};

void clear_bank(const uint bank, const uint words, const uint first, const uint step) {
    GroupBanks banks = GroupBanks(params.ticket_address);
    for (uint word = first; word < words; word += step) {
        banks.at[bank * BANK_WORDS + word] = uvec2(0u);
    }
}

#if GROUP_STATE == GROUP_STATE_ADDED
#include "stages/state/group_added.glsl"
#else
#include "stages/state/group_published.glsl"
#endif

void clear_stale_groups() {
    if (GROUP_WORDS > 0u) {
        const uint first = workgroup_rank() * WORKGROUP_SIZE + invocation_rank();
        clear_bank(1u - params.bank, params.stale_groups, first, params.workgroups * WORKGROUP_SIZE);
    }
}

void clear_groups() {
    clear_bank(params.bank, in_whole_rows(group_count()) * GROUP_WORDS, invocation_rank(), WORKGROUP_SIZE);
}
