// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan, part of: the totals of all invocations in shared memory, in an order that strides of a power of two do
// not meet in one bank (Harris, Sengupta and Owens, GPU Gems 3, chapter 39).
//
// Shared bytes: 4 * (WORKGROUP_SIZE + WORKGROUP_SIZE / BANKS).

// Shared memory banks of all known hardware; only speed depends on it.
const uint BANKS = 32u;

shared Element shared_totals[WORKGROUP_SIZE + WORKGROUP_SIZE / BANKS];

uint total_index(const uint rank) {
    return rank + rank / BANKS;
}
