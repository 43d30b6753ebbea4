// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: tile state. How a workgroup tells the others about its tile. With the tile order, the only stage with atomics
// on memory that workgroups share.
//
// publish(tile, state, value): one invocation publishes, by a store.
// insert_state(tile, state, value): one invocation publishes for a tile that is not its own, by an atomic maximum.
//   Returns the word that was there; was_invalid(word) says whether nothing had been published, so that the insertion
//   counts.
// load_state(tile): the word of a tile. Nothing is done with it yet, so that several loads can be under way together.
// word_state(word), word_value(word): the state in it and, unless that is INVALID, its value.
// publish_at(address, index, state, value), load_state_at(address, index): the same for states that stand elsewhere.
// clear_state_at(address, index): one invocation makes it what no call has written.
// no_word(): some word, for places where nothing is loaded.
//
// State and value share one word (or each of several words has the state), so relaxed atomics are enough: whoever sees
// the state sees the value (thesis 4.6, one-field descriptor). No fence is needed on the lookback path, because nothing
// else is passed between workgroups. The epoch stands in the highest bits of a word and the state below it, so words
// are ordered as numbers: a later epoch is greater than an earlier one, INCLUSIVE than AGGREGATE than INVALID. A
// maximum never takes a state back. Loads are atomic and volatile: others could be hoisted out of a polling loop.
// Builds with LATE workgroups publish less, and see less (stages/state/late.glsl).
// STATE_STRIDE: words from one state to the next, 1 being the densest.

#define POLLED (gl_SemanticsRelaxed | gl_SemanticsVolatile)

const uint INVALID = 0u;    // nothing published in this call
const uint AGGREGATE = 1u;  // the value is the total of the tile
const uint INCLUSIVE = 2u;  // the value is the total of the tile and of all before it

#if TILE_STATE == TILE_STATE_PACKED
#include "stages/state/tile_packed.glsl"
#elif TILE_STATE == TILE_STATE_WORD64 && ELEMENT_BYTES == 4
#include "stages/state/tile_word64.glsl"
#else
#include "stages/state/tile_parts.glsl"
#endif

#if TILE_STATE == TILE_STATE_PACKED || (TILE_STATE == TILE_STATE_WORD64 && ELEMENT_BYTES == 4)

StateWord no_word() {
    return StateWord(0);
}

void publish_at(const uvec2 address, const uint index, const uint state, const Element value) {
    TileStates states = TileStates(address);
    atomicStore(states.at[index * STATE_STRIDE], state_word(state, value), gl_ScopeDevice, gl_StorageSemanticsNone,
                gl_SemanticsRelaxed);
}

#if N_VARIES
void clear_state_at(const uvec2 address, const uint index) {
    TileStates states = TileStates(address);
    atomicStore(states.at[index * STATE_STRIDE], StateWord(0), gl_ScopeDevice, gl_StorageSemanticsNone,
                gl_SemanticsRelaxed);
}
#endif

StateWord insert_state(const uint tile, const uint state, const Element value) {
#if LATE
    if (is_lost(tile)) {
        return load_state_at(STATES_ADDRESS, tile);
    }
#endif
    TileStates states = TileStates(STATES_ADDRESS);
    return atomicMax(states.at[tile * STATE_STRIDE], state_word(state, value), gl_ScopeDevice, gl_StorageSemanticsNone,
                     gl_SemanticsRelaxed);
}

bool was_invalid(const StateWord before) {
    return word_state(before) == INVALID;
}

StateWord load_state_at(const uvec2 address, const uint index) {
    TileStates states = TileStates(address);
#if LATE
    const StateWord word = atomicLoad(states.at[index * STATE_STRIDE], gl_ScopeDevice, gl_StorageSemanticsNone, POLLED);
    return early_word(word, earliness(index), index);
#else
    return atomicLoad(states.at[index * STATE_STRIDE], gl_ScopeDevice, gl_StorageSemanticsNone, POLLED);
#endif
}

#endif

void publish(const uint tile, const uint state, const Element value) {
#if LATE
    if (is_withheld(tile, state)) {
        return;
    }
#endif
    publish_at(STATES_ADDRESS, tile, state, value);
}

StateWord load_state(const uint tile) {
    return load_state_at(STATES_ADDRESS, tile);
}
