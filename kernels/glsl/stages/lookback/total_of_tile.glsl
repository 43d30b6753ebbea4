// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback fallback, part of: the total of a tile that another workgroup has not published, from the input.
//
// total_of_tile(tile): of a full tile. Called by all invocations; valid in all. Barriers: 1.
// A total that depends on the order (ANY_ORDER is 0) has to be made in one and the same way by the owner, from its
// items, and by others, from memory: item by item in each invocation, then by subgroup, then of the subgroups. The
// owner makes it before its scan (lookback/lookback.glsl), with a barrier more.
// Shared bytes: those of SUBGROUPS elements.

// Of the tile that is being added up, by subgroup.
shared Element shared_fallback_totals[SUBGROUPS];

#if ANY_ORDER
#define COMBINE_PARTS combine
#else
#define COMBINE_PARTS combine_in_order

Element combine_in_order(const Element earlier, const Element later) {
#ifdef COMBINED
    // Compilers may regroup what is not precise, and need not do it in the same way twice.
    precise Element combined = COMBINED(earlier, later);
    return combined;
#else
    return combine(earlier, later);
#endif
}

#endif

// Makes one total of those of all subgroups' parts, which each subgroup has in all its invocations. Barriers: 1.
Element total_of_parts(const Element part) {
    if (own_lane == 0) {
        shared_fallback_totals[own_subgroup] = part;
    }
    barrier();
    Element total = shared_fallback_totals[0];
    [[unroll]] for (uint subgroup = 1u; subgroup < SUBGROUPS; ++subgroup) {
        total = COMBINE_PARTS(total, shared_fallback_totals[subgroup]);
    }
    return total;
}

#if ANY_ORDER

// Vectors that are under way together, per invocation: few, because the workgroup holds its own items meanwhile, and a
// persistent one those of the next tile too.
#ifdef PERSISTENT
const uint FALLBACK_ROWS = 1u;
#else
const uint FALLBACK_ROWS = min(BATCH_SIZE, 2);
#endif

// The total of a full tile, from the input.
Element total_of_tile(const uint tile) {
    InputVectors source = tile_source(tile);
    Element share = identity();
    [[dont_unroll]] for (uint row = 0u; row < BATCH_SIZE; row += FALLBACK_ROWS) {
        [[unroll]] for (uint k = 0u; k < FALLBACK_ROWS; ++k) {
            if (BATCH_SIZE % FALLBACK_ROWS == 0u || row + k < BATCH_SIZE) {
                const Vector vector =
                    WHOLE_VECTOR(source, tile, (row + k) * WORKGROUP_SIZE + invocation_rank());
                share = combine(share, vector_total(vector));
            }
        }
    }
    return total_of_parts(subgroup_reduce(share));
}

#else

Element vector_total_in_order(const Vector vector) {
    Element total = LANE(vector, 0);
    [[unroll]] for (uint i = 1u; i < LANES; ++i) {
        total = combine_in_order(total, LANE(vector, i));
    }
    return total;
}

// What item k adds to what the items before it have made.
Element with_item(const Element before, const Vector item) {
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
    // A row of the subgroup.
    return combine_in_order(before, subgroup_reduce(vector_total_in_order(item)));
#else
    return combine_in_order(before, vector_total_in_order(item));
#endif
}

// What the subgroup has, in all its invocations, of the shares of these.
Element part_of_shares(const Element share) {
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
    return share;
#else
    return subgroup_reduce(share);
#endif
}

Element share_of_items(const Vector items[BATCH_SIZE]) {
    Element share = identity();
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        share = with_item(share, items[k]);
    }
    return share;
}

Element total_before_scan(const Vector items[BATCH_SIZE]) {
    return total_of_parts(part_of_shares(share_of_items(items)));
}

Element total_for_others(const Element before_scan) {
    return before_scan;
}

Element total_of_tile(const uint tile) {
    InputVectors source = tile_source(tile);
    Element share = identity();
    [[dont_unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        share = with_item(share, WHOLE_VECTOR(source, tile, item_vector(k)));
    }
    return total_of_parts(part_of_shares(share));
}

#endif
