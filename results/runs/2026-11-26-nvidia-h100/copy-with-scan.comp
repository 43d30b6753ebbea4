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

shared uint shared_part[SUBGROUPS];

// A scan of the workgroup's part as short as it can be, whose result counts nothing times: the work and the waits of a
// scan that needs no other workgroup.
uint scanned(const uint own) {
    const uint inclusive = subgroupInclusiveAdd(own);
    if (gl_SubgroupInvocationID == SUBGROUP_SIZE - 1u) {
        shared_part[gl_SubgroupID] = inclusive;
    }
    barrier();
    const uint other = gl_SubgroupInvocationID < gl_SubgroupID ? shared_part[min(gl_SubgroupInvocationID, SUBGROUPS - 1u)] : 0u;
    return (subgroupAdd(other) + inclusive) * gl_WorkGroupID.z;
}

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
        uint own = 0u;
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            [[unroll]] for (uint i = 0u; i < LANES; ++i) {
                own += LANE(items[k], i);
            }
        }
        const uint more = scanned(own);
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            target.at[invocation_index + k * WORKGROUP_SIZE] = items[k] + more;
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
