// SPDX-License-Identifier: MIT OR Apache-2.0
// Block, part of persistent kernels: an input of at most one vector for each invocation of a workgroup. It would be a
// few rows of one tile, most of whose steps are for rows that hold nothing.
//
// is_few(): whether the input is one. The same for all invocations of a call.
// scan_few(tile): called in that case by the workgroup of the only tile, in round 0, in place of what is done with a
//   tile.
// Shared bytes and barriers: those of the rendezvous.
//
// On an NVIDIA H100 this takes 12 % off a call at 2^10, in workgroups of 256, and 9 % at 2^11, in workgroups of 512.
// Smaller workgroups have several tiles of such an input, and the larger program costs them 5 % up to 2^18. By ticket,
// other kernels are faster for few elements, and programs ship many of these: a pack becomes 9 % larger. Both do
// without (SCANS_FEW).

bool is_few() {
    return ELEMENTS <= WORKGROUP_SIZE * LANES;
}

void scan_few(const uint tile) {
#if ARGUMENTS == ARGUMENTS_BLOCK
    load_next_record();
#endif
    const uint v = invocation_rank();
    Vector vector = load_vector(SOURCE_OF(tile), v, elements_left(tile));
    expect_to_leave(tile);
    Element total;
    const Element before = subgroup_exclusive_scan(vector_scan(vector), total);
    arrive_unpublished(0u, total);
#if FALLS_BACK
    count_reader();
#endif
    const Element first = what_comes_first(total_of_earlier_subgroups(0u));
    vector_add(vector, combine(first, before));
#if WITH_TOTAL
    private_last = LANE(vector, LANES - 1);
#endif
    store_last(tile);
    make_row_exclusive(vector, first);
    store_vector(TARGET_OF(tile), v, elements_left(tile), vector);
}
