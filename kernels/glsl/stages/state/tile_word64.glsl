// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile state: one 64-bit word. Bits 63..34 epoch, 33..32 state, 31..0 value. Exact for every value of 32 bits; larger
// ones take several such words (stages/state/tile_parts.glsl).
//
// A word of another epoch is INVALID: nothing has to be cleared between calls. Where calls find zeros the epoch is
// constant, and zeros are of another one.
// Needs: shaderInt64, shaderBufferInt64Atomics.

#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

#define StateWord uint64_t

const uint STATE_WORDS = 2u;  // of 4 bytes

layout(buffer_reference, std430, buffer_reference_align = 8) buffer TileStates {
    StateWord at[];
};

#include "stages/state/late.glsl"

StateWord state_word(const uint state, const Element value) {
    return (uint64_t((EPOCH << 2) | state) << 32) | uint64_t(element_word(value));
}

uint word_state(const StateWord word) {
    const uint tag = uint(word >> 32);
    return (tag >> 2) == EPOCH ? (tag & 3u) : INVALID;
}

Element word_value(const StateWord word) {
    return element_of_word(uint(word));
}

#if LATE
StateWord early_word(const StateWord word, const uint early, const uint index) {
    return early == 0u ? word : (uint64_t(earlier_tag(index)) << 32) | uint64_t(EARLIER_VALUE);
}
#endif
