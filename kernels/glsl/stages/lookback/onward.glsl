// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: onward, for workgroups that go from tile to tile. One subgroup keeps the prefix that it has found and adds
// the totals that came since.
// Result valid in: all invocations of the subgroup. Called by one and the same subgroup with growing tiles.
//
// begin_tile(tile): called by all invocations, before they ask for the prefix of a tile.
// publish_total(tile, total): called by one invocation, for each tile in turn. Where the tile ends a group, that is
//   published behind it at once, not where the workgroup looks back: whole groups are what everybody behind waits for.
// find_prefix_onward(tile): the total of all tiles before this one. Who may fall back looks with all invocations of the
//   workgroup, by totals that the rendezvous asks for.

#include "stages/lookback/run.glsl"

// What has been added up for good: all tiles, or all groups, before this one.
const uint NONE_DONE = 0u;
uint private_done = NONE_DONE;
Element private_done_prefix = identity();

#if KEEPS_IN_SHARED
// Two, as one is still read while the next one is written.
shared Element shared_done_prefix[2];
#endif

// Where workgroups run one after the other, the first one takes all tiles by ticket. If it is late, it takes some as
// another one would that has had no tile before.
#if LATE
void begin_tile(const uint tile) {
    if (tile % 3u == 2u) {
        private_done = NONE_DONE;
        private_done_prefix = identity();
    }
}
#else
// No function: its parameter alone would be code of its own.
#define begin_tile(tile)
#endif

void publish_total(const uint tile, const Element total) {
    publish(tile, AGGREGATE, total);
    add_to_group(tile, total);
}

#if LOOKBACK == LOOKBACK_GATHER
// What a member, of so many, takes of the totals of the tiles from private_done on, before `tile`, combined. Two at a
// time are under way together. Called by whole subgroups.
Element totals_of_some(const uint tile, const uint member, const uint members) {
    uint rounds = 0u;
    uint next = RUN_BEGIN(private_done, tile, member, members);
    const uint end = RUN_END(private_done, tile, member, members);
    Element share = identity();
    while (subgroupAny(next < end)) {
        StateWord word = no_word();
        StateWord word_behind = no_word();
        if (next < end) {
            word = load_state(next);
        }
        if (next + RUN_STEP(end, members) < end) {
            word_behind = load_state(next + RUN_STEP(end, members));
        }
        if (next < end) {
            if (word_state(word) != INVALID) {
                share = combine(share, word_value(word));
                next += RUN_STEP(end, members);
                if (next < end && word_state(word_behind) != INVALID) {
                    share = combine(share, word_value(word_behind));
                    next += RUN_STEP(end, members);
                }
            } else {
                back_off(rounds);
            }
        }
    }
    return share;
}
#elif LOOKBACK == LOOKBACK_GATHER_FALLBACK
#include "stages/lookback/onward_fallback.glsl"
#endif

#if LOOKBACK != LOOKBACK_TWO_LEVEL
// What comes before a tile, from the totals of all tiles since private_done.
#if KEEPS_IN_SHARED
uint private_done_slot = 0u;

// Called between two barriers.
Element prefix_from(const uint tile, const Element totals) {
    const Element before = private_done == NONE_DONE ? identity() : shared_done_prefix[private_done_slot];
    private_done = tile;
    private_done_slot ^= 1u;
    const Element prefix = combine(before, totals);
    if (invocation_rank() == 0u) {
        shared_done_prefix[private_done_slot] = prefix;
    }
    return prefix;
}
#else
Element prefix_from(const uint tile, const Element totals) {
    private_done = tile;
    private_done_prefix = combine(private_done_prefix, totals);
    return private_done_prefix;
}
#endif
#endif

#if LOOKBACK != LOOKBACK_GATHER_FALLBACK

Element find_prefix_onward(const uint tile) {
    const uint lane = own_lane;
#if LOOKBACK == LOOKBACK_TWO_LEVEL
    uint rounds = 0u;
    const uint group = tile / GROUP_TILES;
    uint next_group = RUN_BEGIN(private_done, group, lane, SUBGROUP_SIZE);
    const uint end_group = RUN_END(private_done, group, lane, SUBGROUP_SIZE);
    uint next_tile = RUN_BEGIN(group * GROUP_TILES, tile, lane, SUBGROUP_SIZE);
    const uint end_tile = RUN_END(group * GROUP_TILES, tile, lane, SUBGROUP_SIZE);
    Element groups_share = identity();
    Element share = identity();
    while (subgroupAny(next_tile < end_tile || next_group < end_group)) {
        // Both loads are under way together: one hop, not two.
        StateWord tile_word = no_word();
        GroupWord group_word = no_group();
        if (next_tile < end_tile) {
            tile_word = load_state(next_tile);
        }
        if (next_group < end_group) {
            group_word = load_group(next_group);
        }
        bool waits = false;
        if (next_tile < end_tile) {
            if (word_state(tile_word) != INVALID) {
                share = combine(share, word_value(tile_word));
                next_tile += RUN_STEP(end_tile, SUBGROUP_SIZE);
            } else {
                waits = true;
            }
        }
        if (next_group < end_group) {
            if (group_is_whole(group_word)) {
                groups_share = combine(groups_share, group_total(group_word));
                next_group += RUN_STEP(end_group, SUBGROUP_SIZE);
            } else {
                waits = true;
            }
        }
        if (waits) {
            back_off(rounds);
        }
    }
    private_done = group;
    private_done_prefix = combine(private_done_prefix, subgroup_reduce(groups_share));
    return combine(private_done_prefix, subgroup_reduce(share));
#else
    return prefix_from(tile, subgroup_reduce(totals_of_some(tile, lane, SUBGROUP_SIZE)));
#endif
}

#endif
