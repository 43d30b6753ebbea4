// Stage: rendezvous. How the subgroups of a workgroup that goes from tile to tile tell each other what they need.
//
// rendezvous_begin(): the first tile. Called once, by all invocations.
// arrive(round, tile, total): each subgroup gives the total of its part of the tile of a round. The tile's total is
//   published when all have.
// arrive_unpublished(round, total): the same for the last tile of all, whose total nobody needs.
// next_tile(round): the tile of the round after this one.
// wait_for_prefix(round, tile, more): the total of all tiles before the tile of this round; more says whether there will
//   be another round, and hence whether its successor has to be chosen.
// subgroup_prefix(round): the totals of the subgroups before this one in the tile of this round; after wait_for_prefix.
// end_round(round): at the end of each round that another one follows.
// All are called by all invocations, with rounds 0, 1, 2, ...; results are valid in all.
//
// Tiles by ticket: taken one round ahead, right before the lookback; each workgroup takes as many as it scans and one more.
// Tiles round robin: every workgroups-th; all workgroups have to run at the same time.

uint first_tile() {
#if TILE_ORDER == TILE_ORDER_TICKET
    return take_ticket();
#else
    return workgroup_rank();
#endif
}

// Called by one invocation of the workgroup, for round 1, 2, ... in turn.
uint choose_tile(const uint round) {
#if TILE_ORDER == TILE_ORDER_TICKET
    return take_ticket();
#else
    return workgroup_rank() + round * (gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z);
#endif
}

#if RENDEZVOUS == RENDEZVOUS_BARRIER
#include "rendezvous_barrier.glsl"
#else
#include "rendezvous_flags.glsl"
#endif
