// SPDX-License-Identifier: MIT OR Apache-2.0
// Block, part of persistent kernels: an input of at most one vector for each invocation of a workgroup. It would be a
// few rows of one tile, most of whose steps are for rows that hold nothing.
//
// is_few(): whether the input is one. The same for all invocations of a call.
// scan_few(): called in that case by the first workgroup, in place of all that a rendezvous begins. No tile gets a
//   state, and no group: the call needs no turn, and leaves the turn to the next one.
// Shared bytes: those of the rendezvous. Barriers: 1.
//
// On an NVIDIA H100 this takes 12 to 18 % off a call at 2^10, in workgroups of 256, and at 2^11, in workgroups of 512.
// Smaller workgroups have several tiles of such an input, and the larger program costs them 5 % up to 2^18. By ticket,
// other kernels are faster for few elements, and programs ship many of these: a pack becomes 9 % larger. So both do
// without (SCANS_FEW).

bool is_few() {
    return ELEMENTS <= WORKGROUP_SIZE * LANES;
}

void scan_few() {
    const uint tile = 0u;
    const uint v = invocation_rank();
    Vector vector = load_vector(SOURCE_OF(tile), v, elements_left(tile));
    Element total;
    const Element before = subgroup_exclusive_scan(vector_scan(vector), total);
    const Element first = what_comes_first(meet_once(total));
    vector_add(vector, combine(first, before));
#if WITH_TOTAL
    private_last = LANE(vector, LANES - 1);
#endif
    store_last(tile);
    make_row_exclusive(vector, first);
    store_vector(TARGET_OF(tile), v, elements_left(tile), vector);
}
