// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: tile load and store. The only stage that knows where the input ends.
//
// Reads: input. Writes: output. Result valid in: each invocation has its own items. Lanes behind the last element get
// the identity and are never stored.
//
// LOAD_LAYOUT_DIRECT: invocation r owns the r-th run of BATCH_SIZE successive vectors of the tile, and loads it itself.
//   Neighbouring invocations touch memory BATCH_SIZE vectors apart, so caches have to gather. Shared bytes: 0.
// LOAD_LAYOUT_TRANSPOSED: the same runs, but a subgroup loads rows of SUBGROUP_SIZE successive vectors, which is what
//   memory likes best, and exchanges them through shared memory, in TRANSPOSE_ROUNDS rounds where all at once does not
//   fit.
//   Shared bytes: ELEMENT_BYTES * LANES * SUBGROUPS * (v + v / PAD_PERIOD), v = ROUND_VECTORS. Subgroup barriers: 2 per
//   round. Nothing is exchanged for BATCH_SIZE 1, where the two are the same.
//   Source: CUB's BLOCK_LOAD_WARP_TRANSPOSE.
// LOAD_LAYOUT_STRIPED: a subgroup owns BATCH_SIZE rows of SUBGROUP_SIZE successive vectors, an invocation one vector of
//   each row. Nothing is exchanged; the subgroup scan has to go row by row instead. Shared bytes: 0, but for
//   STORES_WHOLE_SECTORS.
//
// In place: every vector is stored by the invocation that has loaded it, behind its load.

// Whether elements move over from vectors where the device has them (stages/tile/shifted_vectors.glsl). Not in the
// loops of persistent kernels, where what follows was wrong (NVIDIA_REDUCTIONS_BESIDE_SHUFFLES).
#if ANY_ELEMENT && defined(REQUIRE_TILE_STATE) && LOAD_LAYOUT == LOAD_LAYOUT_STRIPED && LANES == 4 && \
    ELEMENT <= ELEMENT_F32 && !IN_PLACE && !defined(PERSISTENT) && !REVERSE
#define SHIFTS_VECTORS 1
#else
#define SHIFTS_VECTORS 0
#endif

// Whether full tiles are stored by whole sectors of memory (stages/tile/whole_sectors.glsl): where an invocation would
// store a vector in two pieces or three, and vectors go to memory as they are. scanbox counts their bytes of shared
// memory by the same condition (catalog/shared_memory.rs).
#define VECTOR_BYTES (ELEMENT_BYTES * LANES)
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED && (VECTOR_BYTES % 12 == 0 || VECTOR_BYTES == 32) && !ANY_ELEMENT && \
    !IN_PLACE && !REVERSE && !TRANSFORM_OUTPUT
#define STORES_WHOLE_SECTORS 1
#else
#define STORES_WHOLE_SECTORS 0
#endif

const uint TILE_VECTORS = WORKGROUP_SIZE * BATCH_SIZE;

#if REVERSE

// Vectors from the end of the array on: a tile has those that stand right before the tiles before it. What a tile lacks
// at its end would stand in front of the array.
#define TILE_ADDRESS(base, tile)                                                                         \
    address_before(element_address(base, IN_TILES / LANES, LANES * ELEMENT_BYTES), (tile) + 1u,          \
                   TILE_VECTORS * LANES * ELEMENT_BYTES)
#define IN_ARRAY(v) (TILE_VECTORS - 1u - (v))

#else

#define TILE_ADDRESS(base, tile) element_address(base, tile, TILE_VECTORS * LANES * ELEMENT_BYTES)
#define IN_ARRAY(v) (v)

#endif

// The tile's part of input and output: indices into them stay small, however large the input is.
InputVectors tile_source(const uint tile) {
    return InputVectors(TILE_ADDRESS(params.source_address, tile));
}

OutputVectors tile_target(const uint tile) {
    return OutputVectors(TILE_ADDRESS(params.target_address, tile));
}

bool is_full(const uint tile) {
    return tile < ELEMENTS / TILE_ELEMENTS;
}

#include "stages/tile/elements_of_vectors.glsl"

// Where item k of this invocation stands in the tile, in vectors.
uint item_vector(const uint k) {
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED
    return own_subgroup * (SUBGROUP_SIZE * BATCH_SIZE) + k * SUBGROUP_SIZE + own_lane;
#else
    return invocation_rank() * BATCH_SIZE + k;
#endif
}

// Vector v of a tile that has this many elements left. Vectors that are there as a whole go as a whole: only the one in
// which the input ends goes element by element.
Vector load_vector(const TileSource source, const uint v, const uint left) {
    if ((v + 1u) * LANES <= left) {
        return WHOLE_VECTOR(source, source, v);
    }
    Vector vector = VECTOR_OF(identity());
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        if (v * LANES + i < left) {
            LANE(vector, i) = ONE_LANE(source, source, v, i);
        }
    }
    return vector;
}

void store_vector(const TileTarget target, const uint v, const uint left, const Vector vector) {
    if ((v + 1u) * LANES <= left) {
        PUT_VECTOR(target, target, v, vector);
        return;
    }
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        if (v * LANES + i < left) {
            PUT_LANE(target, target, v, i, LANE(vector, i));
        }
    }
}

// How many elements of the input a tile has left, which is less than a tile only in the last one.
uint elements_left(const uint tile) {
    return IN_TILES - tile * TILE_ELEMENTS;
}

#if BATCH_SIZE <= 2

void load_partial_tile(const uint tile, out Vector items[BATCH_SIZE]) {
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        items[k] = load_vector(SOURCE_OF(tile), item_vector(k), elements_left(tile));
    }
}

#else

// Row after row would take as many round trips to memory. Rows that are not there are left out without a branch, and
// all are under way together; then the subgroup in which the input ends loads its last vector. Slower than the above
// for one row or two.
void load_partial_tile(const uint tile, out Vector items[BATCH_SIZE]) {
    InputVectors source = tile_source(tile);
    const uint left = elements_left(tile);
    // There is none where the input ends between two vectors.
    const uint last = left / LANES;
    StoredVector rows[BATCH_SIZE];
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        rows[k] = stored_vector(VECTOR_OF(identity()));
        if (item_vector(k) < last) {
            rows[k] = STORED_WHOLE(source, tile, item_vector(k));
        }
    }
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        items[k] = loaded_vector(rows[k]);
    }
    if (last / (SUBGROUP_SIZE * BATCH_SIZE) == own_subgroup) {
        Vector last_items = VECTOR_OF(identity());
        [[unroll]] for (uint i = 0u; i + 1u < LANES; ++i) {
            if (i < left % LANES) {
                LANE(last_items, i) = ONE_LANE(source, tile, last, i);
            }
        }
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            if (item_vector(k) == last) {
                items[k] = last_items;
            }
        }
    }
}

#endif

void store_partial_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        store_vector(TARGET_OF(tile), item_vector(k), elements_left(tile), items[k]);
    }
}

#if LOAD_LAYOUT == LOAD_LAYOUT_TRANSPOSED && BATCH_SIZE > 1

const uint ROUND_ROWS = BATCH_SIZE / TRANSPOSE_ROUNDS;
const uint ROUND_VECTORS = ROUND_ROWS * SUBGROUP_SIZE;
// One vector of padding per row of shared memory banks (32 words on all known hardware; only speed depends on it), or
// per run where a run is longer: rows and runs are then both free of bank conflicts.
const uint PAD_PERIOD = max(32 / LANES, BATCH_SIZE);
const uint EXCHANGE_VECTORS = ROUND_VECTORS + ROUND_VECTORS / PAD_PERIOD;

shared StoredVector shared_exchange[SUBGROUPS * EXCHANGE_VECTORS];

// Where vector v of a round stands.
uint exchange_index(const uint v) {
    return own_subgroup * EXCHANGE_VECTORS + v + v / PAD_PERIOD;
}

void load_full_tile(const uint tile, out Vector items[BATCH_SIZE]) {
    InputVectors source = tile_source(tile);
    const uint lane = own_lane;
    const uint first = own_subgroup * (SUBGROUP_SIZE * BATCH_SIZE) + lane;
    StoredVector rows[BATCH_SIZE];
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        rows[k] = STORED_WHOLE(source, tile, first + k * SUBGROUP_SIZE);
    }
    [[unroll]] for (uint round = 0u; round < TRANSPOSE_ROUNDS; ++round) {
        [[unroll]] for (uint row = 0u; row < ROUND_ROWS; ++row) {
            shared_exchange[exchange_index(row * SUBGROUP_SIZE + lane)] = rows[round * ROUND_ROWS + row];
        }
        subgroupBarrier();
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            const uint v = lane * BATCH_SIZE + k;
            if (v / ROUND_VECTORS == round) {
                items[k] = loaded_vector(shared_exchange[exchange_index(v - round * ROUND_VECTORS)]);
            }
        }
        subgroupBarrier();
    }
}

void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    OutputVectors target = tile_target(tile);
    const uint lane = own_lane;
    const uint first = own_subgroup * (SUBGROUP_SIZE * BATCH_SIZE) + lane;
    [[unroll]] for (uint round = 0u; round < TRANSPOSE_ROUNDS; ++round) {
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            const uint v = lane * BATCH_SIZE + k;
            if (v / ROUND_VECTORS == round) {
                shared_exchange[exchange_index(v - round * ROUND_VECTORS)] = stored_vector(items[k]);
            }
        }
        subgroupBarrier();
        [[unroll]] for (uint row = 0u; row < ROUND_ROWS; ++row) {
            PUT_STORED(target, tile, first + (round * ROUND_ROWS + row) * SUBGROUP_SIZE,
                       shared_exchange[exchange_index(row * SUBGROUP_SIZE + lane)]);
        }
        subgroupBarrier();
    }
}

#elif SHIFTS_VECTORS

#include "stages/tile/shifted_vectors.glsl"

#else

// Vectors from one item of an invocation to its next.
const uint ITEM_STRIDE = LOAD_LAYOUT == LOAD_LAYOUT_STRIPED ? SUBGROUP_SIZE : 1u;

void load_full_tile(const uint tile, out Vector items[BATCH_SIZE]) {
    InputVectors source = tile_source(tile);
    const uint first = item_vector(0u);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        items[k] = WHOLE_VECTOR(source, tile, first + k * ITEM_STRIDE);
    }
}

#if STORES_WHOLE_SECTORS
#include "stages/tile/whole_sectors.glsl"
#else

void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    OutputVectors target = tile_target(tile);
    const uint first = item_vector(0u);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        PUT_VECTOR(target, tile, first + k * ITEM_STRIDE, items[k]);
    }
}

#endif

#endif

void load_tile(const uint tile, out Vector items[BATCH_SIZE]) {
    if (is_full(tile)) {
        load_full_tile(tile, items);
    } else {
        load_partial_tile(tile, items);
    }
}

#if WITH_TOTAL

// The last item of a tile: what comes before the tile and all of its elements. Behind the last one of the input stand
// identities.
Element private_last;
#define KEEP_LAST(items) private_last = LANE(items[BATCH_SIZE - 1], LANES - 1);

layout(buffer_reference, std430, buffer_reference_align = ELEMENT_ALIGNMENT) writeonly buffer TotalOfAll {
    StoredElement value;
};

void store_total_of_all(const Element value) {
    TotalOfAll total = TotalOfAll(params.total_address);
    total.value = stored_element(value);
}

// Called by all invocations of the workgroup of a tile, behind add_prefix.
void store_last(const uint tile) {
    if (tile == tile_count() - 1u && invocation_rank() == WORKGROUP_SIZE - 1u) {
        store_total_of_all(private_last);
    }
}

#else
#define KEEP_LAST(items)
#define store_last(tile)
#endif

// Combines what comes before with each of the items, and makes of them what is written.
void add_prefix(inout Vector items[BATCH_SIZE], const Element prefix) {
    const Element before = what_comes_first(prefix);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        vector_add(items[k], before);
    }
    KEEP_LAST(items)
    make_exclusive(items, before);
}

// Stores prefix combined with each of the items.
void store_tile(const uint tile, inout Vector items[BATCH_SIZE], const Element prefix) {
    add_prefix(items, prefix);
    store_last(tile);
    if (is_full(tile)) {
        store_full_tile(tile, items);
    } else {
        store_partial_tile(tile, items);
    }
}

// Stores the only element that a reduction writes. Called by one invocation.
void store_total(const Element total) {
#if REVERSE
    OutputVectors target = OutputVectors(params.target_address);
#else
    OutputVectors target = tile_target(0u);
#endif
#if TRANSFORM_OUTPUT
    STORE_LANE(target, 0, 0, transform_output(what_comes_first(total), 0u));
#elif WITH_INIT
    STORE_LANE(target, 0, 0, what_comes_first(total));
#else
    STORE_LANE(target, 0, 0, total);
#endif
}

// What an input of no elements leaves: its total, where that is stored. Called by the invocations of workgroups that
// have no tile, with the one that they would have. Calls that the host counts are those of a benchmark, and have
// elements.
#if defined(REQUIRE_TILE_STATE) && RESET == RESET_EPOCH
#define TAKES_NONE (N_VARIES || !HOST_TURNS)
#else
#define TAKES_NONE 1
#endif

#if TAKES_NONE && (WITH_TOTAL || MODE == MODE_REDUCE)

void store_empty(const uint tile) {
    if (ELEMENTS == 0u && tile == 0u && invocation_rank() == 0u) {
#if MODE == MODE_REDUCE
        store_total(identity());
#else
        store_total_of_all(what_comes_first(identity()));
#endif
    }
}

#else
#define store_empty(tile)
#endif
