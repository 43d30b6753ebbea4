#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Works on what was kept alone: as many workgroups as that takes were started by the device itself.

#extension GL_GOOGLE_include_directive : require
#include "compaction.glsl"

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < arrays.counts.words[3])
        arrays.kept.words[i] /= 3u;
}
