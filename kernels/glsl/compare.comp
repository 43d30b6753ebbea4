#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Compares the output with the expected one, and the guard behind it with the guard word. Counts the wrong elements and
// finds the first.
//
// ELEMENT says how: ELEMENT_U32 word by word; ELEMENT_F32 and ELEMENT_F64 as floats, of which those count as right that
// differ by no more than error_bound times the sum of the magnitudes that make up the element. Inputs of sums that
// round are not negative, so that this is the expected value itself, but for an initial value below zero.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"
#include "within.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words {
    uint at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Report {
    uint mismatches;  // words or floats; 0 before
    uint first;       // index of a word; 0xffffffff before
    uint max_error;   // bits of a float, which is in the order of such that are not negative; 0 before
};

PUSH_CONSTANTS(
    uvec2 expected_address;
    uvec2 actual_address;
    Report report;
    uint n;            // words
    uint guarded_n;    // words and guard words
    uint guard_word;
    float error_bound;
    uvec2 beside;      // bits of a quarter of what the sum of the magnitudes exceeds the expected value by
)

#if ELEMENT == ELEMENT_U32

// Whether a word is right. error: how far it is off, as a share.
bool is_right(Words expected, Words actual, const uint at, out float error) {
    error = 0.0;
    return expected.at[at] == actual.at[at];
}

#elif ELEMENT >= ELEMENT_STRUCT4

#include "stages/tile/element.glsl"

// A structure is right if none of its fields is off by more than error_bound (element_error).
bool is_right(Words expected, Words actual, const uint at, out float error) {
    error = 0.0;
    const uint WORDS = ELEMENT_BYTES / 4u;
    // The first word of an element stands for all. The part of a workgroup may begin within an element of three.
#if ELEMENT_BYTES == 12
    const uint place = workgroup_rank() * (WORKGROUP_SIZE * BATCH_SIZE * LANES) + at;
#else
    const uint place = at;
#endif
    if (place % WORDS != 0u) {
        return true;
    }
    ElementWords right = ElementWords(0u);
    ElementWords found = ElementWords(0u);
    [[unroll]] for (uint word = 0u; word < WORDS; ++word) {
        right[word] = expected.at[at + word];
        found[word] = actual.at[at + word];
    }
    error = element_error(element_of_words(right), element_of_words(found));
    return is_within(error, params.error_bound);
}

#else

#if ELEMENT == ELEMENT_F32
#define Float float
#define FLOAT_OF_BITS(bits) uintBitsToFloat((bits).x)
uvec2 read(Words words, const uint at) {
    return uvec2(words.at[at], 0u);
}
bool is_zero(const uvec2 bits) {
    return bits.x << 1 == 0u;
}
#elif ELEMENT == ELEMENT_F64
#define Float double
#define FLOAT_OF_BITS(bits) packDouble2x32(bits)
uvec2 read(Words words, const uint at) {
    return uvec2(words.at[at], words.at[at + 1u]);
}
bool is_zero(const uvec2 bits) {
    return (bits.x | bits.y << 1) == 0u;
}
#endif

bool is_right(Words expected, Words actual, const uint at, out float error) {
    error = 0.0;
#if ELEMENT == ELEMENT_F64
    // The first word of an element stands for both.
    if (at % 2u == 1u) {
        return true;
    }
#endif
    const uvec2 right_bits = read(expected, at);
    const uvec2 found_bits = read(actual, at);
    // As bits: a device that flushes subnormal numbers finds floats equal that are not. Zero has two signs.
    if (right_bits == found_bits || (is_zero(right_bits) && is_zero(found_bits))) {
        return true;
    }
    if (params.error_bound == 0.0) {
        return false;
    }
    const Float right = FLOAT_OF_BITS(right_bits);
    const Float found = FLOAT_OF_BITS(found_bits);
    // Quarters, so that no sum of two is infinite: whatever is finite would be within any bound of that.
    const Float QUARTER = Float(0.25);
    const Float off = abs(QUARTER * found - QUARTER * right);
    error = float(off / (QUARTER * abs(right) + FLOAT_OF_BITS(params.beside)));
    return is_within(error, params.error_bound);
}

#endif

MAIN {
    // The workgroup's part: indices into it stay small, however large the memory is.
    const uint WORDS = WORKGROUP_SIZE * BATCH_SIZE * LANES;
    // What starts beyond the end has nothing to do; the index of its first word may have 33 bits.
    if (workgroup_rank() > (params.guarded_n - 1u) / WORDS) {
        return;
    }
    const uint begin = workgroup_rank() * WORDS;
    const uint left = params.guarded_n - begin;
    const uint left_of_output = max(params.n, begin) - begin;
    Words expected_words = Words(element_address(params.expected_address, workgroup_rank(), 4u * WORDS));
    Words actual_words = Words(element_address(params.actual_address, workgroup_rank(), 4u * WORDS));
    uint mismatches = 0u;
    uint first = 0xffffffffu;
    uint max_error = 0u;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint at = invocation_index + k * WORKGROUP_SIZE;
        if (at < left) {
            float error = 0.0;
            const bool right = at < left_of_output ? is_right(expected_words, actual_words, at, error)
                                                   : actual_words.at[at] == params.guard_word;
            if (right) {
                max_error = max(max_error, floatBitsToUint(error));
            } else {
                mismatches += 1u;
                first = min(first, begin + at);
            }
        }
    }
    mismatches = subgroupAdd(mismatches);
    first = subgroupMin(first);
    max_error = subgroupMax(max_error);
    if (own_lane == 0 && (mismatches != 0u || max_error != 0u)) {
        atomicAdd(params.report.mismatches, mismatches, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        atomicMin(params.report.first, first, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        atomicMax(params.report.max_error, max_error, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}
