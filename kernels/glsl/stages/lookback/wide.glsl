// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: parallel, with LOOKBACK_WIDTH tiles per invocation: the thesis's proposals of a longer lookback range and
// of several descriptors per invocation. The window is LOOKBACK_WIDTH rows of as many tiles as a subgroup has
// invocations; all loads of an invocation are under way together, and only an invocation that blocks the others looks
// again.
//
// The words of an invocation stand a row apart, never side by side (NVIDIA_VECTOR_LOADS).
// Result valid in: all invocations of the subgroup.

#include "stages/lookback/last_place.glsl"

const uint WINDOW = SUBGROUP_SIZE * LOOKBACK_WIDTH;

Element find_prefix(const uint tile) {
    const uint lane = own_lane;
    Element prefix = identity();
    uint rounds = 0u;
    uint window_end = tile;
    bool found = false;
    while (!found) {
        uint states[LOOKBACK_WIDTH];
        Element values[LOOKBACK_WIDTH];
        [[unroll]] for (uint row = 0u; row < LOOKBACK_WIDTH; ++row) {
            // Places that would stand before tile 0 hold the identity and block nobody.
            const bool exists = window_end + row * SUBGROUP_SIZE + lane >= WINDOW;
            states[row] = exists ? INVALID : AGGREGATE;
            values[row] = identity();
        }
        uint last_inclusive = 0u;
        bool blocked = true;
        while (blocked) {
            StateWord words[LOOKBACK_WIDTH];
            [[unroll]] for (uint row = 0u; row < LOOKBACK_WIDTH; ++row) {
                words[row] = no_word();
                const uint place = row * SUBGROUP_SIZE + lane;
                // What an inclusive prefix further on makes superfluous is not looked at again.
                if (states[row] == INVALID && place >= last_inclusive) {
                    words[row] = load_state(window_end + place - WINDOW);
                }
            }
            // Places are numbered from 1, so that 0 means none.
            uint own_inclusive = 0u;
            uint own_invalid = 0u;
            [[unroll]] for (uint row = 0u; row < LOOKBACK_WIDTH; ++row) {
                if (states[row] == INVALID) {
                    states[row] = word_state(words[row]);
                    values[row] = word_value(words[row]);
                }
                const uint place = row * SUBGROUP_SIZE + lane + 1u;
                own_inclusive = states[row] == INCLUSIVE ? place : own_inclusive;
                own_invalid = states[row] == INVALID ? place : own_invalid;
            }
            last_inclusive = last_place(own_inclusive);
            blocked = last_place(own_invalid) > last_inclusive;
            if (blocked) {
                count_spins(1u);
                back_off(rounds);
            }
        }
        // The later row comes first: what is before it is put before it.
        [[unroll]] for (uint row = LOOKBACK_WIDTH; row > 0u; --row) {
            const bool counts = (row - 1u) * SUBGROUP_SIZE + lane + 1u >= last_inclusive;
            prefix = combine(subgroup_reduce(VALUE_IF(counts, values[row - 1u])), prefix);
        }
        found = last_inclusive != 0u;
        count_tiles(WINDOW - (max(last_inclusive, 1u) - 1u));
        window_end -= WINDOW;
    }
    return prefix;
}
