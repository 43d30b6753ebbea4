// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: operator. The associative operator and its subgroup forms; the left operand is always the earlier one.
// Offers: identity(), combine(a, b), subgroup_reduce(x), subgroup_exclusive_scan(x), exclusive_of(inclusive, x),
// reduce_places(x, places): the total of as many invocations side by side, a power of two, in each of them;
// subgroup_exclusive_scan(x, total), SHUFFLED_UP(x, distance), from_last(x): the x of the invocation so many places
//   before, of the last one;
// VALUE_IF(exists, x): x, or the identity where there is none;
// IN_ORDER: whether elements have to be combined in their order;
// ANY_ORDER: whether any order and grouping of elements has the same total, bit for bit;
// FEW_SUBGROUPS: whether the workgroup has so few subgroups that each invocation had better combine their totals
// itself, one after the other, than by a subgroup operation (on an NVIDIA H200 up to 8: 0.1 us at 2^14, 0.7 us at 2^18;
// with 16 it loses 0.3 us);
// REDUCES_BY_SHUFFLES: whether a subgroup operation is a row of shuffles anyway, so that fewer places take fewer. Where
// devices have an instruction for it, which is for 32-bit integers, it is not.
//
// An operator is one entry here: its identity for every type, how it combines, and its subgroup operations. min and max
// of infinities are infinities; with a NaN among the elements results are undefined, as in GLSL. Those of f64 are
// choices: by min and max of GLSL, scans of 2^20 and 2^21 elements take 10 % longer on an H100.

#define FEW_SUBGROUPS (WORKGROUP_SIZE / SUBGROUP_SIZE <= 8 && OPERATOR != OPERATOR_USER)

#if OPERATOR == OPERATOR_MIN || OPERATOR == OPERATOR_MAX || OPERATOR == OPERATOR_AND || OPERATOR == OPERATOR_OR || \
    OPERATOR == OPERATOR_XOR
#define ANY_ORDER 1
#elif (OPERATOR == OPERATOR_ADD || OPERATOR == OPERATOR_MUL) && ELEMENT != ELEMENT_F32 && ELEMENT != ELEMENT_F64
#define ANY_ORDER 1
#else
#define ANY_ORDER 0
#endif

#if (ELEMENT == ELEMENT_U32 || ELEMENT == ELEMENT_I32) && OPERATOR != OPERATOR_USER && OPERATOR != OPERATOR_MUL
#define REDUCES_BY_SHUFFLES 0
#else
#define REDUCES_BY_SHUFFLES 1
#endif

#if OPERATOR == OPERATOR_USER && !OPERATOR_COMMUTATIVE
#define IN_ORDER 1
#else
#define IN_ORDER 0
#endif

#if OPERATOR == OPERATOR_USER
#include "stages/subgroup/operator_of_file.glsl"
#else

#define SHUFFLED_UP(value, distance) subgroupShuffleUp(value, distance)
#define VALUE_IF(exists, value) ((exists) ? (value) : identity())

#if ELEMENT == ELEMENT_F64
#define MIN(earlier, later) ((later) < (earlier) ? (later) : (earlier))
#define MAX(earlier, later) ((later) > (earlier) ? (later) : (earlier))
#else
#define MIN(earlier, later) min(earlier, later)
#define MAX(earlier, later) max(earlier, later)
#endif

#if OPERATOR == OPERATOR_ADD
#define IDENTITY Element(0)
#define COMBINED(earlier, later) (earlier) + (later)
#define SUBGROUP_REDUCE subgroupAdd
#define SUBGROUP_EXCLUSIVE subgroupExclusiveAdd
#define SUBGROUP_INCLUSIVE subgroupInclusiveAdd
#elif OPERATOR == OPERATOR_MIN
#define IDENTITY Element(LARGEST)
#define COMBINED(earlier, later) MIN(earlier, later)
#define SUBGROUP_REDUCE subgroupMin
#define SUBGROUP_EXCLUSIVE subgroupExclusiveMin
#define SUBGROUP_INCLUSIVE subgroupInclusiveMin
#elif OPERATOR == OPERATOR_MAX
#define IDENTITY Element(SMALLEST)
#define COMBINED(earlier, later) MAX(earlier, later)
#define SUBGROUP_REDUCE subgroupMax
#define SUBGROUP_EXCLUSIVE subgroupExclusiveMax
#define SUBGROUP_INCLUSIVE subgroupInclusiveMax
#elif OPERATOR == OPERATOR_MUL
#define IDENTITY Element(1)
#define COMBINED(earlier, later) (earlier) * (later)
#define SUBGROUP_REDUCE subgroupMul
#define SUBGROUP_EXCLUSIVE subgroupExclusiveMul
#define SUBGROUP_INCLUSIVE subgroupInclusiveMul
#elif OPERATOR == OPERATOR_AND
#define IDENTITY (~Element(0))
#define COMBINED(earlier, later) (earlier) & (later)
#define SUBGROUP_REDUCE subgroupAnd
#define SUBGROUP_EXCLUSIVE subgroupExclusiveAnd
#define SUBGROUP_INCLUSIVE subgroupInclusiveAnd
#elif OPERATOR == OPERATOR_OR
#define IDENTITY Element(0)
#define COMBINED(earlier, later) (earlier) | (later)
#define SUBGROUP_REDUCE subgroupOr
#define SUBGROUP_EXCLUSIVE subgroupExclusiveOr
#define SUBGROUP_INCLUSIVE subgroupInclusiveOr
#elif OPERATOR == OPERATOR_XOR
#define IDENTITY Element(0)
#define COMBINED(earlier, later) (earlier) ^ (later)
#define SUBGROUP_REDUCE subgroupXor
#define SUBGROUP_EXCLUSIVE subgroupExclusiveXor
#define SUBGROUP_INCLUSIVE subgroupInclusiveXor
#endif

Element identity() {
    return IDENTITY;
}

Element from_last(const Element x) {
    return subgroupShuffle(x, SUBGROUP_SIZE - 1u);
}

Element combine(const Element earlier, const Element later) {
    return COMBINED(earlier, later);
}

Element reduce_places(const Element x, const uint places) {
    Element total = x;
    [[unroll]] for (uint distance = 1u; distance < places; distance *= 2u) {
        total = combine(total, subgroupShuffleXor(total, distance));
    }
    return total;
}

Element subgroup_reduce(const Element x) {
#if defined(PERSISTENT) && (FALLS_BACK || ARGUMENTS == ARGUMENTS_BAKED) && NVIDIA_REDUCTIONS_BESIDE_SHUFFLES
    return reduce_places(x, SUBGROUP_SIZE);
#else
    return SUBGROUP_REDUCE(x);
#endif
}

Element subgroup_exclusive_scan(const Element x) {
    return SUBGROUP_EXCLUSIVE(x);
}

// What comes before an invocation in its subgroup, from the inclusive scan of x and x.
Element exclusive_of(const Element inclusive, const Element x) {
#if OPERATOR == OPERATOR_ADD && ELEMENT != ELEMENT_F32 && ELEMENT != ELEMENT_F64
    // Nothing is lost, and a difference is cheaper than another shuffle.
    return inclusive - x;
#else
    const Element before = SHUFFLED_UP(inclusive, 1u);
    return own_lane == 0 ? identity() : before;
#endif
}

// The exclusive scan, and the total of the subgroup in all its invocations, for the price of one scan.
Element subgroup_exclusive_scan(const Element x, out Element total) {
    const Element inclusive = SUBGROUP_INCLUSIVE(x);
    total = from_last(inclusive);
    return exclusive_of(inclusive, x);
}

#endif
