// Tile state: one 32-bit word. Bits 31..2 value, 1..0 state. Exact only for values below 2^30 (thesis 4.6), so the
// planner allows it only for inputs whose total fits. Words must be cleared before each call.

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TileStates {
    uint at[];
};

const uint STATE_WORDS = 1u;  // of 4 bytes

void publish(const uint tile, const uint state, const Element value) {
    TileStates states = TileStates(params.states_address);
    atomicStore(states.at[tile * STATE_STRIDE], (value << 2) | state, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

uint read_state(const uint tile, out Element value) {
    TileStates states = TileStates(params.states_address);
    const uint word = atomicLoad(states.at[tile * STATE_STRIDE], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    value = word >> 2;
    return word & 3u;
}
