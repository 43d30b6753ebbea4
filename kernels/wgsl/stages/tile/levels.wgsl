// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: levels. A level is an array, and the totals of its tiles are the next one, which is scanned inclusively in
// between. Shared bytes: 0. Barriers: 0: passes are separated, and no workgroup waits for another one.
//
// tile_from_end(workgroup): the tile of this workgroup, from the last one to the first; not below tile_count() where
//   there are more workgroups than tiles. A pass reads what the pass before has touched last first.
// store_tile_total(tile, total): into the next level. Called by one invocation.
// tile_prefix(tile): the total of all tiles before this one, out of the next level.
#if IN_PLACE
@group(0) @binding(2) var<storage, read_write> totals: array<Element>;
#else
@group(0) @binding(3) var<storage, read_write> totals: array<Element>;
#endif

fn tile_from_end(workgroup: u32) -> u32 { return tile_count() - 1u - workgroup; }

fn store_tile_total(tile: u32, total: Element) { totals[tile] = total; }

fn tile_prefix(tile: u32) -> Element {
    if (tile == 0u) { return identity(); }
    return totals[tile - 1u];
}
