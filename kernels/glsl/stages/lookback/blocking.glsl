// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: blocking. Tiles whose workgroup behaves as if it had lost its processor before it could publish its total.
//
// is_blocked(tile): whether the tile keeps its total to itself. 1 in 2^BLOCKING tiles does, the first one among them,
//   from which all prefixes come: a lookback that waits for totals waits for ever. What a blocked tile publishes after
//   its own lookback, it publishes, as one that got its processor back would.
// Without BLOCKING no tile is.
// Source: Smith, Levien and Owens, "Decoupled Fallback" (2025), section "Simulated Blocking", and its artifact.
// Shared bytes: 0. Barriers: 0.

#if defined(BLOCKING) && BLOCKING > 0

bool is_blocked(const uint tile) {
    return (tile & ((1u << BLOCKING) - 1u)) == 0u;
}

#else

bool is_blocked(const uint tile) {
    return false;
}

#endif
