// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: chain (Yan, Long and Zhang, "StreamScan", 2013). One invocation waits for the inclusive prefix of the tile
// before it alone. Totals on their own are of no use to anybody, so that nobody but tile 0 publishes one. Prefixes are
// combined in the order of the tiles, whatever comes when: a result has the same bits on every run.
// Result valid in: invocation 0 of the subgroup.

Element find_prefix(const uint tile) {
    Element prefix = identity();
    if (own_lane == 0) {
        uint rounds = 0u;
        bool found = false;
        while (!found) {
            const StateWord word = load_state(tile - 1u);
            if (word_state(word) == INCLUSIVE) {
                prefix = word_value(word);
                found = true;
            } else {
                back_off(rounds);
            }
        }
    }
    return prefix;
}
