// Stage: operator. The associative operator and its subgroup forms; the left operand is always the earlier one.
// Offers: identity(), combine(a, b), subgroup_reduce(x), subgroup_exclusive_scan(x), subgroup_scan_of(x, total).

#if OPERATOR == OPERATOR_ADD
Element identity() {
    return Element(0);
}

Element combine(const Element earlier, const Element later) {
    return earlier + later;
}

Element subgroup_reduce(const Element x) {
    return subgroupAdd(x);
}

Element subgroup_exclusive_scan(const Element x) {
    return subgroupExclusiveAdd(x);
}

// What comes before an invocation in its subgroup, from the inclusive scan of x and x.
Element subgroup_before(const Element inclusive, const Element x) {
    return inclusive - x;
}

// The exclusive scan, and the total of the subgroup in all its invocations, for the price of one scan.
Element subgroup_scan_of(const Element x, out Element total) {
    const Element inclusive = subgroupInclusiveAdd(x);
    total = subgroupShuffle(inclusive, SUBGROUP_SIZE - 1u);
    return subgroup_before(inclusive, x);
}
#endif
