// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: sequential (thesis 3.3). One invocation walks back tile by tile until it meets an inclusive prefix.
// Result valid in: invocation 0 of the subgroup.

Element find_prefix(const uint tile) {
    Element prefix = identity();
    if (own_lane == 0) {
        uint predecessor = tile - 1u;
        uint rounds = 0u;
        bool found = false;
        while (!found) {
            const StateWord word = load_state(predecessor);
            const uint state = word_state(word);
            if (state != INVALID) {
                prefix = combine(word_value(word), prefix);
                found = state == INCLUSIVE;
                // Tile 0 publishes nothing but its inclusive prefix, so this never goes below it.
                predecessor -= 1u;
                count_tiles(1u);
            } else {
                count_spins(1u);
                back_off(rounds);
            }
        }
    }
    return prefix;
}
