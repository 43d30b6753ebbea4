// Affine maps x -> scale * x + offset of 32-bit floats: their composition, the earlier map first. A first-order recursive filter,
// or any linear recurrence of reals.
//
// Floats are rounded, so that the result depends on the order of combining: a field is right that is off by no more than the
// tolerance, as a share of its magnitude or of 1, whichever is more. Factors from 0.5 to 1, as a stable filter has them, forget
// what is far back, and errors with it.
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

Element draw(const uvec2 random, const uint index) {
    const float scale = 0.5 + float(random.x >> 8) / 33554432.0;
    return Element(scale, float(random.y >> 8) / 16777216.0 - 0.5);
}
