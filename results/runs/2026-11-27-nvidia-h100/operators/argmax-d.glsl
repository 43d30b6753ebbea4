// The largest value and where it stands; of equal ones, the first.
//
// Element i of the inclusive scan is the maximum so far; a reduction is the argmax of all. Commutative, because of two
// elements the one that wins does not depend on their order: kernels that combine totals as they come can run it.
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
    const bool first = earlier.index < later.index;
    const bool not_less = earlier.value >= later.value;
    const bool greater = earlier.value > later.value;
    const bool earlier_wins = first ? not_less : greater;
    return Element(mix(later.value, earlier.value, earlier_wins), mix(later.index, earlier.index, earlier_wins));
}

// New maxima at all scales: in the first half of each octave of the index every eighth element or so, never the first
// of a tile; in the second half none, so that a total comes from far back. Many of the others are equal, and the index
// decides.
Element draw(const uvec2 random, const uint index) {
    const uint half_octave = (1u << findMSB(max(index, 8u))) >> 1u;
    const bool is_maximum = (index & half_octave) == 0u && (index & 7u) != 0u && random.y % 7u == 0u;
    return Element(uintBitsToFloat(0x3f800000u + (is_maximum ? 32u + (index >> 3u) : random.x & 31u)), index);
}
