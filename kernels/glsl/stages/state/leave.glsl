// Stage: leave. What a workgroup does when it reads no state of another one any more.
//
// leave(): called by all invocations of every workgroup that started, after the last barrier behind its lookback.
// Where RESET is RESET_CLEAN the last workgroup to leave clears what the call has written: the next call finds the memory
// as this one did, and needs to know nothing about it. Reads and writes: the count of leavers (acquire and release, since
// the reads of the others have to come before the clearing). Shared bytes: 4. Barriers: 1.

#if RESET == RESET_CLEAN

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Counters {
    uint next_ticket;
    uint left;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer ScratchWords {
    uint at[];
};

shared uint shared_leavers;

// Room for the states that a call writes, in whole rows: those of tiles, and of groups where they are published.
uint state_count() {
#if LOOKBACK == LOOKBACK_TWO_LEVEL && GROUP_STATE == GROUP_STATE_PUBLISHED
    return in_whole_rows(tile_count()) + in_whole_rows(group_count());
#else
    return in_whole_rows(tile_count());
#endif
}

void leave() {
    Counters counters = Counters(params.ticket_address);
    if (invocation_rank() == 0u) {
        shared_leavers = atomicAdd(counters.left, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    }
    barrier();
    if (shared_leavers == params.workgroups - 1u) {
        ScratchWords states = ScratchWords(params.states_address);
        for (uint i = invocation_rank(); i < state_count() * STATE_STRIDE * STATE_WORDS; i += WORKGROUP_SIZE) {
            states.at[i] = 0u;
        }
#if LOOKBACK == LOOKBACK_TWO_LEVEL
        clear_groups();
#endif
        if (invocation_rank() == 0u) {
            counters.next_ticket = 0u;
            counters.left = 0u;
        }
    }
}

#else

void leave() {
}

#endif
