// Stage: tail. The last tile where it is not full, for kernels that keep it out of their loop.
//
// tail_total(tile): the total of this subgroup's part of the tile, in all its invocations.
// scan_tail(tile, prefix): scans that part behind prefix, and stores it.
// It is read twice, row by row, so that it takes no registers from the tiles that count.
// Shared bytes: 0. Barriers: 0.

// Vector `row` of this invocation: rows of successive vectors, as in a striped layout.
uint tail_vector(const uint row) {
    return gl_SubgroupID * (SUBGROUP_SIZE * BATCH_SIZE) + row * SUBGROUP_SIZE + gl_SubgroupInvocationID;
}

Vector load_tail(const uint tile, const uint row) {
    InputVectors source = tile_source(tile);
    const uint left = params.n - tile * TILE_ELEMENTS;
    Vector items;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        LANE(items, i) = identity();
        if (tail_vector(row) * LANES + i < left) {
            LANE(items, i) = LANE(source.at[tail_vector(row)], i);
        }
    }
    return items;
}

Element tail_total(const uint tile) {
    Element total = identity();
    [[dont_unroll]] for (uint row = 0u; row < BATCH_SIZE; ++row) {
        total = combine(total, vector_total(load_tail(tile, row)));
    }
    return subgroup_reduce(total);
}

void scan_tail(const uint tile, const Element prefix) {
    OutputVectors target = tile_target(tile);
    const uint left = params.n - tile * TILE_ELEMENTS;
    Element running = prefix;
    [[dont_unroll]] for (uint row = 0u; row < BATCH_SIZE; ++row) {
        Vector items = load_tail(tile, row);
        Element row_total;
        const Element before = subgroup_scan_of(vector_scan(items), row_total);
        vector_add(items, combine(running, before));
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (tail_vector(row) * LANES + i < left) {
                LANE(target.at[tail_vector(row)], i) = LANE(items, i);
            }
        }
        running = combine(running, row_total);
    }
}
