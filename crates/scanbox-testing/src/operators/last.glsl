// The last element that is not zero.
#pragma scanbox operator(commutative = no, exact = yes)
struct Element { uint value; };
Element identity() { return Element(0u); }
Element combine(const Element earlier, const Element later) {
    return Element(later.value != 0u ? later.value : earlier.value);
}
Element draw(const uvec2 random, const uint index) { return Element((random.x & 15u) == 0u ? random.y : 0u); }
