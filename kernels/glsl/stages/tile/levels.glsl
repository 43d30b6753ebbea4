// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: levels. What the passes of a scan by levels have in common: a level is an array, and the totals of its tiles
// are the next one, which is scanned inclusively in between.
//
// take_tile_from_end(): the tile of this workgroup, from the last one to the first; not below tile_count() where there
//   are more workgroups than tiles. A pass reads what the pass before has touched last first: some of it is in a cache
//   still.
// store_tile_total(tile, total): into the next level. Called by one invocation.
// tile_prefix(tile): the total of all tiles before this one, out of the next level.
// Shared bytes: 0. Barriers: 0: passes are separated by pipeline barriers, and no workgroup waits for another one.

// Of the next level. n: elements of this one; the target of a pass that only reads is its source, and not used.
#define MORE_ADDRESSES ADDRESS(totals_address) INITIAL_ADDRESS
#define MORE_WORDS INITIAL_WORDS
#include "arguments.glsl"

#include "stages/tile/tile_order.glsl"

layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) buffer Total {
    StoredElement value;
};

Total total_of(const uint tile) {
    return Total(element_address(address_of(params.totals_address), tile, ELEMENT_BYTES));
}

uint take_tile_from_end() {
    return tile_count() - 1u - take_tile();
}

void store_tile_total(const uint tile, const Element value) {
    Total total = total_of(tile);
    total.value = stored_element(value);
}

Element tile_prefix(const uint tile) {
    if (tile == 0u) {
        return identity();
    }
    Total total = total_of(tile - 1u);
    return loaded_element(total.value);
}
