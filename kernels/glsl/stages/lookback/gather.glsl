// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: gather. All invocations together read the totals of all predecessors in one hop: those of every tile, or,
// in two levels, those of the tiles of the own group and the sums of all groups before it.
//
// Shared bytes: those of shares. Barriers: 0.

#include "stages/block/shares.glsl"
#include "stages/lookback/run.glsl"

void publish_total(const uint tile, const Element total) {
    publish(tile, AGGREGATE, total);
    add_to_group(tile, total);
}

// What the place `next` among a tile's predecessors stands for. Groups come behind the own tiles, or before them where
// the order matters.
#if LOOKBACK != LOOKBACK_TWO_LEVEL
#define AS_TILE next
#elif IN_ORDER
#define IS_GROUP next < groups
#define AS_GROUP next
#define AS_TILE first_own + (next - groups)
#else
#define IS_GROUP next >= own
#define AS_GROUP next - own
#define AS_TILE first_own + next
#endif

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
    const uint groups = tile / GROUP_TILES;
    const uint predecessors = own + groups;
#else
    const uint predecessors = tile;
#endif
    Element share = identity();
    uint rounds = 0u;
    uint next = RUN_BEGIN(0u, predecessors, invocation_rank(), WORKGROUP_SIZE);
    const uint end = RUN_END(0u, predecessors, invocation_rank(), WORKGROUP_SIZE);
    // Subgroups go round together until none of their invocations waits, but only those that wait look again.
    while (subgroupAny(next < end)) {
        if (next < end) {
            Element value;
            bool ready;
#if LOOKBACK == LOOKBACK_TWO_LEVEL
            if (IS_GROUP) {
                const GroupWord word = load_group(AS_GROUP);
                ready = group_is_whole(word);
                value = group_total(word);
            } else
#endif
            {
                const StateWord word = load_state(AS_TILE);
                ready = word_state(word) != INVALID;
                value = word_value(word);
            }
            if (ready) {
                share = combine(share, value);
                next += RUN_STEP(end, WORKGROUP_SIZE);
            } else {
                back_off(rounds);
            }
        }
    }
    give_share(share);
}
