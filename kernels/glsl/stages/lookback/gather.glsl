// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: gather. All invocations together read the totals of all predecessors in one hop: those of every tile, or,
// in two levels, those of the tiles of the own group and the sums of all groups before it.
//
// Shared bytes: those of shares. Barriers: 0.

#include "stages/block/shares.glsl"

void publish_total(const uint tile, const Element total) {
    publish(tile, AGGREGATE, total);
    add_to_group(tile, total);
}

bool others_need_lookback(const uint tile) {
    return ends_group(tile);
}

void lookback(const uint tile) {
    if (own_subgroup == 0 && ends_group(tile)) {
        publish_group(tile);
    }
#if LOOKBACK == LOOKBACK_TWO_LEVEL
    const uint first_own = tile / GROUP_TILES * GROUP_TILES;
    const uint own = tile - first_own;
    const uint predecessors = own + tile / GROUP_TILES;
#else
    const uint first_own = 0u;
    const uint own = tile;
    const uint predecessors = own;
#endif
    Element share = identity();
    uint rounds = 0u;
    uint next = invocation_rank();
    // Subgroups go round together until none of their invocations waits, but only those that wait look again.
    while (subgroupAny(next < predecessors)) {
        if (next < predecessors) {
            Element value;
            bool ready;
#if LOOKBACK == LOOKBACK_TWO_LEVEL
            if (next >= own) {
                const GroupWord word = load_group(next - own);
                ready = group_is_whole(word);
                value = group_total(word);
            } else
#endif
            {
                const StateWord word = load_state(first_own + next);
                ready = word_state(word) != INVALID;
                value = word_value(word);
            }
            if (ready) {
                share = combine(share, value);
                next += WORKGROUP_SIZE;
            } else {
                back_off(rounds);
            }
        }
    }
    give_share(share);
}
