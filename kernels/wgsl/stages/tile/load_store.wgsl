// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: load and store. How the vectors of a tile reach their invocations, and go back. Called by all invocations of
// the workgroup together.
//
// direct: an invocation owns a run of BATCH_SIZE successive vectors, and loads it itself.
// transposed: the same runs, but the workgroup loads successive vectors together and exchanges them through shared
//   memory, in TRANSPOSE_ROUNDS rounds of as many rows. Shared bytes: those of a round's vectors, and of one in 32
//   words for padding. Barriers: 2 per round. Nothing is exchanged for a batch of 1.
// striped: a subgroup owns BATCH_SIZE rows of as many successive vectors as it has invocations.
// Only the vector in which the input ends goes element by element; buffers hold whole vectors. The one of the output in
// which it ends is written by one invocation.

const TILE_VECTORS = WORKGROUP_SIZE * BATCH_SIZE;
const TILE_ELEMENTS = TILE_VECTORS * LANES;

fn tile_count() -> u32 { return (params.n + (TILE_ELEMENTS - 1u)) / TILE_ELEMENTS; }

fn is_full(tile: u32) -> bool { return tile < params.n / TILE_ELEMENTS; }

// Where item k of this invocation stands in the tile, in vectors.
fn item_vector(k: u32) -> u32 {
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
    return own_subgroup * (subgroup_length * BATCH_SIZE) + k * subgroup_length + lane;
#else
    return rank * BATCH_SIZE + k;
#endif
}

// The vector at this place, with the identity behind the end of the input.
fn load_vector(at: u32) -> Vector {
    let first = at * LANES;
    if (first >= params.n) { return Vector(identity()); }
    let v = source_at(at);
    if (first + LANES <= params.n) { return v; }
    return masked(v, params.n - first);
}

#if IN_PLACE || MODE != MODE_REDUCE
fn store_vector(at: u32, v: Vector) {
    let first = at * LANES;
    if (first + LANES <= params.n) {
        target_[at] = v;
    } else if (first < params.n) {
#if LANES > 1
        target_[at].x = v.x;
#if LANES > 2
        if (first + 1u < params.n) { target_[at].y = v.y; }
        if (first + 2u < params.n) { target_[at].z = v.z; }
#endif
#endif
    }
}
#endif

#if LOAD_LAYOUT == LOAD_LAYOUT_TRANSPOSED && BATCH_SIZE > 1

#define ROUND_ROWS BATCH_SIZE / TRANSPOSE_ROUNDS
const ROUND_VECTORS = ROUND_ROWS * WORKGROUP_SIZE;
const PAD_PERIOD = 32u / LANES;
var<workgroup> shared_exchange: array<Vector, ROUND_VECTORS + ROUND_VECTORS / PAD_PERIOD>;

// Where vector v of a round stands.
fn exchange_index(v: u32) -> u32 { return v + v / PAD_PERIOD; }

fn load_items(tile: u32, full: bool, items: ptr<function, array<Vector, BATCH_SIZE>>) {
    let begin = tile * TILE_VECTORS;
#for turn in 0..TRANSPOSE_ROUNDS
#for row in 0..ROUND_ROWS
            let v = row * WORKGROUP_SIZE + rank;
            let at = begin + turn * ROUND_VECTORS + v;
            if (full) {
                shared_exchange[exchange_index(v)] = source_at(at);
            } else {
                shared_exchange[exchange_index(v)] = load_vector(at);
            }
#endfor
        workgroupBarrier();
#for k in 0..BATCH_SIZE
            let v = rank * BATCH_SIZE + k;
            if (v / ROUND_VECTORS == turn) {
                (*items)[k] = shared_exchange[exchange_index(v % ROUND_VECTORS)];
            }
#endfor
        workgroupBarrier();
#endfor
}

#if IN_PLACE || MODE != MODE_REDUCE
fn store_items(tile: u32, full: bool, items: ptr<function, array<Vector, BATCH_SIZE>>) {
    let begin = tile * TILE_VECTORS;
#for turn in 0..TRANSPOSE_ROUNDS
#for k in 0..BATCH_SIZE
            let v = rank * BATCH_SIZE + k;
            if (v / ROUND_VECTORS == turn) {
                shared_exchange[exchange_index(v % ROUND_VECTORS)] = (*items)[k];
            }
#endfor
        workgroupBarrier();
#for row in 0..ROUND_ROWS
            let v = row * WORKGROUP_SIZE + rank;
            let at = begin + turn * ROUND_VECTORS + v;
            if (full) {
                target_[at] = shared_exchange[exchange_index(v)];
            } else {
                store_vector(at, shared_exchange[exchange_index(v)]);
            }
#endfor
        workgroupBarrier();
#endfor
}
#endif

#else

fn load_items(tile: u32, full: bool, items: ptr<function, array<Vector, BATCH_SIZE>>) {
    let begin = tile * TILE_VECTORS;
    if (full) {
#for k in 0..BATCH_SIZE
            (*items)[k] = source_at(begin + item_vector(k));
#endfor
    } else {
#for k in 0..BATCH_SIZE
            (*items)[k] = load_vector(begin + item_vector(k));
#endfor
    }
}

#if IN_PLACE || MODE != MODE_REDUCE
fn store_items(tile: u32, full: bool, items: ptr<function, array<Vector, BATCH_SIZE>>) {
    let begin = tile * TILE_VECTORS;
    if (full) {
#for k in 0..BATCH_SIZE
            target_[begin + item_vector(k)] = (*items)[k];
#endfor
    } else {
#for k in 0..BATCH_SIZE
            store_vector(begin + item_vector(k), (*items)[k]);
#endfor
    }
}
#endif

#endif

fn load_tile(tile: u32, items: ptr<function, array<Vector, BATCH_SIZE>>) { load_items(tile, is_full(tile), items); }

// A tile that is known to be full: no other loads stand between those and their use.
fn load_full_tile(tile: u32, items: ptr<function, array<Vector, BATCH_SIZE>>) { load_items(tile, true, items); }

#if IN_PLACE || MODE != MODE_REDUCE
// Stores the scanned items of a tile behind what comes before them.
fn store_scanned(tile: u32, full: bool, items: ptr<function, array<Vector, BATCH_SIZE>>, prefix: Element) {
    let before = what_comes_first(prefix);
#for k in 0..BATCH_SIZE
        (*items)[k] = vector_add((*items)[k], before);
#endfor
    store_items(tile, full, items);
}

fn store_tile(tile: u32, items: ptr<function, array<Vector, BATCH_SIZE>>, prefix: Element) {
    store_scanned(tile, is_full(tile), items, prefix);
}

fn store_full_tile(tile: u32, items: ptr<function, array<Vector, BATCH_SIZE>>, prefix: Element) {
    store_scanned(tile, true, items, prefix);
}
#endif
