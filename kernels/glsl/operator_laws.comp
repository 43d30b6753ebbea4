#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Tries what kernels rely on of a user's operator, on three elements at a time that its file draws: a before b before
// c, of successive indices. A half of them share something with a: all random words and not the index, one word, or, of
// an operator whose every bit counts, all bits but one. Fields that tie show what independent elements hardly show. Of
// such an operator a half are also what up to 2^20 equal elements combine to: what long scans alone come to.
//
// Elements of the sample `shown` are written, for people.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"
#include "random_words.glsl"
#include "stages/tile/element.glsl"
#include "laws.glsl"

const uint LAW_DRAWN_NUMBER = 16u;
const uint LAW_COMBINED_NUMBER = 32u;
// No law: an element is not the first that was drawn, drawn or combined.
const uint SEEN_DIFFERENT = 64u;

const uint MOST_DOUBLINGS = 20u;
const uint SEED = 0x5ca1ab1eu;

// a, b, c; for each law but that of draw() the two sides that have to be the same; and the element that the identity
// was combined with.
layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) buffer Shown {
    StoredElement at[10];
};

PUSH_CONSTANTS(
    Shown shown_elements;
    Report report;
    uint samples;
    float tolerance;
    uint laws;   // the laws that count
    uint shown;  // the sample that is shown; 0xffffffff: none
)

bool is_exact() {
    return floatBitsToUint(params.tolerance) == 0u;
}

bool same(const Element expected, const Element got) {
    return same(expected, got, params.tolerance);
}

// An element as it is combined.
Element taken(const uvec2 random, const uint index) {
    const Element value = draw(random, index);
#if TRANSFORM_INPUT
    return transform_input(value, index);
#else
    return value;
#endif
}

Element element_of(const uint sample_index, const uint place) {
    const uvec3 words = random_words(uvec3(sample_index, place, SEED));
    uvec2 random = words.xy;
    if (place != 0u) {
        const uvec2 of_first = random_words(uvec3(sample_index, 0u, SEED)).xy;
        const uint kind = words.z >> 29u;
        if (kind == 0u) {
            random = of_first;
        } else if (kind == 1u) {
            random.x = of_first.x;
        } else if (kind == 2u) {
            random.y = of_first.y;
        } else if (kind == 3u && is_exact()) {
            const uint bit = 1u << (words.z & 31u);
            random = of_first ^ ((words.z & 32u) == 0u ? uvec2(bit, 0u) : uvec2(0u, bit));
        }
    }
    return taken(random, sample_index + place);
}

Element many_of(const Element value, const uint sample_index, const uint place) {
    const uint word = random_words(uvec3(sample_index, place + 3u, SEED)).x;
    const uint doublings = is_exact() && (word >> 31u) == 0u ? (word >> 8u) % (MOST_DOUBLINGS + 1u) : 0u;
    Element combined = value;
    for (uint i = 0u; i < doublings; ++i) {
        combined = combine(combined, combined);
    }
    return combined;
}

MAIN {
    const uint sample_index = workgroup_rank() * WORKGROUP_SIZE + invocation_index;
    if (sample_index >= params.samples) {
        return;
    }
    const Element drawn = element_of(sample_index, 0u);
    const Element a = many_of(drawn, sample_index, 0u);
    const Element b = many_of(element_of(sample_index, 1u), sample_index, 1u);
    const Element c = many_of(element_of(sample_index, 2u), sample_index, 2u);
    // The identity itself is an element.
    Element x = a;
    if (sample_index == 0u) {
        x = identity();
    }
    const Element behind = combine(identity(), x);
    const Element before = combine(x, identity());
    const Element pair = combine(a, b);
    const Element swapped = combine(b, a);
    const Element left_first = combine(pair, c);
    const Element right_first = combine(a, combine(b, c));

    uint failed = same(x, behind) && same(x, before) ? 0u : LAW_IDENTITY;
    failed |= same(left_first, right_first) ? 0u : LAW_ASSOCIATIVE;
    failed |= OPERATOR_COMMUTATIVE == 0 || same(pair, swapped) ? 0u : LAW_COMMUTATIVE;
    // What rounds and is no number takes everything behind it along.
    failed |= is_exact() || is_number(drawn) ? 0u : LAW_DRAWN_NUMBER;
    failed |= is_exact() || is_number(left_first) ? 0u : LAW_COMBINED_NUMBER;
    failed &= params.laws;

    if (params.shown == sample_index) {
        params.shown_elements.at = StoredElement[10](
            stored_element(a), stored_element(b), stored_element(c), stored_element(left_first),
            stored_element(right_first), stored_element(pair), stored_element(swapped), stored_element(behind),
            stored_element(before), stored_element(x));
    }
    report_failure(params.report, failed, sample_index);
    const ElementWords of_one = element_words(element_of(0u, 0u));
    if (element_words(drawn) != of_one || element_words(left_first) != of_one) {
        atomicOr(params.report.failed, SEEN_DIFFERENT, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}
