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

// The last of the lanes that vote for something, from 1; 0 where none does. Not by subgroupMax: the issue
// nvidia-reductions-beside-shuffles in configs/known_issues.toml.
fn last_lane(votes: vec4<u32>) -> u32 {
    var last = 0u;
#for word in 0..4
        last = select(last, 32u * word + firstLeadingBit(votes[word]) + 1u, votes[word] != 0u);
#endfor
    return last;
}

fn look_at_window(end: u32) -> Window {
    // Lanes that would stand before tile 0 hold the identity and block nobody.
    var seen = TileState(AGGREGATE, identity(), false);
    if (end + lane >= subgroup_length) {
        seen = load_state(end + lane - subgroup_length);
    }
    let last_inclusive = last_lane(subgroupBallot(seen.state == INCLUSIVE));
    let last_invalid = last_lane(subgroupBallot(seen.state == INVALID));
    return Window(seen.value, last_inclusive, last_invalid);
}

// What of a window counts, from this lane on (from 0), combined.
fn rest_of_window(window: Window, first: u32) -> Element {
    return row_reduce(select(identity(), window.value, lane >= first));
}
