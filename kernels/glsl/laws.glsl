// SPDX-License-Identifier: MIT OR Apache-2.0
// The laws of a user's operator, and where it is reported that one is broken.
#include "within.glsl"

const uint LAW_ASSOCIATIVE = 2u;
const uint LAW_IDENTITY = 4u;
const uint LAW_COMMUTATIVE = 8u;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Report {
    uint failed;    // bits of what failed; 0 before
    uint first;     // the first place where something did; 0xffffffff before
    uint max_error;
};

// Whether two elements are the same: they differ by no more than the tolerance of the file.
bool same(const Element expected, const Element got, const float tolerance) {
    if (element_words(expected) == element_words(got)) {
        return true;
    }
    return is_within(element_error(expected, got), tolerance);
}

// Says what failed, and that it did at `place`.
void report_failure(const Report report, const uint failed, const uint place) {
    if (failed != 0u) {
        atomicOr(report.failed, failed, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        atomicMin(report.first, place, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}
