// Kernels of the program itself: they make inputs, verify outputs, and see to it that a sample contains nothing but its
// calls.
#pragma once

#include "input.hpp"
#include "problem.hpp"
#include "rounding.hpp"

#include <cuda_runtime.h>

#include <cstdint>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

namespace kernels {

// Words behind the end of the output that no call may touch, and what is in them: the same as in scanbox.
constexpr u32 guard_words = 256;
constexpr u32 guard_word = 0x5CA7B0C5u;
// After this the gate opens by itself, so that a full launch queue cannot block for ever.
constexpr u64 gate_ns_max = 200'000'000;

// The shape of every kernel here but the gate: they loop over what is left.
constexpr unsigned blocks = 1056;
constexpr unsigned threads = 256;

// Input of `n` elements into `slots` places that are `stride` words apart.
__global__ void generate(u32* words, problem::Problem problem, u64 seed, u64 n, u64 stride, u64 slots) {
    const u32 length = problem::bytes_of(problem.element) / 4;
    const u64 step = u64{gridDim.x} * blockDim.x;
    for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < n * slots; i += step) {
        const u64 index = i % n;
        const input::Words element = input::element_at(problem, seed, index);
        u32* to = words + i / n * stride + index * length;
        for (u32 word = 0; word < length; ++word) {
            to[word] = element.at[word];
        }
    }
}

// Outputs of `n` elements of `length` words each with `guard` words behind each output, `stride` words apart.
struct Outputs {
    u32* words;
    u64 n;
    u32 length;
    u64 guard;
    u64 stride;
    u64 count;
};

// Fills outputs with other words, each combined with `flip` by exclusive or: the complement of what is expected is
// wrong everywhere; of what is scanned in place the input as it is.
__global__ void prepare(Outputs outputs, const u32* words, u32 flip) {
    const u64 length = outputs.n * outputs.length;
    const u64 step = u64{gridDim.x} * blockDim.x;
    for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < outputs.stride * outputs.count; i += step) {
        const u64 at = i % outputs.stride;
        if (at < length + outputs.guard) {
            outputs.words[i] = at < length ? words[at] ^ flip : guard_word;
        }
    }
}

struct Report {
    unsigned long long mismatches;
    unsigned long long first;
    // Bits of a float, which is in the order of such that are not negative.
    unsigned max_error;
};

// Wrong elements, and wrong guard words behind them; the first wrong place is that within an output.
__global__ void compare(Outputs outputs, const u32* expected, rounding::Judge judge, Report* report) {
    const u64 places = outputs.n + outputs.guard;
    const u64 step = u64{gridDim.x} * blockDim.x;
    for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < places * outputs.count; i += step) {
        const u64 at = i % places;
        const u32* output = outputs.words + i / places * outputs.stride;
        float error = 0;
        bool right = false;
        if (at < outputs.n) {
            const u64 word = at * outputs.length;
            right = rounding::is_right(judge, expected + word, output + word, outputs.length, error);
        } else {
            right = output[outputs.n * outputs.length + (at - outputs.n)] == guard_word;
        }
        if (!right) {
            atomicAdd(&report->mismatches, 1ull);
            atomicMin(&report->first, static_cast<unsigned long long>(at));
        } else if (error != 0) {
            atomicMax(&report->max_error, __float_as_uint(error));
        }
    }
}

// Reads so much that nothing else is left in the L2 cache. Reads, because what a memset leaves there would have to be
// written back during the sample.
__global__ void evict(const uint4* words, u64 count, u32* never) {
    const u64 step = u64{gridDim.x} * blockDim.x;
    u32 sum = 0;
    for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        const uint4 word = words[i];
        sum |= word.x | word.y | word.z | word.w;
    }
    // The words are zeros, which the compiler does not know.
    if (sum != 0) {
        *never = sum;
    }
}

// Keeps the stream waiting until the host has enqueued everything behind it.
struct Gate {
    unsigned open;
    unsigned timed_out;
};

__global__ void wait_at_gate(volatile Gate* gate) {
    u64 begin;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    while (gate->open == 0) {
        u64 now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - begin > gate_ns_max) {
            gate->timed_out = 1;
            return;
        }
    }
}

}  // namespace kernels
