// SPDX-License-Identifier: MIT OR Apache-2.0
// Block, part of persistent kernels: an input of few vectors for each invocation of a workgroup. It would be a few rows
// of one tile or two, most of whose steps are for rows that hold nothing.
//
// is_few(): whether the input is one. The same for all invocations of a call.
// scan_few(): called in that case, in place of all that a rendezvous begins. A row has FEW_LANES elements for each
//   invocation, and each workgroup scans one. Where there may be several, FEW_APART, it adds up the rows before its own
//   itself, as stages/lookback/recompute.glsl does, and waits for nobody. No tile gets a state, and no group: the call
//   needs no turn, and leaves the turn to the next one.
// MOST_ROWS: rows at most, where there may be several; a call has a workgroup for each. A call that was recorded for
//   more elements than it finds may have fewer workgroups than that: then no more are few than those have rows for.
// Shared bytes: those of the rendezvous. Barriers: 1.
//
// On an NVIDIA H100, one row takes 12 to 18 % off a call at 2^10, in workgroups of 256, and at 2^11, in workgroups of
// 512; several rows take 17 to 28 % off it at 2^12 and 2^13. Workgroups of less than 256 have several tiles of such an
// input, and the larger program costs them 5 % up to 2^18; several rows cost workgroups of 256 3 % up to 2^20. By
// ticket, other kernels are faster for few elements, and programs ship many of these: a pack becomes 9 % larger. So
// they do without (SCANS_FEW, FEW_APART).

#if FEW_APART && LANES == 4 && ELEMENT < ELEMENT_STRUCT4

// Pairs: the loads of more invocations are under way.
const uint FEW_LANES = 2u;
const uint PAIR_ALIGNMENT = ANY_ELEMENT == 1 ? ELEMENT_ALIGNMENT : 2 * ELEMENT_ALIGNMENT;

layout(buffer_reference, std430, buffer_reference_align = PAIR_ALIGNMENT) UNSHARED readonly buffer InputPairs {
    Vector2 at[];
};
layout(buffer_reference, std430, buffer_reference_align = PAIR_ALIGNMENT) UNSHARED writeonly buffer OutputPairs {
    Vector2 at[];
};

#define FEW_TOTAL(row) combine((row)[0], (row)[1])
#define FewRow Vector2
#define FEW_IDENTITY Vector2(identity())

FewRow few_row(const uint v) {
    InputPairs source = InputPairs(params.source_address);
    return source.at[v];
}

// Of a pair and identities, so that a vector is scanned as others are.
Vector load_few(const uint v) {
    InputPairs source = InputPairs(params.source_address);
    Vector vector = VECTOR_OF(identity());
    if (2u * v + 1u < ELEMENTS) {
        vector.xy = source.at[v];
    } else if (2u * v < ELEMENTS) {
        vector.x = source.at[v].x;
    }
    return vector;
}

void store_few(const uint v, const Vector vector) {
    OutputPairs target = OutputPairs(params.target_address);
    if (2u * v + 1u < ELEMENTS) {
        target.at[v] = vector.xy;
    } else if (2u * v < ELEMENTS) {
        target.at[v].x = vector.x;
    }
}

#else

const uint FEW_LANES = LANES;

#define FEW_TOTAL(row) vector_total(loaded_vector(row))
#define FewRow StoredVector
#define FEW_IDENTITY stored_vector(VECTOR_OF(identity()))

#if FEW_APART
FewRow few_row(const uint v) {
    InputVectors source = InputVectors(params.source_address);
    return source.at[v];
}

// Tiles do not matter where nothing asks for the index of an element.
#define FEW_SOURCE InputVectors(params.source_address)
#define FEW_TARGET OutputVectors(params.target_address)
#else
#define FEW_SOURCE SOURCE_OF(0u)
#define FEW_TARGET TARGET_OF(0u)
#endif

Vector load_few(const uint v) {
    return load_vector(FEW_SOURCE, v, elements_left(0u));
}

void store_few(const uint v, const Vector vector) {
    store_vector(FEW_TARGET, v, elements_left(0u), vector);
}

#endif

const uint FEW_ELEMENTS = WORKGROUP_SIZE * FEW_LANES;  // of a row
#if FEW_APART
const uint MOST_ROWS = 8u;
#endif

bool is_few() {
#if FEW_APART
    return ELEMENTS <= FEW_ELEMENTS * min(MOST_ROWS, params.workgroups);
#else
    return ELEMENTS <= FEW_ELEMENTS;
#endif
}

#if FEW_APART

// A vector of the invocation, of so many: a row apart, or side by side where the order of elements matters.
uint few_before(const uint k, const uint rows) {
    return IN_ORDER == 1 ? invocation_rank() * rows + k : k * WORKGROUP_SIZE + invocation_rank();
}

// Combines share with up to `count` rows, a constant, of those before a workgroup. Loads of rows that are not there are
// left out one by one.
#define COMBINE_FEW(share, count, rows)                        \
    {                                                          \
        FewRow few[count];                                     \
        [[unroll]] for (uint k = 0u; k < count; ++k) {         \
            few[k] = FEW_IDENTITY;                             \
            if (k < rows) {                                    \
                few[k] = few_row(few_before(k, rows));         \
            }                                                  \
        }                                                      \
        [[unroll]] for (uint k = 0u; k < count; ++k) {         \
            share = combine(share, FEW_TOTAL(few[k]));         \
        }                                                      \
    }

// What this invocation adds up of the rows before a workgroup.
Element share_of_rows(const uint rows) {
    Element share = identity();
    if (rows <= 3u) {
        COMBINE_FEW(share, 3u, rows)
    } else {
        COMBINE_FEW(share, MOST_ROWS - 1u, rows)
    }
    return share;
}

#endif

void scan_few() {
    const uint row = workgroup_rank();
    if (row * FEW_ELEMENTS >= ELEMENTS) {
        return;
    }
    const uint v = row * WORKGROUP_SIZE + invocation_rank();
    Vector vector = load_few(v);
#if FEW_APART
    // Its loads are under way together with that of the row.
    Element share = identity();
    if (row > 0u) {
        share = subgroup_reduce(share_of_rows(row));
    }
#define MEET(total) meet_once(total, share)
#else
#define MEET(total) meet_once(total)
#endif
    Element total;
    const Element before = subgroup_exclusive_scan(vector_scan(vector), total);
    const Element first = what_comes_first(MEET(total));
    vector_add(vector, combine(first, before));
#if WITH_TOTAL
    if ((row + 1u) * FEW_ELEMENTS >= ELEMENTS && invocation_rank() == WORKGROUP_SIZE - 1u) {
        store_total_of_all(LANE(vector, LANES - 1));
    }
#endif
    make_row_exclusive(vector, first);
    store_few(v, vector);
}
