// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile load and store, part of: vectors of a tile as they are worked with, out of memory and back.
//
// WHOLE_VECTOR(source, tile, v): vector v of a tile, all of whose elements a tile has left.
// STORED_WHOLE(source, tile, v): the same, as it stands in memory.
// ONE_LANE(source, tile, v, i): its element i.
// PUT_VECTOR(target, tile, v, vector), PUT_STORED(target, tile, v, stored), PUT_LANE(target, tile, v, i, value): back.
//
// From the last element on, REVERSE, the elements of a vector stand the other way round, and the first vector of the
// first tile is the one in which the array ends: its elements go one by one, and those behind the end are identities.

#if !REVERSE

#define WHOLE_VECTOR(source, tile, v) loaded_vector(source.at[v])
#define STORED_WHOLE(source, tile, v) source.at[v]
#define ONE_LANE(source, tile, v, i) LOAD_LANE(source, v, i)
#define PUT_VECTOR(target, tile, v, vector) target.at[v] = stored_vector(vector)
#define PUT_STORED(target, tile, v, stored) target.at[v] = stored
#define PUT_LANE(target, tile, v, i, value) STORE_LANE(target, v, i, value)

#else

// The place of an element within its vector in the array.
uint lane_in_array(const uint i) {
    return LANES - 1u - i;
}

// Elements of the first vector that are none.
uint nothing_in_front() {
    return IN_TILES - ELEMENTS;
}

Vector turned(const Vector vector) {
    Vector other = vector;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        LANE(other, i) = LANE(vector, lane_in_array(i));
    }
    return other;
}

bool is_cut(const uint tile, const uint v) {
    return LANES > 1u && tile == 0u && v == 0u && nothing_in_front() != 0u;
}

Vector whole_vector(const uint tile, const uint v) {
    InputVectors source = tile_source(tile);
    if (is_cut(tile, v)) {
        Vector vector = VECTOR_OF(identity());
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (i >= nothing_in_front()) {
                LANE(vector, i) = LOAD_LANE(source, IN_ARRAY(v), lane_in_array(i));
            }
        }
        return vector;
    }
    return turned(loaded_vector(source.at[IN_ARRAY(v)]));
}

void put_vector(const uint tile, const uint v, const Vector vector) {
    OutputVectors target = tile_target(tile);
    if (is_cut(tile, v)) {
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (i >= nothing_in_front()) {
                STORE_LANE(target, IN_ARRAY(v), lane_in_array(i), LANE(vector, i));
            }
        }
        return;
    }
    target.at[IN_ARRAY(v)] = stored_vector(turned(vector));
}

#define WHOLE_VECTOR(source, tile, v) whole_vector(tile, v)
#define STORED_WHOLE(source, tile, v) stored_vector(whole_vector(tile, v))
#define PUT_VECTOR(target, tile, v, vector) put_vector(tile, v, vector)
#define PUT_STORED(target, tile, v, stored) put_vector(tile, v, loaded_vector(stored))
// Tiles have whole vectors.
#define ONE_LANE(source, tile, v, i) identity()
#define PUT_LANE(target, tile, v, i, value)

#endif
