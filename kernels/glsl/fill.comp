#version 460
// Fills memory with one word: the reset of tile states.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "params.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Words {
    uint at[];
};

layout(push_constant) uniform Params {
    DISPATCH_WORDS
    uvec2 target_address;
    uint n;     // words
    uint word;
} params;

void main() {
    // The workgroup's part: indices into it stay small, however large the memory is.
    const uint WORDS = WORKGROUP_SIZE * BATCH_SIZE * LANES;
    const uint begin = workgroup_rank() * WORDS;
    Words target = Words(element_address(params.target_address, workgroup_rank(), 4u * WORDS));
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint at = gl_LocalInvocationIndex + k * WORKGROUP_SIZE;
        const uint index = begin + at;
        if (index < params.n) {
            target.at[at] = params.word;
        }
    }
}
