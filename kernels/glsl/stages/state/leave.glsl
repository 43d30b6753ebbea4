// Stage: leave. What a workgroup does when it reads no state of another one any more.
//
// leave(): called by all invocations of every workgroup that started, after the last barrier behind its lookback.
// Where RESET is RESET_CLEAN the last workgroup to leave clears what the call has written: the next call finds the
// memory as this one did, and needs to know nothing about it. Reads and writes: the count of leavers (acquire and
// release, since the reads of the others have to come before the clearing). Shared bytes: 4. Barriers: 1.

#if RESET == RESET_CLEAN

layout(buffer_reference, std430, buffer_reference_align = 4) buffer ScratchWords {
    uint at[];
};

shared uint shared_leavers;

// Room for the states that a call writes, in whole rows: those of tiles, and of groups where they are published.
uint state_count() {
    return in_whole_rows(tile_count()) + in_whole_rows(published_group_count());
}

void leave() {
    TicketLine line = TicketLine(params.ticket_address);
    if (invocation_rank() == 0u) {
        shared_leavers =
            atomicAdd(line.left, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    }
    barrier();
    if (shared_leavers == params.workgroups - 1u) {
        ScratchWords states = ScratchWords(params.states_address);
        for (uint i = invocation_rank(); i < state_count() * STATE_STRIDE * STATE_WORDS; i += WORKGROUP_SIZE) {
            states.at[i] = 0u;
        }
        clear_groups();
        if (invocation_rank() == 0u) {
            line.next_ticket = 0u;
            line.left = 0u;
        }
    }
}

#else

void leave() {
}

#endif
