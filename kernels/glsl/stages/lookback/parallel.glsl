// Lookback: parallel (thesis 3.4). A subgroup looks at a window of as many tiles as it has invocations; the later tile
// is in the later lane. Lanes before the last inclusive prefix of the window do not matter, so only a lane behind it
// that has seen nothing yet makes the subgroup look again.
// Result valid in: all invocations of the subgroup.

Element find_prefix(const uint tile) {
    const uint lane = own_lane;
    Element prefix = identity();
    uint rounds = 0u;
    uint window_end = tile;
    bool found = false;
    while (ALIKE(!found)) {
        // Lanes that would stand before tile 0 hold the identity and block nobody.
        const bool exists = window_end + lane >= SUBGROUP_SIZE;
        uint state = AGGREGATE;
        Element value = identity();
        if (exists) {
            const StateWord word = load_state(window_end + lane - SUBGROUP_SIZE);
            state = word_state(word);
            value = word_value(word);
        }
        // Lane numbers from 1, so that 0 means none.
        const uint last_inclusive = subgroupMax(state == INCLUSIVE ? lane + 1u : 0u);
        const uint last_invalid = subgroupMax(state == INVALID ? lane + 1u : 0u);
        if (ALIKE(last_invalid <= last_inclusive)) {
            const bool counts = lane + 1u >= last_inclusive;
            prefix = combine(subgroup_reduce(VALUE_IF(counts, value)), prefix);
            found = last_inclusive != 0u;
            count_tiles(SUBGROUP_SIZE - (max(last_inclusive, 1u) - 1u));
            window_end -= SUBGROUP_SIZE;
        } else {
            count_spins(1u);
            back_off(rounds);
        }
    }
    return prefix;
}
