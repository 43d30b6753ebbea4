#version 460
// Test: a tile state of several words, some of which have come and others have not. Each tile looks at a state whose
// words say what the digits of its index say. The output is the input where nothing was wrong.
//
// A digit is INVALID (0), AGGREGATE (1) or INCLUSIVE (2), or INCLUSIVE of the call before (3). Words are there together
// only where all of them say the same of this call.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#define REQUIRE_TILE_STATE
#include "kernel.glsl"
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"

PUSH_CONSTANTS(
    InputVectors source;
    OutputVectors target;
    uvec2 ticket_address;
    uvec2 groups_address;
    uvec2 states_address;
    uint n;            // tiles
    uint epoch;
    uint ticket_base;
    uint bank;
    uint stale_groups;
)

#define ELEMENTS params.n
#include "stages/tile/tile_order.glsl"
#include "stages/state/tile_state.glsl"

const uint DIGITS = 4u;
// An epoch, among the bits of a word.
const PartWord ONE_EPOCH = PartWord(4) << PART_BITS;

// No two states have a word in common.
Element value_of(const Element own, const uint state) {
    return state == INCLUSIVE ? ~own : own;
}

StateWord torn_state(const uint tile, const Element own) {
    StateWord torn;
    uint digits = tile;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        const uint digit = digits % DIGITS;
        digits /= DIGITS;
        const uint state = min(digit, INCLUSIVE);
        torn.parts[part] = state_word(state, value_of(own, state)).parts[part];
        if (digit > INCLUSIVE) {
            torn.parts[part] -= ONE_EPOCH;
        }
    }
    return torn;
}

// What all words of a tile say, where they say the same.
uint common_state(const uint tile) {
    const uint first = tile % DIGITS;
    bool same = true;
    uint digits = tile;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        same = same && digits % DIGITS == first;
        digits /= DIGITS;
    }
    return same && first <= INCLUSIVE ? first : INVALID;
}

bool passes(const uint tile, const Element own) {
    const StateWord torn = torn_state(tile, own);
    const uint state = common_state(tile);
    return word_state(torn) == state && (state == INVALID || word_value(torn) == value_of(own, state));
}

MAIN {
    const uint tile = take_tile();
    if (tile >= params.n || invocation_rank() != 0u) {
        return;
    }
    const Element own = params.source.at[tile];
    params.target.at[tile] = passes(tile, own) ? own : ~own;
}
