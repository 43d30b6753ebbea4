// Rendezvous: workgroup barriers. Shared bytes: 4 * (3 * SUBGROUPS + 4). Barriers: 2 per round.

// Three: the totals of a round are still being read while those of the round after the next are written.
const uint TOTAL_SLOTS = 3u;

shared Element shared_totals[TOTAL_SLOTS][SUBGROUPS];
// Two: without another round no barrier stands between a prefix that is read and the next one.
shared Element shared_prefix[2];
shared uint shared_first_tile;
shared uint shared_next_tile;

// The totals of the first `count` subgroups in the tile of a round.
Element combine_totals(const uint round, const uint count) {
    Element total = identity();
#if OPERATOR == OPERATOR_USER
    // One by one: lavapipe (Mesa 22.3) makes wrong totals of shuffles here, those of scanbox's own operators too.
    [[unroll]] for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        if (subgroup < count) {
            total = combine(total, shared_totals[round % TOTAL_SLOTS][subgroup]);
        }
    }
#else
    [[unroll]] for (uint first = 0u; first < SUBGROUPS; first += SUBGROUP_SIZE) {
        const uint subgroup = first + gl_SubgroupInvocationID;
        const bool counts = subgroup < count;
        total = combine(total, subgroup_reduce(counts ? shared_totals[round % TOTAL_SLOTS][subgroup] : identity()));
    }
#endif
    return total;
}

uint rendezvous_begin() {
    if (invocation_rank() == 0u) {
        shared_first_tile = first_tile();
    }
    barrier();
    return shared_first_tile;
}

void arrive_unpublished(const uint round, const Element total) {
    if (gl_SubgroupInvocationID == 0) {
        shared_totals[round % TOTAL_SLOTS][gl_SubgroupID] = total;
    }
    barrier();
}

void arrive(const uint round, const uint tile, const Element total) {
    if (round == 0u && chooses_tiles()) {
        shared_next_tile = private_second_tile;
    }
    arrive_unpublished(round, total);
    if (gl_SubgroupID == 0) {
        const Element tile_total = combine_totals(round, SUBGROUPS);
        if (gl_SubgroupInvocationID == 0) {
            publish_total(tile, tile_total);
        }
        complete_group(tile, tile_total);
    }
}

uint next_tile(const uint round) {
    return shared_next_tile;
}

Element wait_for_prefix(const uint round, const uint tile, const bool more) {
    if (more && chooses_tiles()) {
        shared_next_tile = choose_tile(round + 2u);
    }
    if (gl_SubgroupID == 0) {
        const Element prefix = find_prefix_onward(tile);
        if (gl_SubgroupInvocationID == 0) {
            shared_prefix[round % 2u] = prefix;
        }
    }
    barrier();
    return shared_prefix[round % 2u];
}

Element subgroup_prefix(const uint round) {
    return combine_totals(round, gl_SubgroupID);
}

void end_round(const uint round) {
}
