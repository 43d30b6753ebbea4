// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: tile state. How a workgroup tells the others about its tile. With the ticket, the only stage with atomics on
// memory that workgroups share.
//
// publish(tile, state, value): one invocation publishes, by stores.
// insert(tile, state, value): one invocation publishes for a tile that is not its own, by atomic maxima. Returns what
//   stood there.
// load_state(tile): the state of a tile and, unless it is INVALID, its value.
//
// State and value share one word, or each of several words has the state: relaxed atomics, which are all that WGSL has,
// are enough. Words are ordered as numbers: a later epoch is greater than an earlier one, INCLUSIVE than AGGREGATE than
// INVALID, so that a maximum never takes a state back.
//
// packed: one word. Bits 31..30 state, 29..0 value; zero before each call (thesis 4.6).
// LATE: the first looks of an invocation come early, as where workgroups run side by side: of four in a row, one at
//   least sees all that is there, and others what was there before this call (split), half of a state, or halves of two
//   states. Later looks see all, as patience is with the tile that is missing last. 1 of 8 insertions is lost on its
//   way.
//
// split: two words, each with 14 bits of epoch, 2 of state, 16 of the value. The words of 32 states in a row are a row
//   each (Smith, Levien and Owens, "Decoupled Fallback", 2025).
const INVALID = 0u;    // nothing published in this call
const AGGREGATE = 1u;  // the value is the total of the tile
const INCLUSIVE = 2u;  // the value is the total of the tile and of all before it

#if IN_PLACE
@group(0) @binding(2) var<storage, read_write> scratch: array<atomic<u32>>;
#else
@group(0) @binding(3) var<storage, read_write> scratch: array<atomic<u32>>;
#endif

struct TileState {
    state: u32,
    value: Element,
    // Whether nothing had been published in the first word, which decides whose insertion it was.
    vacant: bool,
}

fn take_ticket() -> u32 {
    return atomicAdd(&scratch[0], 1u) - params.ticket_base;
}

#if LATE
var<private> private_looks: u32;

// What keeps a look from the state of a tile; 0: nothing.
fn earliness(tile: u32) -> u32 {
    private_looks += 1u;
    return select((tile + private_looks) & 3u, 0u, (private_looks & 3u) == 0u || private_looks > 16u);
}

// Whether what is inserted for a tile never gets there.
fn is_lost(tile: u32) -> bool { return (tile & 7u) == 1u; }
#endif

#if TILE_STATE == TILE_STATE_PACKED

fn state_place(tile: u32) -> u32 { return params.states_at + tile * STATE_STRIDE; }

fn state_word(state: u32, value: Element) -> u32 { return (state << 30u) | (word_of(value) & 0x3fffffffu); }

fn decoded(word: u32) -> TileState {
    return TileState(word >> 30u, element_of(word & 0x3fffffffu), (word >> 30u) == INVALID);
}

fn publish(tile: u32, state: u32, value: Element) {
    atomicStore(&scratch[state_place(tile)], state_word(state, value));
}

fn insert(tile: u32, state: u32, value: Element) -> TileState {
#if LATE
    if (is_lost(tile)) { return decoded(atomicLoad(&scratch[state_place(tile)])); }
#endif
    return decoded(atomicMax(&scratch[state_place(tile)], state_word(state, value)));
}

fn load_state(tile: u32) -> TileState {
    let word = atomicLoad(&scratch[state_place(tile)]);
#if LATE
    return decoded(select(word, 0u, earliness(tile) != 0u));
#else
    return decoded(word);
#endif
}

#else

fn part_place(tile: u32, part: u32) -> u32 {
    return params.states_at + (((tile / 32u) * 2u + part) * 32u + tile % 32u) * STATE_STRIDE;
}

fn part_word(state: u32, half: u32) -> u32 {
    return (params.epoch << 18u) | (state << 16u) | (half & 0xffffu);
}

fn decoded(low: u32, high: u32) -> TileState {
    let tag = low >> 16u;
    let vacant = (tag >> 2u) != params.epoch || (tag & 3u) == INVALID;
    let whole = (high >> 16u) == tag && !vacant;
    return TileState(select(INVALID, tag & 3u, whole), element_of((low & 0xffffu) | (high << 16u)), vacant);
}

fn publish(tile: u32, state: u32, value: Element) {
    let word = word_of(value);
    atomicStore(&scratch[part_place(tile, 0u)], part_word(state, word));
    atomicStore(&scratch[part_place(tile, 1u)], part_word(state, word >> 16u));
}

fn insert(tile: u32, state: u32, value: Element) -> TileState {
#if LATE
    if (is_lost(tile)) {
        return decoded(atomicLoad(&scratch[part_place(tile, 0u)]), atomicLoad(&scratch[part_place(tile, 1u)]));
    }
#endif
    let word = word_of(value);
    let low = atomicMax(&scratch[part_place(tile, 0u)], part_word(state, word));
    let high = atomicMax(&scratch[part_place(tile, 1u)], part_word(state, word >> 16u));
    return decoded(low, high);
}

fn load_state(tile: u32) -> TileState {
    var low = atomicLoad(&scratch[part_place(tile, 0u)]);
    var high = atomicLoad(&scratch[part_place(tile, 1u)]);
#if LATE
    let before = ((params.epoch - 1u) << 18u) | (INCLUSIVE << 16u) | 0x2345u;
    let early = earliness(tile);
    if (early == 1u) { low = before; }
    if (early == 1u || early == 2u) { high = before; }
    // Of a state that is not whole both are what they are: others may be under way to it.
    if (early == 3u && (low >> 16u) == (high >> 16u)) { low ^= (AGGREGATE ^ INCLUSIVE) << 16u; }
#endif
    return decoded(low, high);
}

#endif
