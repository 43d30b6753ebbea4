// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback, part of: the window of a subgroup, as many tiles as it has invocations (thesis 3.4); the later tile is in
// the later lane. Lanes before the last inclusive prefix of the window do not matter, so only a lane behind it that has
// seen nothing yet keeps the subgroup from going on.
//
// look_at_window(...): looks at the tiles before window_end. value: of the own lane's tile. last_inclusive,
//   last_invalid: the last lane with such a state, in all invocations; lane numbers from 1, so that 0 means none.
// add_window(...): combines what counts of the window with what is behind it, and goes on to the window before.
//   Returns: whether the prefix is whole.
// Called by whole subgroups.

#include "stages/lookback/last_place.glsl"

void look_at_window(const uint window_end, out Element value, out uint last_inclusive, out uint last_invalid) {
    const uint lane = own_lane;
    // Lanes that would stand before tile 0 hold the identity and block nobody.
    const bool exists = window_end + lane >= SUBGROUP_SIZE;
    uint state = AGGREGATE;
    value = identity();
    if (exists) {
        const StateWord word = load_state(window_end + lane - SUBGROUP_SIZE);
        state = word_state(word);
        value = word_value(word);
    }
    last_inclusive = last_place(state == INCLUSIVE ? lane + 1u : 0u);
    last_invalid = last_place(state == INVALID ? lane + 1u : 0u);
}

bool add_window(inout uint window_end, inout Element prefix, const Element value, const uint last_inclusive) {
    const uint lane = own_lane;
    const bool counts = lane + 1u >= last_inclusive;
    prefix = combine(subgroup_reduce(VALUE_IF(counts, value)), prefix);
    const bool found = last_inclusive != 0u;
    count_tiles(SUBGROUP_SIZE - (max(last_inclusive, 1u) - 1u));
    window_end -= SUBGROUP_SIZE;
    return found;
}
