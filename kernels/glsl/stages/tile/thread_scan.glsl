// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: thread scan. Works on the items of one invocation.
//
// Shared bytes: 0. Barriers: 0.

// Combines the elements of one vector.
Element vector_total(const Vector vector) {
    Element total = LANE(vector, 0);
    [[unroll]] for (uint i = 1u; i < LANES; ++i) {
        total = combine(total, LANE(vector, i));
    }
    return total;
}

// Turns one vector into its inclusive scan. Returns: its total.
Element vector_scan(inout Vector vector) {
    [[unroll]] for (uint i = 1u; i < LANES; ++i) {
        LANE(vector, i) = combine(LANE(vector, i - 1u), LANE(vector, i));
    }
    return LANE(vector, LANES - 1);
}

// Combines each element of a vector with what comes before.
void vector_add(inout Vector vector, const Element prefix) {
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        LANE(vector, i) = combine(prefix, LANE(vector, i));
    }
}

// The total of all items, in any layout.
Element thread_total(const Vector items[BATCH_SIZE]) {
    Element total = vector_total(items[0]);
    [[unroll]] for (uint k = 1u; k < BATCH_SIZE; ++k) {
        total = combine(total, vector_total(items[k]));
    }
    return total;
}

// Turns the items of an invocation, a run of successive vectors, into their inclusive scan. Returns: their total.
Element thread_scan(inout Vector items[BATCH_SIZE]) {
    Element running = LANE(items[0], 0);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        [[unroll]] for (uint i = (k == 0u ? 1u : 0u); i < LANES; ++i) {
            running = combine(running, LANE(items[k], i));
            LANE(items[k], i) = running;
        }
    }
    return running;
}
