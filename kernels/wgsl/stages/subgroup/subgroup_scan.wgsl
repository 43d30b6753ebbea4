// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: subgroup scan. What the invocations of a subgroup have, combined; without subgroups, those of the workgroup,
// through shared memory. Called by all invocations of the workgroup together; with subgroups, by whole ones.
//
// row_reduce(x): the x of all, in all of them. row_scan(x): what comes before each, and that.
// In kernels that scan tile after tile (SCANS_IN_LOOPS), shuffles stand in the loop that reductions stand in, which a
// driver goes wrong on (configs/known_issues.toml): there, a sum is the end of a scan.
// subgroup_scan(items): turns the items of a subgroup into their scan; returns their total, in all its invocations.

struct Row { before: Element, total: Element }

#if SUBGROUPS

fn row_reduce(x: Element) -> Element {
#if SCANS_IN_LOOPS && NVIDIA_REDUCTIONS_BESIDE_SHUFFLES
    return row_scan(x).total;
#elif OPERATOR == OPERATOR_ADD
    return subgroupAdd(x);
#elif OPERATOR == OPERATOR_MIN
    return subgroupMin(x);
#else
    return subgroupMax(x);
#endif
}

fn row_scan(x: Element) -> Row {
#if OPERATOR == OPERATOR_ADD
    let inclusive = subgroupInclusiveAdd(x);
#else
    // WGSL has scans of sums and products alone.
    var inclusive = x;
    for (var distance = 1u; distance < subgroup_length; distance *= 2u) {
        let earlier = subgroupShuffleUp(inclusive, distance);
        if (lane >= distance) { inclusive = combine(earlier, inclusive); }
    }
#endif
    let total = subgroupShuffle(inclusive, subgroup_length - 1u);
#if OPERATOR == OPERATOR_ADD && ELEMENT != ELEMENT_F32
    return Row(inclusive - x, total);
#else
    let earlier = subgroupShuffleUp(inclusive, 1u);
    return Row(select(earlier, identity(), lane == 0u), total);
#endif
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
    var running = identity();
#for k in 0..BATCH_SIZE
        let scanned = vector_scan((*items)[k]);
        let row = row_scan(last_of(scanned));
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
