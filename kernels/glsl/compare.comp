#version 460
// Compares every word of the output with the expected one, and the guard behind it with the guard word. Counts the
// wrong ones and finds the first.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "params.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words {
    uint at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Report {
    uint mismatches;  // 0 before
    uint first;       // 0xffffffff before
};

layout(push_constant) uniform Params {
    uvec2 expected_address;
    uvec2 actual_address;
    Report report;
    uint n;           // elements
    uint guarded_n;   // elements and guard words
    uint guard_word;
} params;

void main() {
    // The workgroup's part: indices into it stay small, however large the memory is.
    const uint WORDS = WORKGROUP_SIZE * BATCH_SIZE * LANES;
    const uint begin = workgroup_rank() * WORDS;
    Words expected_words = Words(element_address(params.expected_address, workgroup_rank(), 4u * WORDS));
    Words actual_words = Words(element_address(params.actual_address, workgroup_rank(), 4u * WORDS));
    uint mismatches = 0u;
    uint first = 0xffffffffu;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint at = gl_LocalInvocationIndex + k * WORKGROUP_SIZE;
        const uint index = begin + at;
        if (index < params.guarded_n) {
            const uint expected = index < params.n ? expected_words.at[at] : params.guard_word;
            if (actual_words.at[at] != expected) {
                mismatches += 1u;
                first = min(first, index);
            }
        }
    }
    mismatches = subgroupAdd(mismatches);
    first = subgroupMin(first);
    if (subgroupElect() && mismatches != 0u) {
        atomicAdd(params.report.mismatches, mismatches, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        atomicMin(params.report.first, first, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}
