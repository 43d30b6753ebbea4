// Stage: tile order. Which tile a workgroup works on.
//
// take_tile(): the tile of this workgroup. Valid in all invocations.
// tile_count(): how many there are. The dispatch may have more workgroups.
//
// TILE_ORDER_TICKET: workgroups take tiles in the order in which they start, so that a workgroup only ever waits for
//   tiles of workgroups that have started (thesis 4.6). The ticket counts on from call to call; params.ticket_base is
//   where this call began. Reads and writes the ticket (relaxed atomic, device scope). Shared bytes: 4. Barriers: 1.
// TILE_ORDER_WORKGROUP_ID: the number of the workgroup. Nothing is read, but devices are only safe with it that start
//   workgroups in order. Shared bytes: 0. Barriers: 0.

const uint TILE_ELEMENTS = WORKGROUP_SIZE * BATCH_SIZE * LANES;

#ifndef REQUIRE_TILE_STATE
// Nobody waits, so that any order will do.
#define TILE_ORDER TILE_ORDER_WORKGROUP_ID
#endif

uint tile_count() {
    return (params.n + (TILE_ELEMENTS - 1u)) / TILE_ELEMENTS;
}

#ifdef REQUIRE_TILE_STATE

#include "stages/state/layout.glsl"

// The next ticket, for the invocation that asks.
uint take_ticket() {
    TicketLine line = TicketLine(params.ticket_address);
    return atomicAdd(line.next_ticket, 1u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed) -
           params.ticket_base;
}

#endif

#if TILE_ORDER == TILE_ORDER_TICKET

shared uint shared_tile;

uint take_tile() {
    if (invocation_rank() == 0u) {
        shared_tile = take_ticket();
    }
    barrier();
    return shared_tile;
}

#else

uint take_tile() {
    return workgroup_rank();
}

#endif
