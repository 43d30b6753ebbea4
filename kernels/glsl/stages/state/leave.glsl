// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: leave. What a workgroup does when it reads no state of another one any more.
//
// expect_to_leave(tile): called by all invocations with each tile of the workgroup, when its loads are under way.
// leave(): called by all invocations of a workgroup that has a tile, after the last barrier behind its lookback.
// leave_without_tile(): in its place, by all invocations of one that has none.
//
// Where the device counts the calls, one workgroup makes the next turn (stages/state/turn.glsl):
// - that of the last tile. Its prefix has in it what all other tiles have published, so all workgroups with a tile know
//   their turn. Others do not need it.
// - Where FALLS_BACK, and totals may be somebody else's work, the last one to be counted of all that have started, with
//   a tile or without. They are counted as soon as they have published, and not at their end, where they would wait for
//   the count (0.1 us on an NVIDIA H200).
// With RESET_CLEAN the last one to leave clears what the call has written, so that the next call finds zeros as this
// one did, and needs to know nothing about it. They are counted as they leave, by an addition that acquires and
// releases: the reads of the others have to come before.
// Shared bytes: of RESET_CLEAN, and where SELF_TURNING if FALLS_BACK and N_VARIES, 4. Barriers: of RESET_CLEAN, 1; of
// the other, 1 in the calls with the last and the first epoch.
//
// Where N_VARIES, calls with few tiles leave states behind theirs as they are, which may be of any epoch. So the calls
// with the last epoch and those with the first one clear all states that they do not write. Between two calls with the
// same epoch there are both, so that the later one meets no state of the earlier one. Either of the two alone would
// leave what it has written itself until its epoch comes again.

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

// Whether groups are published, in states that stand behind those of the tiles of the largest call.
#define CLEARS_GROUPS (LOOKBACK == LOOKBACK_TWO_LEVEL && GROUP_STATE == GROUP_STATE_PUBLISHED)

// Room for the states that are cleared together, in whole rows.
uint state_count() {
#if CLEARS_GROUPS
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
#if CLEARS_GROUPS
        ScratchWords groups = ScratchWords(group_states_address());
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
