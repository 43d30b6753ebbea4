#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Each value that is kept goes to its place. The last one knows how many there are.

#extension GL_GOOGLE_include_directive : require
#include "compaction.glsl"

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= arrays.n)
        return;
    const uint place = arrays.places.words[i];
    const uint mark = arrays.marks.words[i];
    if (mark != 0u)
        arrays.kept.words[place] = arrays.values.words[i];
    if (i == arrays.n - 1u) {
        const uint count = place + mark;
        arrays.counts.words[0] = (count + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
        arrays.counts.words[1] = 1u;
        arrays.counts.words[2] = 1u;
        arrays.counts.words[3] = count;
    }
}
