// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: parallel (thesis 3.4). A subgroup looks at a window of as many tiles as it has invocations, and all of it
// looks again where one tile blocks it. lookback/wide.glsl with a width of 1 would be another kernel: it looks again at
// what blocks alone.
// Result valid in: all invocations of the subgroup.

#include "stages/lookback/window.glsl"

Element find_prefix(const uint tile) {
    Element prefix = identity();
    uint rounds = 0u;
    uint window_end = tile;
    bool found = false;
    while (!found) {
        Element value;
        uint last_inclusive;
        uint last_invalid;
        look_at_window(window_end, value, last_inclusive, last_invalid);
        if (last_invalid <= last_inclusive) {
            found = add_window(window_end, prefix, value, last_inclusive);
        } else {
            count_spins(1u);
            back_off(rounds);
        }
    }
    return prefix;
}
