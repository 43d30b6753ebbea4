// Lookback: parallel (thesis 3.4). A subgroup looks at a window of LOOKBACK_WIDTH tiles per invocation; the later tile is in
// the later invocation. Tiles before the last inclusive prefix of the window do not matter, so only an invocation behind it
// that has seen nothing yet looks again. The widths above 1 are the thesis's proposal of a vectorised descriptor array.
// Result valid in: all invocations of the subgroup.

const uint WINDOW = SUBGROUP_SIZE * LOOKBACK_WIDTH;

Element find_prefix(const uint tile) {
    const uint lane = gl_SubgroupInvocationID;
    Element prefix = identity();
    uint rounds = 0u;
    uint window_end = tile;
    bool found = false;
    while (!found) {
        StateWord words[LOOKBACK_WIDTH];
        bool exists[LOOKBACK_WIDTH];
        bool looks[LOOKBACK_WIDTH];
        [[unroll]] for (uint i = 0u; i < LOOKBACK_WIDTH; ++i) {
            // Places that would stand before tile 0 hold the identity and block nobody.
            exists[i] = window_end + lane * LOOKBACK_WIDTH + i >= WINDOW;
            looks[i] = exists[i];
        }
        uint last_inclusive = 0u;
        bool blocked = true;
        while (blocked) {
            [[unroll]] for (uint i = 0u; i < LOOKBACK_WIDTH; ++i) {
                if (looks[i]) {
                    words[i] = load_state(window_end + lane * LOOKBACK_WIDTH + i - WINDOW);
                }
            }
            // Places are numbered from 1, so that 0 means none.
            uint own_inclusive = 0u;
            uint own_invalid = 0u;
            [[unroll]] for (uint i = 0u; i < LOOKBACK_WIDTH; ++i) {
                const uint state = exists[i] ? word_state(words[i]) : AGGREGATE;
                const uint place = lane * LOOKBACK_WIDTH + i + 1u;
                own_inclusive = state == INCLUSIVE ? place : own_inclusive;
                own_invalid = state == INVALID ? place : own_invalid;
                looks[i] = state == INVALID;
            }
            last_inclusive = subgroupMax(own_inclusive);
            blocked = subgroupMax(own_invalid) > last_inclusive;
            [[unroll]] for (uint i = 0u; i < LOOKBACK_WIDTH; ++i) {
                // What an inclusive prefix further on makes superfluous is not looked at again.
                looks[i] = looks[i] && lane * LOOKBACK_WIDTH + i >= last_inclusive;
            }
            if (blocked) {
                back_off(rounds);
            }
        }
        Element share = identity();
        [[unroll]] for (uint i = 0u; i < LOOKBACK_WIDTH; ++i) {
            const bool counts = exists[i] && lane * LOOKBACK_WIDTH + i + 1u >= last_inclusive;
            share = combine(share, counts ? word_value(words[i]) : identity());
        }
        prefix = combine(subgroup_reduce(share), prefix);
        found = last_inclusive != 0u;
        window_end -= WINDOW;
    }
    return prefix;
}
