// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: gather, with fallback. All invocations together read the totals of all predecessors in one hop; when a
// subgroup has looked MAX_SPINS times again at a tile that has published nothing, all invocations of the workgroup add
// that tile up themselves, and publish its total for everybody. So it needs neither the progress of others nor their
// order.
// Source of the idea: Smith, Levien and Owens, "Decoupled Fallback" (2025), as of stages/lookback/fallback.glsl.
//
// Nobody publishes an inclusive prefix: a state goes from INVALID to AGGREGATE, and whoever stores or inserts that
// stores the same bits.
// The input of the other tile has to be there still: not for scans in place.
// A workgroup that waits for nobody pays one shared load more than LOOKBACK_GATHER.
//
// Shared bytes: those of shares, and 4 * (SUBGROUPS + 1). Barriers: 1, and 3 per fallback. Called by all invocations.

#include "stages/block/shares.glsl"
#include "stages/lookback/last_place.glsl"
#include "stages/lookback/run.glsl"
#include "stages/lookback/total_of_tile.glsl"

const uint NO_TILE = 0xffffffffu;

// A tile that somebody waits for in vain, or NO_TILE.
shared uint shared_fallback_tile;

void expect_to_wait() {
    if (SUBGROUPS > 1u && invocation_rank() == 0u) {
        shared_fallback_tile = NO_TILE;
    }
}

void publish_total(const uint tile, const Element total) {
    publish(tile, AGGREGATE, total);
}

bool others_need_lookback(const uint tile) {
    return false;
}

// Adds up the totals of the own predecessors, until there are no more or one does not come.
void add_predecessors(const uint end, inout uint next, inout Element share) {
    uint rounds = 0u;
    uint spins = 0u;
    // Subgroups go round together until none of their invocations waits, but only those that wait look again.
    while (subgroupAny(next < end && spins <= MAX_SPINS)) {
        if (next < end && spins <= MAX_SPINS) {
            const StateWord word = load_state(next);
            if (word_state(word) != INVALID) {
                share = combine(share, word_value(word));
                next += RUN_STEP(end, WORKGROUP_SIZE);
                spins = 0u;
            } else {
                spins += 1u;
                back_off(rounds);
            }
        }
    }
}

// Of a workgroup of one subgroup: one of the tiles that its invocations wait for, or NO_TILE.
uint one_waited_for(const uint own) {
#if OPERATOR == OPERATOR_USER
    // Where nobody waits, the first invocation says so.
    return subgroupShuffle(own, max(last_place(own != NO_TILE ? own_lane + 1u : 0u), 1u) - 1u);
#else
    return subgroupMin(own);
#endif
}

// A tile that an invocation of the workgroup waits for, or NO_TILE: the same in all of them. Barriers: 1.
uint tile_waited_for(const uint end, const uint next) {
    const uint own = next < end ? next : NO_TILE;
    if (SUBGROUPS == 1u) {
        const uint one = one_waited_for(own);
        barrier();
        return one;
    }
    if (own != NO_TILE) {
        atomicMin(shared_fallback_tile, own);
    }
    barrier();
    return shared_fallback_tile;
}

void lookback(const uint tile) {
    Element share = identity();
    uint next = RUN_BEGIN(0u, tile, invocation_rank(), WORKGROUP_SIZE);
    const uint end = RUN_END(0u, tile, invocation_rank(), WORKGROUP_SIZE);
    add_predecessors(end, next, share);
    give_share(share);
    uint blocking = tile_waited_for(end, next);
    while (blocking != NO_TILE) {
        subgroupBarrier();
        // Behind its barrier nobody reads the tile that was waited for any more.
        const Element total = total_of_tile(blocking);
        if (invocation_rank() == 0u) {
            insert_state(blocking, AGGREGATE, total);
            shared_fallback_tile = NO_TILE;
        }
        // Behind its end stands the run of another invocation.
        if (next < end && next == blocking) {
            share = combine(share, total);
            next += RUN_STEP(end, WORKGROUP_SIZE);
        }
        barrier();
        add_predecessors(end, next, share);
        give_share(share);
        blocking = tile_waited_for(end, next);
    }
}
