#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads the input and adds up its words, those of each subgroup's run by themselves: the traffic of a reduction and
// nothing else. The measured ceiling of reductions, as the copy is that of scans.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define ELEMENT ELEMENT_U32
#include "kernel.glsl"
#include "stages/tile/element.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Sums {
    uint at[];
};

// The target has one word per run; n: words.
#define MORE_ADDRESSES
#define MORE_WORDS
#include "arguments.glsl"

const uint RUN_VECTORS = SUBGROUP_SIZE * BATCH_SIZE;

// Called by whole subgroups.
void sum_run(const uint run) {
    const uint left = params.n - run * RUN_VECTORS * LANES;
    // The run's part: indices into it stay small, however large the memory is.
    const uint RUN_BYTES = RUN_VECTORS * LANES * ELEMENT_BYTES;
    InputVectors source = InputVectors(element_address(params.source_address, run, RUN_BYTES));
    Vector total = Vector(0u);
    if (left >= RUN_VECTORS * LANES) {
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            total += source.at[k * SUBGROUP_SIZE + own_lane];
        }
    } else {
        for (uint k = 0u; k < BATCH_SIZE; ++k) {
            const uint at = k * SUBGROUP_SIZE + own_lane;
            [[unroll]] for (uint i = 0u; i < LANES; ++i) {
                if (at * LANES + i < left) {
                    LANE(total, i) += LANE(source.at[at], i);
                }
            }
        }
    }
    uint sum = 0u;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        sum += LANE(total, i);
    }
    sum = subgroupAdd(sum);
    if (own_lane == 0) {
        Sums sums = Sums(params.target_address);
        sums.at[run] = sum;
    }
}

MAIN {
    read_arguments();
    const uint run = workgroup_rank() * SUBGROUPS + own_subgroup;
    // What starts beyond the end has nothing to do; the index of its first word may have 33 bits.
    if (run <= (params.n - 1u) / (RUN_VECTORS * LANES)) {
        sum_run(run);
    }
    pass_on_arguments();
}
