// Stage: element. The element type, its vectors, and the memory they stand in.
// Offers: Element, Vector, LANE(vector, i), the references to input and output memory.

#if ELEMENT == ELEMENT_U32
#define ELEMENT_BYTES 4
#define Element uint
#if LANES == 1
#define Vector uint
#elif LANES == 2
#define Vector uvec2
#else
#define Vector uvec4
#endif
#endif

#if LANES == 1
#define LANE(vector, i) (vector)
#else
#define LANE(vector, i) (vector)[i]
#endif

layout(buffer_reference, std430, buffer_reference_align = ELEMENT_BYTES * LANES) restrict readonly buffer InputVectors {
    Vector at[];
};
layout(buffer_reference, std430, buffer_reference_align = ELEMENT_BYTES * LANES) restrict writeonly buffer OutputVectors {
    Vector at[];
};
