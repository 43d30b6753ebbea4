#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Copies the input to the output, one tile per workgroup: the same traffic as a scan and nothing else. The measured
// ceiling.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define ELEMENT ELEMENT_U32
#include "kernel.glsl"
#include "stages/tile/element.glsl"

#define MORE_ADDRESSES
#define MORE_WORDS
#include "arguments.glsl"

MAIN {
    read_arguments();
    // The tile's part: indices into it stay small, however large the memory is.
    const uint TILE_VECTORS = WORKGROUP_SIZE * BATCH_SIZE;
    const uint TILE_BYTES = TILE_VECTORS * LANES * ELEMENT_BYTES;
    const uint tile = workgroup_rank();
    const uint full_tiles = params.n / (TILE_VECTORS * LANES);
    InputVectors source = InputVectors(element_address(params.source_address, tile, TILE_BYTES));
    OutputVectors target = OutputVectors(element_address(params.target_address, tile, TILE_BYTES));
    if (tile < full_tiles) {
        Vector items[BATCH_SIZE];
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            items[k] = source.at[invocation_index + k * WORKGROUP_SIZE];
        }
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            target.at[invocation_index + k * WORKGROUP_SIZE] = items[k];
        }
    } else if (tile == full_tiles) {
        // What starts beyond it has nothing to do; the index of its first element may have 33 bits.
        const uint left = params.n - tile * TILE_VECTORS * LANES;
        for (uint k = 0u; k < BATCH_SIZE; ++k) {
            const uint at = invocation_index + k * WORKGROUP_SIZE;
            [[unroll]] for (uint i = 0u; i < LANES; ++i) {
                if (at * LANES + i < left) {
                    LANE(target.at[at], i) = LANE(source.at[at], i);
                }
            }
        }
    }
    pass_on_arguments();
}
