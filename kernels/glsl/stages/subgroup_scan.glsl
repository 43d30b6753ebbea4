// Stage: subgroup scan. Works on the items of one subgroup, which are one run of the tile in every layout.
//
// subgroup_total(items): their total, in all invocations of the subgroup.
// subgroup_scan(items): turns them into their inclusive scan; returns their total, in all invocations.
// Shared bytes: 0. Barriers: 0. Subgroup scans: one per row of a striped layout, else one.

Element subgroup_total(const Vector items[BATCH_SIZE]) {
    return subgroup_reduce(thread_total(items));
}

#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED

Element subgroup_scan(inout Vector items[BATCH_SIZE]) {
    Element running = identity();
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        Element row_total;
        const Element before = subgroup_scan_of(vector_scan(items[k]), row_total);
        vector_add(items[k], combine(running, before));
        running = combine(running, row_total);
    }
    return running;
}

#else

Element subgroup_scan(inout Vector items[BATCH_SIZE]) {
    Element total;
    const Element before = subgroup_scan_of(thread_scan(items), total);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        vector_add(items[k], before);
    }
    return total;
}

#endif
