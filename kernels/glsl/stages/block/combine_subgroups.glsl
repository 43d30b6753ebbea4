// SPDX-License-Identifier: MIT OR Apache-2.0
// Block, part of: combines what the subgroups of a workgroup have left for each other, in their order. Included once
// for each place where they leave something, as a function; the includer says
//
//   COMBINES     the function; its parameters `count`, how many subgroups count, and `most`, a constant, how many may
//   TAKEN        what `subgroup` has left where it is one of the first `count`, else the identity
//   ONE_BY_ONE   1: each invocation combines them itself, one after the other. 0: a subgroup operation does, with as
//                many at a time as it has invocations; called by whole subgroups. Where that is a row of shuffles, and
//                subgroups are few, several invocations hold the same, so that fewer shuffles do
// Result valid in: all invocations.

Element COMBINES {
    Element total = identity();
#if ONE_BY_ONE
    [[unroll]] for (uint subgroup = 0u; subgroup < most; ++subgroup) {
        total = combine(total, TAKEN);
    }
#elif REDUCES_BY_SHUFFLES && WORKGROUP_SIZE / SUBGROUP_SIZE <= 16 && WORKGROUP_SIZE / SUBGROUP_SIZE < SUBGROUP_SIZE
    // A power of two that holds all subgroups.
    const uint places = SUBGROUPS > 8u ? 16u : SUBGROUPS > 4u ? 8u : SUBGROUPS > 2u ? 4u : SUBGROUPS;
    const uint subgroup = own_lane % places;
    total = reduce_places(TAKEN, places);
#else
    [[unroll]] for (uint first = 0u; first < most; first += SUBGROUP_SIZE) {
        const uint subgroup = first + own_lane;
        total = combine(total, subgroup_reduce(TAKEN));
    }
#endif
    return total;
}

#undef COMBINES
#undef TAKEN
#undef ONE_BY_ONE
