#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Load: reads and writes memory, beside a probe.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "probe.glsl"

void main() {
    const uint all = params.workgroups * WORKGROUP_SIZE;
    for (uint at = gl_WorkGroupID.x * WORKGROUP_SIZE + gl_LocalInvocationIndex; at < params.load_words; at += all) {
        params.words.at[at] = params.words.at[at] * 3u + 1u;
    }
}
