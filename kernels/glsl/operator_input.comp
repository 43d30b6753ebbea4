#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes the input of a user's operator: every element as the file draws it, or its identity and one drawn element. A
// function of seed and index, as every input is: of the place in the order in which elements are combined.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"
#include "random_words.glsl"
#include "stages/tile/element.glsl"

PUSH_CONSTANTS(
    Address target_address;
    uint n;         // elements
    uint seed_low;
    uint seed_high;
    uint spike_at;  // the only element that is drawn; 0xffffffff: all are
)

#if REVERSE
#define IN_ARRAY(index) (params.n - 1u - (index))
#else
#define IN_ARRAY(index) (index)
#endif

MAIN {
    const uint begin = workgroup_rank() * WORKGROUP_SIZE;
    const uint index = begin + invocation_index;
    if (index >= params.n) {
        return;
    }
    Element value = identity();
    if (params.spike_at == 0xffffffffu || params.spike_at == index) {
        value = draw(random_words(uvec3(index, params.seed_low, params.seed_high)).xy, index);
    }
    OutputElements target = OutputElements(element_address(params.target_address, IN_ARRAY(index), ELEMENT_BYTES));
    target.at[0] = stored_element(value);
}
