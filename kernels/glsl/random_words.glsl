// SPDX-License-Identifier: MIT OR Apache-2.0
// Random words of three numbers.
// Source: pcg3d of Jarzynski and Olano, "Hash Functions for GPU Rendering" (2020).
uvec3 random_words(uvec3 v) {
    v = v * 1664525u + 1013904223u;
    v.x += v.y * v.z;
    v.y += v.z * v.x;
    v.z += v.x * v.y;
    v ^= v >> 16u;
    v.x += v.y * v.z;
    v.y += v.z * v.x;
    v.z += v.x * v.y;
    return v;
}
