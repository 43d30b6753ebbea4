// What counts as right: integers and most of the users' operators to the bit, sums of floats within the bound that
// scanbox's own kernels have (crates/scanbox-kernels/src/rounding.rs, kernels/glsl/compare.comp).
#pragma once

#include "input.hpp"
#include "operators.hpp"
#include "problem.hpp"

#include <cstdint>
#include <cstring>

namespace rounding {

using input::Words;
using problem::Element;
using problem::Operator;
using problem::Problem;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// How elements are compared.
struct Judge {
    enum class By { words, f32, f64, affine_f32 };
    By by = By::words;
    // The largest error that counts as right, as a share; 0: none.
    float bound = 0;
    // A quarter of what the sum of the magnitudes of a sum's terms exceeds the sum by, where the initial value is all
    // that is below zero.
    double quarter_beside = 0;
};

// The fewest elements of a tile of CUB, whatever the type and the tuning are, and the most that a thread has of one, in
// a workgroup of the largest size.
constexpr u64 tile_elements_min = 512;
constexpr u64 items_max = 128;
constexpr u64 warps_max = 32;
constexpr u64 levels_max = 10;

// Roundings that an element may pass through on its way into the output, at most: within its thread and between
// threads, twice, among warps, and from tile to tile as a lookback hands prefixes on.
constexpr u64 roundings(u64 n) {
    const u64 tile = items_max + 2 * 32 + 3 * warps_max + 2 * levels_max;
    const u64 tiles = (n + tile_elements_min - 1) / tile_elements_min;
    return tile + 2 * tiles + 32 + warps_max + 3;
}

// The largest error of an element of the output that counts as right, as a share of the sum of the magnitudes that make
// it up (Higham, Accuracy and Stability of Numerical Algorithms, 4.2); 0 where nothing is rounded.
inline double error_bound(const Problem& problem, u64 n) {
    if (problem::is_user(problem.op)) {
        return operators::tolerance_of(problem.op);
    }
    if (!problem::is_float(problem.element) || problem.op != Operator::add || !problem.real) {
        return 0;
    }
    const bool narrow = problem.element == Element::f32;
    const double unit = narrow ? 0x1p-24 : 0x1p-53;
    const double reference_unit = narrow ? 0x1p-53 : 0x1p-104;
    const double depth = static_cast<double>(roundings(n)) * unit;
    // More than this is no bound at all.
    const double gamma = depth < 0.5 ? depth / (1 - depth) : 1;
    return gamma + static_cast<double>(n) * reference_unit + unit;
}

inline double float_of(Element element, u64 bits) {
    if (element == Element::f32) {
        return operators::float_of_bits(static_cast<u32>(bits));
    }
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Of a copy word by word.
inline Judge judge_of(const Problem& problem, u64 n, bool of_copy) {
    Judge judge;
    if (of_copy) {
        return judge;
    }
    judge.bound = static_cast<float>(error_bound(problem, n));
    judge.by = problem.op == Operator::affine_f32 ? Judge::By::affine_f32
        : problem.element == Element::f32         ? Judge::By::f32
        : problem.element == Element::f64         ? Judge::By::f64
                                                  : Judge::By::words;
    if (problem::is_float(problem.element) && problem.op == Operator::add && problem.mode == problem::Mode::exclusive) {
        const double beside = -0.5 * float_of(problem.element, problem.init);
        judge.quarter_beside = beside > 0 ? beside : 0;
    }
    return judge;
}

// Whether an error is no larger than a bound. Neither is negative, so that their bits are in the same order; a NaN is
// above every bound by its bits.
SCANBOX_HOST_DEVICE inline bool is_within(float error, float bound) {
    return static_cast<u32>(input::bits_of_float(error)) <= static_cast<u32>(input::bits_of_float(bound));
}

SCANBOX_HOST_DEVICE inline float magnitude(float value) { return value < 0 ? -value : value; }
SCANBOX_HOST_DEVICE inline double magnitude(double value) { return value < 0 ? -value : value; }

template <typename Float>
SCANBOX_HOST_DEVICE bool is_near(Float expected, Float got, const Judge& judge, float& error) {
    if (judge.bound == 0) {
        return false;
    }
    // Quarters, so that no sum of two is infinite: whatever is finite would be within any bound of that.
    const Float quarter = static_cast<Float>(0.25);
    const Float off = magnitude(quarter * got - quarter * expected);
    error = static_cast<float>(off / (quarter * magnitude(expected) + static_cast<Float>(judge.quarter_beside)));
    return is_within(error, judge.bound);
}

SCANBOX_HOST_DEVICE inline float field_error(u32 expected_bits, u32 got_bits) {
    if (expected_bits == got_bits) {
        return 0;
    }
    const float expected = operators::float_of_bits(expected_bits);
    const float size = magnitude(expected);
    const float error = magnitude(operators::float_of_bits(got_bits) - expected) / (size > 1.0f ? size : 1.0f);
    // A NaN is not right.
    return static_cast<u32>(input::bits_of_float(error)) < 0x7F800000u ? error : operators::float_of_bits(0x7F800000u);
}

// Whether an element of `length` words is right; `error` is how far it is off, as a share.
SCANBOX_HOST_DEVICE inline bool is_right(
    const Judge& judge, const u32* expected, const u32* got, u32 length, float& error) {
    error = 0;
    bool same = true;
    for (u32 i = 0; i < length; ++i) {
        same = same && expected[i] == got[i];
    }
    if (same || judge.by == Judge::By::words) {
        return same;
    }
    if (judge.by == Judge::By::affine_f32) {
        const float scale = field_error(expected[0], got[0]);
        const float offset = field_error(expected[1], got[1]);
        error = scale > offset ? scale : offset;
        return is_within(error, judge.bound);
    }
    if (judge.by == Judge::By::f32) {
        // Zero has two signs.
        if ((expected[0] << 1) == 0 && (got[0] << 1) == 0) {
            return true;
        }
        return is_near(operators::float_of_bits(expected[0]), operators::float_of_bits(got[0]), judge, error);
    }
    if ((expected[0] | expected[1] << 1) == 0 && (got[0] | got[1] << 1) == 0) {
        return true;
    }
    double right;
    double found;
    memcpy(&right, expected, sizeof right);
    memcpy(&found, got, sizeof found);
    return is_near(right, found, judge, error);
}

}  // namespace rounding
