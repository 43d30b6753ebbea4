// SPDX-License-Identifier: MIT OR Apache-2.0
// One step: what an invocation has, behind what the one so many places before it has.
Element scan_step(const Element inclusive, const uint distance) {
#if OPERATOR == OPERATOR_USER
    return combine(given_from(inclusive, distance), inclusive);
#else
    const Element earlier = SHUFFLED_UP(inclusive, distance);
    return own_lane >= distance ? combine(earlier, inclusive) : inclusive;
#endif
}
