// Operator: that of a user's file, which has identity() and combine() (element_of_file.glsl). Nothing but its associativity is
// made use of: subgroups combine by shuffles, each value with what stands right before it, and never with that of an
// invocation which is not there. Shuffles move words.

#define SHUFFLED(value, lane) element_of_words(subgroupShuffle(element_words(value), lane))
#define SHUFFLED_UP(value, distance) element_of_words(subgroupShuffleUp(element_words(value), distance))

// Hillis and Steele 1986.
Element subgroup_inclusive_scan(const Element x) {
    Element inclusive = x;
    [[unroll]] for (uint distance = 1u; distance < SUBGROUP_SIZE; distance *= 2u) {
        const Element earlier = SHUFFLED_UP(inclusive, distance);
        if (gl_SubgroupInvocationID >= distance) {
            inclusive = combine(earlier, inclusive);
        }
    }
    return inclusive;
}

// Neighbours, then neighbours of twos: each invocation has the total of the run of invocations that it is in.
Element subgroup_reduce(const Element x) {
    Element total = x;
    [[unroll]] for (uint distance = 1u; distance < SUBGROUP_SIZE; distance *= 2u) {
        const Element other = element_of_words(subgroupShuffleXor(element_words(total), distance));
        if ((gl_SubgroupInvocationID & distance) != 0u) {
            total = combine(other, total);
        } else {
            total = combine(total, other);
        }
    }
    return total;
}

// What comes before an invocation in its subgroup, from the inclusive scan of x and x.
Element subgroup_before(const Element inclusive, const Element x) {
    Element before = SHUFFLED_UP(inclusive, 1u);
    if (gl_SubgroupInvocationID == 0) {
        before = identity();
    }
    return before;
}

Element subgroup_exclusive_scan(const Element x) {
    return subgroup_before(subgroup_inclusive_scan(x), x);
}

// The exclusive scan, and the total of the subgroup in all its invocations, for the price of one scan.
Element subgroup_scan_of(const Element x, out Element total) {
    const Element inclusive = subgroup_inclusive_scan(x);
    total = SHUFFLED(inclusive, SUBGROUP_SIZE - 1u);
    return subgroup_before(inclusive, x);
}
