// Tile state: one 32-bit word. Bits 31..2 value, 1..0 state. Exact only for values below 2^30 (thesis 4.6), so the
// planner allows it only for inputs whose total fits. Words must be zero before each call.

#define StateWord uint

const uint STATE_WORDS = 1u;  // of 4 bytes

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TileStates {
    StateWord at[];
};

StateWord state_word(const uint state, const Element value) {
    return (value << 2) | state;
}

uint word_state(const StateWord word) {
    return word & 3u;
}

Element word_value(const StateWord word) {
    return word >> 2;
}
