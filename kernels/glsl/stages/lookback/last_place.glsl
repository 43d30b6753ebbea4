// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback, part of: the last of the places that the invocations of a subgroup name. The places of a window are
// numbered from 1, row after row of as many as the subgroup has invocations; each invocation names one in its own
// column, or 0.
//
// last_place(own): the largest, in all invocations. Called by whole subgroups.

#if OPERATOR == OPERATOR_USER && NVIDIA_REDUCTIONS_BESIDE_SHUFFLES

uint last_place(const uint own) {
    uint last = 0u;
    [[unroll]] for (uint row = 0u; row < LOOKBACK_WIDTH; ++row) {
        // Whoever names a later row is among these too, and decides in its turn.
        const uvec4 lanes = subgroupBallot(own > row * SUBGROUP_SIZE);
        [[unroll]] for (uint word = 0u; word < (SUBGROUP_SIZE + 31u) / 32u; ++word) {
            const uint place = row * SUBGROUP_SIZE + 32u * word + uint(findMSB(lanes[word])) + 1u;
            last = lanes[word] != 0u ? place : last;
        }
    }
    return last;
}

#else

#define last_place(own) subgroupMax(own)

#endif
