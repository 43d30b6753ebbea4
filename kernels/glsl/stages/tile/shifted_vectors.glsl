// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile load and store, part of: striped tiles of arrays that begin at any element. Vectors are loaded and stored where
// vectors of the device begin, so that a subgroup touches memory as it does with arrays that begin there, and elements
// move over by shuffles: an array begins 0 to 3 elements behind such a place, which is the same for all of its tiles.
//
// load_full_tile(tile, items), store_full_tile(tile, items): called by whole subgroups.
// Elements that stand in a vector of the device beside those of another invocation of the subgroup come from it, or go
// there. At the ends of what a subgroup has, elements are stored one by one, and loaded so where the array begins and
// behind the last vector: nothing is stored that others have, and nothing outside of the array is loaded.
// For elements of 4 bytes, in vectors of four, out of place: in place, others write beside what is loaded.

layout(buffer_reference, std430, buffer_reference_align = 16) UNSHARED readonly buffer AlignedInput {
    Vector at[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) UNSHARED writeonly buffer AlignedOutput {
    Vector at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) UNSHARED readonly buffer InputElements {
    Element at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) UNSHARED writeonly buffer OutputElements {
    Element at[];
};

#if defined(INT64) && INT64
#define ALIGNED(address) ((address) & ~uint64_t(15u))
#define MISPLACED(address) (uint(address) / 4u % 4u)
#else
#define ALIGNED(address) uvec2((address).x & ~15u, (address).y)
#define MISPLACED(address) ((address).x / 4u % 4u)
#endif

// Four of seven elements in a row, from the first one on, which is from 0 to 3. The last element of `behind` is none.
Vector four_of(const Vector front, const Vector behind, const uint first) {
    const bool two = (first & 2u) != 0u;
    const bool one = (first & 1u) != 0u;
    const Element first_half[5] =
        Element[](two ? front.z : front.x, two ? front.w : front.y, two ? behind.x : front.z,
                  two ? behind.y : front.w, two ? behind.z : behind.x);
    return Vector(one ? first_half[1] : first_half[0], one ? first_half[2] : first_half[1],
                  one ? first_half[3] : first_half[2], one ? first_half[4] : first_half[3]);
}

void load_full_tile(const uint tile, out Vector items[BATCH_SIZE]) {
    const Address address = element_address(params.source_address, tile, TILE_VECTORS * LANES * ELEMENT_BYTES);
    AlignedInput source = AlignedInput(ALIGNED(address));
    InputElements elements = InputElements(address);
    const uint shift = MISPLACED(params.source_address);
    const uint first = item_vector(0u);
    items[0] = VECTOR_OF(identity());
    if (first == 0u && tile == 0u) {
        // In front of the array stands what is not ours.
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (i >= shift) {
                LANE(items[0], i) = elements.at[i - shift];
            }
        }
    } else {
        items[0] = source.at[first];
    }
    [[unroll]] for (uint k = 1u; k < BATCH_SIZE; ++k) {
        items[k] = source.at[first + k * SUBGROUP_SIZE];
    }
    // Of the last invocation of the subgroup: what its last vector ends with.
    Vector end_items = VECTOR_OF(identity());
    if (own_lane == SUBGROUP_SIZE - 1u) {
        const uint end = item_vector(BATCH_SIZE - 1u) * LANES + LANES - shift;
        [[unroll]] for (uint i = 0u; i + 1u < LANES; ++i) {
            if (i < shift) {
                LANE(end_items, i) = elements.at[end + i];
            }
        }
    }
    const uint lane_behind = (own_lane + 1u) % SUBGROUP_SIZE;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        Vector behind = VECTOR_OF(identity());
        [[unroll]] for (uint i = 0u; i + 1u < LANES; ++i) {
            // Behind the last invocation comes the first one, in the next row.
            const Element next = LANE(items[min(k + 1u, BATCH_SIZE - 1u)], i);
            const Element given = own_lane == 0 ? next : LANE(items[k], i);
            LANE(behind, i) = subgroupShuffle(given, lane_behind);
        }
        if (k + 1u == BATCH_SIZE && own_lane == SUBGROUP_SIZE - 1u) {
            behind = end_items;
        }
        items[k] = four_of(items[k], behind, shift);
    }
}

void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    const Address address = element_address(params.target_address, tile, TILE_VECTORS * LANES * ELEMENT_BYTES);
    AlignedOutput target = AlignedOutput(ALIGNED(address));
    OutputElements elements = OutputElements(address);
    const uint shift = MISPLACED(params.target_address);
    const uint first = item_vector(0u);
    const uint lane_before = (own_lane + SUBGROUP_SIZE - 1u) % SUBGROUP_SIZE;
    const bool is_last = own_lane == SUBGROUP_SIZE - 1u;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        Vector before = VECTOR_OF(identity());
        [[unroll]] for (uint i = 0u; i + 1u < LANES; ++i) {
            // Before the first invocation comes the last one, in the row before.
            const Element last = LANE(items[max(k, 1u) - 1u], i + 1u);
            const Element given = is_last ? last : LANE(items[k], i + 1u);
            LANE(before, i) = subgroupShuffle(given, lane_before);
        }
        const Vector front = Vector(before.x, before.y, before.z, items[k].x);
        const Vector own = Vector(items[k].y, items[k].z, items[k].w, before.x);
        const Vector stored = four_of(front, own, 3u - shift);
        if (k > 0u || own_lane > 0u || shift == 0u) {
            target.at[first + k * SUBGROUP_SIZE] = stored;
        }
    }
    if (shift != 0u) {
        // The ends, which share a vector with others.
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (own_lane == 0u && i + shift < LANES) {
                elements.at[first * LANES + i] = LANE(items[0], i);
            }
            if (is_last && i + shift >= LANES) {
                elements.at[item_vector(BATCH_SIZE - 1u) * LANES + i] = LANE(items[BATCH_SIZE - 1], i);
            }
        }
    }
}
