// Stage: tail. The last tile where it is not full, for kernels that keep it out of their loop.
//
// tail_total(tile): the total of this subgroup's part of the tile, in all its invocations.
// scan_tail(tile, prefix): scans that part behind prefix, and stores it.
// It is read twice, row by row, so that it takes no registers from the tiles that count.
// Shared bytes: 0. Barriers: 0.

// Vector `row` of this invocation: rows of successive vectors, as in a striped layout.
uint tail_vector(const uint row) {
    return own_subgroup * (SUBGROUP_SIZE * BATCH_SIZE) + row * SUBGROUP_SIZE + own_lane;
}

Element tail_total(const uint tile) {
    Element total = identity();
    [[dont_unroll]] for (uint row = 0u; row < BATCH_SIZE; ++row) {
        const Vector items = load_vector(tile_source(tile), tail_vector(row), elements_left(tile));
        total = combine(total, vector_total(items));
    }
    return subgroup_reduce(total);
}

void scan_tail(const uint tile, const Element prefix) {
    Element running = what_comes_first(prefix);
    [[dont_unroll]] for (uint row = 0u; row < BATCH_SIZE; ++row) {
        Vector items = load_vector(tile_source(tile), tail_vector(row), elements_left(tile));
        Element row_total;
        const Element before = subgroup_scan_of(vector_scan(items), row_total);
        vector_add(items, combine(running, before));
        make_row_exclusive(items, running);
        store_vector(tile_target(tile), tail_vector(row), elements_left(tile), items);
        running = combine(running, row_total);
    }
}
