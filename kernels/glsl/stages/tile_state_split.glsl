// Tile state: several 32-bit words, 16 bits of the value in each. Bits 31..16 value, 15..2 epoch, 1..0 state. Exact for every
// value, of 32 bits to 16 bytes; needs no 64-bit atomics.
//
// Whoever sees the same epoch and state in all words sees the parts of one value, because no two values are published with
// the same epoch and state: relaxed atomics are enough. Until then the state counts as INVALID.
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

void publish_at(const uvec2 address, const uint index, const uint state, const Element value) {
    TileStates states = TileStates(address);
    const ElementWords words = element_words(value);
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        const uint bits = (words[part / 2u] >> (16u * (part % 2u))) & 0xffffu;
        const uint word = (bits << 16) | (params.epoch << 2) | state;
        atomicStore(states.at[index * STATE_STRIDE * STATE_WORDS + part], word, gl_ScopeDevice, gl_StorageSemanticsNone,
                    gl_SemanticsRelaxed);
    }
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
    const uint tag = word.parts[0] & 0xffffu;
    bool agree = tag >> 2 == params.epoch;
    [[unroll]] for (uint part = 1u; part < STATE_WORDS; ++part) {
        agree = agree && (word.parts[part] & 0xffffu) == tag;
    }
    return agree ? tag & 3u : INVALID;
}

Element word_value(const StateWord word) {
    ElementWords words = ElementWords(0u);
    [[unroll]] for (uint part = 0u; part < STATE_WORDS; ++part) {
        words[part / 2u] |= (word.parts[part] >> 16) << (16u * (part % 2u));
    }
    return element_of_words(words);
}
