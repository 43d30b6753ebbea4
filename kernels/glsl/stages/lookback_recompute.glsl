// Lookback: recompute. The workgroup adds up the input before its tile.
//
// recompute(tile): called by all invocations; makes tile_prefix() of shares.
// Shared bytes: those of shares. Barriers: 0.

#include "shares.glsl"

// Loads that are under way together, per invocation.
const uint RECOMPUTE_ROWS = 8u;
// Where there are so few rows, all of them are loaded, the last one again and again where there are fewer still: fewer
// instructions than a choice for each. The time of a few tiles is that of the instructions that no workgroup has executed before
// (H200, 2^11 in four tiles: 2.18 us become 2.11).
const uint FEW_ROWS = 4u;

StoredVector load_row(const uint row) {
    InputVectors source = InputVectors(params.source_address);
    return source.at[row * WORKGROUP_SIZE + invocation_rank()];
}

void recompute(const uint tile) {
    // All tiles before this one are full: whole rows of one vector per invocation.
    const uint rows = tile * BATCH_SIZE;
    Element share = identity();
    if (rows > 0u && rows <= FEW_ROWS) {
        StoredVector vectors[FEW_ROWS];
        [[unroll]] for (uint k = 0u; k < FEW_ROWS; ++k) {
            vectors[k] = load_row(min(k, rows - 1u));
        }
        [[unroll]] for (uint k = 0u; k < FEW_ROWS; ++k) {
            share = combine(share, VALUE_IF(k < rows, vector_total(loaded_vector(vectors[k]))));
        }
    } else {
        for (uint row = 0u; row < rows; row += RECOMPUTE_ROWS) {
            [[unroll]] for (uint k = 0u; k < RECOMPUTE_ROWS; ++k) {
                if (row + k < rows) {
                    share = combine(share, vector_total(loaded_vector(load_row(row + k))));
                }
            }
        }
    }
    give_share(share);
}
