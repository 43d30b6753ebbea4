// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: fallback. A parallel lookback that needs no progress of others: when it has looked MAX_SPINS times again at
// a tile that has published nothing, all invocations of the workgroup add that tile up themselves, and publish its
// total for everybody. A workgroup that has taken its ticket and then does not run any more holds up nobody, and
// neither does one that has not started, where tiles are taken by the number of the workgroup.
// Source: Smith, Levien and Owens, "Decoupled Fallback: A Portable Single-Pass GPU Scan" (2025).
//
// Who publishes what, of one tile:
// - Its owner stores AGGREGATE, then INCLUSIVE; of tile 0, INCLUSIVE alone. Others insert what the owner stores first,
//   by insert_state, an atomic maximum.
// - A store may meet an insertion: it then replaces AGGREGATE by the same bits, which harms nobody, or by INCLUSIVE. So
//   the two have to be the same bits. Nobody but the owner makes a tile other than 0 INCLUSIVE, and stores of one
//   invocation to one place are seen in their order, so no store takes an INCLUSIVE back: owners need no maximum.
// - An insertion may meet a store: a late one finds INCLUSIVE, which is greater, and leaves it.
// - Of a split state this holds for each word on its own. Parts of AGGREGATE that come from two workgroups are parts of
//   the same bits; parts of AGGREGATE beside parts of INCLUSIVE count as INVALID until the owner has stored them all,
//   and a lookback that does not want to wait for that falls back.
// The state of a tile goes INVALID, AGGREGATE, INCLUSIVE and never back, so a workgroup that falls back needs only its
// own memory reads to go on: it counts on neither its insertion nor anybody else's.
//
// The input of the other tile has to be there still: not for scans in place.
//
// What one invocation finds out, the others learn through shared memory and a barrier of the workgroup, and the parts
// of subgroups are combined one by one: no subgroup operation stands behind a branch on one invocation. (On an NVIDIA
// H200, driver 580.159, such an operation had that one invocation alone, though the subgroup had entered the loop as a
// whole.) Barriers of the subgroup bring its invocations together again.
// Shared bytes: 4 * (SUBGROUPS + 4). Barriers: 1, and 3 per fallback. Called by all invocations.

shared Element shared_tile_prefix;
// The tile to add up, or NO_TILE.
shared uint shared_fallback_tile;
// What that tile stands for in the prefix, and whether everything before it is in that.
shared Element shared_fallback_value;
shared uint shared_fallback_inclusive;

const uint NO_TILE = 0xffffffffu;

#include "stages/lookback/total_of_tile.glsl"
#include "stages/lookback/window.glsl"

void publish_total(const uint tile, const Element total) {
    publish(tile, tile == 0u ? INCLUSIVE : AGGREGATE, total);
}

bool others_need_lookback(const uint tile) {
    return true;
}

// Looks back from window_end until an inclusive prefix is found, or until a tile has to be added up: then window_end is
// behind that tile. Called by one subgroup. Returns: whether it is found.
bool walk_back(inout uint window_end, inout Element prefix) {
    const uint lane = own_lane;
    uint rounds = 0u;
    uint spins = 0u;
    uint blocking = 0u;
    bool found = false;
    bool patient = true;
    while (!found && patient) {
        Element value;
        uint last_inclusive;
        uint last_invalid;
        look_at_window(window_end, value, last_inclusive, last_invalid);
        if (last_invalid <= last_inclusive) {
            found = add_window(window_end, prefix, value, last_inclusive);
            spins = 0u;
            blocking = 0u;
        } else {
            count_spins(1u);
            // Patience is with one tile.
            spins = last_invalid == blocking ? spins + 1u : 1u;
            blocking = last_invalid;
            patient = spins <= MAX_SPINS;
            if (patient) {
                back_off(rounds);
            } else {
                // The tiles behind it are there: what is left begins with it.
                prefix = combine(subgroup_reduce(VALUE_IF(lane >= last_invalid, value)), prefix);
                count_tiles(SUBGROUP_SIZE - last_invalid);
                window_end = window_end + last_invalid - SUBGROUP_SIZE;
            }
        }
    }
    return found;
}

// Inserts the total of a tile that was added up, and finds what that tile stands for. Called by one invocation.
void take_over(const uint blocking, const Element total) {
    Element value = total;
    bool inclusive = blocking == 0u;
    count_fallbacks(1u);
    count_tiles(1u);
    const StateWord before = insert_state(blocking, inclusive ? INCLUSIVE : AGGREGATE, total);
    if (was_invalid(before)) {
        count_insertions(1u);
    }
    if (word_state(before) == INCLUSIVE) {
        // Its owner was only late, and has more to say.
        value = word_value(before);
        inclusive = true;
    }
    shared_fallback_value = value;
    shared_fallback_inclusive = inclusive ? 1u : 0u;
}

// Says how the lookback goes on, when it has come to the tile before window_end.
void tell(const uint tile, const bool found, const uint window_end, const Element prefix) {
    if (own_lane == 0) {
        if (found) {
            if (tile != 0u) {
                publish(tile, INCLUSIVE, combine(prefix, block_total()));
            }
            shared_tile_prefix = prefix;
            write_counts(tile);
        }
        shared_fallback_tile = found ? NO_TILE : window_end - 1u;
    }
}

void lookback(const uint tile) {
    // Those of subgroup 0 count.
    Element prefix = identity();
    uint window_end = tile;
    bool found = tile == 0u;
    uint blocking = NO_TILE;
    do {
        if (own_subgroup == 0) {
            if (!found) {
                subgroupBarrier();
                found = walk_back(window_end, prefix);
            }
            tell(tile, found, window_end, prefix);
        }
        barrier();
        blocking = shared_fallback_tile;
        if (blocking != NO_TILE) {
            subgroupBarrier();
            const Element total = total_of_tile(blocking);
            if (invocation_rank() == 0u) {
                take_over(blocking, total);
            }
            barrier();
            prefix = combine(shared_fallback_value, prefix);
            found = shared_fallback_inclusive != 0u;
            window_end = blocking;
        }
    } while (blocking != NO_TILE);
}

Element tile_prefix() {
    return shared_tile_prefix;
}

Element part_prefix() {
    return combine(tile_prefix(), block_prefix());
}
