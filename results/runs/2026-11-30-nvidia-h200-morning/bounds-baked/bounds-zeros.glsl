// Sums of u32, stored as zeros: which no compiler can know.
#pragma scanbox operator(commutative = yes, exact = yes)

struct Element {
    uint value;
};

Element identity() {
    return Element(0u);
}

Element combine(const Element earlier, const Element later) {
    return Element(earlier.value + later.value);
}

Element draw(const uvec2 random, const uint index) {
    return Element(random.x);
}

Element transform_output(const Element value, const uint index) {
    return Element(min(value.value, index >> 31));
}
