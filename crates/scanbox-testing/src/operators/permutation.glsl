// Permutations of eight things, four bits for where each goes: that of the earlier element comes first.
#pragma scanbox operator(commutative = no, exact = yes)
struct Element { uint places; };
Element identity() { return Element(0x76543210u); }
uint place(const Element x, const uint of) { return (x.places >> (4u * of)) & 7u; }
Element combine(const Element earlier, const Element later) {
    uint places = 0u;
    for (uint of = 0u; of < 8u; ++of) {
        places |= place(later, place(earlier, of)) << (4u * of);
    }
    return Element(places);
}
Element draw(const uvec2 random, const uint index) {
    uint places = 0x76543210u;
    for (uint i = 7u; i > 0u; --i) {
        const uint other = (i < 4u ? random.x >> (8u * i) : random.y >> (8u * (i - 4u))) % (i + 1u);
        const uint differ = ((places >> (4u * i)) ^ (places >> (4u * other))) & 7u;
        places ^= (differ << (4u * i)) | (differ << (4u * other));
    }
    return Element(places);
}
