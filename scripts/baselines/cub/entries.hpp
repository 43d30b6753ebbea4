// What this build can call, by problem: each translation unit of cub_problems.cu adds what it has.
#pragma once

#include "problem.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace subjects {

// Bytes of temporary storage that are enough for every subject: CUB keeps up to two elements and a word per tile and
// some bytes per call. That is 36 bytes for 384 elements of 16 bytes, and less for smaller ones: a byte for four
// elements is more than twice as much.
inline std::size_t temporary_bytes(std::uint64_t n) { return (std::size_t{1} << 20) + n / 4; }

struct Call {
    const void* input;
    // The same where in place.
    void* output;
    // Offsets of 32 bits, which is what CUB is fastest with.
    std::uint32_t n;
    std::uint32_t element_bytes;
    // The element that an exclusive scan or a reduction begins with.
    const void* init;
    void* temporary;
    std::size_t temporary_bytes;
    cudaStream_t stream;
};

using Enqueue = cudaError_t (*)(const Call&);

struct Entry {
    problem::Mode mode;
    problem::Element element;
    problem::Operator op;
    Enqueue enqueue;
};

inline std::vector<Entry>& entries() {
    static std::vector<Entry> entries;
    return entries;
}

// The call of CUB as it comes; none where this build has none.
inline Enqueue entry_of(const problem::Problem& problem) {
    for (const Entry& entry : entries()) {
        if (entry.mode == problem.mode && entry.element == problem.element && entry.op == problem.op) {
            return entry.enqueue;
        }
    }
    return nullptr;
}

// Calls CUB's function twice, as it wants: for the bytes of temporary storage, and with them.
template <typename Function>
cudaError_t with_storage(const Call& call, Function function) {
    std::size_t bytes = 0;
    const cudaError_t status = function(nullptr, bytes);
    if (status != cudaSuccess) {
        return status;
    }
    if (bytes > call.temporary_bytes) {
        throw std::runtime_error("CUB wants " + std::to_string(bytes) + " bytes of temporary storage");
    }
    return function(call.temporary, bytes);
}

}  // namespace subjects
