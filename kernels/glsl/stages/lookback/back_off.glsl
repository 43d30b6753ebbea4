// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: back-off. What an invocation does before it looks again at a state that is not there yet.
//
// back_off(rounds): rounds counts the looks in vain so far; starts at 0.
// Shared bytes: 4, none without back-off. There is no sleep in GLSL: the pause is atomic work in shared memory, which
// costs the memory system of the device nothing and cannot be optimised away.

#if BACK_OFF == BACK_OFF_NONE

void back_off(inout uint rounds) {
}

#else

const uint PAUSE_MAX = 64u;  // about 2 microseconds on an NVIDIA H200

shared uint shared_pause;

void back_off(inout uint rounds) {
#if BACK_OFF == BACK_OFF_FIXED
    const uint pause = uint(PAUSE_ROUNDS);
#else
    const uint pause = min(1u << min(rounds, 31u), PAUSE_MAX);
#endif
    for (uint i = 0u; i < pause; ++i) {
        atomicAdd(shared_pause, 1u, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
    rounds += 1u;
}

#endif
