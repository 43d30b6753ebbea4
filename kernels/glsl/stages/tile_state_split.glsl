// Tile state: several 32-bit words, 16 bits of the value in each. Bits 31..18 epoch, 17..16 state, 15..0 value. Exact for every
// value, of 32 bits to 16 bytes; needs no 64-bit atomics.
//
// Whoever sees the same epoch and state in all words sees the parts of one value, because no two values are published with
// the same epoch and state, whoever publishes them: relaxed atomics are enough. Until then the state counts as INVALID.
// Source: Smith, Levien and Owens, "Decoupled Fallback: A Portable Single-Pass GPU Scan" (2025).

const uint STATE_WORDS = ELEMENT_BYTES / 2u;  // of 4 bytes

struct StateWord {
    uint parts[STATE_WORDS];
};

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TileStates {
    uint at[];
};

StateWord no_word() {
    StateWord word;
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        word.parts[part] = 0u;
    }
    return word;
}

StateWord state_word(const uint state, const Element value) {
    const ElementWords words = element_words(value);
    const uint tag = (params.epoch << 2) | state;
    StateWord word;
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        const uint bits = (words[part / 2u] >> (16u * (part % 2u))) & 0xffffu;
        word.parts[part] = (tag << 16) | bits;
    }
    return word;
}

void publish_at(const uvec2 address, const uint index, const uint state, const Element value) {
    TileStates states = TileStates(address);
    const StateWord word = state_word(state, value);
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        atomicStore(states.at[index * STATE_STRIDE * STATE_WORDS + part], word.parts[part], gl_ScopeDevice,
                    gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}

StateWord insert_state(const uint tile, const uint state, const Element value) {
    TileStates states = TileStates(params.states_address);
    const StateWord word = state_word(state, value);
    StateWord before;
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        before.parts[part] = atomicMax(states.at[tile * STATE_STRIDE * STATE_WORDS + part], word.parts[part],
                                       gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
    return before;
}

bool was_invalid(const StateWord before) {
    // The first part decides whose insertion it was: exactly one of those that find nothing there.
    const uint tag = before.parts[0] >> 16;
    return tag >> 2 != params.epoch || (tag & 3u) == INVALID;
}

StateWord load_state_at(const uvec2 address, const uint index) {
    TileStates states = TileStates(address);
    StateWord word;
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        word.parts[part] = atomicLoad(states.at[index * STATE_STRIDE * STATE_WORDS + part], gl_ScopeDevice,
                                      gl_StorageSemanticsNone, POLLED);
    }
    return word;
}

uint word_state(const StateWord word) {
    const uint tag = word.parts[0] >> 16;
    bool agree = tag >> 2 == params.epoch;
    [[unroll]] for (uint part = 1u; part < STATE_WORDS; ++part) {
        agree = agree && word.parts[part] >> 16 == tag;
    }
    return agree ? tag & 3u : INVALID;
}

Element word_value(const StateWord word) {
    ElementWords words = ElementWords(0u);
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        words[part / 2u] |= (word.parts[part] & 0xffffu) << (16u * (part % 2u));
    }
    return element_of_words(words);
}
