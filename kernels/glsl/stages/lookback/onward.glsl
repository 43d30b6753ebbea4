// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: onward, for workgroups that go from tile to tile. One subgroup keeps the prefix that it has found and adds
// the totals that came since.
// Result valid in: all invocations of the subgroup. Called by one and the same subgroup with growing tiles.
// The order in which totals are combined is not that of the tiles: for commutative operators only.
//
// publish_total(tile, total): called by one invocation, for each tile in turn. Where the tile ends a group, that is
//   published behind it at once, not where the workgroup looks back: whole groups are what everybody behind waits for.
// find_prefix_onward(tile): the total of all tiles before this one.

// What has been added up for good: all tiles, or all groups, before this one.
uint private_done = 0u;
Element private_done_prefix = identity();

void publish_total(const uint tile, const Element total) {
    publish(tile, AGGREGATE, total);
    add_to_group(tile, total);
}

#if LOOKBACK == LOOKBACK_GATHER
// The totals of the tiles from private_done on, before `tile`: of those the first-th, and every step-th behind it. Two
// at a time are under way together. Called by whole subgroups.
Element totals_of_some(const uint tile, const uint first, const uint step) {
    uint rounds = 0u;
    uint next = private_done + first;
    Element share = identity();
    while (subgroupAny(next < tile)) {
        StateWord word = no_word();
        StateWord word_behind = no_word();
        if (next < tile) {
            word = load_state(next);
        }
        if (next + step < tile) {
            word_behind = load_state(next + step);
        }
        if (next < tile) {
            if (word_state(word) != INVALID) {
                share = combine(share, word_value(word));
                next += step;
                if (next < tile && word_state(word_behind) != INVALID) {
                    share = combine(share, word_value(word_behind));
                    next += step;
                }
            } else {
                back_off(rounds);
            }
        }
    }
    return share;
}

// What comes before a tile, from the totals of all tiles since private_done.
Element prefix_from(const uint tile, const Element totals) {
    private_done = tile;
    private_done_prefix = combine(private_done_prefix, totals);
    return private_done_prefix;
}
#endif

Element find_prefix_onward(const uint tile) {
    const uint lane = own_lane;
#if LOOKBACK == LOOKBACK_TWO_LEVEL
    uint rounds = 0u;
    const uint group = tile / GROUP_TILES;
    uint next_group = private_done + lane;
    uint next_tile = group * GROUP_TILES + lane;
    Element groups_share = identity();
    Element share = identity();
    while (subgroupAny(next_tile < tile || next_group < group)) {
        // Both loads are under way together: one hop, not two.
        StateWord tile_word = no_word();
        GroupWord group_word = no_group();
        if (next_tile < tile) {
            tile_word = load_state(next_tile);
        }
        if (next_group < group) {
            group_word = load_group(next_group);
        }
        bool waits = false;
        if (next_tile < tile) {
            if (word_state(tile_word) != INVALID) {
                share = combine(share, word_value(tile_word));
                next_tile += SUBGROUP_SIZE;
            } else {
                waits = true;
            }
        }
        if (next_group < group) {
            if (group_is_whole(group_word)) {
                groups_share = combine(groups_share, group_total(group_word));
                next_group += SUBGROUP_SIZE;
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
