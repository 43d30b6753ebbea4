// What can be measured: CUB's scan as it comes, variants of it through CUB's tuning, and copies of as many bytes. One
// table at the end; a subject enqueues one call on a stream and nothing else.
#pragma once

#include "entries.hpp"
#include "problem.hpp"
#include "protocol.hpp"

#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#if CUB_VERSION >= 300500
#include <cuda/execution>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#endif

namespace subjects {

static_assert(CUB_VERSION / 100000 * 1000000 + CUB_VERSION / 100 % 1000 * 1000 + CUB_VERSION % 100 == CCCL_VERSION,
    "the version of CUB is that of CCCL");

// "3.5.0"
inline std::string cub_version() {
    return std::to_string(CUB_VERSION / 100000) + "." + std::to_string(CUB_VERSION / 100 % 1000) + "."
        + std::to_string(CUB_VERSION % 100);
}

enum class Result { scan, copy, empty };

// The problems that a subject has.
enum class Of { scans, reductions, u32_sums, all };

struct Subject {
    std::string name;
    Result result;
    Of of;
    // None: CUB as it comes, which is another call for each problem.
    Enqueue call;
    // Whether calls are kept apart where the library lets the launch of the next one begin before the end of the last.
    bool keep_apart = false;

    // Its call of a problem; none where it has not.
    Enqueue enqueue(const problem::Problem& problem) const {
        const bool reduces = problem.mode == problem::Mode::reduce;
        switch (of) {
        case Of::scans:
            return reduces ? nullptr : entry_of(problem);
        case Of::reductions:
            return reduces ? entry_of(problem) : nullptr;
        case Of::u32_sums:
            return problem::is_default(problem) ? call : nullptr;
        case Of::all:
            // A reduction writes one element: a copy is no measure of it.
            return reduces && result == Result::copy ? nullptr : call;
        }
        return nullptr;
    }
};

// Variants of the scan ----------------------------------------------------------------------------------------------
//
// Of inclusive sums of u32. CUB chooses a tile of 128 x 24 with a fixed delay for this problem on sm_90.

inline const std::uint32_t* words_in(const Call& call) { return static_cast<const std::uint32_t*>(call.input); }
inline std::uint32_t* words_out(const Call& call) { return static_cast<std::uint32_t*>(call.output); }

#if CUB_VERSION >= 300500 || (CUB_VERSION >= 300000 && CUB_VERSION < 300100)
#define SCANBOX_CUB_TUNING 1
#else
// Neither of the two interfaces for sure.
#define SCANBOX_CUB_TUNING 0
#endif

#if CUB_VERSION >= 300500

// Hands out the temporary storage of the call. The interface with an environment would otherwise allocate in the
// stream, which would be part of every call.
struct FixedStorage {
    void* memory;
    std::size_t capacity;

    void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t = 1) { return allocate_sync(bytes); }
    void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t = 1) noexcept {}
    void* allocate_sync(std::size_t bytes, std::size_t = 1) {
        if (bytes > capacity) {
            throw std::runtime_error("CUB wants " + std::to_string(bytes) + " bytes of temporary storage");
        }
        return memory;
    }
    void deallocate_sync(void*, std::size_t, std::size_t = 1) noexcept {}
    bool operator==(const FixedStorage& other) const { return memory == other.memory; }
    bool operator!=(const FixedStorage& other) const { return !(*this == other); }
};

template <typename Selector>
cudaError_t cub_scan_tuned(const Call& call) {
    const auto environment = cuda::std::execution::env{
        cuda::stream_ref{call.stream},
        cuda::std::execution::prop{
            cuda::mr::get_memory_resource_t{}, FixedStorage{call.temporary, call.temporary_bytes}},
        cuda::execution::tune(Selector{}),
    };
    // CUB falls back to an allocator of its own without a word.
    static_assert(
        cuda::std::is_same_v<cuda::std::remove_cvref_t<decltype(cuda::mr::get_memory_resource(environment))>,
            FixedStorage>);
    return cub::DeviceScan::InclusiveSum(words_in(call), words_out(call), call.n, environment);
}

template <int threads, int items, cub::LookbackDelayAlgorithm delay, unsigned delay_ns, unsigned latency_ns>
struct Lookback {
    __host__ __device__ constexpr cub::ScanPolicy operator()(cuda::compute_capability) const {
        return {cub::ScanAlgorithm::lookback,
            {threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE,
                cub::BLOCK_SCAN_WARP_SCANS, {delay, delay_ns, latency_ns}},
            {}};
    }
};

// The algorithm that CUB keeps for newer architectures, which works on this one.
template <int warps, int items, int lookahead_items>
struct Lookahead {
    __host__ __device__ constexpr cub::ScanPolicy operator()(cuda::compute_capability) const {
        return {cub::ScanAlgorithm::lookahead, {}, {warps, items, lookahead_items}};
    }
};

template <int threads, int items>
using NoDelay = Lookback<threads, items, cub::LookbackDelayAlgorithm::no_delay, 0, 0>;
template <int threads, int items, unsigned delay_ns, unsigned latency_ns>
using BackOn =
    Lookback<threads, items, cub::LookbackDelayAlgorithm::exponential_backon_jitter, delay_ns, latency_ns>;

#elif SCANBOX_CUB_TUNING

// The dispatcher under the public function, with a policy hub in place of CUB's own.
template <typename Hub>
cudaError_t cub_scan_tuned(const Call& call) {
    using Dispatch = cub::DispatchScan<const std::uint32_t*, std::uint32_t*, cuda::std::plus<>, cub::NullType,
        std::uint32_t, std::uint32_t, cub::ForceInclusive::No, Hub>;
    const auto dispatch = [&](void* temporary, std::size_t& bytes) {
        return Dispatch::Dispatch(
            temporary, bytes, words_in(call), words_out(call), {}, cub::NullType{}, call.n, call.stream);
    };
    return with_storage(call, dispatch);
}

template <int threads, int items, typename Delay>
struct Lookback {
    struct Policy : cub::ChainedPolicy<500, Policy, Policy> {
        using ScanPolicyT = cub::AgentScanPolicy<threads, items, std::uint32_t, cub::BLOCK_LOAD_WARP_TRANSPOSE,
            cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS,
            cub::detail::MemBoundScaling<threads, items, std::uint32_t>, Delay>;
    };
    using MaxPolicy = Policy;
};

template <int threads, int items>
using NoDelay = Lookback<threads, items, cub::detail::no_delay_constructor_t<0>>;
template <int threads, int items, unsigned delay_ns, unsigned latency_ns>
using BackOn =
    Lookback<threads, items, cub::detail::exponential_backon_jitter_constructor_t<delay_ns, latency_ns>>;

#endif

// Copies ------------------------------------------------------------------------------------------------------------

inline cudaError_t memcpy_device(const Call& call) {
    return cudaMemcpyAsync(call.output, call.input, std::size_t{call.n} * call.element_bytes,
        cudaMemcpyDeviceToDevice, call.stream);
}

// Each thread copies `batch` vectors of four words, a workgroup's vectors side by side.
template <int batch, int threads>
__global__ void __launch_bounds__(threads) copy_kernel(
    const std::uint32_t* __restrict__ input, std::uint32_t* __restrict__ output, std::uint32_t n) {
    const std::uint32_t vectors = n / 4;
    const std::uint32_t first = blockIdx.x * (batch * threads) + threadIdx.x;
    const auto* from = reinterpret_cast<const uint4*>(input);
    auto* to = reinterpret_cast<uint4*>(output);
    uint4 values[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
        if (first + i * threads < vectors) {
            values[i] = from[first + i * threads];
        }
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
        if (first + i * threads < vectors) {
            to[first + i * threads] = values[i];
        }
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4) {
        output[vectors * 4 + threadIdx.x] = input[vectors * 4 + threadIdx.x];
    }
}

template <int batch, int threads>
cudaError_t copy(const Call& call) {
    // At least one, for what is less than a vector.
    const std::uint32_t vectors_per_block = batch * threads;
    const std::uint64_t words = std::uint64_t{call.n} * call.element_bytes / 4;
    if (words > UINT32_MAX - 4 * vectors_per_block) {
        throw protocol::Unsupported(std::to_string(words) + " words, where copies index with 32 bits");
    }
    const std::uint32_t n = static_cast<std::uint32_t>(words);
    const std::uint32_t blocks = std::max(1u, (n / 4 + vectors_per_block - 1) / vectors_per_block);
    copy_kernel<batch, threads><<<blocks, threads, 0, call.stream>>>(words_in(call), words_out(call), n);
    return cudaGetLastError();
}

// Nothing -----------------------------------------------------------------------------------------------------------

__global__ void empty_kernel() {}

// What a call costs without its work: the span of any other call has it within, too.
inline cudaError_t empty(const Call& call) {
    empty_kernel<<<1, 32, 0, call.stream>>>();
    return cudaGetLastError();
}

// The table ---------------------------------------------------------------------------------------------------------

inline std::vector<Subject> all() {
    std::vector<Subject> all{
        {"cub-scan", Result::scan, Of::scans, nullptr},
        {"cub-reduce", Result::scan, Of::reductions, nullptr},
    };
#if CUB_VERSION > 300001 && CUDART_VERSION >= 13000
    // CUB 3.0.1 launches its kernels one after another anyway.
    all.push_back({"cub-scan-apart", Result::scan, Of::scans, nullptr, true});
#endif
#if SCANBOX_CUB_TUNING
    const std::vector<Subject> tuned{
        {"cub-scan-tuned.128x24.nodelay", Result::scan, Of::u32_sums, cub_scan_tuned<NoDelay<128, 24>>},
        {"cub-scan-tuned.256x12.nodelay", Result::scan, Of::u32_sums, cub_scan_tuned<NoDelay<256, 12>>},
        {"cub-scan-tuned.256x24.nodelay", Result::scan, Of::u32_sums, cub_scan_tuned<NoDelay<256, 24>>},
        {"cub-scan-tuned.384x22.nodelay", Result::scan, Of::u32_sums, cub_scan_tuned<NoDelay<384, 22>>},
        // What CUB chooses for sm_100.
        {"cub-scan-tuned.384x22.backon", Result::scan, Of::u32_sums, cub_scan_tuned<BackOn<384, 22, 1904, 830>>},
#if CUB_VERSION >= 300500
        // What CUB chooses for sm_100, and what it falls back to where it has tuned nothing.
        {"cub-scan-tuned.lookahead4x79", Result::scan, Of::u32_sums, cub_scan_tuned<Lookahead<4, 79, 3>>},
        {"cub-scan-tuned.lookahead4x63", Result::scan, Of::u32_sums, cub_scan_tuned<Lookahead<4, 63, 4>>},
#endif
    };
    all.insert(all.end(), tuned.begin(), tuned.end());
#endif
    const std::vector<Subject> copies{
        {"cuda-memcpy", Result::copy, Of::all, memcpy_device},
        {"cuda-copy.b1.wg1024", Result::copy, Of::all, copy<1, 1024>},
        {"cuda-copy.b2.wg512", Result::copy, Of::all, copy<2, 512>},
        {"cuda-copy.b4.wg256", Result::copy, Of::all, copy<4, 256>},
        {"cuda-copy.b8.wg128", Result::copy, Of::all, copy<8, 128>},
    };
    all.insert(all.end(), copies.begin(), copies.end());
    all.push_back({"cuda-empty", Result::empty, Of::all, empty});
    return all;
}

}  // namespace subjects
