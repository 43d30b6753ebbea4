// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: thread scan. Works on the items of one invocation. Shared bytes: 0. Barriers: 0.
#if LANES == 1
fn vector_total(v: Vector) -> Element { return v; }
fn vector_scan(v: Vector) -> Vector { return v; }
#elif LANES == 2
fn vector_total(v: Vector) -> Element { return combine(v.x, v.y); }
fn vector_scan(v: Vector) -> Vector { return Vector(v.x, combine(v.x, v.y)); }
#else
fn vector_total(v: Vector) -> Element { return combine(combine(v.x, v.y), combine(v.z, v.w)); }
fn vector_scan(v: Vector) -> Vector {
    let xy = combine(v.x, v.y);
    let xyz = combine(xy, v.z);
    return Vector(v.x, xy, xyz, combine(xyz, v.w));
}
#endif

fn vector_add(v: Vector, before: Element) -> Vector { return combine_all(Vector(before), v); }

// What becomes of a vector that is scanned, where `before` comes before it and is combined with it already.
fn in_mode(scanned: Vector, before: Element) -> Vector {
#if MODE == MODE_EXCLUSIVE
    return moved_up(scanned, before);
#else
    return scanned;
#endif
}

fn thread_total(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Element {
    var total = vector_total((*items)[0]);
#for k in 1..BATCH_SIZE
        total = combine(total, vector_total((*items)[k]));
#endfor
    return total;
}

// Turns the items of an invocation, a run of successive vectors, into their scan. Returns: their total.
fn thread_scan(items: ptr<function, array<Vector, BATCH_SIZE>>) -> Element {
    var running = identity();
#for k in 0..BATCH_SIZE
        let scanned = vector_add(vector_scan((*items)[k]), running);
        (*items)[k] = in_mode(scanned, running);
        running = last_of(scanned);
#endfor
    return running;
}
