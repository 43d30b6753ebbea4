// Lookback: recompute. The workgroup adds up the input before its tile.
//
// recompute(tile): called by all invocations.
// tile_prefix(): the total of all tiles before this one. Valid in all invocations after the next barrier; called by whole
//   subgroups.
// The order in which elements are combined is not that of the input: for commutative operators only.
// Shared bytes: 4 * SUBGROUPS. Barriers: 0.

// Loads that are under way together, per invocation.
const uint RECOMPUTE_ROWS = 8u;

shared Element shared_shares[SUBGROUPS];

void recompute(const uint tile) {
    // All tiles before this one are full: whole rows of one vector per invocation.
    const uint rows = tile * BATCH_SIZE;
    InputVectors source = InputVectors(params.source_address);
    Element share = identity();
    for (uint row = 0u; row < rows; row += RECOMPUTE_ROWS) {
        [[unroll]] for (uint k = 0u; k < RECOMPUTE_ROWS; ++k) {
            if (row + k < rows) {
                share = combine(share, vector_total(source.at[(row + k) * WORKGROUP_SIZE + invocation_rank()]));
            }
        }
    }
    share = subgroup_reduce(share);
    if (gl_SubgroupInvocationID == 0) {
        shared_shares[gl_SubgroupID] = share;
    }
}

Element tile_prefix() {
    Element prefix = identity();
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + gl_SubgroupInvocationID;
        prefix = combine(prefix, subgroup_reduce(subgroup < SUBGROUPS ? shared_shares[subgroup] : identity()));
    }
    return prefix;
}
