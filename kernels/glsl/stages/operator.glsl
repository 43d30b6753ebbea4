// Stage: operator. The associative operator and its subgroup forms; the left operand is always the earlier one.
// Offers: identity(), combine(a, b), subgroup_reduce(x), subgroup_exclusive_scan(x).

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
#endif
