#version 460
// Fills memory with one word: the reset of tile states.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "params.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Words {
    uint at[];
};

layout(push_constant) uniform Params {
    Words target;
    uint n;     // words
    uint word;
} params;

void main() {
    const uint first = (workgroup_rank() * WORKGROUP_SIZE) * (BATCH_SIZE * LANES) + gl_LocalInvocationIndex;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint index = first + k * WORKGROUP_SIZE;
        if (index < params.n) {
            params.target.at[index] = params.word;
        }
    }
}
