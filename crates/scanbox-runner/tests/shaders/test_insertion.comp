#version 460
// Test: the order of tile states. Each tile goes through three insertions and a store, as the digits of its index
// say, and every word that is seen on the way is compared with what the highest state until then makes of it. The
// output is the input where nothing was wrong.
//
// A digit is no insertion (0), AGGREGATE (1) or INCLUSIVE (2); the last one says what the owner stores behind the
// insertions, and an AGGREGATE that is inserted after that changes nothing but an INVALID one. The two values of a
// tile are any, so that the one of the lower state is the greater one in half of the tiles.

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

// The bits that every tile state carries.
const uint VALUE_MASK = 0x3fffffffu;

uint value_of(const uint tile, const uint state) {
    return ((tile + 1u) * (state == AGGREGATE ? 2654435761u : 2246822519u)) & VALUE_MASK;
}

// Whether a word is what a tile in this state has.
bool is_state(const StateWord word, const uint tile, const uint state) {
    return word_state(word) == state && (state == INVALID || word_value(word) == value_of(tile, state));
}

bool insertion_is_right(const uint tile, const uint state, inout uint highest) {
    const StateWord before = insert_state(tile, state, value_of(tile, state));
    bool good = was_invalid(before) == (highest == INVALID) && is_state(before, tile, highest);
    highest = max(highest, state);
    return good && is_state(load_state(tile), tile, highest);
}

bool passes(const uint tile) {
    uint highest = INVALID;
    bool good = is_state(load_state(tile), tile, INVALID);
    uint digits = tile;
    for (uint turn = 0u; turn < 3u; ++turn) {
        const uint state = digits % 3u;
        digits /= 3u;
        if (state != INVALID) {
            good = insertion_is_right(tile, state, highest) && good;
        }
    }
    // The owner stores AGGREGATE only while nobody else can have got further, and INCLUSIVE over anything.
    const uint stored = digits % 3u;
    if (stored == INCLUSIVE || (stored == AGGREGATE && highest != INCLUSIVE)) {
        publish(tile, stored, value_of(tile, stored));
        highest = max(highest, stored);
        good = is_state(load_state(tile), tile, highest) && good;
    }
    return insertion_is_right(tile, AGGREGATE, highest) && good;
}

MAIN {
    const uint tile = take_tile();
    if (tile >= params.n || invocation_rank() != 0u) {
        return;
    }
    const bool good = passes(tile);
    const Element own = params.source.at[tile];
    params.target.at[tile] = good ? own : ~own;
}
