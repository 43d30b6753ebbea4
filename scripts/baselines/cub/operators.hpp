// The users' operators of kernels/operators as functors: the same structures, the same results. operators_test.cpp
// holds them against the files themselves.
#pragma once

#include "problem.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace operators {

using problem::Element;
using problem::Operator;
using u32 = std::uint32_t;

// Two words are random; `pcg3d` of Jarzynski and Olano, "Hash Functions for GPU Rendering" (2020), as in
// kernels/glsl/operator_input.comp.
struct Drawn {
    u32 x;
    u32 y;
};

SCANBOX_HOST_DEVICE inline Drawn random_words(std::uint64_t seed, u32 index) {
    u32 x = index * 1664525u + 1013904223u;
    u32 y = static_cast<u32>(seed) * 1664525u + 1013904223u;
    u32 z = static_cast<u32>(seed >> 32) * 1664525u + 1013904223u;
    for (int round = 0; round < 2; ++round) {
        x += y * z;
        y += z * x;
        z += x * y;
        if (round == 0) {
            x ^= x >> 16;
            y ^= y >> 16;
            z ^= z >> 16;
        }
    }
    return {x, y};
}

SCANBOX_HOST_DEVICE inline float float_of_bits(u32 bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Each has its name, the hash of its file (the first eight bytes of its BLAKE3), whether the order of two elements
// makes no difference, how far a field may be off, and the functions of the file. Sixteen bytes are the largest
// element; a structure is aligned to its size, as scanbox loads it, and one of 12 bytes to a word.

struct alignas(8) Affine {
    static constexpr Operator op = Operator::affine;
    static constexpr const char* hash = "bb22093bf0681d44";
    static constexpr bool commutes = false;
    static constexpr float tolerance = 0;

    u32 scale;
    u32 offset;

    static SCANBOX_HOST_DEVICE Affine identity() { return {1, 0}; }
    static SCANBOX_HOST_DEVICE Affine combine(const Affine& earlier, const Affine& later) {
        return {later.scale * earlier.scale, later.scale * earlier.offset + later.offset};
    }
    static SCANBOX_HOST_DEVICE Affine draw(Drawn random, u32) { return {random.x | 1, random.y}; }
};

struct alignas(8) AffineF32 {
    static constexpr Operator op = Operator::affine_f32;
    static constexpr const char* hash = "7d3abe4f8a8f0d01";
    static constexpr bool commutes = false;
    static constexpr float tolerance = 1e-5f;

    float scale;
    float offset;

    static SCANBOX_HOST_DEVICE AffineF32 identity() { return {1, 0}; }
    static SCANBOX_HOST_DEVICE AffineF32 combine(const AffineF32& earlier, const AffineF32& later) {
        return {later.scale * earlier.scale, later.scale * earlier.offset + later.offset};
    }
    static SCANBOX_HOST_DEVICE AffineF32 draw(Drawn random, u32) {
        return {(random.x & 1) == 0 ? 1.0f : -1.0f, static_cast<float>(random.y % 65) / 64.0f - 0.5f};
    }
};

struct alignas(8) Argmax {
    static constexpr Operator op = Operator::argmax;
    static constexpr const char* hash = "32160bb9e1158a63";
    static constexpr bool commutes = true;
    static constexpr float tolerance = 0;

    float value;
    u32 index;

    static SCANBOX_HOST_DEVICE Argmax identity() { return {float_of_bits(0xFF800000u), 0xFFFFFFFFu}; }
    static SCANBOX_HOST_DEVICE Argmax combine(const Argmax& earlier, const Argmax& later) {
        const bool earlier_wins
            = earlier.value > later.value || (earlier.value == later.value && earlier.index < later.index);
        return earlier_wins ? earlier : later;
    }
    static SCANBOX_HOST_DEVICE Argmax draw(Drawn random, u32 index) {
        u32 octave = 0;
        for (u32 rest = index > 8 ? index : 8; rest > 1; rest >>= 1) {
            ++octave;
        }
        const u32 half_octave = (1u << octave) >> 1;
        const bool is_maximum = (index & half_octave) == 0 && (index & 7) != 0 && random.y % 7 == 0;
        return {float_of_bits(0x3F800000u + (is_maximum ? 32 + (index >> 3) : random.x & 31)), index};
    }
};

struct alignas(16) Matrix2x2 {
    static constexpr Operator op = Operator::matrix2x2;
    static constexpr const char* hash = "955e3ec0a483e411";
    static constexpr bool commutes = false;
    static constexpr float tolerance = 0;

    // Row by row.
    u32 upper[2];
    u32 lower[2];

    static SCANBOX_HOST_DEVICE Matrix2x2 identity() { return {{1, 0}, {0, 1}}; }
    static SCANBOX_HOST_DEVICE Matrix2x2 combine(const Matrix2x2& earlier, const Matrix2x2& later) {
        return {{later.upper[0] * earlier.upper[0] + later.upper[1] * earlier.lower[0],
                    later.upper[0] * earlier.upper[1] + later.upper[1] * earlier.lower[1]},
            {later.lower[0] * earlier.upper[0] + later.lower[1] * earlier.lower[0],
                later.lower[0] * earlier.upper[1] + later.lower[1] * earlier.lower[1]}};
    }
    static SCANBOX_HOST_DEVICE Matrix2x2 draw(Drawn random, u32) {
        return {{1 + random.x * random.y, random.x}, {random.y, 1}};
    }
};

struct alignas(8) SegmentedSum {
    static constexpr Operator op = Operator::segmented_sum;
    static constexpr const char* hash = "c10fd393fe33edb2";
    static constexpr bool commutes = false;
    static constexpr float tolerance = 0;

    u32 head;
    u32 value;

    static SCANBOX_HOST_DEVICE SegmentedSum identity() { return {0, 0}; }
    static SCANBOX_HOST_DEVICE SegmentedSum combine(const SegmentedSum& earlier, const SegmentedSum& later) {
        return {earlier.head | later.head, later.head != 0 ? later.value : earlier.value + later.value};
    }
    static SCANBOX_HOST_DEVICE SegmentedSum draw(Drawn random, u32 index) {
        const u32 turn = (index >> 14) % 3;
        const u32 rarity = turn == 0 ? 7u : turn == 1 ? 511u : 65535u;
        return {(random.x & rarity) == 0 ? 1u : 0u, random.y};
    }
};

struct TextPosition {
    static constexpr Operator op = Operator::text_position;
    static constexpr const char* hash = "31c73b4f739c49c4";
    static constexpr bool commutes = false;
    static constexpr float tolerance = 0;

    u32 lines;
    u32 column;
    u32 bytes;

    static SCANBOX_HOST_DEVICE TextPosition identity() { return {0, 0, 0}; }
    static SCANBOX_HOST_DEVICE TextPosition combine(const TextPosition& earlier, const TextPosition& later) {
        const u32 before = later.lines == 0 ? earlier.column : 0;
        return {earlier.lines + later.lines, before + later.column, earlier.bytes + later.bytes};
    }
    static SCANBOX_HOST_DEVICE TextPosition draw(Drawn random, u32 index) {
        const u32 turn = (index >> 14) % 3;
        const u32 rarity = turn == 0 ? 7u : turn == 1 ? 511u : 65535u;
        const u32 lines = (random.x & rarity) == 0 ? 1 : 0;
        const u32 bytes = 1 + (random.y & 63);
        return {lines, 1 - lines + (random.y >> 8) % bytes, bytes};
    }
};

// The functor that CUB gets.
template <typename Structure>
struct Combine {
    SCANBOX_HOST_DEVICE Structure operator()(const Structure& earlier, const Structure& later) const {
        return Structure::combine(earlier, later);
    }
};

// Calls `act` with a null pointer to the structure of an operator.
template <typename Act>
void with_structure(Operator op, Act&& act) {
    switch (op) {
    case Operator::affine:
        return act(static_cast<Affine*>(nullptr));
    case Operator::affine_f32:
        return act(static_cast<AffineF32*>(nullptr));
    case Operator::argmax:
        return act(static_cast<Argmax*>(nullptr));
    case Operator::matrix2x2:
        return act(static_cast<Matrix2x2*>(nullptr));
    case Operator::segmented_sum:
        return act(static_cast<SegmentedSum*>(nullptr));
    case Operator::text_position:
        return act(static_cast<TextPosition*>(nullptr));
    default:
        return;
    }
}

constexpr Operator all[] = {Operator::affine, Operator::affine_f32, Operator::argmax, Operator::matrix2x2,
    Operator::segmented_sum, Operator::text_position};

constexpr Element element_of(Operator op) {
    return op == Operator::matrix2x2 ? Element::struct16
        : op == Operator::text_position ? Element::struct12
                                        : Element::struct8;
}

inline const char* hash_of(Operator op) {
    const char* hash = "";
    with_structure(op, [&](auto* structure) { hash = std::remove_pointer_t<decltype(structure)>::hash; });
    return hash;
}

inline bool commutes(Operator op) {
    bool commutes = true;
    with_structure(op, [&](auto* structure) { commutes = std::remove_pointer_t<decltype(structure)>::commutes; });
    return commutes;
}

// How far a field may be off, as a share of its magnitude or of 1; 0: not at all.
inline float tolerance_of(Operator op) {
    float tolerance = 0;
    with_structure(op, [&](auto* structure) { tolerance = std::remove_pointer_t<decltype(structure)>::tolerance; });
    return tolerance;
}

}  // namespace operators
