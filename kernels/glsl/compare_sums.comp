#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Compares the sums that a read has left, and the guard behind them, with what they have to be: each invocation adds up
// one run, word by word. Counts the wrong ones and finds the first.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words {
    uint at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Report {
    uint mismatches;  // 0 before
    uint first;       // 0xffffffff before
    uint unused;
};

PUSH_CONSTANTS(
    uvec2 source_address;
    Words sums;
    Report report;
    uint n;             // words
    uint run_words;     // words of a run
    uint guarded_runs;  // runs and guard words
    uint guard_word;
)

MAIN {
    const uint run = workgroup_rank() * WORKGROUP_SIZE + invocation_index;
    if (run >= params.guarded_runs) {
        return;
    }
    const uint runs = (params.n - 1u) / params.run_words + 1u;
    uint right = params.guard_word;
    if (run < runs) {
        Words run_source = Words(element_address(params.source_address, run, 4u * params.run_words));
        const uint count = min(params.run_words, params.n - run * params.run_words);
        right = 0u;
        for (uint i = 0u; i < count; ++i) {
            right += run_source.at[i];
        }
    }
    if (params.sums.at[run] != right) {
        atomicAdd(params.report.mismatches, 1u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        atomicMin(params.report.first, run, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}
