// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback, part of: the window of a subgroup, as many tiles as it has invocations (thesis 3.4); the later tile is in
// the later lane. Lanes before the last inclusive prefix of the window do not matter, so only a lane behind it that has
// seen nothing yet keeps the subgroup from going on. Called by whole subgroups.
struct Window {
    value: Element,
    // The last lane with such a state, in all invocations; lane numbers from 1, so that 0 means none.
    last_inclusive: u32,
    last_invalid: u32,
}

fn look_at_window(end: u32) -> Window {
    // Lanes that would stand before tile 0 hold the identity and block nobody.
    var seen = TileState(AGGREGATE, identity(), false);
    if (end + lane >= subgroup_length) {
        seen = load_state(end + lane - subgroup_length);
    }
    let last_inclusive = subgroupMax(select(0u, lane + 1u, seen.state == INCLUSIVE));
    let last_invalid = subgroupMax(select(0u, lane + 1u, seen.state == INVALID));
    return Window(seen.value, last_inclusive, last_invalid);
}

// What of a window counts, from this lane on (from 0), combined.
fn rest_of_window(window: Window, first: u32) -> Element {
    return row_reduce(select(identity(), window.value, lane >= first));
}
