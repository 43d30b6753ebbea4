#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Proves the answer to a problem of a user's operator, and what kernels rely on.
//
// CHECK_DEFINITION: the first element of the answer is that of the input, behind the initial value where there is one
//   (exclusive: that or the identity), and each other one is the one before it combined with an element of the input.
//   One answer alone is like that, so that it is the sequential scan.
// LAW_ASSOCIATIVE: at each element, that it makes no difference whether it is combined with the one before it first.
// LAW_IDENTITY: that the identity changes no element, on either side.
// LAW_COMMUTATIVE, where the file says that it is: that the order of two does not matter.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "kernel.glsl"
#include "stages/tile/element.glsl"
#include "stages/tile/initial_value.glsl"
#include "laws.glsl"

// No law: an element of the answer is not what the definition says.
const uint CHECK_DEFINITION = 1u;

PUSH_CONSTANTS(
    Address source_address;
    Address answer_address;
    Report report;
    uint n;           // elements
    float tolerance;
    uint laws;        // the checks that count
    INITIAL_WORDS
)

bool same(const Element expected, const Element got) {
    return same(expected, got, params.tolerance);
}

// An element of the input or the answer, by its place in the order in which elements are combined.
Element element_of(const Address array, const uint index) {
#if REVERSE
    const uint place = params.n - 1u - index;
#else
    const uint place = index;
#endif
    InputElements elements = InputElements(element_address(array, place, ELEMENT_BYTES));
    return loaded_element(elements.at[0]);
}

// An element of the input as it is combined.
Element taken(const uint index) {
    const Element value = element_of(params.source_address, index);
#if TRANSFORM_INPUT && REVERSE
    return transform_input(value, params.n - 1u - index);
#elif TRANSFORM_INPUT
    return transform_input(value, index);
#else
    return value;
#endif
}

// What the first element is combined with: nothing, or the initial value.
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

// Whether an element of the answer is what the definition says: the one before it combined with an element.
bool is_as_defined(const uint index) {
    const Element found = element_of(params.answer_address, index);
    if (index == 0u) {
        if (MODE == MODE_EXCLUSIVE) {
            return same(nothing(), found);
        }
        return same(behind_nothing(taken(0u)), found);
    }
    // An exclusive scan is one element behind, and its first one is combined with nothing.
    const Element next = taken(MODE == MODE_EXCLUSIVE ? index - 1u : index);
    if (MODE == MODE_EXCLUSIVE && index == 1u) {
        return same(behind_nothing(next), found);
    }
    return same(combine(element_of(params.answer_address, index - 1u), next), found);
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
    const Element value = taken(index);
    uint failed = is_as_defined(index) ? 0u : CHECK_DEFINITION;
    failed |= keeps_identity(value) ? 0u : LAW_IDENTITY;
    if (index >= 1u) {
        failed |= commutes(element_of(params.answer_address, index - 1u), value) ? 0u : LAW_COMMUTATIVE;
    }
    if (index >= 2u) {
        const Element before = element_of(params.answer_address, index - 2u);
        const Element middle = taken(index - 1u);
        failed |= associates(before, middle, value) ? 0u : LAW_ASSOCIATIVE;
    }
    report_failure(params.report, failed & params.laws, index);
}
