//! The levels of the families that go level by level: how long they are, and where they stand.
//!
//! Level 0 is the input, and each further level the totals of the tiles of the one before, until one workgroup can
//! scan all of a level.

use std::num::NonZero;

/// Tiles of a level of totals that one workgroup goes over one after another, rather than two passes more: a tile is
/// one trip to memory, and a pass a dispatch, of about 2 microseconds on an NVIDIA H200.
pub const LAST_LEVEL_TILES: u64 = 4;

/// Levels begin at multiples of this many bytes: at least one vector of the widest type.
const LEVEL_ALIGNMENT: u64 = 256;

/// Levels of fewer than 2^32 elements at most, in tiles of two or more.
const MOST_LEVELS: usize = 32;

/// The levels of so many elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    tile_elements: NonZero<u64>,
    lengths: [u64; MOST_LEVELS],
    count: usize,
}

impl Levels {
    /// The levels of `n` elements in tiles of so many.
    #[must_use]
    pub fn new(tile_elements: NonZero<u64>, n: u64) -> Self {
        let mut levels = Self { tile_elements, lengths: [0; MOST_LEVELS], count: 1 };
        levels.lengths[0] = n;
        // Tiles of one element, which no rule lets through, would be levels without end.
        while levels.count < MOST_LEVELS && tile_elements.get() > 1 {
            let tiles = levels.last_tiles();
            if tiles <= if levels.count == 1 { 1 } else { LAST_LEVEL_TILES } {
                break;
            }
            levels.lengths[levels.count] = tiles;
            levels.count += 1;
        }
        levels
    }

    /// The length of each level in elements, the input's first.
    #[must_use]
    pub fn lengths(&self) -> &[u64] {
        &self.lengths[..self.count]
    }

    /// The place of the last level.
    #[must_use]
    pub fn last(&self) -> usize {
        self.count - 1
    }

    /// Tiles of the last level.
    #[must_use]
    pub fn last_tiles(&self) -> u64 {
        self.lengths[self.last()].div_ceil(self.tile_elements.get())
    }

    /// Where a level above the first begins in the scratch memory, in bytes; of the level behind the last one, where
    /// that ends.
    #[must_use]
    pub fn offset(&self, level: usize, element_bytes: u64) -> u64 {
        let below = self.lengths().get(1..level).unwrap_or_default();
        below.iter().map(|length| (length * element_bytes).next_multiple_of(LEVEL_ALIGNMENT)).sum()
    }

    /// Bytes of all levels above the first.
    #[must_use]
    pub fn bytes(&self, element_bytes: u64) -> u64 {
        self.offset(self.count, element_bytes)
    }
}
