// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: mode. What becomes of the inclusive scan of a tile.
//
// what_comes_first(prefix): what the first element of the output is combined with, where prefix comes before a tile or
//   a part of one: the initial value and prefix, where there is one.
// make_exclusive(items, before), make_row_exclusive(items, before): where MODE is MODE_EXCLUSIVE, items that are
//   scanned move up by one place, and before, which they have been combined with, takes the first. Called by whole
//   subgroups. A row is one vector of each invocation of a subgroup.
// Shared bytes: 0. Barriers: 0.

#include "stages/tile/initial_value.glsl"

#if HAS_INIT

Element what_comes_first(const Element prefix) {
    return combine(INITIAL_VALUE, prefix);
}

#else

Element what_comes_first(const Element prefix) {
    return prefix;
}

#endif

#if MODE == MODE_EXCLUSIVE

// What the invocation before this one has, or `first` in the first one.
Element of_neighbour(const Element own, const Element first) {
    const Element neighbours = SHUFFLED_UP(own, 1u);
    return own_lane == 0 ? first : neighbours;
}

void move_up(inout Vector vector, const Element first) {
    [[unroll]] for (uint i = LANES - 1u; i > 0u; --i) {
        LANE(vector, i) = LANE(vector, i - 1u);
    }
    LANE(vector, 0) = first;
}

void make_row_exclusive(inout Vector items, const Element before) {
    move_up(items, of_neighbour(LANE(items, LANES - 1), before));
}

void make_exclusive(inout Vector items[BATCH_SIZE], const Element before) {
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
    // The last row first: each begins with the end of the one before it.
    [[unroll]] for (uint k = BATCH_SIZE; k > 0u; --k) {
        Element row_before = before;
        if (k > 1u) {
            row_before = from_last(LANE(items[max(k, 2u) - 2u], LANES - 1));
        }
        make_row_exclusive(items[k - 1u], row_before);
    }
#else
#if BLOCK_SCAN == BLOCK_SCAN_SUBGROUP
    const Element first = of_neighbour(LANE(items[BATCH_SIZE - 1], LANES - 1), before);
#else
    // What comes before the items of each invocation is known.
    const Element first = before;
#endif
    [[unroll]] for (uint k = BATCH_SIZE; k > 1u; --k) {
        move_up(items[k - 1u], LANE(items[k - 2u], LANES - 1));
    }
    move_up(items[0], first);
#endif
}

#else

void make_row_exclusive(inout Vector items, const Element before) {
}

void make_exclusive(inout Vector items[BATCH_SIZE], const Element before) {
}

#endif
