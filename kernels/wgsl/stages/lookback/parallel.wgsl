// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: parallel (thesis 3.4). A subgroup looks at a window of as many tiles as it has invocations.
#include "stages/lookback/window.wgsl"

fn find_prefix(tile: u32) -> Element {
    var prefix = identity();
    var end = tile;
    var found = false;
    while (!found) {
        let window = look_at_window(end);
        if (window.last_invalid <= window.last_inclusive) {
            let first = max(window.last_inclusive, 1u) - 1u;
            prefix = combine(rest_of_window(window, first), prefix);
            found = window.last_inclusive != 0u;
            count_tiles(subgroup_length - first);
            end -= subgroup_length;
        } else {
            count_spins(1u);
        }
    }
    return prefix;
}
