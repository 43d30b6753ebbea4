// SPDX-License-Identifier: MIT OR Apache-2.0
// Operator: that of a user's file, which has identity() and combine() (stages/tile/element_of_file.glsl). Nothing but
// its associativity is made use of: subgroups combine each value with what stands right before it, and never with that
// of an invocation which is not there. Shuffles move words.

#define SHUFFLED_UP(value, distance) element_of_words(subgroupShuffleUp(element_words(value), distance))

// Chooses words, not structures: a choice between structures is a branch.
#define VALUE_IF(exists, value) element_of_words((exists) ? element_words(value) : element_words(identity()))

Element from_last(const Element x) {
    return element_of_words(subgroupShuffle(element_words(x), SUBGROUP_SIZE - 1u));
}

// The element of the invocation so many places before, or the identity where there is none.
Element given_from(const Element x, const uint distance) {
    // Shuffled by all invocations: a choice may be a branch, in which those that have none would be missing.
    const Element before = SHUFFLED_UP(x, distance);
    return VALUE_IF(own_lane >= distance, before);
}

// Hillis and Steele 1986.
Element subgroup_inclusive_scan(const Element x) {
    Element inclusive = x;
    [[unroll]] for (uint distance = 1u; distance < SUBGROUP_SIZE; distance *= 2u) {
        inclusive = combine(given_from(inclusive, distance), inclusive);
    }
    return inclusive;
}

// Neighbours, then neighbours of twos: each invocation has the total of the run of invocations that it is in.
Element reduce_places(const Element x, const uint places) {
    Element total = x;
    [[unroll]] for (uint distance = 1u; distance < places; distance *= 2u) {
        const ElementWords own = element_words(total);
        const ElementWords other = subgroupShuffleXor(own, distance);
        const bool is_later = (own_lane & distance) != 0u;
        total = combine(element_of_words(is_later ? other : own), element_of_words(is_later ? own : other));
    }
    return total;
}

Element subgroup_reduce(const Element x) {
    return reduce_places(x, SUBGROUP_SIZE);
}

// What comes before an invocation in its subgroup, from the inclusive scan of x and x.
Element exclusive_of(const Element inclusive, const Element x) {
    return given_from(inclusive, 1u);
}

Element subgroup_exclusive_scan(const Element x) {
    return exclusive_of(subgroup_inclusive_scan(x), x);
}

// The exclusive scan, and the total of the subgroup in all its invocations, for the price of one scan.
Element subgroup_exclusive_scan(const Element x, out Element total) {
    const Element inclusive = subgroup_inclusive_scan(x);
    total = from_last(inclusive);
    return exclusive_of(inclusive, x);
}
