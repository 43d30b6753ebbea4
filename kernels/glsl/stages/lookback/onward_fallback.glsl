// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback onward, part of: gather-fallback. All invocations together read the totals that came since the last tile of
// the workgroup, in one hop; when a subgroup has looked MAX_SPINS times again at a tile that has published nothing, all
// invocations of the workgroup add that tile up themselves, and publish its total for everybody. So it needs neither
// the progress of others nor that they run at the same time: also where tiles go round robin. As
// stages/lookback/gather_fallback.glsl has it: a state goes from INVALID to AGGREGATE, and whoever stores or inserts
// that stores the same bits. The input of the other tile has to be there still: not for scans in place.
//
// prepare_fallback(): called by the first invocation, before a barrier in front of everything else.
// subgroup_part(items): of a tile, what its subgroup has; in all invocations of the subgroup.
// add_totals(end, next, share): adds up the totals of the own predecessors, until there are no more or one does not
//   come. Called by whole subgroups.
// tile_waited_for(round, end, next): the first tile that any invocation of the workgroup waits for, or NO_TILE. The
//   same in all of them. Called by all invocations. Barriers: 1.
// add_up(round, blocking): adds that tile up, and publishes it. Called by all invocations, of which none looks at what
//   is waited for in this round until it has come to another barrier. Barriers: 1.
// Shared bytes: 8, and those of SUBGROUPS elements.

#include "stages/lookback/total_of_tile.glsl"

const uint NO_TILE = 0xffffffffu;

// The first tile that somebody waits for in vain, or NO_TILE. Two: without another round no barrier stands between what
// is read of a round and what is written of the next one.
shared uint shared_fallback_tiles[2];

void prepare_fallback() {
    shared_fallback_tiles[0] = NO_TILE;
    shared_fallback_tiles[1] = NO_TILE;
}

#if ANY_ORDER
Element subgroup_part(const Vector items[BATCH_SIZE]) {
    return subgroup_total(items);
}
#else
// As whoever adds the tile up makes it.
Element subgroup_part(const Vector items[BATCH_SIZE]) {
    return part_of_shares(share_of_items(items));
}
#endif

void add_totals(const uint end, inout uint next, inout Element share) {
    uint rounds = 0u;
    uint spins = 0u;
    // Subgroups go round together until none of their invocations waits, but only those that wait look again. Two loads
    // at a time are under way together.
    while (subgroupAny(next < end && spins <= MAX_SPINS)) {
        if (next < end && spins <= MAX_SPINS) {
            const StateWord word = load_state(next);
            StateWord word_behind = no_word();
            if (next + RUN_STEP(end, WORKGROUP_SIZE) < end) {
                word_behind = load_state(next + RUN_STEP(end, WORKGROUP_SIZE));
            }
            if (word_state(word) != INVALID) {
                share = combine(share, word_value(word));
                next += RUN_STEP(end, WORKGROUP_SIZE);
                spins = 0u;
                if (next < end && word_state(word_behind) != INVALID) {
                    share = combine(share, word_value(word_behind));
                    next += RUN_STEP(end, WORKGROUP_SIZE);
                }
            } else {
                spins += 1u;
                back_off(rounds);
            }
        }
    }
}

uint tile_waited_for(const uint round, const uint end, const uint next) {
    if (next < end) {
        atomicMin(shared_fallback_tiles[round % 2u], next);
    }
    barrier();
    return shared_fallback_tiles[round % 2u];
}

Element add_up(const uint round, const uint blocking) {
    subgroupBarrier();
    // Behind its barrier nobody reads the tile that was waited for any more.
    const Element total = total_of_tile(blocking);
    if (invocation_rank() == 0u) {
        insert_state(blocking, AGGREGATE, total);
        shared_fallback_tiles[round % 2u] = NO_TILE;
    }
    return total;
}
