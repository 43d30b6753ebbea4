// The largest value and where it stands; of equal ones, the first.
//
// Element i of the inclusive scan is the maximum so far; a reduction is the argmax of all. Commutative, because of two elements
// the one that wins does not depend on their order: kernels that combine totals as they come can run it.
#pragma scanbox operator(commutative = yes, exact = yes)

struct Element {
    float value;
    uint index;
};

// Before everything: minus infinity, at no place.
Element identity() {
    return Element(uintBitsToFloat(0xff800000u), 0xffffffffu);
}

Element combine(const Element earlier, const Element later) {
    const bool earlier_wins =
        earlier.value > later.value || (earlier.value == later.value && earlier.index < later.index);
    return Element(earlier_wins ? earlier.value : later.value, earlier_wins ? earlier.index : later.index);
}

// Values that rise by and by, with many equal ones: a new maximum comes every few elements, and ties are decided by the index.
Element draw(const uvec2 random, const uint index) {
    return Element(float(min(index >> 3, 1u << 22) + (random.x & 31u)), index);
}
