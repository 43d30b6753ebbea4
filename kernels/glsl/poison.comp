#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Fills the output with what it must not hold: the complement of each expected word, so that an element that is not
// written always shows; and a guard word into each place behind the last element.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Expected {
    uint at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Output {
    uint at[];
};

PUSH_CONSTANTS(
    uvec2 expected_address;
    uvec2 target_address;
    uint n;           // elements
    uint guarded_n;   // elements and guard words
    uint guard_word;
)

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
    Expected expected = Expected(element_address(params.expected_address, workgroup_rank(), 4u * WORDS));
    Output target = Output(element_address(params.target_address, workgroup_rank(), 4u * WORDS));
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint at = invocation_index + k * WORKGROUP_SIZE;
        if (at < left_of_output) {
            target.at[at] = ~expected.at[at];
        } else if (at < left) {
            target.at[at] = params.guard_word;
        }
    }
}
