// SPDX-License-Identifier: MIT OR Apache-2.0
// Rendezvous: flags in shared memory. No barriers: each subgroup runs on its own, and waits only for what it needs. The
// last subgroup to arrive publishes the tile's total; subgroup 0 looks back.
// Subgroups of one workgroup wait for each other in loops, so they have to make progress independently, which no
// specification promises: for devices that are known to be safe, and for workgroups of one subgroup.
//
// Shared bytes: 4 * SLOTS * (SUBGROUPS + 5). Barriers: 1, at the beginning.
// A subgroup leaves a loop as a whole: its invocations may see a flag at different times, and subgroup operations
// follow. What is passed on is written before its flag (release) and read after it (acquire), both at workgroup scope.

// Rounds whose slots may be in use at the same time. A subgroup leaves round r only when all have arrived for it, that
// is when the slowest is in round r - 1 at least; it then arrives for round r + 2 at most: r - 1, r, r + 1, r + 2.
const uint SLOTS = 4u;

// Atomics are for words, so that elements are one to four of them: flags keep them together.
#if ELEMENT_BYTES == 4
#define SharedElement uint
#define READ_ELEMENT(variable) element_of_word(READ(variable))
#define WRITE_ELEMENT(variable, value) WRITE(variable, element_word(value))
#elif ELEMENT_BYTES == 12
struct SharedElement {
    uint words[3];
};
#define READ_ELEMENT(variable) \
    element_of_words(uvec3(READ(variable.words[0]), READ(variable.words[1]), READ(variable.words[2])))
#define WRITE_ELEMENT(variable, value)                  \
    {                                                   \
        const ElementWords words = element_words(value); \
        WRITE(variable.words[0], words.x);              \
        WRITE(variable.words[1], words.y);              \
        WRITE(variable.words[2], words.z);              \
    }
#elif ELEMENT_BYTES == 16
struct SharedElement {
    uint words[4];
};
#define READ_ELEMENT(variable) \
    element_of_words( \
        uvec4(READ(variable.words[0]), READ(variable.words[1]), READ(variable.words[2]), READ(variable.words[3])))
#define WRITE_ELEMENT(variable, value)                  \
    {                                                   \
        const ElementWords words = element_words(value); \
        WRITE(variable.words[0], words.x);              \
        WRITE(variable.words[1], words.y);              \
        WRITE(variable.words[2], words.z);              \
        WRITE(variable.words[3], words.w);              \
    }
#else
struct SharedElement {
    uint low;
    uint high;
};
#define READ_ELEMENT(variable) element_of_words(uvec2(READ(variable.low), READ(variable.high)))
#define WRITE_ELEMENT(variable, value)                  \
    {                                                   \
        const ElementWords words = element_words(value); \
        WRITE(variable.low, words.x);                   \
        WRITE(variable.high, words.y);                  \
    }
#endif

shared SharedElement shared_totals[SLOTS][SUBGROUPS];
shared uint shared_arrived[SLOTS];       // subgroups that have arrived, over all rounds of the slot
shared SharedElement shared_prefix[SLOTS];
shared uint shared_prefix_round[SLOTS];  // the round that the prefix belongs to
shared uint shared_next_tile[SLOTS];
shared uint shared_next_round[SLOTS];    // the round that the tile belongs to
shared uint shared_first_tile;

const uint NO_ROUND = 0xffffffffu;

// Volatile, because a driver may take relaxed atomics on shared memory for plain accesses, and move them.
#define RELAXED (gl_SemanticsRelaxed | gl_SemanticsVolatile)
#define ACQUIRE (gl_SemanticsAcquire | gl_SemanticsVolatile)
#define RELEASE (gl_SemanticsRelease | gl_SemanticsVolatile)
#define ACQUIRE_RELEASE (gl_SemanticsAcquireRelease | gl_SemanticsVolatile)

#define READ(variable) atomicLoad(variable, gl_ScopeWorkgroup, gl_StorageSemanticsNone, RELAXED)
#define WRITE(variable, value) atomicStore(variable, value, gl_ScopeWorkgroup, gl_StorageSemanticsNone, RELAXED)
#define READ_FLAG(flag) atomicLoad(flag, gl_ScopeWorkgroup, gl_StorageSemanticsShared, ACQUIRE)
#define RAISE_FLAG(flag, value) atomicStore(flag, value, gl_ScopeWorkgroup, gl_StorageSemanticsShared, RELEASE)

Element total_if(const uint slot, const uint subgroup, const uint count) {
    const Element total = READ_ELEMENT(shared_totals[slot][min(subgroup, SUBGROUPS - 1u)]);
    return VALUE_IF(subgroup < count, total);
}

// The totals of the first `count` subgroups in a slot.
#define COMBINES combine_slot(const uint slot, const uint count, const uint most)
#define TAKEN total_if(slot, subgroup, count)
#define ONE_BY_ONE 0
#include "stages/block/combine_subgroups.glsl"

// The totals of the first `count` subgroups in the tile of a round.
Element combine_totals(const uint round, const uint count) {
    return combine_slot(round % SLOTS, count, SUBGROUPS);
}

uint rendezvous_begin() {
    for (uint slot = invocation_rank(); slot < SLOTS; slot += WORKGROUP_SIZE) {
        shared_arrived[slot] = 0u;
        shared_prefix_round[slot] = NO_ROUND;
        shared_next_round[slot] = NO_ROUND;
    }
    if (invocation_rank() == 0u) {
        shared_first_tile = first_tile();
    }
    share_turn();
    barrier();
    know_turn();
    return shared_first_tile;
}

// Subgroups that have arrived in the slot of a round once all have arrived for it.
uint all_arrived(const uint round) {
    return (round / SLOTS + 1u) * SUBGROUPS;
}

void offer_tile(const uint round, const uint tile) {
    WRITE(shared_next_tile[round % SLOTS], tile);
    RAISE_FLAG(shared_next_round[round % SLOTS], round);
}

// Returns: how many have arrived in the slot, in all invocations of the subgroup.
uint give_total(const uint round, const Element total) {
    const uint slot = round % SLOTS;
    uint arrived = 0u;
    if (own_lane == 0) {
        WRITE_ELEMENT(shared_totals[slot][own_subgroup], total);
        arrived = 1u;
        arrived += atomicAdd(shared_arrived[slot], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared, ACQUIRE_RELEASE);
    }
    // What the first invocation has acquired, all may read.
    subgroupBarrier();
    return subgroupBroadcast(arrived, 0);
}

void arrive(const uint round, const uint tile, const Element total) {
    if (round == 0u && chooses_tiles()) {
        offer_tile(1u, private_second_tile);
    }
    if (give_total(round, total) == all_arrived(round)) {
        const Element tile_total = combine_totals(round, SUBGROUPS);
        if (own_lane == 0) {
            publish_total(tile, tile_total);
        }
        if (ends_group(tile)) {
            publish_group(tile);
        }
    }
}

void arrive_unpublished(const uint round, const Element total) {
    give_total(round, total);
}

uint next_tile(const uint round) {
    const uint slot = (round + 1u) % SLOTS;
    while (subgroupAny(READ_FLAG(shared_next_round[slot]) != round + 1u)) {
    }
    return READ(shared_next_tile[slot]);
}

void wait_for_arrivals(const uint round) {
    while (subgroupAny(READ_FLAG(shared_arrived[round % SLOTS]) < all_arrived(round))) {
    }
}

Element wait_for_prefix(const uint round, const uint tile, const bool more) {
    const uint slot = round % SLOTS;
    if (more && chooses_tiles()) {
        offer_tile(round + 2u, choose_tile(round + 2u));
    }
    Element prefix;
    if (own_subgroup == 0) {
        prefix = find_prefix_onward(tile);
        if (own_lane == 0) {
            WRITE_ELEMENT(shared_prefix[slot], prefix);
            RAISE_FLAG(shared_prefix_round[slot], round);
        }
    } else {
        while (subgroupAny(READ_FLAG(shared_prefix_round[slot]) != round)) {
        }
        prefix = READ_ELEMENT(shared_prefix[slot]);
    }
    return prefix;
}

Element total_of_earlier_subgroups(const uint round) {
    Element prefix = identity();
    if (own_subgroup != 0) {
        wait_for_arrivals(round);
        prefix = combine_totals(round, own_subgroup);
    }
    return prefix;
}

void end_round(const uint round) {
    // Nothing comes before subgroup 0, which has not waited yet: without this it would run ahead of the others, and
    // take tiles that they are not ready for.
    if (own_subgroup == 0) {
        wait_for_arrivals(round);
    }
}

#if FEW_APART

Element meet_once(const Element total, const Element share) {
    if (own_lane == 0) {
        WRITE_ELEMENT(shared_totals[0][own_subgroup], total);
        WRITE_ELEMENT(shared_totals[1][own_subgroup], share);
    }
    barrier();
    return combine(combine_totals(1u, SUBGROUPS), combine_totals(0u, own_subgroup));
}

#else

Element meet_once(const Element total) {
    if (own_lane == 0) {
        WRITE_ELEMENT(shared_totals[0][own_subgroup], total);
    }
    barrier();
    return combine_totals(0u, own_subgroup);
}

#endif
