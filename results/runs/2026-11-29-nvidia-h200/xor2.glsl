// Exclusive or of two words: two instructions, to show what moving elements of 8 bytes takes.
#pragma scanbox operator(commutative = yes, exact = yes)

struct Element {
    uint a;
    uint b;
};

Element identity() {
    return Element(0u, 0u);
}

Element combine(const Element earlier, const Element later) {
    return Element(earlier.a ^ later.a, earlier.b ^ later.b);
}

Element draw(const uvec2 random, const uint index) {
    return Element(random.x, random.y);
}
