#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Fills memory with one word: the reset of tile states.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Words {
    uint at[];
};

#if ARGUMENTS == ARGUMENTS_PUSH

PUSH_CONSTANTS(
    uvec2 target_address;
    uint n;     // words
    uint word;
)

#else

// In front of kernels whose arguments are not pushed either: constants, since scratch memory belongs to its pipelines.
#define MORE_ADDRESSES
#define MORE_WORDS WORD(word)
#include "arguments.glsl"

#endif

MAIN {
#if ARGUMENTS != ARGUMENTS_PUSH
    read_arguments();
#endif
    // The workgroup's part: indices into it stay small, however large the memory is.
    const uint WORDS = WORKGROUP_SIZE * BATCH_SIZE * LANES;
    // What starts beyond the end has nothing to do; the index of its first word may have 33 bits.
    if (workgroup_rank() > (params.n - 1u) / WORDS) {
        return;
    }
    const uint begin = workgroup_rank() * WORDS;
    const uint left = params.n - begin;
    Words target = Words(element_address(params.target_address, workgroup_rank(), 4u * WORDS));
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE * LANES; ++k) {
        const uint at = invocation_index + k * WORKGROUP_SIZE;
        if (at < left) {
            target.at[at] = params.word;
        }
    }
}
