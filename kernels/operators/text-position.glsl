// Where a piece of text ends: lines, the column in the last of them, and bytes.
//
// An element says what a piece of text moves a position by. The exclusive scan of the pieces of a file, its tokens or
// its characters, is where each begins: what a parallel lexer reports errors with, and an editor jumps to. The initial
// value is where the file begins. Columns are characters and not bytes, which differ in UTF-8. Not commutative: behind
// a line break, the column begins anew. 12 bytes, which stand in an array without a gap.
#pragma scanbox operator(commutative = no, exact = yes)

struct Element {
    uint lines;   // line breaks
    uint column;  // characters behind the last line break, or all where there is none
    uint bytes;
};

Element identity() {
    return Element(0u, 0u, 0u);
}

Element combine(const Element earlier, const Element later) {
    const bool same_line = later.lines == 0u;
    const uint before = mix(0u, earlier.column, same_line);
    return Element(earlier.lines + later.lines, before + later.column, earlier.bytes + later.bytes);
}

// Lines of any length: in turns of 2^14 elements a token with a line break comes every few tokens, every few hundred,
// or hardly ever.
Element draw(const uvec2 random, const uint index) {
    const uint turn = (index >> 14) % 3u;
    const uint rarity = turn == 0u ? 7u : turn == 1u ? 511u : 65535u;
    const uint lines = (random.x & rarity) == 0u ? 1u : 0u;
    const uint bytes = 1u + (random.y & 63u);
    return Element(lines, 1u - lines + (random.y >> 8u) % bytes, bytes);
}
