// SPDX-License-Identifier: MIT OR Apache-2.0
// Group state: the workgroup with the last tile of a group combines the totals of all its tiles, in their order, and
// publishes the result as tiles do theirs, in states of its own (behind those of the tiles). Two hops from a tile to
// the tiles of later groups; for every type, operator and tile state.

#define GroupWord StateWord

const uint GROUP_WORDS = 0u;  // of one group in a bank

// Where the states of groups begin.
uvec2 group_states_address() {
#if BOUND_SCRATCH
    return scratch_address(STATES_OFFSET + in_whole_rows(MOST_TILES) * STATE_STRIDE * STATE_WORDS * 4u);
#else
    return params.groups_address;
#endif
}

void add_to_group(const uint tile, const Element total) {
}

bool ends_group(const uint tile) {
    return tile % GROUP_TILES == GROUP_TILES - 1u;
}

uint published_group_count() {
    return group_count();
}

void publish_group(const uint tile) {
    const uint group = tile / GROUP_TILES;
    Element group_sum = identity();
    for (uint chunk = 0u; chunk < GROUP_TILES; chunk += SUBGROUP_SIZE) {
        const uint member = chunk + own_lane;
        Element value = identity();
        bool waits = member < GROUP_TILES;
        uint rounds = 0u;
        // As in any lookback: together until none waits, but only those that wait look again.
        while (subgroupAny(waits)) {
            if (waits) {
                const StateWord word = load_state(group * GROUP_TILES + member);
                if (word_state(word) != INVALID) {
                    value = word_value(word);
                    waits = false;
                } else {
                    back_off(rounds);
                }
            }
        }
        group_sum = combine(group_sum, subgroup_reduce(value));
    }
    if (own_lane == 0) {
        publish_at(group_states_address(), group, AGGREGATE, group_sum);
    }
}

GroupWord no_group() {
    return no_word();
}

GroupWord load_group(const uint group) {
    return load_state_at(group_states_address(), group);
}

bool group_is_whole(const GroupWord word) {
    return word_state(word) != INVALID;
}

Element group_total(const GroupWord word) {
    return word_value(word);
}
