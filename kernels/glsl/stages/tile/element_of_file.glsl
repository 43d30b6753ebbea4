// SPDX-License-Identifier: MIT OR Apache-2.0
// Element: the structure of a user's operator (kernels/README.md, "Your own operator"). It is worked with as what it
// is, and stands in memory as words, so that a vector is loaded and stored 16 bytes at a time. Of elements of 12 bytes,
// which stand there without a gap, a vector of two is three pairs of words and a vector of four three quads; one alone
// is three words, as a uvec3 would have a gap behind it.
//
// operator_file.glsl is made from the user's file: its text, which has Element, identity(), combine() and draw(), and
// what follows from the fields: element_words(), element_of_words(), and element_error(expected, got), by how much a
// field is off at most, as a share of its magnitude or of 1, whichever is more.

#if ELEMENT == ELEMENT_STRUCT4
#define ELEMENT_BYTES 4
#define ElementWords uvec2
#define StoredElement uint
#elif ELEMENT == ELEMENT_STRUCT8
#define ELEMENT_BYTES 8
#define ElementWords uvec2
#define StoredElement uvec2
#elif ELEMENT == ELEMENT_STRUCT12
#define ELEMENT_BYTES 12
#define ElementWords uvec3
// An array, which no structure of a file has: of three members, it would be one that the optimizer takes for it, and
// then stores what has another type.
struct StoredElement {
    uint words[3];
};
#else
#define ELEMENT_BYTES 16
#define ElementWords uvec4
#define StoredElement uvec4
#endif

#if SWAPPED
// What comes earlier stands behind: the file's own function has the operands in the order of the array.
#define combine combine_in_array
#include "operator_file.glsl"
#undef combine

Element combine(const Element earlier, const Element later) {
    return combine_in_array(later, earlier);
}
#else
#include "operator_file.glsl"
#endif

#if ELEMENT_BYTES == 4
StoredElement stored_element(const Element value) {
    return element_words(value).x;
}

Element loaded_element(const StoredElement stored) {
    return element_of_words(uvec2(stored, 0u));
}
#elif ELEMENT_BYTES == 12
StoredElement stored_element(const Element value) {
    const ElementWords words = element_words(value);
    return StoredElement(uint[](words.x, words.y, words.z));
}

Element loaded_element(const StoredElement stored) {
    return element_of_words(uvec3(stored.words[0], stored.words[1], stored.words[2]));
}
#else
StoredElement stored_element(const Element value) {
    return element_words(value);
}

Element loaded_element(const StoredElement stored) {
    return element_of_words(stored);
}
#endif

uint element_word(const Element value) {
    return element_words(value).x;
}

Element element_of_word(const uint word) {
    return element_of_words(ElementWords(word));
}

#if LANES == 1

#define Vector Element
#define LANE(vector, i) (vector)
#define StoredVector StoredElement
#define loaded_vector(stored) loaded_element(stored)
#define stored_vector(vector) stored_element(vector)
#define VECTOR_OF(value) (value)

#else

struct Vector {
    Element lanes[LANES];
};
#define LANE(vector, i) (vector).lanes[i]

#if ELEMENT_BYTES * LANES == 8
#define StoredVector uvec2
#define STORED_WORD(stored, word) stored[word]
#elif ELEMENT_BYTES * LANES == 16
#define StoredVector uvec4
#define STORED_WORD(stored, word) stored[word]
#elif ELEMENT_BYTES * LANES == 24
struct StoredVector {
    uvec2 pairs[3];
};
#define STORED_WORD(stored, word) stored.pairs[(word) / 2u][(word) % 2u]
#else
struct StoredVector {
    uvec4 quads[ELEMENT_BYTES * LANES / 16];
};
#define STORED_WORD(stored, word) stored.quads[(word) / 4u][(word) % 4u]
#endif

const uint ELEMENT_WORDS = ELEMENT_BYTES / 4u;

Vector loaded_vector(const StoredVector stored) {
    Vector vector;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        ElementWords words = ElementWords(0u);
        [[unroll]] for (uint word = 0u; word < ELEMENT_WORDS; ++word) {
            words[word] = STORED_WORD(stored, i * ELEMENT_WORDS + word);
        }
        LANE(vector, i) = element_of_words(words);
    }
    return vector;
}

StoredVector stored_vector(const Vector vector) {
    StoredVector stored;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        const ElementWords words = element_words(LANE(vector, i));
        [[unroll]] for (uint word = 0u; word < ELEMENT_WORDS; ++word) {
            STORED_WORD(stored, i * ELEMENT_WORDS + word) = words[word];
        }
    }
    return stored;
}

Vector vector_of(const Element value) {
    Vector vector;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        LANE(vector, i) = value;
    }
    return vector;
}
#define VECTOR_OF(value) vector_of(value)

#endif
