// Problems: what is computed, in scanbox's own words (crates/scanbox-model/src/problem.rs). This part knows nothing of
// a GPU.
#pragma once

#include <cstdint>
#include <string>

#ifdef __CUDACC__
#define SCANBOX_HOST_DEVICE __host__ __device__
#else
#define SCANBOX_HOST_DEVICE
#endif

namespace problem {

enum class Mode { inclusive, exclusive, reduce };
enum class Element { u32, i32, f32, u64, i64, f64, struct4, struct8, struct12, struct16 };
// Behind scanbox's own operators those of its example files (operators.hpp).
enum class Operator {
    add, min, max, mul, bit_and, bit_or, bit_xor,
    affine, affine_f32, argmax, matrix2x2, segmented_sum, text_position,
};

constexpr const char* mode_words[] = {"inclusive", "exclusive", "reduce"};
constexpr const char* element_words[]
    = {"u32", "i32", "f32", "u64", "i64", "f64", "struct4", "struct8", "struct12", "struct16"};
constexpr const char* operator_words[] = {"add", "min", "max", "mul", "and", "or", "xor", "affine", "affine-f32",
    "argmax", "matrix2x2", "segmented-sum", "text-position"};
constexpr const char* placement_words[] = {"out-of-place", "in-place"};
constexpr const char* input_words[] = {"random", "real"};

// It goes to the device as it is.
struct Problem {
    Mode mode = Mode::inclusive;
    Element element = Element::u32;
    Operator op = Operator::add;
    // What an exclusive scan begins with, as bits; 0 elsewhere. Users' operators begin with their identity.
    std::uint64_t init = 0;
    bool in_place = false;
    // Reals from 0 to 1, whose sums are rounded, in place of what every order of adding is right for.
    bool real = false;
};

inline bool operator==(const Problem& a, const Problem& b) {
    return a.mode == b.mode && a.element == b.element && a.op == b.op && a.init == b.init && a.in_place == b.in_place
        && a.real == b.real;
}

// What protocol 1 was about.
inline bool is_default(const Problem& problem) { return problem == Problem{}; }

SCANBOX_HOST_DEVICE constexpr bool is_user(Operator op) { return op >= Operator::affine; }

SCANBOX_HOST_DEVICE constexpr bool is_float(Element element) {
    return element == Element::f32 || element == Element::f64;
}

SCANBOX_HOST_DEVICE constexpr std::uint32_t bytes_of(Element element) {
    switch (element) {
    case Element::u32:
    case Element::i32:
    case Element::f32:
    case Element::struct4:
        return 4;
    case Element::struct12:
        return 12;
    case Element::struct16:
        return 16;
    default:
        return 8;
    }
}

// Elements of the output, of `n` elements of the input.
constexpr std::uint64_t outputs_of(const Problem& problem, std::uint64_t n) {
    return problem.mode == Mode::reduce ? 1 : n;
}

// What changes nothing when it is combined with something; of scanbox's own operators.
SCANBOX_HOST_DEVICE inline std::uint64_t identity_bits(Operator op, Element element) {
    const std::uint64_t all = bytes_of(element) == 4 ? 0xFFFFFFFFu : ~std::uint64_t{0};
    const std::uint64_t top = bytes_of(element) == 4 ? 0x80000000u : std::uint64_t{1} << 63;
    const bool is_signed = element == Element::i32 || element == Element::i64;
    switch (op) {
    case Operator::mul:
        return element == Element::f32 ? 0x3F800000u : element == Element::f64 ? 0x3FF0000000000000u : 1;
    case Operator::bit_and:
        return all;
    case Operator::min:
        return element == Element::f32 ? 0x7F800000u
            : element == Element::f64  ? 0x7FF0000000000000u
            : is_signed                ? all ^ top
                                       : all;
    case Operator::max:
        return element == Element::f32 ? 0xFF800000u
            : element == Element::f64  ? 0xFFF0000000000000u
            : is_signed                ? top
                                       : 0;
    default:
        return 0;
    }
}

// "exclusive u64 add"
inline std::string title(const Problem& problem) {
    return std::string(mode_words[static_cast<int>(problem.mode)]) + " "
        + element_words[static_cast<int>(problem.element)] + " " + operator_words[static_cast<int>(problem.op)];
}

}  // namespace problem
