// SPDX-License-Identifier: MIT OR Apache-2.0
// Block scan: Kogge and Stone 1973. All invocations add what stands before them at distances that double.
//
// Shared bytes: 4 * 2 * WORKGROUP_SIZE. Barriers: log2(WORKGROUP_SIZE) + 1.
var<workgroup> shared_totals: array<array<Element, WORKGROUP_SIZE>, 2>;

fn scan_totals(total: Element) -> Block {
    var inclusive = total;
    var slot = 0u;
    shared_totals[0][rank] = inclusive;
    for (var distance = 1u; distance < WORKGROUP_SIZE; distance *= 2u) {
        workgroupBarrier();
        if (rank >= distance) { inclusive = combine(shared_totals[slot][rank - distance], inclusive); }
        slot = 1u - slot;
        shared_totals[slot][rank] = inclusive;
    }
    workgroupBarrier();
    var block = Block(identity(), shared_totals[slot][WORKGROUP_SIZE - 1u]);
    if (rank > 0u) { block.before = shared_totals[slot][rank - 1u]; }
    return block;
}
