// SPDX-License-Identifier: MIT OR Apache-2.0
// Arguments of kernels of one pass whose workgroups tell each other nothing.

#define MORE_ADDRESSES TOTAL_ADDRESS INITIAL_ADDRESS
#define MORE_WORDS INITIAL_WORDS
#include "arguments.glsl"
