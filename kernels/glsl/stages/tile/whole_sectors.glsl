// SPDX-License-Identifier: MIT OR Apache-2.0
// Tile load and store, part of: striped tiles of vectors that an invocation cannot store at once. 32 bytes are two
// pieces of 16, and vectors of elements of 12 bytes three pieces of 4, 8 or 16. Stored one after the other, the first
// pieces of a row would go to parts of sectors of memory, and the others to the rest of them. Here a subgroup stores
// whole sectors, by invocations side by side. (Loads gain nothing: the first piece brings the sector into the cache,
// where the others find it.)
//
// store_full_tile(tile, items): called by whole subgroups.
// Shared bytes: VECTOR_BYTES * WORKGROUP_SIZE, for elements of 16 bytes 0. Subgroup barriers: 2 per row, or 0.
//
// Two ways, of which each was the faster one on an NVIDIA H200 at 2^24: elements of 8 bytes go through shared memory
// (segmented sums 5 % faster so, argmax 1 % slower), as those of 12 do; those of 16 to the neighbour by shuffles (2 %
// faster).

#if VECTOR_BYTES == 12
#define Piece uint
#define PIECE(stored, i) (stored).words[i]
#define PIECE_BYTES 4
#elif VECTOR_BYTES == 24
#define Piece uvec2
#define PIECE(stored, i) (stored).pairs[i]
#define PIECE_BYTES 8
#else
#define PIECE_BYTES 16
#if ELEMENT >= ELEMENT_STRUCT4
#define Piece uvec4
#define PIECE(stored, i) (stored).quads[i]
#else
#define Piece Vector2
#define PIECE(stored, i) ((i) == 0u ? (stored).xy : (stored).zw)
#endif
#endif

const uint PIECES = VECTOR_BYTES / PIECE_BYTES;

layout(buffer_reference, std430, buffer_reference_align = PIECE_BYTES) restrict writeonly buffer OutputPieces {
    Piece at[];
};

#if ELEMENT_BYTES == 16

// Two neighbours have two sectors. The first one stores the first halves of both, and the other one the other halves.
void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    OutputPieces target = OutputPieces(TILE_ADDRESS(params.target_address, tile));
    const bool is_other = (own_lane & 1u) != 0u;
    const uint first = (item_vector(0u) & ~1u) * 2u + (own_lane & 1u);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const StoredVector stored = stored_vector(items[k]);
        const Piece given = is_other ? PIECE(stored, 0u) : PIECE(stored, 1u);
        const Piece taken = subgroupShuffleXor(given, 1u);
        const uint begin = first + k * SUBGROUP_SIZE * 2u;
        target.at[begin] = is_other ? taken : PIECE(stored, 0u);
        target.at[begin + 2u] = is_other ? PIECE(stored, 1u) : taken;
    }
}

#else

const uint ROW_PIECES = SUBGROUP_SIZE * PIECES;

shared Piece shared_pieces[SUBGROUPS * ROW_PIECES];

// Where a piece of the subgroup's row stands. Two pieces of every other group of eight change places, so that eight
// invocations that write one each, or read one, use all 32 banks. With three, an odd number, they do so anyway.
uint piece_index(const uint i) {
    return own_subgroup * ROW_PIECES + (PIECES == 2u ? i ^ (i / 8u % 2u) : i);
}

void store_full_tile(const uint tile, const Vector items[BATCH_SIZE]) {
    OutputPieces target = OutputPieces(TILE_ADDRESS(params.target_address, tile));
    const uint first = own_subgroup * (ROW_PIECES * BATCH_SIZE) + own_lane;
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const StoredVector stored = stored_vector(items[k]);
        [[unroll]] for (uint i = 0u; i < PIECES; ++i) {
            shared_pieces[piece_index(own_lane * PIECES + i)] = PIECE(stored, i);
        }
        subgroupBarrier();
        Piece row[PIECES];
        [[unroll]] for (uint i = 0u; i < PIECES; ++i) {
            row[i] = shared_pieces[piece_index(i * SUBGROUP_SIZE + own_lane)];
        }
        subgroupBarrier();
        [[unroll]] for (uint i = 0u; i < PIECES; ++i) {
            target.at[first + k * ROW_PIECES + i * SUBGROUP_SIZE] = row[i];
        }
    }
}

#endif
