// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: blocking. Tiles whose workgroup behaves as if it had lost its processor before it could publish its total: 1
// in 2^BLOCKING, the first one among them. What such a tile publishes after its own lookback, it publishes; nothing at
// all where SILENT is 1, as one whose workgroup never comes back.
fn is_blocked(tile: u32) -> bool {
#if BLOCKING > 0
    return (tile & ((1u << BLOCKING) - 1u)) == 0u;
#else
    return false;
#endif
}

fn publish_prefix(tile: u32, inclusive: Element) {
#if SILENT
    if (is_blocked(tile)) { return; }
#endif
    publish(tile, INCLUSIVE, inclusive);
}
