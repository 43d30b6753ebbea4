// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: blocking. Tiles whose workgroup behaves as if it had lost its processor before it could publish its total: 1
// in 2^BLOCKING, the first one among them. What such a tile publishes after its own lookback, it publishes.
//
// LATE: workgroups are late beyond all measure. 63 of 64 tiles never publish a prefix, so that lookbacks are long;
// where others stand in for a tile, 3 of 4 publish no total either. With it, looks come early too (stages/state).
fn is_blocked(tile: u32) -> bool {
#if LATE && LOOKBACK == LOOKBACK_FALLBACK
    return (tile & 3u) != 3u;
#elif BLOCKING > 0
    return (tile & ((1u << BLOCKING) - 1u)) == 0u;
#else
    return false;
#endif
}

fn publish_prefix(tile: u32, inclusive: Element) {
#if LATE && LOOKBACK != LOOKBACK_CHAIN
    if ((tile & 63u) != 63u) { return; }
#endif
    publish(tile, INCLUSIVE, inclusive);
}
