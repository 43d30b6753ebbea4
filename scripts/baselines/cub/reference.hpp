// The reference, made without CUB and without the GPU: one element combined after another, as plainly as it can be
// (crates/scanbox-kernels/src/reference.rs). Integers and users' operators are exact; floats are combined with more
// precision than the device has, 32-bit ones in 64 bits, 64-bit ones in pairs, and rounded to the type at the end.
#pragma once

#include "input.hpp"
#include "operators.hpp"
#include "problem.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace reference {

using input::Words;
using problem::Element;
using problem::Mode;
using problem::Operator;
using problem::Problem;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// A 32-bit float in 64 bits.
struct Wide {
    double value;
};

// A 64-bit float, and what its rounding has lost.
struct Pair {
    double value;
    double lost;
};

template <typename T>
struct Stored {
    using Bits = T;
    static T read(T bits) { return bits; }
    static T write(T value) { return value; }
};
template <>
struct Stored<Wide> {
    using Bits = float;
    static Wide read(float bits) { return {bits}; }
    static float write(Wide value) { return static_cast<float>(value.value); }
};
template <>
struct Stored<Pair> {
    using Bits = double;
    static Pair read(double bits) { return {bits, 0}; }
    static double write(Pair value) { return value.value + value.lost; }
};

// Integers wrap: they are combined as unsigned ones, which have the same bits.
template <typename T>
struct Add {
    T operator()(T a, T b) const {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    }
};
template <>
struct Add<Wide> {
    Wide operator()(Wide a, Wide b) const { return {a.value + b.value}; }
};
template <>
struct Add<Pair> {
    // The error of a sum is a float (Knuth, TAOCP 2, 4.2.2, theorem B).
    Pair operator()(Pair a, Pair b) const {
        const double sum = a.value + b.value;
        const double of_later = sum - a.value;
        const double error = (a.value - (sum - of_later)) + (b.value - of_later);
        return {sum, a.lost + b.lost + error};
    }
};

template <typename T>
struct Mul {
    T operator()(T a, T b) const {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    }
};
template <>
struct Mul<Wide> {
    Wide operator()(Wide a, Wide b) const { return {a.value * b.value}; }
};
template <>
struct Mul<Pair> {
    // Factors are powers of two, but for one: exact.
    Pair operator()(Pair a, Pair b) const { return {a.value * b.value, 0}; }
};

inline bool is_less(double a, double b) { return a < b; }
inline bool is_less(Wide a, Wide b) { return a.value < b.value; }
inline bool is_less(Pair a, Pair b) { return a.value < b.value; }
template <typename T>
bool is_less(T a, T b) {
    return a < b;
}

struct Min {
    template <typename T>
    T operator()(T a, T b) const {
        return is_less(b, a) ? b : a;
    }
};
struct Max {
    template <typename T>
    T operator()(T a, T b) const {
        return is_less(a, b) ? b : a;
    }
};
struct And {
    template <typename T>
    T operator()(T a, T b) const {
        return a & b;
    }
};
struct Or {
    template <typename T>
    T operator()(T a, T b) const {
        return a | b;
    }
};
struct Xor {
    template <typename T>
    T operator()(T a, T b) const {
        return a ^ b;
    }
};

// An answer, made from the first element on, part by part.
class Reference {
public:
    explicit Reference(const Problem& problem) : problem_(problem) {
        const u64 first = problem.mode == Mode::exclusive ? problem.init
                                                          : problem::identity_bits(problem.op, problem.element);
        std::memcpy(carry_, &first, sizeof first);
        operators::with_structure(problem.op, [&](auto* structure) {
            const auto identity = std::remove_pointer_t<decltype(structure)>::identity();
            std::memcpy(carry_, &identity, sizeof identity);
        });
        if (problem.element == Element::f32) {
            float value;
            std::memcpy(&value, &first, sizeof value);
            set(Wide{value});
        } else if (problem.element == Element::f64) {
            double value;
            std::memcpy(&value, &first, sizeof value);
            set(Pair{value, 0});
        }
    }

    // Turns the next `count` elements of the input, in memory, into those of the output. Of a reduction it leaves the
    // inclusive scan: the last element is the answer.
    void scan(void* elements, u64 count) {
        switch (problem_.element) {
        case Element::u32:
            return integers<std::uint32_t>(elements, count);
        case Element::i32:
            return integers<std::int32_t>(elements, count);
        case Element::u64:
            return integers<std::uint64_t>(elements, count);
        case Element::i64:
            return integers<std::int64_t>(elements, count);
        case Element::f32:
            return numbers<Wide>(elements, count);
        case Element::f64:
            return numbers<Pair>(elements, count);
        default:
            operators::with_structure(problem_.op, [&](auto* structure) {
                using Structure = std::remove_pointer_t<decltype(structure)>;
                pass<Structure>(elements, count, operators::Combine<Structure>{});
            });
        }
    }

private:
    template <typename T>
    void set(T value) {
        static_assert(sizeof value <= sizeof carry_);
        std::memcpy(carry_, &value, sizeof value);
    }

    template <typename T>
    void integers(void* elements, u64 count) {
        switch (problem_.op) {
        case Operator::bit_and:
            return pass<T>(elements, count, And{});
        case Operator::bit_or:
            return pass<T>(elements, count, Or{});
        case Operator::bit_xor:
            return pass<T>(elements, count, Xor{});
        default:
            return numbers<T>(elements, count);
        }
    }

    template <typename T>
    void numbers(void* elements, u64 count) {
        switch (problem_.op) {
        case Operator::mul:
            return pass<T>(elements, count, Mul<T>{});
        case Operator::min:
            return pass<T>(elements, count, Min{});
        case Operator::max:
            return pass<T>(elements, count, Max{});
        default:
            return pass<T>(elements, count, Add<T>{});
        }
    }

    template <typename T, typename Act>
    void pass(void* elements, u64 count, Act combine) {
        auto* at = static_cast<typename Stored<T>::Bits*>(elements);
        T carry;
        std::memcpy(&carry, carry_, sizeof carry);
        const bool exclusive = problem_.mode == Mode::exclusive;
        for (u64 i = 0; i < count; ++i) {
            const T before = carry;
            carry = combine(carry, Stored<T>::read(at[i]));
            at[i] = Stored<T>::write(exclusive ? before : carry);
        }
        std::memcpy(carry_, &carry, sizeof carry);
    }

    Problem problem_;
    // What has been combined so far.
    alignas(16) unsigned char carry_[16] = {};
};

// Elements of an input from index `start` into memory, on all cores. It makes them itself: what the device was given is
// checked too when a scan of it agrees.
inline void fill(const Problem& problem, u64 seed, u64 start, void* elements, u64 count) {
    const u64 bytes = problem::bytes_of(problem.element);
    const u64 cores = std::thread::hardware_concurrency();
    const u64 wanted = count / (1 << 14) + 1;
    const u64 parts = cores < 1 ? 1 : cores < wanted ? cores : wanted;
    const auto part = [&](u64 from, u64 to) {
        for (u64 i = from; i < to; ++i) {
            const Words words = input::element_at(problem, seed, start + i);
            std::memcpy(static_cast<unsigned char*>(elements) + i * bytes, words.at, bytes);
        }
    };
    std::vector<std::thread> threads;
    for (u64 i = 1; i < parts; ++i) {
        threads.emplace_back(part, count * i / parts, count * (i + 1) / parts);
    }
    part(0, count / parts);
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace reference
