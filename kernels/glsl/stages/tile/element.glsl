// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: element. The element type, its vectors, and the memory they stand in.
// Offers: Element, Vector, LANE(vector, i), the references to input and output memory;
// element_word(value), element_of_word(word): a 32-bit element as a word, and back;
// element_words(value), element_of_words(words): any element as ElementWords, the lower word first, and back;
// loaded_element(stored), stored_element(value): an element from what stands in memory, a StoredElement, and back;
// loaded_vector(stored), stored_vector(vector): a vector from what stands in memory, a StoredVector, and back;
// LOAD_LANE(source, v, i), STORE_LANE(target, v, i, value): one element of vector v in memory;
// VECTOR_OF(value): a vector of one and the same element.
//
// A type is one entry here: its names, its limits, and how its bits are words. The type of a user's operator is in
// stages/tile/element_of_file.glsl.

#if ELEMENT >= ELEMENT_STRUCT4
#include "stages/tile/element_of_file.glsl"
#elif ELEMENT == ELEMENT_U32
#define ELEMENT_BYTES 4
#define Element uint
#define Vector2 uvec2
#define Vector4 uvec4
#define LARGEST 0xffffffffu
#define SMALLEST 0u
#define WORD_OF(value) (value)
#define OF_WORD(word) (word)
#elif ELEMENT == ELEMENT_I32
#define ELEMENT_BYTES 4
#define Element int
#define Vector2 ivec2
#define Vector4 ivec4
#define LARGEST 0x7fffffff
#define SMALLEST (-0x7fffffff - 1)
#define WORD_OF(value) uint(value)
#define OF_WORD(word) int(word)
#elif ELEMENT == ELEMENT_F32
#define ELEMENT_BYTES 4
#define Element float
#define Vector2 vec2
#define Vector4 vec4
#define LARGEST uintBitsToFloat(0x7f800000u)
#define SMALLEST uintBitsToFloat(0xff800000u)
#define WORD_OF(value) floatBitsToUint(value)
#define OF_WORD(word) uintBitsToFloat(word)
#elif ELEMENT == ELEMENT_U64
#define ELEMENT_BYTES 8
#define Element uint64_t
#define Vector2 u64vec2
#define Vector4 u64vec4
#define LARGEST 0xffffffffffffffffUL
#define SMALLEST 0UL
#define WORDS_OF(value) unpackUint2x32(value)
#define OF_WORDS(words) packUint2x32(words)
#elif ELEMENT == ELEMENT_I64
#define ELEMENT_BYTES 8
#define Element int64_t
#define Vector2 i64vec2
#define Vector4 i64vec4
#define LARGEST 0x7fffffffffffffffL
#define SMALLEST (-0x7fffffffffffffffL - 1L)
#define WORDS_OF(value) unpackUint2x32(uint64_t(value))
#define OF_WORDS(words) int64_t(packUint2x32(words))
#elif ELEMENT == ELEMENT_F64
#define ELEMENT_BYTES 8
#define Element double
#define Vector2 dvec2
#define Vector4 dvec4
#define LARGEST packDouble2x32(uvec2(0u, 0x7ff00000u))
#define SMALLEST packDouble2x32(uvec2(0u, 0xfff00000u))
#define WORDS_OF(value) unpackDouble2x32(value)
#define OF_WORDS(words) packDouble2x32(words)
#endif

#if ELEMENT < ELEMENT_STRUCT4

// What stands in memory is what is worked with.
#define StoredElement Element
#define loaded_element(stored) (stored)
#define stored_element(value) (value)
#define StoredVector Vector
#define loaded_vector(stored) (stored)
#define stored_vector(vector) (vector)
#define LOAD_LANE(source, v, i) LANE(source.at[v], i)
#define STORE_LANE(target, v, i, value) LANE(target.at[v], i) = (value)
#define VECTOR_OF(value) Vector(value)
#define ElementWords uvec2

#if LANES == 1
#define Vector Element
#define LANE(vector, i) (vector)
#else
#define LANE(vector, i) (vector)[i]
#if LANES == 2
#define Vector Vector2
#else
#define Vector Vector4
#endif
#endif

#if ELEMENT_BYTES == 4
uint element_word(const Element value) {
    return WORD_OF(value);
}

Element element_of_word(const uint word) {
    return OF_WORD(word);
}

uvec2 element_words(const Element value) {
    return uvec2(WORD_OF(value), 0u);
}

Element element_of_words(const uvec2 words) {
    return OF_WORD(words.x);
}
#else
uvec2 element_words(const Element value) {
    return WORDS_OF(value);
}

Element element_of_words(const uvec2 words) {
    return OF_WORDS(words);
}
#endif

#endif

// What addresses of elements are multiples of: a power of two.
#if ELEMENT_BYTES == 12
#define ELEMENT_ALIGNMENT 4
#else
#define ELEMENT_ALIGNMENT ELEMENT_BYTES
#endif

// In place, the two are the same memory.
#if defined(IN_PLACE) && IN_PLACE
#define UNSHARED
#else
#define UNSHARED restrict
#endif

// Arrays that begin at any element have their vectors there too: compilers make as many accesses of a vector as that
// takes. (Full tiles may do better: stages/tile/shifted_vectors.glsl.)
const uint VECTOR_ALIGNMENT = ANY_ELEMENT == 1 ? ELEMENT_ALIGNMENT : ELEMENT_ALIGNMENT * LANES;

layout(buffer_reference, std430, buffer_reference_align = VECTOR_ALIGNMENT) UNSHARED readonly buffer InputVectors {
    StoredVector at[];
};
layout(buffer_reference, std430, buffer_reference_align = VECTOR_ALIGNMENT) UNSHARED writeonly buffer OutputVectors {
    StoredVector at[];
};

#if ELEMENT >= ELEMENT_STRUCT4
layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) UNSHARED readonly buffer InputElements {
    StoredElement at[];
};
layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) UNSHARED writeonly buffer OutputElements {
    StoredElement at[];
};

#if LANES == 1
#define LOAD_LANE(source, v, i) loaded_element(source.at[v])
#define STORE_LANE(target, v, i, value) target.at[v] = stored_element(value)
#elif !SWIFTSHADER_REFERENCE_CASTS
#define LOAD_LANE(source, v, i) loaded_element(InputElements(source).at[(v) * LANES + (i)])
#define STORE_LANE(target, v, i, value) OutputElements(target).at[(v) * LANES + (i)] = stored_element(value)
#else
// Word by word: where an input ends there is no vector.
Element load_lane(const InputVectors source, const uint v, const uint i) {
    ElementWords words = ElementWords(0u);
    [[unroll]] for (uint word = 0u; word < ELEMENT_WORDS; ++word) {
        words[word] = STORED_WORD(source.at[v], i * ELEMENT_WORDS + word);
    }
    return element_of_words(words);
}

void store_lane(const OutputVectors target, const uint v, const uint i, const Element value) {
    const ElementWords words = element_words(value);
    [[unroll]] for (uint word = 0u; word < ELEMENT_WORDS; ++word) {
        STORED_WORD(target.at[v], i * ELEMENT_WORDS + word) = words[word];
    }
}

#define LOAD_LANE(source, v, i) load_lane(source, v, i)
#define STORE_LANE(target, v, i, value) store_lane(target, v, i, value)
#endif
#endif
