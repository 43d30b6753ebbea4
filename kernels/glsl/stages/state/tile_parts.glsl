// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile state: several words, each with the epoch, the state and a part of the value. Exact for every value, to 16
// bytes.
//
// TILE_STATE_SPLIT: words of 32 bits. Bits 31..18 epoch, 17..16 state, 15..0 value. Needs no 64-bit atomics.
// TILE_STATE_WORD64: words of 64 bits. Bits 63..34 epoch, 33..32 state, 31..0 value. Half as many words to ask for.
//
// Whoever sees the same epoch and state in all words sees the parts of one value, because no two values are published
// with the same epoch and state, whoever publishes them: relaxed atomics are enough. Until then the state counts as
// INVALID.
// Source: Smith, Levien and Owens, "Decoupled Fallback: A Portable Single-Pass GPU Scan" (2025), for words of 32 bits.

#if TILE_STATE == TILE_STATE_SPLIT
#define PartWord uint
const uint PART_BITS = 16u;
#else
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define PartWord uint64_t
const uint PART_BITS = 32u;
#endif

const uint PARTS = ELEMENT_BYTES * 8u / PART_BITS;
const uint STATE_WORDS = ELEMENT_BYTES / 2u;  // of 4 bytes

struct StateWord {
    PartWord parts[PARTS];
};

layout(buffer_reference, std430, buffer_reference_align = 8) buffer TileStates {
    PartWord at[];
};

#include "stages/state/late.glsl"

uint part_place(const uint index, const uint part) {
    return in_rows(index, part, PARTS) * STATE_STRIDE;
}

StateWord no_word() {
    StateWord word;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        word.parts[part] = PartWord(0);
    }
    return word;
}

StateWord state_word(const uint state, const Element value) {
    const ElementWords words = element_words(value);
    const uint tag = (EPOCH << 2) | state;
    StateWord word;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
#if TILE_STATE == TILE_STATE_SPLIT
        const uint bits = (words[part / 2u] >> (16u * (part % 2u))) & 0xffffu;
#else
        const uint bits = words[part];
#endif
        word.parts[part] = (PartWord(tag) << PART_BITS) | PartWord(bits);
    }
    return word;
}

void publish_at(const uvec2 address, const uint index, const uint state, const Element value) {
    TileStates states = TileStates(address);
    const StateWord word = state_word(state, value);
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        atomicStore(states.at[part_place(index, part)], word.parts[part], gl_ScopeDevice, gl_StorageSemanticsNone,
                    gl_SemanticsRelaxed);
    }
}

#if N_VARIES
void clear_state_at(const uvec2 address, const uint index) {
    TileStates states = TileStates(address);
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        atomicStore(states.at[part_place(index, part)], PartWord(0), gl_ScopeDevice, gl_StorageSemanticsNone,
                    gl_SemanticsRelaxed);
    }
}
#endif

StateWord insert_state(const uint tile, const uint state, const Element value) {
#if LATE
    if (is_lost(tile)) {
        return load_state_at(STATES_ADDRESS, tile);
    }
#endif
    TileStates states = TileStates(STATES_ADDRESS);
    const StateWord word = state_word(state, value);
    StateWord before;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        before.parts[part] = atomicMax(states.at[part_place(tile, part)], word.parts[part], gl_ScopeDevice,
                                       gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
    return before;
}

uint part_tag(const PartWord part) {
    return uint(part >> PART_BITS);
}

bool was_invalid(const StateWord before) {
    // The first part decides whose insertion it was: exactly one of those that find nothing there.
    const uint tag = part_tag(before.parts[0]);
    return tag >> 2 != EPOCH || (tag & 3u) == INVALID;
}

StateWord load_state_at(const uvec2 address, const uint index) {
    TileStates states = TileStates(address);
    StateWord word;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        word.parts[part] =
            atomicLoad(states.at[part_place(index, part)], gl_ScopeDevice, gl_StorageSemanticsNone, POLLED);
    }
#if LATE
    return early_word(word, earliness(index), index);
#else
    return word;
#endif
}

uint word_state(const StateWord word) {
    const uint tag = part_tag(word.parts[0]);
    bool agree = tag >> 2 == EPOCH;
    [[unroll]] for (uint part = 1u; part < PARTS; ++part) {
        agree = agree && part_tag(word.parts[part]) == tag;
    }
    return agree ? tag & 3u : INVALID;
}

Element word_value(const StateWord word) {
    ElementWords words = ElementWords(0u);
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
#if TILE_STATE == TILE_STATE_SPLIT
        words[part / 2u] |= (word.parts[part] & 0xffffu) << (16u * (part % 2u));
#else
        words[part] = uint(word.parts[part]);
#endif
    }
    return element_of_words(words);
}

#if LATE
// Of a state that is not whole the parts are what they are: others may be under way to it.
StateWord early_word(const StateWord word, const uint early, const uint index) {
    StateWord seen = word;
    const bool whole = word_state(word) != INVALID;
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {
        const bool is_one = part == index % PARTS;
        // One of them alone, or all others.
        const bool is_old = is_one == ((index / PARTS) % 2u == 0u);
        if (early == 1u || (early == 2u && is_old)) {
            seen.parts[part] = (PartWord(earlier_tag(index)) << PART_BITS) | PartWord(EARLIER_VALUE);
        } else if (early == 3u && is_one && whole) {
            seen.parts[part] ^= (PartWord(AGGREGATE ^ INCLUSIVE) << PART_BITS) | PartWord(0x1234u);
        }
    }
    return seen;
}
#endif
