// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: subgroup scan. Works on the items of one subgroup, which are one run of the tile in every layout.
//
// subgroup_total(items): their total, in all invocations of the subgroup.
// subgroup_scan(items): turns them into their inclusive scan; returns their total, in all invocations.
// subgroup_scan_beside(items, share): the same, and share becomes that of all invocations of the subgroup combined, in
//   any order: its steps are under way together with those of the scan.
// begin_scan(items, scan), end_scan(items, scan): by exchange, the same in two parts; the first one returns the total.
// Shared bytes: 0. Barriers: 0. Scans over the invocations: one per row of a striped layout, else one.
//
// SUBGROUP_SCAN_OPERATION: row after row, each by one subgroup operation. A device may execute such operations in the
//   order in which they stand, so that each row waits for the steps of the row before.
// SUBGROUP_SCAN_SHUFFLE: step by step, each for all rows (Hillis and Steele 1986, by shuffles): the steps of different
//   rows are under way together. Faster where few subgroups share a unit, so that nothing else hides the wait.
// SUBGROUP_SCAN_EXCHANGE: sets of rows together (exchange.glsl).

#if SUBGROUP_SCAN == SUBGROUP_SCAN_EXCHANGE
#include "stages/subgroup/exchange.glsl"
#endif

#if SUBGROUP_SCAN == SUBGROUP_SCAN_EXCHANGE && IN_ORDER

Element subgroup_total(const Vector items[BATCH_SIZE]) {
    RowScan scan;
    return begin_scan(items, scan);
}

#elif LOAD_LAYOUT == LOAD_LAYOUT_STRIPED && IN_ORDER

// The items of an invocation are no run: row after row, each of which is one.
Element subgroup_total(const Vector items[BATCH_SIZE]) {
    Element total = subgroup_reduce(vector_total(items[0]));
    [[unroll]] for (uint k = 1u; k < BATCH_SIZE; ++k) {
        total = combine(total, subgroup_reduce(vector_total(items[k])));
    }
    return total;
}

#else

Element subgroup_total(const Vector items[BATCH_SIZE]) {
    return subgroup_reduce(thread_total(items));
}

#endif

#if SUBGROUP_SCAN == SUBGROUP_SCAN_SHUFFLE

#ifdef REQUIRE_SCAN_BESIDE
// What is combined beside a scan.
Element private_beside;
#endif

#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
const uint ROWS = BATCH_SIZE;
#else
const uint ROWS = 1u;
#endif

#include "stages/subgroup/scan_step.glsl"

// Turns the share of each invocation in each row into what comes before it in the row. Returns: the total of each row.
void scan_rows(inout Element shares[ROWS], out Element totals[ROWS]) {
    Element inclusive[ROWS] = shares;
    [[unroll]] for (uint distance = 1u; distance < SUBGROUP_SIZE; distance *= 2u) {
        [[unroll]] for (uint k = 0u; k < ROWS; ++k) {
            inclusive[k] = scan_step(inclusive[k], distance);
        }
#ifdef REQUIRE_SCAN_BESIDE
        private_beside = scan_step(private_beside, distance);
#endif
    }
    [[unroll]] for (uint k = 0u; k < ROWS; ++k) {
        totals[k] = from_last(inclusive[k]);
        shares[k] = exclusive_of(inclusive[k], shares[k]);
    }
}

#endif

#if SUBGROUP_SCAN == SUBGROUP_SCAN_EXCHANGE

Element subgroup_scan(inout Vector items[BATCH_SIZE]) {
    RowScan scan;
    const Element total = begin_scan(items, scan);
    end_scan(items, scan);
    return total;
}

#elif LOAD_LAYOUT == LOAD_LAYOUT_STRIPED && SUBGROUP_SCAN == SUBGROUP_SCAN_OPERATION

Element subgroup_scan(inout Vector items[BATCH_SIZE]) {
    Element running = identity();
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        Element row_total;
        const Element before = subgroup_exclusive_scan(vector_scan(items[k]), row_total);
        vector_add(items[k], combine(running, before));
        running = combine(running, row_total);
    }
    return running;
}

#elif LOAD_LAYOUT == LOAD_LAYOUT_STRIPED

Element subgroup_scan(inout Vector items[BATCH_SIZE]) {
    Element before[ROWS];
    Element totals[ROWS];
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        before[k] = vector_scan(items[k]);
    }
    scan_rows(before, totals);
    Element running = identity();
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        vector_add(items[k], combine(running, before[k]));
        running = combine(running, totals[k]);
    }
    return running;
}

#else

Element subgroup_scan(inout Vector items[BATCH_SIZE]) {
#if SUBGROUP_SCAN == SUBGROUP_SCAN_OPERATION
    Element total;
    const Element before = subgroup_exclusive_scan(thread_scan(items), total);
#else
    Element shares[ROWS];
    Element totals[ROWS];
    shares[0] = thread_scan(items);
    scan_rows(shares, totals);
    const Element before = shares[0];
    const Element total = totals[0];
#endif
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        vector_add(items[k], before);
    }
    return total;
}

#endif

#ifdef REQUIRE_SCAN_BESIDE

Element subgroup_scan_beside(inout Vector items[BATCH_SIZE], inout Element share) {
#if SUBGROUP_SCAN == SUBGROUP_SCAN_SHUFFLE
    private_beside = share;
    const Element total = subgroup_scan(items);
    share = from_last(private_beside);
    return total;
#else
    share = subgroup_reduce(share);
    return subgroup_scan(items);
#endif
}

#endif
