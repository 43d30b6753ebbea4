// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: mode, part of. What comes before everything, where HAS_INIT is 1.
//
// INITIAL_VALUE: the value.
// read_initial_value(): called by all invocations, once, behind read_arguments(). Nothing is done with it yet.

#if HAS_INIT && INIT_FROM_MEMORY

layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) restrict readonly buffer InitialValue {
    StoredElement value;
};

Element private_initial_value;
#define INITIAL_VALUE private_initial_value

void read_initial_value() {
    InitialValue initial = InitialValue(address_of(params.initial_address));
    private_initial_value = loaded_element(initial.value);
}

#elif HAS_INIT && ELEMENT == ELEMENT_STRUCT12
#define INITIAL_VALUE element_of_words(uvec3(params.initial_low, params.initial_high, params.initial_third))
#define read_initial_value()
#elif HAS_INIT && ELEMENT == ELEMENT_STRUCT16
#define INITIAL_VALUE                                                                                           \
    element_of_words(uvec4(params.initial_low, params.initial_high, params.initial_third, params.initial_fourth))
#define read_initial_value()
#else
#define INITIAL_VALUE element_of_words(uvec2(params.initial_low, params.initial_high))
#define read_initial_value()
#endif
