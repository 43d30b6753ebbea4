// Affine maps x -> scale * x + offset of 32-bit floats: their composition, the earlier map first. A first-order
// recursive filter, or any linear recurrence of reals.
//
// Floats are rounded, so that the result depends on the order of combining: a field is right that is off by no more
// than the tolerance, as a share of its magnitude or of 1, whichever is more.
#pragma scanbox operator(commutative = no, tolerance = 1e-5)

struct Element {
    float scale;
    float offset;
};

Element identity() {
    return Element(1.0, 0.0);
}

Element combine(const Element earlier, const Element later) {
    return Element(later.scale * earlier.scale, later.scale * earlier.offset + later.offset);
}

// Factors from 0.5 to 1, as a stable filter has them, forget what is far back, and would hide what a kernel loses of
// it. So these are 1 and -1, and offsets multiples of 1/64 from -0.5 to 0.5, whose sums hardly ever round.
Element draw(const uvec2 random, const uint index) {
    return Element((random.x & 1u) == 0u ? 1.0 : -1.0, float(random.y % 65u) / 64.0 - 0.5);
}
