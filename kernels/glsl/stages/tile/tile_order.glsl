// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: tile order. Which tile a workgroup works on.
//
// take_tile(): the tile of this workgroup. Valid in all invocations.
// tile_count(): how many there are. The dispatch may have more workgroups.
// MOST_TILES: how many there may be in a call on the same scratch memory.
//
// TILE_ORDER_TICKET: workgroups take tiles in the order in which they start, so that a workgroup only ever waits for
//   tiles of workgroups that have started (thesis 4.6). Where the host counts the calls the ticket counts on from call
//   to call, and params.ticket_base is where this call began. Reads and writes the ticket (relaxed atomic, device
//   scope).
//   Shared bytes: 4. Barriers: 1.
// TILE_ORDER_WORKGROUP_ID: the number of the workgroup. Nothing is read, but devices are only safe with it that start
//   workgroups in order. Shared bytes: 0. Barriers: 0.

const uint TILE_ELEMENTS = WORKGROUP_SIZE * BATCH_SIZE * LANES;

#ifndef REQUIRE_TILE_STATE
// Nobody waits, so that any order will do.
#define TILE_ORDER TILE_ORDER_WORKGROUP_ID
#endif

// How many elements tiles have together. From the last element on they are whole vectors: where the array ends with a
// part of one, so does the first tile begin, and the places in front of that hold nothing. Full tiles are counted as
// ever.
#if REVERSE
#define IN_TILES ((ELEMENTS + (LANES - 1u)) / LANES * LANES)
#else
#define IN_TILES ELEMENTS
#endif

uint tile_count() {
    return (ELEMENTS + (TILE_ELEMENTS - 1u)) / TILE_ELEMENTS;
}

#if N_VARIES
#define MOST_TILES ((MAX_N + (TILE_ELEMENTS - 1u)) / TILE_ELEMENTS)
#else
#define MOST_TILES tile_count()
#endif

#ifdef REQUIRE_TILE_STATE

#include "stages/state/layout.glsl"
#include "stages/state/turn.glsl"

// Tickets that a call takes.
uint call_tickets() {
#ifdef PERSISTENT
    const uint full_tiles = ELEMENTS / TILE_ELEMENTS;
    return TILE_ORDER == TILE_ORDER_TICKET ? params.workgroups + full_tiles : full_tiles;
#else
    return params.workgroups;
#endif
}

// The next ticket, for the invocation that asks.
uint take_ticket() {
    TicketLine line = TicketLine(TICKET_ADDRESS);
    const uint taken =
        atomicAdd(line.next_ticket, 1u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
#if HOST_TURNS
    return taken - params.ticket_base;
#else
#if SELF_TURNING
    // Nobody takes one behind the last one, so the next call finds none taken.
    if (taken == call_tickets() - 1u) {
        atomicStore(line.next_ticket, 0u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
#endif
    return taken;
#endif
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
