// Lookback: recompute. The workgroup adds up the input before its tile.
//
// recompute(tile): called by all invocations; makes tile_prefix() of shares.
// Shared bytes: those of shares. Barriers: 0.

#include "shares.glsl"

// Loads that are under way together, per invocation.
const uint RECOMPUTE_ROWS = 8u;

void recompute(const uint tile) {
    // All tiles before this one are full: whole rows of one vector per invocation.
    const uint rows = tile * BATCH_SIZE;
    InputVectors source = InputVectors(params.source_address);
    Element share = identity();
    for (uint row = 0u; row < rows; row += RECOMPUTE_ROWS) {
        [[unroll]] for (uint k = 0u; k < RECOMPUTE_ROWS; ++k) {
            if (row + k < rows) {
                share = combine(share, vector_total(loaded_vector(source.at[(row + k) * WORKGROUP_SIZE + invocation_rank()])));
            }
        }
    }
    give_share(share);
}
