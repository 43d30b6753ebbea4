// Exclusive or of four words: four instructions, to show what moving elements of 16 bytes takes.
#pragma scanbox operator(commutative = no, exact = yes)

struct Element {
    uvec4 words;
};

Element identity() {
    return Element(uvec4(0u));
}

Element combine(const Element earlier, const Element later) {
    return Element(earlier.words ^ later.words);
}

Element draw(const uvec2 random, const uint index) {
    return Element(uvec4(random.x, random.y, random.x * 3u, random.y * 5u));
}
