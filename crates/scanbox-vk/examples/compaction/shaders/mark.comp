#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Multiples of three are kept.

#extension GL_GOOGLE_include_directive : require
#include "compaction.glsl"

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < arrays.n)
        arrays.marks.words[i] = uint(arrays.values.words[i] % 3u == 0u);
}
