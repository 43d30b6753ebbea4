// 2x2 matrices modulo 2^32, row by row: the later matrix times the earlier one, as linear maps follow each other.
//
// Scans of matrices are linear recurrences of second order, x[i] = a x[i - 1] + b x[i - 2]: powers of (1 1; 1 0) are
// the Fibonacci numbers. Not commutative. 16 bytes, the largest element there is.
#pragma scanbox operator(commutative = no, exact = yes)

struct Element {
    uvec2 upper;
    uvec2 lower;
};

Element identity() {
    return Element(uvec2(1u, 0u), uvec2(0u, 1u));
}

Element combine(const Element earlier, const Element later) {
    return Element(later.upper.x * earlier.upper + later.upper.y * earlier.lower,
                   later.lower.x * earlier.upper + later.lower.y * earlier.lower);
}

// Determinant 1: a product of such matrices can be undone, so that nothing that went wrong is lost on the way.
Element draw(const uvec2 random, const uint index) {
    return Element(uvec2(1u + random.x * random.y, random.x), uvec2(random.y, 1u));
}
