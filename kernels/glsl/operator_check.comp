#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Proves the answer to a problem of a user's operator, and what kernels rely on.
//
// CHECK_DEFINITION: the first element of the answer is that of the input (exclusive: the identity), and each other one
//   is the one before it combined with an element of the input. One answer alone is like that, so that it is the
//   sequential scan.
// CHECK_ASSOCIATIVE: at each element, that it makes no difference whether it is combined with the one before it first.
// CHECK_IDENTITY: that the identity changes no element, on either side.
// CHECK_COMMUTATIVE, where the file says that it is: that the order of two does not matter.
// Two elements are the same that differ by no more than the tolerance of the file.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"
#include "within.glsl"
#include "stages/tile/element.glsl"

const uint CHECK_DEFINITION = 1u;
const uint CHECK_ASSOCIATIVE = 2u;
const uint CHECK_IDENTITY = 4u;
const uint CHECK_COMMUTATIVE = 8u;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Report {
    uint failed;    // the checks that failed; 0 before
    uint first;     // index of the first element where one failed; 0xffffffff before
    uint max_error;
};

PUSH_CONSTANTS(
    Address source_address;
    Address answer_address;
    Report report;
    uint n;           // elements
    float tolerance;
    uint laws;        // the checks that count
)

bool same(const Element expected, const Element got) {
    if (element_words(expected) == element_words(got)) {
        return true;
    }
    return is_within(element_error(expected, got), params.tolerance);
}

// Whether element `at` of the answer, from here, is what the definition says: the one before it combined with an
// element.
bool is_as_defined(const InputElements source, const InputElements answer, const uint at, const uint index) {
    const Element found = loaded_element(answer.at[at]);
    if (index == 0u) {
        if (MODE == MODE_EXCLUSIVE) {
            return same(identity(), found);
        }
        return same(loaded_element(source.at[at]), found);
    }
    // An exclusive scan is one element behind, and its first one is combined with nothing.
    if (MODE == MODE_EXCLUSIVE) {
        const Element next = loaded_element(source.at[at - 1u]);
        if (index == 1u) {
            return same(next, found);
        }
        return same(combine(loaded_element(answer.at[at - 1u]), next), found);
    }
    return same(combine(loaded_element(answer.at[at - 1u]), loaded_element(source.at[at])), found);
}

bool keeps_identity(const Element value) {
    return same(value, combine(identity(), value)) && same(value, combine(value, identity()));
}

bool commutes(const Element before, const Element value) {
    return OPERATOR_COMMUTATIVE == 0 || same(combine(before, value), combine(value, before));
}

bool associates(const Element before, const Element middle, const Element value) {
    return same(combine(combine(before, middle), value), combine(before, combine(middle, value)));
}

MAIN {
    const uint begin = workgroup_rank() * WORKGROUP_SIZE;
    const uint index = begin + invocation_index;
    if (index >= params.n) {
        return;
    }
    // From up to two elements further back: indices stay small, however large the memory is.
    const uint start = max(begin, 2u) - 2u;
    const uint at = index - start;
    InputElements source = InputElements(element_address(params.source_address, start, ELEMENT_BYTES));
    InputElements answer = InputElements(element_address(params.answer_address, start, ELEMENT_BYTES));
    const Element value = loaded_element(source.at[at]);
    uint failed = is_as_defined(source, answer, at, index) ? 0u : CHECK_DEFINITION;
    failed |= keeps_identity(value) ? 0u : CHECK_IDENTITY;
    if (index >= 1u) {
        failed |= commutes(loaded_element(answer.at[at - 1u]), value) ? 0u : CHECK_COMMUTATIVE;
    }
    if (index >= 2u) {
        const Element before = loaded_element(answer.at[at - 2u]);
        const Element middle = loaded_element(source.at[at - 1u]);
        failed |= associates(before, middle, value) ? 0u : CHECK_ASSOCIATIVE;
    }
    failed &= params.laws;
    if (failed != 0u) {
        atomicOr(params.report.failed, failed, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        atomicMin(params.report.first, index, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}
