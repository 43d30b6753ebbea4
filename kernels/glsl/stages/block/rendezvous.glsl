// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: rendezvous. How the subgroups of a workgroup that goes from tile to tile tell each other what they need.
//
// rendezvous_begin(): the first tile. Called once, by all invocations.
// choose_second_tile(): asks for the tile of round 1, right behind the loads of round 0: the answer is under way with
//   them. Called before arrive(0, ...).
// arrive(round, tile, total): each subgroup gives the total of its part of the tile of a round. The tile's total is
//   published when all have.
// arrive_unpublished(round, total): the same for the last tile of all, whose total nobody needs.
// next_tile(round): the tile of the round after this one.
// wait_for_prefix(round, tile, more): the total of all tiles before the tile of this round; more says whether there
//   will be another round, and hence whether its successor has to be chosen.
// total_of_earlier_subgroups(round): the totals of the subgroups before this one in the tile of this round; after
//   wait_for_prefix.
// end_round(round): at the end of each round that another one follows.
// All are called by all invocations, with rounds 0, 1, 2, ...; results are valid in all.
// meet_once(total), meet_once(total, share): in place of all these, where a workgroup finds by itself what comes before
//   it: each subgroup gives the total of its part and, where there are several rows (FEW_APART), its share of those
//   before the workgroup. Returns: all shares, and the totals of the subgroups before this one. Barriers: 1.
//
// Tiles by ticket: taken one round ahead, during the lookback; each workgroup takes as many as it scans and one more.
// Tiles by workgroup id: the first tile of a workgroup, so that it is loaded at once; the others by ticket. Workgroups
//   that run wait for the first tiles of all others: all have to run at the same time.
// Tiles round robin: every workgroups-th; all workgroups have to run at the same time.

uint first_tile() {
#if TILE_ORDER == TILE_ORDER_TICKET
    return take_ticket();
#else
    return workgroup_rank();
#endif
}

// The invocation that chooses tiles. It is in the last subgroup, since the first looks back: neither waits for what the
// other asks memory for.
bool chooses_tiles() {
    return own_subgroup == SUBGROUPS - 1u && own_lane == 0;
}

// Called by that invocation for round 1, 2, ... in turn.
uint choose_tile(const uint round) {
#if TILE_ORDER == TILE_ORDER_TICKET
    return take_ticket();
#elif TILE_ORDER == TILE_ORDER_WORKGROUP_ID
    // Where every tile is somebody's first one, nobody has to ask.
    return params.workgroups < tile_count() ? params.workgroups + take_ticket() : tile_count();
#else
    return workgroup_rank() + round * params.workgroups;
#endif
}

// The tile of round 1, in the invocation that chooses.
uint private_second_tile;

void choose_second_tile() {
    if (chooses_tiles()) {
        private_second_tile = choose_tile(1u);
    }
}

#if RENDEZVOUS == RENDEZVOUS_BARRIER
#include "stages/block/rendezvous_barrier.glsl"
#else
#include "stages/block/rendezvous_flags.glsl"
#endif
