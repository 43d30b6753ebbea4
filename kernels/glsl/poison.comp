#version 460
// Fills the output with what it must not hold: the complement of each expected word, so that an element that is not
// written always shows; and a guard word into each place behind the last element.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "params.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Expected {
    uint at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Output {
    uint at[];
};

layout(push_constant) uniform Params {
    Expected expected;
    Output target;
    uint n;           // elements
    uint guarded_n;   // elements and guard words
    uint guard_word;
} params;

void main() {
    const uint first = (workgroup_rank() * WORKGROUP_SIZE) * (BATCH_SIZE * LANES) + gl_LocalInvocationIndex;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint index = first + k * WORKGROUP_SIZE;
        if (index < params.n) {
            params.target.at[index] = ~params.expected.at[index];
        } else if (index < params.guarded_n) {
            params.target.at[index] = params.guard_word;
        }
    }
}
