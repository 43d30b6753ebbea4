// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: late. Workgroups that are late beyond all measure, in builds that are made for it (LATE); nothing in others.
// Where workgroups run one after the other, as software devices have them, nobody waits for a state otherwise, and
// nobody looks further than to the tile before its own.
//
// is_withheld(tile, state): whether the owner of a tile never publishes this: the inclusive prefixes of 60 in 61 tiles,
//   so that lookbacks are long; where others stand in for a tile, the totals of 3 in 4 too.
// is_lost(tile): whether what is inserted for a tile never gets there: 1 in 61.
// earliness(index): what keeps a look from the state with that index; 0: nothing. The first looks of an invocation come
//   early: of four in a row, one at least sees all that is there, and the others what was there before this call, parts
//   of a state, or parts of two. Those behind them see all, so often that one sees a whole window, and that patience
//   with the tile that is missing ends. Where others stand in for a tile, one in 122 is never seen: it is there when
//   somebody inserts it.
// earlier_tag(index), EARLIER_VALUE: epoch and state of what was there before this call, an inclusive prefix, and its
//   value. The epoch is that of one of the three calls before, or differs from this one's in a single bit, as behind a
//   wrap.
// Shared bytes: 0. Barriers: 0.

#if LATE

const uint LATE_PERIOD = 61u;  // tiles; a prime number, so that windows meet it everywhere
const uint EARLY_LOOKS = 16u;  // in a row
#if FALLS_BACK
const uint ALL_LOOKS = EARLY_LOOKS + MAX_SPINS;  // in a row
#else
const uint ALL_LOOKS = EARLY_LOOKS;
#endif

uint private_looks = 0u;

uint earliness(const uint index) {
    // By all alike: they look at a window together, and their patience is with what all of them see.
    private_looks += 1u;
#if FALLS_BACK
    if (index % (2u * LATE_PERIOD) == LATE_PERIOD - 1u) {
        return 1u;
    }
#endif
    const bool sees_all = private_looks % (EARLY_LOOKS + ALL_LOOKS) >= EARLY_LOOKS || private_looks % 4u == 0u;
    // Of words that are looked at in turns none is early whenever another one is not.
    return sees_all ? 0u : ((index ^ (private_looks >> 1)) + private_looks * private_looks) % 4u;
}

bool is_withheld(const uint tile, const uint state) {
#if FALLS_BACK
    if (state == AGGREGATE || tile == 0u) {
        return tile % 4u != 3u;
    }
#endif
    return LOOKBACK != LOOKBACK_CHAIN && state == INCLUSIVE && tile != 0u && tile % LATE_PERIOD != LATE_PERIOD - 1u;
}

bool is_lost(const uint tile) {
    return tile % LATE_PERIOD == 1u;
}

// Where calls find zeros, nothing was there.
#if RESET == RESET_EPOCH || RESET == RESET_TURN
#define EARLIER_VALUE 0x2345u

#if TILE_STATE == TILE_STATE_SPLIT
const uint TAG_EPOCH_BITS = 14u;
#else
const uint TAG_EPOCH_BITS = 30u;
#endif

uint earlier_tag(const uint index) {
    const uint random = (index * 0x9e3779b9u + private_looks * 0x85ebca6bu) >> 16;
    const uint calls_before = 1u + random % 3u;
    const uint epoch = private_looks % 2u == 0u ? EPOCH - calls_before : EPOCH ^ (1u << (random % TAG_EPOCH_BITS));
    return (epoch << 2) | INCLUSIVE;
}
#else
#define EARLIER_VALUE 0u

uint earlier_tag(const uint index) {
    return 0u;
}
#endif

// What a look sees of a word that it comes too early for.
StateWord early_word(const StateWord word, const uint early, const uint index);
// Insertions that are lost look instead.
StateWord load_state_at(const uvec2 address, const uint index);

#endif
