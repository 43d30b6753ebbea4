// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile load and store, part of: vectors of a tile as they are worked with, out of memory and back.
//
// WHOLE_VECTOR(source, tile, v): vector v of a tile, all of whose elements a tile has left.
// STORED_WHOLE(source, tile, v): the same, as it stands in memory.
// ONE_LANE(source, tile, v, i): its element i.
// TileSource, TileTarget, SOURCE_OF(tile), TARGET_OF(tile): what a function is given that loads, or stores, a part of a
//   tile: the memory or, where more has to be known of it, the tile, which the macros then take for it.
// PUT_VECTOR(target, tile, v, vector), PUT_STORED(target, tile, v, stored), PUT_LANE(target, tile, v, i, value): back.
//
// From the last element on, REVERSE, the elements of a vector stand the other way round, and the first vector of the
// first tile is the one in which the array ends: its elements go one by one, and those behind the end are identities.
// A user's file may transform elements as they come and go: a function of an element and its index in the array.

#if !REVERSE && !TRANSFORM_INPUT && !TRANSFORM_OUTPUT

#define TileSource InputVectors
#define TileTarget OutputVectors
#define SOURCE_OF(tile) tile_source(tile)
#define TARGET_OF(tile) tile_target(tile)
#define WHOLE_VECTOR(source, tile, v) loaded_vector(source.at[v])
#define STORED_WHOLE(source, tile, v) source.at[v]
#define ONE_LANE(source, tile, v, i) LOAD_LANE(source, v, i)
#define PUT_VECTOR(target, tile, v, vector) target.at[v] = stored_vector(vector)
#define PUT_STORED(target, tile, v, stored) target.at[v] = stored
#define PUT_LANE(target, tile, v, i, value) STORE_LANE(target, v, i, value)

#else

#if REVERSE

// The place of an element within its vector in the array.
uint lane_in_array(const uint i) {
    return LANES - 1u - i;
}

// Elements of the first vector that are none.
uint nothing_in_front() {
    return IN_TILES - ELEMENTS;
}

bool is_cut(const uint tile, const uint v) {
    return LANES > 1u && tile == 0u && v == 0u && nothing_in_front() != 0u;
}

uint index_in_array(const uint tile, const uint v, const uint i) {
    return IN_TILES - 1u - (tile * TILE_ELEMENTS + v * LANES + i);
}

#else

uint lane_in_array(const uint i) {
    return i;
}

uint index_in_array(const uint tile, const uint v, const uint i) {
    return tile * TILE_ELEMENTS + v * LANES + i;
}

#endif

#if TRANSFORM_INPUT
#define ELEMENT_TAKEN(value, tile, v, i) transform_input(value, index_in_array(tile, v, i))
#else
#define ELEMENT_TAKEN(value, tile, v, i) (value)
#endif
#if TRANSFORM_OUTPUT
#define ELEMENT_GIVEN(value, tile, v, i) transform_output(value, index_in_array(tile, v, i))
#else
#define ELEMENT_GIVEN(value, tile, v, i) (value)
#endif

Element one_lane(const uint tile, const uint v, const uint i) {
    InputVectors source = tile_source(tile);
    return ELEMENT_TAKEN(LOAD_LANE(source, IN_ARRAY(v), lane_in_array(i)), tile, v, i);
}

void put_lane(const uint tile, const uint v, const uint i, const Element value) {
    OutputVectors target = tile_target(tile);
    STORE_LANE(target, IN_ARRAY(v), lane_in_array(i), ELEMENT_GIVEN(value, tile, v, i));
}

Vector whole_vector(const uint tile, const uint v) {
    InputVectors source = tile_source(tile);
#if REVERSE
    if (is_cut(tile, v)) {
        Vector vector = VECTOR_OF(identity());
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (i >= nothing_in_front()) {
                LANE(vector, i) = one_lane(tile, v, i);
            }
        }
        return vector;
    }
#endif
    const Vector stored = loaded_vector(source.at[IN_ARRAY(v)]);
    Vector vector = stored;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        LANE(vector, i) = ELEMENT_TAKEN(LANE(stored, lane_in_array(i)), tile, v, i);
    }
    return vector;
}

void put_vector(const uint tile, const uint v, const Vector vector) {
#if REVERSE
    if (is_cut(tile, v)) {
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            if (i >= nothing_in_front()) {
                put_lane(tile, v, i, LANE(vector, i));
            }
        }
        return;
    }
#endif
    Vector given = vector;
    [[unroll]] for (uint i = 0u; i < LANES; ++i) {
        LANE(given, lane_in_array(i)) = ELEMENT_GIVEN(LANE(vector, i), tile, v, i);
    }
    OutputVectors target = tile_target(tile);
    target.at[IN_ARRAY(v)] = stored_vector(given);
}

#define TileSource uint
#define TileTarget uint
#define SOURCE_OF(tile) tile
#define TARGET_OF(tile) tile
#define WHOLE_VECTOR(source, tile, v) whole_vector(tile, v)
#define STORED_WHOLE(source, tile, v) stored_vector(whole_vector(tile, v))
#define ONE_LANE(source, tile, v, i) one_lane(tile, v, i)
#define PUT_VECTOR(target, tile, v, vector) put_vector(tile, v, vector)
#define PUT_STORED(target, tile, v, stored) put_vector(tile, v, loaded_vector(stored))
#define PUT_LANE(target, tile, v, i, value) put_lane(tile, v, i, value)

#endif
