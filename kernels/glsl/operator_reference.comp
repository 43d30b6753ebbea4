#version 460
// The answer to a problem of a user's operator, as plainly as many invocations can make it: each goes through a chunk of
// successive elements one by one. operator_check.comp proves it.
//
// REFERENCE_STEP_TOTALS: every invocation combines its chunk.
// REFERENCE_STEP_PREFIXES: one invocation goes through the totals: each becomes that of all chunks before it.
// REFERENCE_STEP_SCAN: every invocation goes through its chunk again, from there on.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "params.glsl"
#include "stages/tile/element.glsl"

layout(push_constant) uniform Params {
    DISPATCH_WORDS
    Address source_address;
    Address target_address;
    Address totals_address;
    uint n;               // elements
    uint chunk_elements;  // of every chunk but the last
} params;

layout(buffer_reference, std430, buffer_reference_align = ELEMENT_BYTES) buffer ChunkTotals {
    StoredElement at[];
};

void main() {
    const uint chunk = workgroup_rank() * WORKGROUP_SIZE + gl_LocalInvocationIndex;
    const uint chunks = (params.n - 1u) / params.chunk_elements + 1u;
    ChunkTotals totals = ChunkTotals(params.totals_address);
#if REFERENCE_STEP == REFERENCE_STEP_PREFIXES
    if (chunk != 0u) {
        return;
    }
    // Nothing comes before the first chunk: it is never asked.
    Element running = loaded_element(totals.at[0]);
    for (uint other = 1u; other < chunks; ++other) {
        const Element total = loaded_element(totals.at[other]);
        totals.at[other] = stored_element(running);
        running = combine(running, total);
    }
#else
    if (chunk >= chunks) {
        return;
    }
    const uint begin = chunk * params.chunk_elements;
    const uint count = min(params.chunk_elements, params.n - begin);
    InputElements source = InputElements(element_address(params.source_address, begin, ELEMENT_BYTES));
#if REFERENCE_STEP == REFERENCE_STEP_TOTALS
    Element total = loaded_element(source.at[0]);
    for (uint i = 1u; i < count; ++i) {
        total = combine(total, loaded_element(source.at[i]));
    }
    totals.at[chunk] = stored_element(total);
#else
    OutputElements target = OutputElements(element_address(params.target_address, begin, ELEMENT_BYTES));
    Element running = chunk == 0u ? identity() : loaded_element(totals.at[chunk]);
    for (uint i = 0u; i < count; ++i) {
        const Element value = loaded_element(source.at[i]);
#if MODE == MODE_EXCLUSIVE
        target.at[i] = stored_element(running);
#endif
        // The first element is combined with nothing.
        if (begin + i == 0u) {
            running = value;
        } else {
            running = combine(running, value);
        }
#if MODE != MODE_EXCLUSIVE
        target.at[i] = stored_element(running);
#endif
    }
#endif
#endif
}
