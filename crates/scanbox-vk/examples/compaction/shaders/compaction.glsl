// SPDX-License-Identifier: MIT OR Apache-2.0
// What the steps of the example have in common: arrays by their addresses.

#extension GL_EXT_buffer_reference : require

layout(local_size_x = 256) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint words[];
};

layout(push_constant) uniform Arrays {
    Words values;  // what there is
    Words marks;   // 1 for each value that is kept
    Words places;  // where it goes: how many are kept before it
    Words kept;    // those, in order
    Words counts;  // workgroups of what follows in three dimensions, then how many are kept
    uint n;
} arrays;
