// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: subgroup scan. What the invocations of a subgroup have, combined; without subgroups, those of the workgroup,
// through shared memory. Called by all invocations of the workgroup together; with subgroups, by whole ones.
//
// row_reduce(x): the x of all, in all of them. row_scan(x): what comes before each, and that.
// In kernels that scan tile after tile, or look back at window after window (REDUCES_IN_LOOPS), reductions stand in a
// loop, which a driver goes wrong on (configs/known_issues.toml): there, a reduction is a row of shuffles.
// subgroup_scan(items): turns the items of a subgroup into their scan; returns their total, in all its invocations.
//
// SUBGROUP_SCAN_OPERATION: row after row, each by one subgroup operation; WGSL has them for sums and products alone, so
//   that others are shuffles.
// SUBGROUP_SCAN_SHUFFLE: step by step, each for all rows (Hillis and Steele 1986, by shuffles): the steps of different
//   rows are under way together.

struct Row { before: Element, total: Element }

#if SUBGROUPS

// Steps of a scan or a reduction of the largest subgroup, one of 128. In smaller ones the last steps are left out: a
// condition that a compiler decides, where a loop would be one.
#define MOST_STEPS 7

fn row_reduce(x: Element) -> Element {
#if REDUCES_IN_LOOPS && NVIDIA_REDUCTIONS_BESIDE_SHUFFLES
    var total = x;
#for k in 0..MOST_STEPS
        if ((1u << k) < subgroup_length) { total = combine(total, subgroupShuffleXor(total, 1u << k)); }
#endfor
    return total;
#elif OPERATOR == OPERATOR_ADD
    return subgroupAdd(x);
#elif OPERATOR == OPERATOR_MIN
    return subgroupMin(x);
#else
    return subgroupMax(x);
#endif
}

// One step: what an invocation has, behind what the one so many places before it has.
fn scan_step(inclusive: Element, distance: u32) -> Element {
    let earlier = subgroupShuffleUp(inclusive, distance);
    return select(inclusive, combine(earlier, inclusive), lane >= distance);
}

fn inclusive_scan(x: Element) -> Element {
#if OPERATOR == OPERATOR_ADD && SUBGROUP_SCAN == SUBGROUP_SCAN_OPERATION
    return subgroupInclusiveAdd(x);
#else
    var inclusive = x;
#for k in 0..MOST_STEPS
        if ((1u << k) < subgroup_length) { inclusive = scan_step(inclusive, 1u << k); }
#endfor
    return inclusive;
#endif
}

// The row of which x is scanned to this.
fn row_of(inclusive: Element, x: Element) -> Row {
    let total = subgroupShuffle(inclusive, subgroup_length - 1u);
#if OPERATOR == OPERATOR_ADD && ELEMENT != ELEMENT_F32
    return Row(inclusive - x, total);
#else
    let earlier = subgroupShuffleUp(inclusive, 1u);
    return Row(select(earlier, identity(), lane == 0u), total);
#endif
}

fn row_scan(x: Element) -> Row {
    return row_of(inclusive_scan(x), x);
}

#else

var<workgroup> shared_row: array<Element, WORKGROUP_SIZE>;

// Kogge and Stone. Barriers: 1 + 2 per step, 1.
fn row_scan(x: Element) -> Row {
    var inclusive = x;
    shared_row[rank] = inclusive;
    workgroupBarrier();
    for (var distance = 1u; distance < WORKGROUP_SIZE; distance *= 2u) {
        var earlier = identity();
        if (rank >= distance) { earlier = shared_row[rank - distance]; }
        workgroupBarrier();
        inclusive = combine(earlier, inclusive);
        shared_row[rank] = inclusive;
        workgroupBarrier();
    }
    var row = Row(identity(), shared_row[WORKGROUP_SIZE - 1u]);
    if (rank > 0u) { row.before = shared_row[rank - 1u]; }
    // What follows may write there again.
    workgroupBarrier();
    return row;
}

fn row_reduce(x: Element) -> Element {
    return row_scan(x).total;
}

#endif

// Whether it holds for any invocation of the subgroup, so that all of them go round a loop together, and are together
// behind it; without subgroups, whether it holds for this one. Called in any place.
#if SUBGROUPS
fn any_of_subgroup(holds: bool) -> bool { return subgroupAny(holds); }
#else
fn any_of_subgroup(holds: bool) -> bool { return holds; }
#endif

fn subgroup_scan(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Element {
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
#if SUBGROUPS && SUBGROUP_SCAN == SUBGROUP_SCAN_SHUFFLE
    var inclusive: array<Element, BATCH_SIZE>;
#for k in 0..BATCH_SIZE
        inclusive[k] = last_of(vector_scan((*items)[k]));
#endfor
#for doubling in 0..MOST_STEPS
        if ((1u << doubling) < subgroup_length) {
#for k in 0..BATCH_SIZE
            inclusive[k] = scan_step(inclusive[k], 1u << doubling);
#endfor
        }
#endfor
#endif
    var running = identity();
#for k in 0..BATCH_SIZE
        let scanned = vector_scan((*items)[k]);
#if SUBGROUPS && SUBGROUP_SCAN == SUBGROUP_SCAN_SHUFFLE
        let row = row_of(inclusive[k], last_of(scanned));
#else
        let row = row_scan(last_of(scanned));
#endif
        let before = combine(running, row.before);
        (*items)[k] = in_mode(vector_add(scanned, before), before);
        running = combine(running, row.total);
#endfor
    return running;
#else
    let row = row_scan(thread_scan(items));
#for k in 0..BATCH_SIZE
        (*items)[k] = vector_add((*items)[k], row.before);
#endfor
    return row.total;
#endif
}
