// SPDX-License-Identifier: MIT OR Apache-2.0
// Addresses of elements in memory. address_of(words): the address that two words are.

// The address of element `index` of an array of elements of this many bytes. An index into a buffer reference is
// multiplied in 32 bits by some drivers, so whatever may stand beyond 4 GiB is reached by moving the reference. Without
// 64-bit integers that is done by hand.
#if defined(INT64) && INT64
#define Address uint64_t
#define address_of(words) packUint2x32(words)
#define element_address(base, index, bytes) ((base) + uint64_t(index) * uint64_t(bytes))
#define address_before(base, index, bytes) ((base) - uint64_t(index) * uint64_t(bytes))
#else
#define Address uvec2
#define address_of(words) (words)
uvec2 element_address(const uvec2 base, const uint index, const uint bytes) {
    uint high;
    uint low;
    umulExtended(index, bytes, high, low);
    uint carry;
    low = uaddCarry(base.x, low, carry);
    return uvec2(low, base.y + high + carry);
}

#if defined(REVERSE) && REVERSE
// The address so many elements before another one.
uvec2 address_before(const uvec2 base, const uint index, const uint bytes) {
    uint high;
    uint low;
    umulExtended(index, bytes, high, low);
    uint borrow;
    low = usubBorrow(base.x, low, borrow);
    return uvec2(low, base.y - high - borrow);
}
#endif
#endif
