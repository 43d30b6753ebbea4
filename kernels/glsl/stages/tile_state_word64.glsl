// Tile state: one 64-bit word. Bits 63..32 value, 31..2 epoch, 1..0 state. Exact for every 32-bit value.
//
// A word of another epoch is INVALID: nothing has to be cleared between calls. With a fill before each call the epoch
// is constant and the zeros are of another one.
// Needs: shaderInt64, shaderBufferInt64Atomics.

#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(buffer_reference, std430, buffer_reference_align = 8) buffer TileStates {
    uint64_t at[];
};

const uint STATE_WORDS = 2u;  // of 4 bytes

void publish(const uint tile, const uint state, const Element value) {
    TileStates states = TileStates(params.states_address);
    const uint64_t word = (uint64_t(value) << 32) | uint64_t((params.epoch << 2) | state);
    atomicStore(states.at[tile * STATE_STRIDE], word, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

uint read_state(const uint tile, out Element value) {
    TileStates states = TileStates(params.states_address);
    const uint64_t word = atomicLoad(states.at[tile * STATE_STRIDE], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    value = Element(word >> 32);
    const uint tag = uint(word);
    return (tag >> 2) == params.epoch ? (tag & 3u) : INVALID;
}
