#version 460
// Copies the input to the output, one tile per workgroup: the same traffic as a scan and nothing else. The measured
// ceiling.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define ELEMENT ELEMENT_U32
#include "params.glsl"
#include "stages/element.glsl"

layout(push_constant) uniform Params {
    InputVectors source;
    OutputVectors target;
    uint n;  // elements
} params;

void main() {
    const uint vectors = params.n / LANES;
    const uint first = workgroup_rank() * (WORKGROUP_SIZE * BATCH_SIZE) + gl_LocalInvocationIndex;
    Vector items[BATCH_SIZE];
    if (first + (BATCH_SIZE - 1) * WORKGROUP_SIZE < vectors) {
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            items[k] = params.source.at[first + k * WORKGROUP_SIZE];
        }
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            params.target.at[first + k * WORKGROUP_SIZE] = items[k];
        }
    } else {
        for (uint k = 0u; k < BATCH_SIZE; ++k) {
            const uint vector = first + k * WORKGROUP_SIZE;
            [[unroll]] for (uint i = 0u; i < LANES; ++i) {
                if (vector * LANES + i < params.n) {
                    LANE(params.target.at[vector], i) = LANE(params.source.at[vector], i);
                }
            }
        }
    }
}
