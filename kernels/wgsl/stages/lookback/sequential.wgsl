// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: sequential (thesis 3.3). One invocation walks back tile by tile until it meets an inclusive prefix. Chain:
// it only ever looks at the tile before its own, until there is one.
fn find_prefix(tile: u32) -> Element {
    var prefix = identity();
    var predecessor = tile - 1u;
    var found = false;
    while (!found) {
        let seen = load_state(predecessor);
#if LOOKBACK == LOOKBACK_CHAIN
        if (seen.state == INCLUSIVE) {
#else
        if (seen.state != INVALID) {
#endif
            prefix = combine(seen.value, prefix);
            found = seen.state == INCLUSIVE;
            // Tile 0 publishes nothing but its inclusive prefix, so this never goes below it.
            predecessor -= 1u;
            count_tiles(1u);
        } else {
            count_spins(1u);
        }
    }
    return prefix;
}
