// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: recompute. The workgroup adds up the input before its tile.
//
// share_before(tile): called by all invocations; what this one has loaded and added up.
// scan_behind(share, items): scans the items as block_scan does, and makes tile_prefix() of the shares of all
//   invocations meanwhile.
// Shared bytes: those of shares. Barriers: those of block_scan.

#include "stages/block/shares.glsl"

// Loads that are under way together, per invocation: of a tile that has few rows before it, and of any other. All of
// them are there in the program, and those of rows that are not there are left out one by one: a branch around them
// takes longer than they do.
const uint FEW_ROWS = 4u;
const uint MANY_ROWS = 8u;

// A vector of the invocation, of so many: a row apart, or side by side where the order of elements matters.
StoredVector load_row(const uint row, const uint rows) {
#if REVERSE || TRANSFORM_INPUT
    // Tiles are gone through as if the first one had all of these vectors.
    const uint v = IN_ORDER == 1 ? invocation_rank() * rows + row : row * WORKGROUP_SIZE + invocation_rank();
    return STORED_WHOLE(source, v / TILE_VECTORS, v % TILE_VECTORS);
#else
    InputVectors source = InputVectors(params.source_address);
#if IN_ORDER
    return source.at[invocation_rank() * rows + row];
#else
    return source.at[row * WORKGROUP_SIZE + invocation_rank()];
#endif
#endif
}

// Combines share with up to `count` rows, a constant, of those from `first` to `rows`.
#define COMBINE_ROWS(share, count, first, rows)                                             \
    {                                                                                       \
        StoredVector vectors[count];                                                        \
        [[unroll]] for (uint k = 0u; k < count; ++k) {                                      \
            vectors[k] = stored_vector(VECTOR_OF(identity()));                              \
            if (first + k < rows) {                                                         \
                vectors[k] = load_row(first + k, rows);                                     \
            }                                                                               \
        }                                                                                   \
        [[unroll]] for (uint k = 0u; k < count; ++k) {                                      \
            share = combine(share, vector_total(loaded_vector(vectors[k])));                \
        }                                                                                   \
    }

Element share_before(const uint tile) {
    // All tiles before this one are full: whole rows of one vector per invocation.
    const uint rows = tile * BATCH_SIZE;
    Element share = identity();
    if (rows <= FEW_ROWS) {
        COMBINE_ROWS(share, FEW_ROWS, 0u, rows)
    } else {
        uint row = 0u;
        do {
            COMBINE_ROWS(share, MANY_ROWS, row, rows)
            row += MANY_ROWS;
        } while (row < rows);
    }
    return share;
}

void scan_behind(const Element share, inout Vector items[BATCH_SIZE]) {
#if BLOCK_SCAN == BLOCK_SCAN_SUBGROUP
    Element all_shares = share;
    const Element total = subgroup_scan_beside(items, all_shares);
    give_reduced_share(all_shares);
    give_total(total);
    take_totals();
#else
    give_share(share);
    block_scan(items);
    block_scan_end();
#endif
}
