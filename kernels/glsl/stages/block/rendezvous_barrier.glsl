// SPDX-License-Identifier: MIT OR Apache-2.0
// Rendezvous: workgroup barriers. Shared bytes: 4 * (3 * SUBGROUPS + 4), gather: 4 * (5 * SUBGROUPS + 4). Barriers: 2
// per round, and 3 per fallback.
//
// Lookback two-level: subgroup 0 looks back, and tells the others. Lookbacks gather and gather-fallback: all
// invocations look at once.

// Three: the totals of a round are still being read while those of the round after the next are written.
const uint TOTAL_SLOTS = 3u;
#if LOOKBACK != LOOKBACK_TWO_LEVEL
// Two: without another round no barrier stands between shares that are read and the next ones.
const uint SHARE_SLOTS = 2u;
#else
const uint SHARE_SLOTS = 0u;
#endif

// Of each subgroup: its totals of some rounds, and behind them its shares of what comes before some tiles.
shared Element shared_totals[TOTAL_SLOTS + SHARE_SLOTS][SUBGROUPS];
// Two, as of shares.
shared Element shared_prefix[2];
shared uint shared_next_tile;

// What stands in a slot of the first `count` subgroups, combined. Of a user's operator one by one: no shuffles.
#define COMBINES combine_slot(const uint slot, const uint count, const uint most)
#define TAKEN (subgroup < count ? shared_totals[slot][subgroup] : identity())
#define ONE_BY_ONE (OPERATOR == OPERATOR_USER && LAVAPIPE_SHUFFLES_AT_RENDEZVOUS)
#include "stages/block/combine_subgroups.glsl"

// The totals of the first `count` subgroups in the tile of a round.
Element combine_totals(const uint round, const uint count) {
    return combine_slot(round % TOTAL_SLOTS, count, SUBGROUPS);
}

// The total of the tile of a round.
#if FALLS_BACK && !ANY_ORDER
// As total_of_parts has it.
Element combine_all_totals(const uint round) {
    const uint slot = round % TOTAL_SLOTS;
    Element total = shared_totals[slot][0];
    [[unroll]] for (uint subgroup = 1u; subgroup < SUBGROUPS; ++subgroup) {
        total = COMBINE_PARTS(total, shared_totals[slot][subgroup]);
    }
    return total;
}
#else
#define combine_all_totals(round) combine_totals(round, SUBGROUPS)
#endif

#if TILE_ORDER == TILE_ORDER_TICKET
shared uint shared_first_tile;

uint rendezvous_begin() {
    if (invocation_rank() == 0u) {
        shared_first_tile = first_tile();
#if FALLS_BACK
        prepare_fallback();
#endif
    }
    barrier();
    return shared_first_tile;
}
#else
uint rendezvous_begin() {
#if FALLS_BACK
    if (invocation_rank() == 0u) {
        prepare_fallback();
    }
#endif
    return first_tile();
}
#endif

void arrive_unpublished(const uint round, const Element total) {
    if (own_lane == 0) {
        shared_totals[round % TOTAL_SLOTS][own_subgroup] = total;
    }
    if (round == 0u) {
        share_turn();
    }
    barrier();
    if (round == 0u) {
        know_turn();
    }
}

void arrive(const uint round, const uint tile, const Element total) {
    if (round == 0u && chooses_tiles()) {
        shared_next_tile = private_second_tile;
    }
    arrive_unpublished(round, total);
    if (own_subgroup == 0) {
        const Element tile_total = combine_all_totals(round);
        if (own_lane == 0) {
            publish_total(tile, tile_total);
        }
        if (ends_group(tile)) {
            publish_group(tile);
        }
    }
}

uint next_tile(const uint round) {
    return shared_next_tile;
}

#if LOOKBACK == LOOKBACK_GATHER
Element wait_for_prefix(const uint round, const uint tile, const bool more) {
    uint chosen = 0u;
    if (more && chooses_tiles()) {
        chosen = choose_tile(round + 2u);
    }
    const uint slot = TOTAL_SLOTS + round % SHARE_SLOTS;
    const Element share = subgroup_reduce(totals_of_some(tile, invocation_rank(), WORKGROUP_SIZE));
    if (own_lane == 0) {
        shared_totals[slot][own_subgroup] = share;
    }
    // Only now: the answer is under way while others are looked at.
    if (more && chooses_tiles()) {
        shared_next_tile = chosen;
    }
    barrier();
    return prefix_from(tile, combine_slot(slot, SUBGROUPS, SUBGROUPS));
}
#elif LOOKBACK == LOOKBACK_GATHER_FALLBACK
void give_share(const uint slot, const Element share) {
    const Element part = subgroup_reduce(share);
    if (own_lane == 0) {
        shared_totals[slot][own_subgroup] = part;
    }
}

Element wait_for_prefix(const uint round, const uint tile, const bool more) {
    uint chosen = 0u;
    if (more && chooses_tiles()) {
        chosen = choose_tile(round + 2u);
    }
    const uint slot = TOTAL_SLOTS + round % SHARE_SLOTS;
    uint next = RUN_BEGIN(private_done, tile, invocation_rank(), WORKGROUP_SIZE);
    const uint end = RUN_END(private_done, tile, invocation_rank(), WORKGROUP_SIZE);
    Element share = identity();
    add_totals(end, next, share);
    give_share(slot, share);
    if (more && chooses_tiles()) {
        shared_next_tile = chosen;
    }
    uint blocking = tile_waited_for(round, end, next);
    while (blocking != NO_TILE) {
        const Element total = add_up(round, blocking);
        // Behind its end stands the run of another invocation.
        if (next < end && next == blocking) {
            share = combine(share, total);
            next += RUN_STEP(end, WORKGROUP_SIZE);
        }
        barrier();
        add_totals(end, next, share);
        give_share(slot, share);
        blocking = tile_waited_for(round, end, next);
    }
    return prefix_from(tile, combine_slot(slot, SUBGROUPS, SUBGROUPS));
}
#else
Element wait_for_prefix(const uint round, const uint tile, const bool more) {
    if (more && chooses_tiles()) {
        shared_next_tile = choose_tile(round + 2u);
    }
    if (own_subgroup == 0) {
        const Element prefix = find_prefix_onward(tile);
        if (own_lane == 0) {
            shared_prefix[round % 2u] = prefix;
        }
    }
    barrier();
    return shared_prefix[round % 2u];
}
#endif

Element total_of_earlier_subgroups(const uint round) {
    return combine_totals(round, own_subgroup);
}

void end_round(const uint round) {
}

#if FEW_APART

#if IN_ORDER
#define SHARES_AND_TOTALS combine(combine_totals(1u, SUBGROUPS), combine_totals(0u, own_subgroup))
#else
// Of each subgroup, before the subgroup operation: not by one for shares, and one for totals.
Element share_and_total_if(const uint subgroup, const uint count) {
    const Element total = subgroup < count ? shared_totals[0][subgroup] : identity();
    return subgroup < SUBGROUPS ? combine(shared_totals[1][subgroup], total) : identity();
}

#define COMBINES combine_shares_and_totals(const uint count, const uint most)
#define TAKEN share_and_total_if(subgroup, count)
#define ONE_BY_ONE (OPERATOR == OPERATOR_USER && LAVAPIPE_SHUFFLES_AT_RENDEZVOUS)
#include "stages/block/combine_subgroups.glsl"
#define SHARES_AND_TOTALS combine_shares_and_totals(own_subgroup, SUBGROUPS)
#endif

Element meet_once(const Element total, const Element share) {
    if (own_lane == 0) {
        shared_totals[0][own_subgroup] = total;
        shared_totals[1][own_subgroup] = share;
    }
    barrier();
    return SHARES_AND_TOTALS;
}

#else

Element meet_once(const Element total) {
    if (own_lane == 0) {
        shared_totals[0][own_subgroup] = total;
    }
    barrier();
    return combine_totals(0u, own_subgroup);
}

#endif
