#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Does nothing: what a call costs that has no work. Beside the spans of calls that have, it says how much of them is
// the API's.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"

MAIN {}
