// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile load and store, part of: striped tiles whose vectors have 32 bytes. An invocation stores at most 16 bytes at a
// time, so that a subgroup would store the first half of each sector of memory, and then the other. Here the two halves
// of a sector are stored at once, by invocations side by side. (Loads gain nothing: the first half brings the sector
// into the cache, where the other finds it.)
//
// store_full_tile(tile, items): called by whole subgroups.
// Shared bytes: 32 * WORKGROUP_SIZE for elements of 8 bytes, else 0. Subgroup barriers: 2 per row, else 0.
//
// Two ways, of which each was the faster one on an NVIDIA H200 at 2^24: elements of 8 bytes go through shared memory
// (segmented sums 5 % faster so, argmax 1 % slower), those of 16 to the neighbour by shuffles (2 % faster).

#if ELEMENT >= ELEMENT_STRUCT4
#define HalfVector uvec4
#define FIRST_HALF(stored) (stored).quads[0]
#define OTHER_HALF(stored) (stored).quads[1]
#else
#define HalfVector Vector2
#define FIRST_HALF(stored) (stored).xy
#define OTHER_HALF(stored) (stored).zw
#endif

layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer OutputHalves {
    HalfVector at[];
};

#if ELEMENT_BYTES == 16

// Two neighbours have two sectors. The first one stores the first halves of both, and the other one the other halves.
void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    OutputHalves target = OutputHalves(TILE_ADDRESS(params.target_address, tile));
    const bool is_other = (own_lane & 1u) != 0u;
    const uint first = (item_vector(0u) & ~1u) * 2u + (own_lane & 1u);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const StoredVector stored = stored_vector(items[k]);
        const HalfVector given = is_other ? FIRST_HALF(stored) : OTHER_HALF(stored);
        const HalfVector taken = subgroupShuffleXor(given, 1u);
        const uint begin = first + k * SUBGROUP_SIZE * 2u;
        target.at[begin] = is_other ? taken : FIRST_HALF(stored);
        target.at[begin + 2u] = is_other ? OTHER_HALF(stored) : taken;
    }
}

#else

const uint ROW_HALVES = SUBGROUP_SIZE * 2u;

shared HalfVector shared_halves[SUBGROUPS * ROW_HALVES];

// Where a half of the subgroup's row stands. Halves of every other group of eight change places with their neighbours,
// so that eight invocations that write one half each, or read one, use all 32 banks.
uint half_index(const uint i) {
    return own_subgroup * ROW_HALVES + (i ^ (i / 8u % 2u));
}

void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    OutputHalves target = OutputHalves(TILE_ADDRESS(params.target_address, tile));
    const uint first = own_subgroup * (ROW_HALVES * BATCH_SIZE) + own_lane;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const StoredVector stored = stored_vector(items[k]);
        shared_halves[half_index(own_lane * 2u)] = FIRST_HALF(stored);
        shared_halves[half_index(own_lane * 2u + 1u)] = OTHER_HALF(stored);
        subgroupBarrier();
        const HalfVector lower = shared_halves[half_index(own_lane)];
        const HalfVector upper = shared_halves[half_index(SUBGROUP_SIZE + own_lane)];
        subgroupBarrier();
        target.at[first + k * ROW_HALVES] = lower;
        target.at[first + k * ROW_HALVES + SUBGROUP_SIZE] = upper;
    }
}

#endif
