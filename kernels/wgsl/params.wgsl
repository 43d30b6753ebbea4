// SPDX-License-Identifier: MIT OR Apache-2.0
// The words of a call: first the shape of the dispatch, then those of the plan, in its order.
struct Params {
    row_workgroups: u32,  // workgroups in a row
    workgroups: u32,      // workgroups in all rows
    n: u32,               // elements; of a pass over a level, those of the level
#if HAS_STATES
    epoch: u32,
    ticket_base: u32,
    bank: u32,
    stale_groups: u32,
#endif
#if MODE == MODE_EXCLUSIVE
    initial_low: u32,
    initial_high: u32,
#endif
#if HAS_STATES
    states_at: u32,       // where the states begin in the scratch memory, in words
#endif
}

@group(0) @binding(0) var<uniform> params: Params;
