// Stage: ticket. Which tile a workgroup works on.
//
// Reads and writes: the ticket (relaxed atomic, device scope). Shared bytes: 4. Barriers: 1.
// Result valid in: all invocations.
// Workgroups take tiles in the order in which they start, so that a workgroup only ever waits for tiles of workgroups
// that have started (thesis 4.6). The ticket counts on from call to call; params.ticket_base is where this call began.

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ticket {
    uint next;
};

const uint TILE_ELEMENTS = WORKGROUP_SIZE * BATCH_SIZE * LANES;

shared uint shared_tile;

uint tile_count() {
    return (params.n + (TILE_ELEMENTS - 1u)) / TILE_ELEMENTS;
}

uint take_tile() {
    if (invocation_rank() == 0u) {
        Ticket ticket = Ticket(params.ticket_address);
        shared_tile = atomicAdd(ticket.next, 1u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed) - params.ticket_base;
    }
    barrier();
    return shared_tile;
}
