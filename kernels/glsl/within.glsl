// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether an error, as a share, is no larger than a bound.
//
// Neither is negative, so that their bits are in the same order. A NaN is above every bound by its bits; as a float,
// where a compiler may take "not above" for "at most", it can be within each.
bool is_within(const float error, const float bound) {
    return floatBitsToUint(error) <= floatBitsToUint(bound);
}
