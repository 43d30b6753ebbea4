// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile state: one 32-bit word. Bits 31..30 state, 29..0 value. Exact only for values below 2^30 (thesis 4.6), so the
// planner allows it only for inputs whose total fits. Words must be zero before each call.

#define StateWord uint

const uint STATE_WORDS = 1u;  // of 4 bytes
const uint PACKED_VALUE = 0x3fffffffu;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TileStates {
    StateWord at[];
};

#include "stages/state/late.glsl"

StateWord state_word(const uint state, const Element value) {
    return (state << 30) | (value & PACKED_VALUE);
}

uint word_state(const StateWord word) {
    return word >> 30;
}

Element word_value(const StateWord word) {
    return word & PACKED_VALUE;
}

#if LATE
StateWord early_word(const StateWord word, const uint early, const uint index) {
    return early == 0u ? word : 0u;
}
#endif
