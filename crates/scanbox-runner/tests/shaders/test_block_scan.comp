#version 460
// Test: the block scan alone. One workgroup, one element per invocation; the output is the scan of the input.
//
// The place of the last element is written by one invocation of subgroup 0, from block_total() right after the scan:
// with no barrier between, as the stage promises.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define REQUIRE_SCAN
#include "kernel.glsl"
#include "stages/tile/element.glsl"
#include "stages/subgroup/operator.glsl"

PUSH_CONSTANTS(
    InputVectors source;
    OutputVectors target;
    uint n;  // elements, at most WORKGROUP_SIZE
)

#include "stages/tile/thread_scan.glsl"
#include "stages/subgroup/subgroup_scan.glsl"
#include "stages/block/block_scan.glsl"

MAIN {
    const uint rank = invocation_rank();
    Vector items[BATCH_SIZE];
    items[0] = rank < params.n ? params.source.at[rank] : identity();
#if PUBLISH == PUBLISH_BEFORE_SCAN
    block_reduce(items);
#else
    block_scan(items);
#endif
    if (own_subgroup == 0 && own_lane == SUBGROUP_SIZE / 2) {
        params.target.at[params.n - 1] = block_total();
    }
#if PUBLISH == PUBLISH_BEFORE_SCAN
    block_scan_reduced(items);
#endif
    block_scan_end();
    const Element prefix = block_prefix();
    if (rank + 1 < params.n) {
        params.target.at[rank] = combine(prefix, items[0]);
    }
}
