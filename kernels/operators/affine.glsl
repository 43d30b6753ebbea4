// Affine maps x -> scale * x + offset, modulo 2^32: their composition, the earlier map first.
//
// A linear recurrence x[i] = a[i] * x[i - 1] + b[i] is a scan of the maps (a[i], b[i]): element i of the inclusive scan
// turns x[-1] into x[i] (Blelloch, "Prefix Sums and Their Applications", 1990, section 1.4.1). Integers, so that the
// order of combining rounds nothing: affine-f32.glsl is the one of reals. Not commutative: 2x + 1 after x + 3 is
// 2x + 7, the other way round 2x + 4.
#pragma scanbox operator(commutative = no, exact = yes)

struct Element {
    uint scale;
    uint offset;
};

Element identity() {
    return Element(1u, 0u);
}

Element combine(const Element earlier, const Element later) {
    return Element(later.scale * earlier.scale, later.scale * earlier.offset + later.offset);
}

// Odd factors, so that no product of them loses a bit: whatever is lost, doubled or misplaced shows in everything
// behind it.
Element draw(const uvec2 random, const uint index) {
    return Element(random.x | 1u, random.y);
}
