// Inputs and their scan, as scanbox makes them (crates/scanbox-kernels/src/reference.rs): element i is a function of
// seed and index alone, so a shorter input is the beginning of a longer one.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define SCANBOX_HOST_DEVICE __host__ __device__
#else
#define SCANBOX_HOST_DEVICE
#endif

// A 32-bit word from a seed and an index: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
SCANBOX_HOST_DEVICE inline std::uint32_t random_word(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed ^ ((index + 1) * 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

// Writes the inclusive scan of the words from index `start`, continued from `carry`; returns the new carry. It makes
// the words itself: what the device was given is checked too when a scan of it agrees.
inline std::uint32_t scan_of_random_words(
    std::uint64_t seed, std::uint64_t start, std::uint32_t carry, std::uint32_t* scan, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        carry += random_word(seed, start + i);
        scan[i] = carry;
    }
    return carry;
}
