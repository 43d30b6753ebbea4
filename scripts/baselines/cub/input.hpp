// Inputs, as scanbox makes them (crates/scanbox-kernels/src/input.rs and below): element i is a function of problem,
// seed and index alone, so a shorter input is the beginning of a longer one. Host and device make the same.
#pragma once

#include "operators.hpp"
#include "problem.hpp"

#include <cstdint>
#include <cstring>

namespace input {

using problem::Element;
using problem::Operator;
using problem::Problem;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// The words of an element; those behind its last one are 0.
struct Words {
    u32 at[4];
};

SCANBOX_HOST_DEVICE inline Words words_of_bits(u64 bits) {
    return {{static_cast<u32>(bits), static_cast<u32>(bits >> 32), 0, 0}};
}

// 64 bits from a seed and an index: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
SCANBOX_HOST_DEVICE inline u64 random_bits(u64 seed, u64 index) {
    u64 z = seed ^ ((index + 1) * 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

SCANBOX_HOST_DEVICE inline u64 bits_of_float(float value) {
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

SCANBOX_HOST_DEVICE inline u64 bits_of_double(double value) {
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Of a value that is not 0.
SCANBOX_HOST_DEVICE inline u32 log2_of(u64 value) {
#ifdef __CUDA_ARCH__
    return 63 - static_cast<u32>(__clzll(static_cast<long long>(value)));
#else
    return 63 - static_cast<u32>(__builtin_clzll(value));
#endif
}

SCANBOX_HOST_DEVICE inline u32 trailing_zeros(u64 value) {
    u32 zeros = 0;
    for (; zeros < 64 && (value >> zeros & 1) == 0; ++zeros) {
    }
    return zeros;
}

SCANBOX_HOST_DEVICE inline u32 ones_of(u64 value) {
    u32 ones = 0;
    for (; value != 0; value &= value - 1) {
        ++ones;
    }
    return ones;
}

// The bits of a whole number as a value of the type; modulo what the type holds.
SCANBOX_HOST_DEVICE inline u64 integer(Element element, i64 value) {
    switch (element) {
    case Element::f32:
        return bits_of_float(static_cast<float>(value));
    case Element::f64:
        return bits_of_double(static_cast<double>(value));
    case Element::u64:
    case Element::i64:
        return static_cast<u64>(value);
    default:
        return static_cast<u32>(value);
    }
}

// Of random bits a 32-bit element has the upper half, which is the better one.
SCANBOX_HOST_DEVICE inline u64 whole(Element element, u64 bits) {
    return problem::bytes_of(element) == 4 ? bits >> 32 : bits;
}

// Places -------------------------------------------------------------------------------------------------------------

// Octaves of an index below 2^32: elements 0 to 3, and one for each further bit.
constexpr u64 octaves_of_all = 31;
// Inputs with one value of this bit of the seed and those with the other one complement each other.
constexpr u64 side_bit = u64{1} << 30;

SCANBOX_HOST_DEVICE inline u64 octave_of(u64 index) {
    const u32 log = log2_of(index > 2 ? index : 2);
    return log - 1;
}

SCANBOX_HOST_DEVICE inline u64 begin_of_octave(u64 octave) { return octave == 0 ? 1 : u64{2} << octave; }

// Whether this is the one place in its part of `parts` equal ones of its group of `octaves` octaves; which part, if so.
SCANBOX_HOST_DEVICE inline bool is_place(u64 seed, u64 index, u64 octaves, u64 parts, u64& which) {
    const u64 group = octave_of(index) / octaves;
    const u64 start = begin_of_octave(group * octaves);
    const u64 length = (begin_of_octave((group + 1) * octaves) - start) / parts;
    if (index < start) {
        return false;
    }
    const u64 part = (index - start) / length;
    const u64 place = start + part * length + random_bits(seed, ~(group * parts + part)) % length;
    which = group * parts + part;
    return index == place && part < parts;
}

// And, or ------------------------------------------------------------------------------------------------------------

// Bits that elements may change in what a scan begins with.
SCANBOX_HOST_DEVICE inline u64 free_bits(const Problem& problem) {
    const u64 all = ~u64{0} >> (64 - 8 * problem::bytes_of(problem.element));
    const u64 init = problem.mode == problem::Mode::exclusive
        ? problem.init
        : problem::identity_bits(problem.op, problem.element);
    return problem.op == Operator::bit_or ? ~init & all : init & all;
}

SCANBOX_HOST_DEVICE inline u64 one_bit(const Problem& problem, u64 seed, u64 index) {
    const u64 free = free_bits(problem);
    const u64 count = ones_of(free);
    const u64 identity = problem::identity_bits(problem.op, problem.element);
    const u64 parts = count / octaves_of_all > 1 ? count / octaves_of_all : 1;
    const u64 least = count > 1 ? count : 1;
    const u64 needed = (octaves_of_all + least - 1) / least;
    u64 place = 0;
    if (count == 0 || !is_place(seed, index, needed < octaves_of_all ? needed : octaves_of_all, parts, place)) {
        return identity;
    }
    u64 number = (place + random_bits(seed, 0) % count) % count;
    for (u32 bit = 0; bit < 64; ++bit) {
        if ((free >> bit & 1) == 1 && number-- == 0) {
            return identity ^ (u64{1} << bit);
        }
    }
    return identity;
}

// Minima and maxima --------------------------------------------------------------------------------------------------

// Elements of a type in ascending order, by number (input/heights.rs).
struct Range {
    i64 least;
    i64 greatest;
};

SCANBOX_HOST_DEVICE inline Range range_of(Element element) {
    switch (element) {
    case Element::i32:
    case Element::i64:
        return {-(i64{1} << 31), (i64{1} << 31) - 1};
    case Element::f32:
        return {-0x7F000000, 0x7F000000};
    case Element::f64:
        return {-0x7FE00000, 0x7FE00000};
    default:
        return {0, 0xFFFFFFFF};
    }
}

constexpr u64 least_normal_f32 = 0x00800000;
constexpr u64 least_normal_f64 = 0x0010000000000000;

SCANBOX_HOST_DEVICE inline i64 number_of_float(bool is_negative, u64 magnitude, u64 least, u32 shift) {
    if (magnitude < least) {
        return 0;
    }
    const i64 steps = static_cast<i64>((magnitude - least) >> shift);
    return is_negative ? -steps - 1 : steps + 1;
}

SCANBOX_HOST_DEVICE inline i64 number_of(Element element, u64 bits) {
    switch (element) {
    case Element::i32:
        return static_cast<std::int32_t>(static_cast<u32>(bits));
    case Element::u64:
        return static_cast<i64>(bits >> 32);
    case Element::i64:
        return static_cast<std::int32_t>(static_cast<u32>(bits >> 32));
    case Element::f32:
        return number_of_float((bits >> 31 & 1) == 1, bits & 0x7FFFFFFF, least_normal_f32, 0);
    case Element::f64:
        return number_of_float(bits >> 63 == 1, bits & (~u64{0} >> 1), least_normal_f64, 32);
    default:
        return static_cast<i64>(bits);
    }
}

// `low` is what 64-bit values have below the number.
SCANBOX_HOST_DEVICE inline u64 value_of(Element element, i64 number, u32 low) {
    const u64 magnitude = static_cast<u64>(number < 0 ? -number : number) - 1;
    const u64 sign = number < 0 ? 1 : 0;
    switch (element) {
    case Element::u64:
    case Element::i64:
        return static_cast<u64>(number) << 32 | low;
    case Element::f32:
        return number == 0 ? 0 : sign << 31 | (magnitude + least_normal_f32);
    case Element::f64:
        return number == 0 ? 0 : sign << 63 | ((magnitude << 32 | low) + least_normal_f64);
    default:
        return static_cast<u32>(number);
    }
}

// The number from which on signed and unsigned comparisons differ, or numbers are positive.
SCANBOX_HOST_DEVICE inline i64 middle_of(Element element) {
    return element == Element::u32 || element == Element::u64 ? i64{1} << 31 : 0;
}

// Values that beat each other and what a scan begins with.
struct Heights {
    Element element;
    Range range;
    i64 origin;
    i64 step;
};

SCANBOX_HOST_DEVICE inline Heights heights_of(const Problem& problem) {
    const Range range = range_of(problem.element);
    const i64 step = problem.op == Operator::min ? -1 : 1;
    // Where nothing is given heights begin near the identity: 128 steps from it; of floats at 4 or -4.
    i64 origin = problem::is_float(problem.element) ? -step * (i64{1} << 30)
        : step > 0                                  ? range.least + 128
                                                    : range.greatest - 128;
    if (problem.mode == problem::Mode::exclusive
        && problem.init != problem::identity_bits(problem.op, problem.element)) {
        origin = number_of(problem.element, problem.init);
    }
    return {problem.element, range, origin, step};
}

// The value at a height: those above 0 beat what a scan begins with, each of them those below it.
SCANBOX_HOST_DEVICE inline u64 value_at_height(const Heights& heights, i64 height, u32 low) {
    const Range range = heights.range;
    i64 number = heights.origin + heights.step * height;
    number = number < range.least ? range.least : number > range.greatest ? range.greatest : number;
    return value_of(heights.element, number, low);
}

// What records of a rank have beyond a step for each rank.
SCANBOX_HOST_DEVICE inline i64 leaps(const Heights& heights, i64 rank) {
    constexpr i64 octaves_of_ranks = 30;
    constexpr i64 octaves_to_middle = 5;
    constexpr i64 steps = 129 + (i64{1} << (octaves_of_ranks - 1)) + 32;
    const i64 room
        = heights.step > 0 ? heights.range.greatest - heights.origin : heights.origin - heights.range.least;
    const i64 budget = room > steps ? room - steps : 0;
    const i64 distance = heights.step * (middle_of(heights.element) - heights.origin);
    const i64 to_middle = distance < 0 ? 0 : distance < budget ? distance : budget;
    const i64 later = (budget - to_middle) / (octaves_of_ranks - octaves_to_middle);
    const u32 octave = log2_of(static_cast<u64>(rank + 1));
    const i64 within = rank + 1 - (i64{1} << octave);
    if (octave < octaves_to_middle) {
        return to_middle * ((i64{octave} << octave) + within) / (octaves_to_middle << octave);
    }
    return to_middle + ((later * (((octave - octaves_to_middle) << octave) + within)) >> octave);
}

// A value that beats all of lower rank, and those at heights below 129; or one that it beats, and only just. `random` is
// what a value of 64 bits has beside its number.
SCANBOX_HOST_DEVICE inline u64 close_to_record(const Heights& heights, i64 rank, u64 random, bool is_beaten) {
    const i64 height = 129 + rank + leaps(heights, rank);
    if (problem::bytes_of(heights.element) == 4) {
        return value_at_height(heights, is_beaten ? height - 1 : height, 0);
    }
    const u32 low = static_cast<u32>(random);
    const u32 bit = u32{1} << (random >> 32 & random >> 37 & 31);
    const bool is_negative_float
        = problem::is_float(heights.element) && heights.origin + heights.step * height < 0;
    const bool grows = (heights.step > 0) != is_negative_float;
    return value_at_height(heights, height, grows == is_beaten ? low & ~bit : low | bit);
}

// Whether an element beats all before it.
SCANBOX_HOST_DEVICE inline bool is_record(u64 seed, u64 index) {
    if (index >= 8) {
        const u64 begins = index >> (log2_of(index) - 3);
        const bool has_some = (seed & side_bit) == 0 ? begins < 12 : begins >= 12 && begins < 15;
        if (!has_some) {
            return false;
        }
    }
    const u64 turn = (index >> 10) % 4;
    const u64 gap = turn < 2 ? 8 : turn == 2 ? 64 : 512;
    return index % gap == 1 + random_bits(~seed, index / gap) % (gap - 1);
}

// Products of floats -------------------------------------------------------------------------------------------------

SCANBOX_HOST_DEVICE inline bool is_odd(u64 index) { return index != 0 && trailing_zeros(index) % 2 == 1; }

SCANBOX_HOST_DEVICE inline u64 factor(Element element, u64 seed, u64 random, u64 index) {
    const bool side = (seed & side_bit) != 0;
    const bool minus = side ? (random & 1) == 1 : is_odd(index) != is_odd(index + 1);
    u64 place = 0;
    const i64 magnitude = is_place(seed, index, 1, side ? 3 : 2, place) ? 2 : 1;
    return integer(element, minus ? -magnitude : magnitude);
}

// Few even factors of integers, where a product has bits left for them.
SCANBOX_HOST_DEVICE inline u64 whole_factor(const Problem& problem, u64 seed, u64 random, u64 index) {
    const u32 width = 8 * static_cast<u32>(problem::bytes_of(problem.element));
    const u32 zeros = problem.mode == problem::Mode::exclusive ? trailing_zeros(problem.init) : 0;
    const u32 left = zeros < width ? width - zeros : 0;
    u64 place = 0;
    const bool is_even = left >= 24 && is_place(seed, index, 4, 1, place);
    const u64 odd = u64{1} << 32 | 1;
    return whole(problem.element, is_even ? (random & ~odd) | odd << 1 : random | odd);
}

// Sums of floats -----------------------------------------------------------------------------------------------------

// A small integer, and once per octave of the index a large one, of either sign in turns.
SCANBOX_HOST_DEVICE inline u64 term(Element element, u64 seed, u64 random, u64 index) {
    i64 value = static_cast<i64>((random >> 32) % 17) - 8;
    u64 place = 0;
    if (is_place(seed, index, 1, 1, place)) {
        const i64 large = element == Element::f32 ? i64{1} << 14 : i64{1} << 40;
        value += place % 2 == 0 ? large : -large;
    }
    return integer(element, value);
}

// All ----------------------------------------------------------------------------------------------------------------

SCANBOX_HOST_DEVICE inline u64 bits_at(const Problem& problem, u64 seed, u64 index) {
    const u64 random = random_bits(seed, index);
    const Element element = problem.element;
    const bool floats = problem::is_float(element);
    if (problem.real && floats) {
        return element == Element::f32 ? bits_of_float(static_cast<float>(random >> 40) / 16777216.0f)
                                       : bits_of_double(static_cast<double>(random >> 11) / 9007199254740992.0);
    }
    switch (problem.op) {
    case Operator::add:
        return floats ? term(element, seed, random, index) : whole(element, random);
    case Operator::bit_xor:
        return whole(element, random);
    case Operator::mul:
        return floats ? factor(element, seed, random, index)
                      : whole_factor(problem, seed, random, index);
    case Operator::min:
    case Operator::max: {
        const Heights heights = heights_of(problem);
        const auto close = [&](u64 record) {
            return close_to_record(
                heights, static_cast<i64>(record >> 3), random_bits(seed, record), record != index);
        };
        if (is_record(seed, index)) {
            return close(index);
        }
        // Beside a record stands what it nearly does not beat, on either side, but never the first of a tile.
        if (index > 0 && is_record(seed, index - 1)) {
            return close(index - 1);
        }
        if (index % 8 != 0 && is_record(seed, index + 1)) {
            return close(index + 1);
        }
        return value_at_height(heights, static_cast<i64>(random & 255) - 127, static_cast<u32>(random));
    }
    default:
        return one_bit(problem, seed, index);
    }
}

template <typename Structure>
SCANBOX_HOST_DEVICE Words words_of(const Structure& value) {
    Words words{{0, 0, 0, 0}};
    memcpy(words.at, &value, sizeof value);
    return words;
}

SCANBOX_HOST_DEVICE inline Words element_at(const Problem& problem, u64 seed, u64 index) {
    const u32 place = static_cast<u32>(index);
    switch (problem.op) {
    case Operator::affine:
        return words_of(operators::Affine::draw(operators::random_words(seed, place), place));
    case Operator::affine_f32:
        return words_of(operators::AffineF32::draw(operators::random_words(seed, place), place));
    case Operator::argmax:
        return words_of(operators::Argmax::draw(operators::random_words(seed, place), place));
    case Operator::matrix2x2:
        return words_of(operators::Matrix2x2::draw(operators::random_words(seed, place), place));
    case Operator::segmented_sum:
        return words_of(operators::SegmentedSum::draw(operators::random_words(seed, place), place));
    case Operator::text_position:
        return words_of(operators::TextPosition::draw(operators::random_words(seed, place), place));
    default:
        return words_of_bits(bits_at(problem, seed, index));
    }
}

}  // namespace input
