// Stage: thread scan. Turns the items of an invocation into their inclusive scan.
//
// Shared bytes: 0. Barriers: 0. Returns: the total of the items, in the invocation that owns them.

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
