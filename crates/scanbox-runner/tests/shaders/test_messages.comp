#version 460
// Test: message passing through the tile state. Even tiles publish MESSAGES messages one after another; odd tiles poll
// the tile before them and check each word that they see. The output is the input where nothing was wrong.
//
// Message i has state 1 + i % 2 and a value that is i, told from that of other tiles and epochs by an offset. A word
// whose state and value come from two messages, an earlier message after a later one, or a word of another call is
// wrong.

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

const uint MESSAGES = 200u;
// The bits that every tile state carries.
const uint VALUE_MASK = 0x3fffffffu;

uint value_of(const uint tile, const uint message) {
    return ((tile * 2654435761u) ^ (params.epoch * 2246822519u)) + message & VALUE_MASK;
}

bool passes(const uint tile) {
    uint last = 0u;
    bool good = true;
    while (good && last + 1u < MESSAGES) {
        const StateWord word = load_state(tile);
        const uint state = word_state(word);
        if (state != INVALID) {
            const uint message = (word_value(word) - value_of(tile, 0u)) & VALUE_MASK;
            good = message < MESSAGES && message >= last && state == 1u + message % 2u;
            last = message;
        }
    }
    return good;
}

MAIN {
    const uint tile = take_tile();
    if (tile >= params.n || invocation_rank() != 0u) {
        return;
    }
    bool good = true;
    if (tile % 2u == 0u) {
        for (uint message = 0u; message < MESSAGES; ++message) {
            publish(tile, 1u + message % 2u, value_of(tile, message));
        }
    } else {
        good = passes(tile - 1u);
    }
    const Element own = params.source.at[tile];
    params.target.at[tile] = good ? own : ~own;
}
