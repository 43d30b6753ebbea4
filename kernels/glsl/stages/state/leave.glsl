// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: leave. What a workgroup does when it reads no state of another one any more.
//
// expect_to_leave(tile): called by all invocations with each tile of the workgroup, when its loads are under way.
// leave(): called by all invocations of every workgroup that started, after the last barrier behind its lookback.
// leave_without_tile(): in its place, of a workgroup that has no tile and nothing else in common with the others.
//
// One workgroup leaves last, or comes later than all that matter: it makes the next turn (stages/state/turn.glsl) and,
// where RESET is RESET_CLEAN, clears what the call has written, so that the next call finds the memory as this one did
// and needs to know nothing about it. Which one:
// - The workgroup of the last tile. Its prefix has in it what all other tiles have published, so all workgroups with a
//   tile know their turn. Others do not need it.
// - Where FALLS_BACK, and totals may be somebody else's work, the last one to be counted among those that have read the
//   turn. They are counted as soon as they have published, and not at their end, where they would wait for the count
//   (0.1 us on an NVIDIA H200).
// - With RESET_CLEAN the last one to leave by count, which acquires and releases: the reads of the others have to come
//   before.
// Shared bytes: of RESET_CLEAN, and where N_VARIES if FALLS_BACK, 4. Barriers: of RESET_CLEAN, 1.
//
// Where N_VARIES a state may be older than all epochs: calls with fewer tiles have not written it. So the calls of
// the last epoch and of the first one each clear all states that they do not write. Between two calls of one epoch lie
// both, so that neither meets a state of the other; one would leave its own states to the next call of its epoch.

#if SELF_TURNING && N_VARIES

// Whether calls with fewer tiles have to clear what they do not write.
bool clears_old_states() {
    return EPOCH == LAST_EPOCH || EPOCH == FIRST_EPOCH;
}

// By all invocations of one workgroup. The tile that the input ends in may have no state, and nobody asks for it.
void clear_old_states() {
    if (clears_old_states()) {
        const uint tiles = ELEMENTS / TILE_ELEMENTS;
        for (uint tile = tiles + invocation_rank(); tile < MOST_TILES; tile += WORKGROUP_SIZE) {
            clear_state_at(STATES_ADDRESS, tile);
        }
#if LOOKBACK == LOOKBACK_TWO_LEVEL && GROUP_STATE == GROUP_STATE_PUBLISHED
        for (uint group = tiles / GROUP_TILES + invocation_rank(); group < MOST_TILES / GROUP_TILES;
             group += WORKGROUP_SIZE) {
            clear_state_at(group_states_address(), group);
        }
#endif
    }
}

#endif

#if RESET == RESET_CLEAN

layout(buffer_reference, std430, buffer_reference_align = 4) buffer ScratchWords {
    uint at[];
};

shared uint shared_leavers;

// Room for the states that a call writes, in whole rows: those of tiles, and of groups where they are published.
uint state_count() {
#if N_FROM_MEMORY
    return in_whole_rows(tile_count());
#else
    return in_whole_rows(tile_count()) + in_whole_rows(published_group_count());
#endif
}

void expect_to_leave(const uint tile) {
}

void leave() {
    TicketLine line = TicketLine(TICKET_ADDRESS);
    if (invocation_rank() == 0u) {
        shared_leavers =
            atomicAdd(line.left, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    }
    barrier();
    if (shared_leavers == params.workgroups - 1u) {
#if N_FROM_MEMORY
        // Groups stand behind the tiles of the largest n.
        ScratchWords groups = ScratchWords(params.groups_address);
        const uint group_words = in_whole_rows(published_group_count()) * STATE_STRIDE * STATE_WORDS;
        for (uint i = invocation_rank(); i < group_words; i += WORKGROUP_SIZE) {
            groups.at[i] = 0u;
        }
#endif
        ScratchWords states = ScratchWords(STATES_ADDRESS);
        for (uint i = invocation_rank(); i < state_count() * STATE_STRIDE * STATE_WORDS; i += WORKGROUP_SIZE) {
            states.at[i] = 0u;
        }
        clear_groups(BANK);
        if (invocation_rank() == 0u) {
            line.next_ticket = 0u;
            line.left = 0u;
        }
    }
}

#elif !SELF_TURNING

void expect_to_leave(const uint tile) {
}

void leave() {
}

#elif FALLS_BACK

#if N_VARIES
shared uint shared_read_by_all;
#endif

void expect_to_leave(const uint tile) {
}

void leave() {
#if N_VARIES
    // The same for all workgroups of a call, and for most calls false.
    if (clears_old_states()) {
        if (invocation_rank() == 0u) {
            shared_read_by_all = read_by_all() ? 1u : 0u;
        }
        barrier();
        if (shared_read_by_all != 0u) {
            clear_old_states();
        }
    }
#endif
    if (invocation_rank() == 0u && read_by_all()) {
        end_turn();
    }
}

#else

// Whether the workgroup has had the last tile.
bool private_has_last = false;

void expect_to_leave(const uint tile) {
    private_has_last = tile == tile_count() - 1u;
}

void leave() {
    if (private_has_last) {
        // What the call before has left: the next one uses that bank.
        clear_groups(1u - BANK);
#if N_VARIES
        clear_old_states();
#endif
        if (invocation_rank() == 0u) {
            end_turn();
        }
    }
}

#endif

void leave_without_tile() {
#if SELF_TURNING && FALLS_BACK
    share_turn();
    barrier();
    know_turn();
    count_reader();
#endif
    leave();
}
