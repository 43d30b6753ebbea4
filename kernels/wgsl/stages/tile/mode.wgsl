// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: mode. What the first element of the output is combined with, where prefix comes before a tile or a part of
// one: of an exclusive scan, the initial value and prefix.
fn what_comes_first(prefix: Element) -> Element {
#if MODE == MODE_EXCLUSIVE
    return combine(element_of(params.initial_low), prefix);
#else
    return prefix;
#endif
}
