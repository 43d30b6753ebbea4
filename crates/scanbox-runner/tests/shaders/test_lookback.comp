#version 460
// Test: ticket, tile state, group state and lookback alone. The total of tile i is element i of the input, so the
// output is the scan of the input.
//
// Tiles take different times before they publish, so that lookbacks meet every mixture of states.

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
    uint delay;        // rounds that the slowest tile waits
    uint apart;        // of so many tiles one publishes its inclusive prefix
)

#define ELEMENTS params.n
#include "stages/tile/tile_order.glsl"
#include "stages/state/tile_state.glsl"
#include "stages/lookback/back_off.glsl"
#include "stages/state/group_state.glsl"

Element private_total;

Element block_total() {
    return private_total;
}

Element block_prefix() {
    return identity();
}

// Where workgroups run one after the other, the tile before the own one always has its inclusive prefix, and no
// lookback would ever go further. So not every tile says that it has one.
void publish_of_few(const uint tile, const uint state, const Element value) {
    if (state != INCLUSIVE || tile % params.apart == 0u) {
        publish(tile, state, value);
    }
}

#define publish publish_of_few
#include "stages/lookback/lookback.glsl"

// Takes a while, and returns 0 in a way that no compiler knows.
uint wait(const uint tile) {
    uint x = tile * 2654435761u;
    const uint rounds = params.delay == 0u ? 0u : (x >> 16) % params.delay;
    for (uint i = 0u; i < rounds; ++i) {
        x = x * 1664525u + 1013904223u;
    }
    return x == params.n ? 0u : x & 0u;
}

MAIN {
    clear_stale_groups();
    const uint tile = take_tile();
    if (tile >= params.n) {
        return;
    }
    private_total = params.source.at[tile + wait(tile)];
    if (invocation_rank() == 0u) {
        publish_total(tile, private_total);
    }
    lookback(tile);
    barrier();
    const Element prefix = tile_prefix();
    if (invocation_rank() == WORKGROUP_SIZE - 1) {
        params.target.at[tile] = combine(prefix, private_total);
    }
}
