//! What stands where in scratch memory, in lines of arguments and in arrays.

// The layout of the scratch memory. Shaders have the same numbers (kernels/glsl/stages/state/layout.glsl), which a
// test compares.

/// Bytes at the start of the scratch memory that hold the ticket and the counts of leavers and readers, on a cache line
/// of their own, and where the device counts its calls the turn, on another one.
pub const TICKET_BYTES: u64 = 256;
/// The word of the scratch memory that has the turn, as an epoch.
pub const TURN_WORD: u64 = 32;
/// The word that counts workgroups of a call which have read the turn, where one may end before others begin.
pub const READERS_WORD: u64 = 16;
/// The first turn: 0 is what cleared memory has, 1 is the epoch of calls that find zeros.
pub const FIRST_TURN: u32 = 2;

/// Words for the sums of groups of tiles in one of the two banks, of 8 bytes each. The banks stand behind the ticket,
/// always at the same place, so that words of different meaning never stand at the same address.
pub const BANK_WORDS: u64 = 1 << 16;

/// Tiles whose totals one group of a two-level lookback has.
pub const GROUP_TILES: u64 = 32;

/// Records of several words stand in rows of so many: first one word of each, then the next.
pub const ROW: u64 = 32;

/// Where the tile states begin in the scratch memory, in bytes.
pub const STATES_OFFSET: u64 = TICKET_BYTES + 2 * 8 * BANK_WORDS;

// A line of arguments. Shaders have the same numbers (kernels/glsl/arguments.glsl), which a test compares.

/// Words of a line that have arguments: source and target (two words each), n, workgroups, the address of the record
/// that follows (0: none), then the other addresses of a pass, the workgroups in a row, and its other words. Where
/// arguments are baked they are constants of the pipeline, numbered by their places here. The two halves of the line's
/// address follow as constants, those of the address of the scratch memory, and the largest n.
pub const ARGUMENT_WORDS: usize = 24;
/// Words of a record of a chain, as at the beginning of a line.
pub const RECORD_WORDS: usize = 8;
/// The words of a line, and of a record, where the address of the next record stands.
pub const NEXT_WORD: usize = 6;
/// The word of a line, and of a record, that says how many elements there are.
pub const N_WORD: usize = 4;
/// Bytes from one line to the next. Lines stand in pairs: a call that finds its arguments in one may write those of
/// the next call to the other.
pub const LINE_BYTES: u64 = 128;

/// What addresses of elements of so many bytes are multiples of: the largest power of two that divides these.
#[must_use]
pub fn element_alignment(element_bytes: u64) -> u64 {
    1 << element_bytes.trailing_zeros()
}
