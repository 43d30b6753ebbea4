//! The levels of the families that go level by level: how long they are, and where they stand.
//!
//! Level 0 is the input, and each further level the totals of the tiles of the one before, until one workgroup can
//! scan all of a level.

use scanbox_model::config::Config;
use scanbox_model::problem::Problem;

/// Tiles of a level of totals that one workgroup goes over one after another, rather than two passes more: a tile is
/// one trip to memory, and a pass a dispatch, of about 2 microseconds on an NVIDIA H200.
pub const LAST_LEVEL_TILES: u64 = 4;

/// Levels begin at multiples of this many bytes: at least one vector of the widest type.
const LEVEL_ALIGNMENT: u64 = 256;

/// The lengths of all levels in elements, the input's first.
pub(super) fn lengths(config: &Config, n: u64) -> Vec<u64> {
    let mut lengths = vec![n];
    let mut tiles = config.tiles(n);
    // A tile of one element, which no rule lets through, would be a level without end.
    if config.tile_elements() <= 1 {
        return lengths;
    }
    while tiles > if lengths.len() == 1 { 1 } else { LAST_LEVEL_TILES } {
        lengths.push(tiles);
        tiles = config.tiles(tiles);
    }
    lengths
}

/// How many levels there are, and how many tiles the last one has.
pub(crate) fn levels_of(config: &Config, n: u64) -> (u64, u64) {
    let lengths = lengths(config, n);
    (lengths.len() as u64, lengths.last().map_or(0, |length| config.tiles(*length)))
}

/// Where each level above the first begins in the scratch memory, in bytes, and behind them where the last one ends.
pub(super) fn offsets(problem: &Problem, lengths: &[u64]) -> Vec<u64> {
    let bytes = lengths[1..]
        .iter()
        .map(|length| (length * problem.element_bytes()).next_multiple_of(LEVEL_ALIGNMENT));
    let ends = bytes.scan(0, |end, bytes| {
        *end += bytes;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Bytes of scratch memory for all levels above the first.
pub(super) fn scratch_bytes(config: &Config, problem: &Problem, n: u64) -> u64 {
    offsets(problem, &lengths(config, n)).last().copied().unwrap_or(0)
}
