// The functors of operators.hpp against the files of kernels/operators themselves, which a C++ compiler takes for C++
// with a few words of GLSL explained to it. Nothing here needs a GPU.
//   g++ -std=c++20 -Wall -Wextra -I../../../kernels -o build/operators-test operators_test.cpp && build/operators-test

#include "input.hpp"
#include "operators.hpp"
#include "rounding.hpp"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace glsl {

using uint = std::uint32_t;

struct uvec2 {
    uint x;
    uint y;
};

inline uvec2 operator*(uint scale, uvec2 v) { return {scale * v.x, scale * v.y}; }
inline uvec2 operator+(uvec2 a, uvec2 b) { return {a.x + b.x, a.y + b.y}; }
inline uint findMSB(uint value) { return static_cast<uint>(std::bit_width(value)) - 1; }
inline float uintBitsToFloat(uint bits) { return std::bit_cast<float>(bits); }
inline uint max(uint a, uint b) { return a > b ? a : b; }
inline uint mix(uint otherwise, uint then, bool condition) { return condition ? then : otherwise; }
inline float mix(float otherwise, float then, bool condition) { return condition ? then : otherwise; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
namespace affine {
#include "operators/affine.glsl"
}
namespace affine_f32 {
#include "operators/affine-f32.glsl"
}
namespace argmax {
#include "operators/argmax.glsl"
}
namespace matrix2x2 {
#include "operators/matrix2x2.glsl"
}
namespace segmented_sum {
#include "operators/segmented-sum.glsl"
}
namespace text_position {
#include "operators/text-position.glsl"
}
#pragma GCC diagnostic pop

}  // namespace glsl

static int failures = 0;

template <typename Structure, typename OfFile>
static bool same(const Structure& own, const OfFile& of_file) {
    static_assert(sizeof own == sizeof of_file, "the layout is that of the file");
    return std::memcmp(&own, &of_file, sizeof own) == 0;
}

template <typename Structure, typename OfFile>
static OfFile as_in_file(const Structure& own) {
    OfFile of_file;
    std::memcpy(&of_file, &own, sizeof own);
    return of_file;
}

template <typename Structure, typename OfFile, typename Identity, typename CombineOf, typename Draw>
static void check(const char* name, Identity identity, CombineOf combine, Draw draw) {
    if (!same(Structure::identity(), identity())) {
        std::printf("FAILED: %s: the identity\n", name);
        ++failures;
    }
    Structure before = Structure::identity();
    for (std::uint32_t i = 0; i < 300000; ++i) {
        // All sizes of an index.
        const std::uint32_t index = i < 200000 ? i : i * 2654435761u;
        const operators::Drawn random = operators::random_words(0x5CA7B0C5ull << 20 | 7, index);
        const Structure element = Structure::draw(random, index);
        const Structure both = Structure::combine(before, element);
        const OfFile of_file = draw({random.x, random.y}, index);
        const bool right = same(element, of_file)
            && same(both, combine(as_in_file<Structure, OfFile>(before), of_file))
            && same(Structure::combine(element, before), combine(of_file, as_in_file<Structure, OfFile>(before)));
        if (!right) {
            std::printf("FAILED: %s: element %u\n", name, index);
            ++failures;
            return;
        }
        before = both;
    }
}

// What counts as right.
static void judges() {
    using problem::Element;
    using problem::Operator;
    const auto right = [](const problem::Problem& problem, std::uint64_t expected, std::uint64_t got) {
        const std::uint32_t a[2] = {static_cast<std::uint32_t>(expected), static_cast<std::uint32_t>(expected >> 32)};
        const std::uint32_t b[2] = {static_cast<std::uint32_t>(got), static_cast<std::uint32_t>(got >> 32)};
        float error = 0;
        const std::uint32_t length = problem::bytes_of(problem.element) / 4;
        return rounding::is_right(rounding::judge_of(problem, 1000, false), a, b, length, error);
    };
    problem::Problem words;
    problem::Problem floats;
    floats.element = Element::f32;
    problem::Problem reals = floats;
    reals.real = true;
    problem::Problem doubles;
    doubles.element = Element::f64;
    problem::Problem real_doubles = doubles;
    real_doubles.real = true;
    problem::Problem maps;
    maps.element = Element::struct8;
    maps.op = Operator::affine_f32;
    const std::uint64_t one = 0x3FF0000000000000u;
    struct {
        const problem::Problem& problem;
        std::uint64_t expected;
        std::uint64_t got;
        bool right;
    } const rows[] = {
        {words, 7, 7, true},
        {words, 7, 8, false},
        {floats, 0x3F800000, 0x3F800001, false},
        {floats, 0, 0x80000000, true},
        {reals, 0x3F800000, 0x3F800001, true},
        {reals, 0x3F800000, 0x3F900000, false},
        {reals, 0x3F800000, 0x7FC00000, false},
        {reals, 0x3F800000, 0xFFC00000, false},
        {reals, 0x3F800000, 0x7F800000, false},
        {doubles, one, one + 1, false},
        {doubles, 0, std::uint64_t{1} << 63, true},
        {real_doubles, one, one + 1, true},
        {real_doubles, one, one + (std::uint64_t{1} << 44), false},
        {real_doubles, one, 0x7FF8000000000000u, false},
        // Scale 1 and offset 1; one of them a bit off, or not a number.
        {maps, 0x3F8000003F800000u, 0x3F8000013F800000u, true},
        {maps, 0x3F8000003F800000u, 0x3F8001003F800000u, false},
        {maps, 0x3F8000003F800000u, 0x3F8000007FC00000u, false},
    };
    for (const auto& row : rows) {
        if (right(row.problem, row.expected, row.got) != row.right) {
            std::printf("FAILED: %llx for %llx counts as %s\n", static_cast<unsigned long long>(row.got),
                static_cast<unsigned long long>(row.expected), row.right ? "wrong" : "right");
            ++failures;
        }
    }
}

int main() {
    namespace files = glsl;
    check<operators::Affine, files::affine::Element>(
        "affine", files::affine::identity, files::affine::combine, files::affine::draw);
    check<operators::AffineF32, files::affine_f32::Element>(
        "affine-f32", files::affine_f32::identity, files::affine_f32::combine, files::affine_f32::draw);
    check<operators::Argmax, files::argmax::Element>(
        "argmax", files::argmax::identity, files::argmax::combine, files::argmax::draw);
    check<operators::Matrix2x2, files::matrix2x2::Element>(
        "matrix2x2", files::matrix2x2::identity, files::matrix2x2::combine, files::matrix2x2::draw);
    check<operators::SegmentedSum, files::segmented_sum::Element>(
        "segmented-sum", files::segmented_sum::identity, files::segmented_sum::combine, files::segmented_sum::draw);
    check<operators::TextPosition, files::text_position::Element>(
        "text-position", files::text_position::identity, files::text_position::combine, files::text_position::draw);
    judges();
    std::printf(failures == 0 ? "operators: ok\n" : "operators: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
