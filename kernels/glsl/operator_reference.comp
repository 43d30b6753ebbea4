#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// The answer to a problem of a user's operator, as plainly as many invocations can make it: each goes through a chunk
// of successive elements one by one. operator_check.comp proves it.
//
// REFERENCE_STEP_TOTALS: every invocation combines its chunk.
// REFERENCE_STEP_PREFIXES: one invocation goes through the totals: each becomes that of all chunks before it.
// REFERENCE_STEP_SCAN: every invocation goes through its chunk again, from there on.
// REFERENCE_STEP_TRANSFORM, once the answer is proved: what the file makes of it as it is stored.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"
#include "stages/tile/element.glsl"
#include "stages/tile/initial_value.glsl"

PUSH_CONSTANTS(
    Address source_address;
    Address target_address;
    Address totals_address;
    uint n;               // elements
    uint chunk_elements;  // of every chunk but the last
    INITIAL_WORDS
)

layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) buffer ChunkTotals {
    StoredElement at[];
};

uint chunk_count() {
    return (params.n - 1u) / params.chunk_elements + 1u;
}

// Where a chunk begins, and how many elements it has.
uint chunk_begin(const uint chunk) {
    return chunk * params.chunk_elements;
}

uint chunk_length(const uint chunk) {
    return min(params.chunk_elements, params.n - chunk_begin(chunk));
}

// Where a chunk stands in an array, and its elements from there on.
#if REVERSE
#define CHUNK_ADDRESS(base, chunk) \
    element_address(base, params.n - chunk_begin(chunk) - chunk_length(chunk), ELEMENT_BYTES)
#define IN_CHUNK(i, count) ((count) - 1u - (i))
#else
#define CHUNK_ADDRESS(base, chunk) element_address(base, chunk_begin(chunk), ELEMENT_BYTES)
#define IN_CHUNK(i, count) (i)
#endif

// Element i of a chunk of the input, as it is combined.
Element taken(const InputElements source, const uint chunk, const uint i, const uint count) {
    const Element value = loaded_element(source.at[IN_CHUNK(i, count)]);
#if TRANSFORM_INPUT && REVERSE
    return transform_input(value, params.n - 1u - chunk_begin(chunk) - i);
#elif TRANSFORM_INPUT
    return transform_input(value, chunk_begin(chunk) + i);
#else
    return value;
#endif
}

InputElements chunk_source(const uint chunk) {
    return InputElements(CHUNK_ADDRESS(params.source_address, chunk));
}

// What comes before the first element of all is nothing, or the initial value.
Element behind_nothing(const Element first) {
#if HAS_INIT
    return combine(INITIAL_VALUE, first);
#else
    return first;
#endif
}

Element nothing() {
#if HAS_INIT
    return INITIAL_VALUE;
#else
    return identity();
#endif
}

#if REFERENCE_STEP == REFERENCE_STEP_TOTALS

void take_step(const uint chunk) {
    if (chunk >= chunk_count()) {
        return;
    }
    InputElements source = chunk_source(chunk);
    const uint count = chunk_length(chunk);
    Element total = taken(source, chunk, 0u, count);
    if (chunk == 0u) {
        total = behind_nothing(total);
    }
    for (uint i = 1u; i < count; ++i) {
        total = combine(total, taken(source, chunk, i, count));
    }
    ChunkTotals totals = ChunkTotals(params.totals_address);
    totals.at[chunk] = stored_element(total);
}

#elif REFERENCE_STEP == REFERENCE_STEP_PREFIXES

void take_step(const uint chunk) {
    if (chunk != 0u) {
        return;
    }
    const uint chunks = chunk_count();
    ChunkTotals totals = ChunkTotals(params.totals_address);
    // Nothing comes before the first chunk: it is never asked.
    Element running = loaded_element(totals.at[0]);
    for (uint other = 1u; other < chunks; ++other) {
        const Element total = loaded_element(totals.at[other]);
        totals.at[other] = stored_element(running);
        running = combine(running, total);
    }
}

#elif REFERENCE_STEP == REFERENCE_STEP_TRANSFORM

void take_step(const uint chunk) {
#if TRANSFORM_OUTPUT
    if (chunk >= chunk_count()) {
        return;
    }
    const uint begin = chunk_begin(chunk);
    const uint count = chunk_length(chunk);
    ChunkTotals answer = ChunkTotals(element_address(params.target_address, begin, ELEMENT_BYTES));
    for (uint i = 0u; i < count; ++i) {
        // A reduction has one element.
        const uint index = MODE == MODE_REDUCE ? 0u : begin + i;
        answer.at[i] = stored_element(transform_output(loaded_element(answer.at[i]), index));
    }
#endif
}

#else

void take_step(const uint chunk) {
    if (chunk >= chunk_count()) {
        return;
    }
    InputElements source = chunk_source(chunk);
    OutputElements target = OutputElements(CHUNK_ADDRESS(params.target_address, chunk));
    ChunkTotals totals = ChunkTotals(params.totals_address);
    const uint count = chunk_length(chunk);
    Element running = chunk == 0u ? nothing() : loaded_element(totals.at[chunk]);
    for (uint i = 0u; i < count; ++i) {
        const Element value = taken(source, chunk, i, count);
        const Element before = running;
        if (chunk == 0u && i == 0u) {
            running = behind_nothing(value);
        } else {
            running = combine(running, value);
        }
        if (MODE == MODE_EXCLUSIVE) {
            target.at[IN_CHUNK(i, count)] = stored_element(before);
        } else {
            target.at[IN_CHUNK(i, count)] = stored_element(running);
        }
    }
}

#endif

MAIN {
    take_step(workgroup_rank() * WORKGROUP_SIZE + invocation_index);
}
