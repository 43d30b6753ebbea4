//! Inputs and the CPU reference.
//!
//! Inputs are functions of (kind, seed, index), so that any part can be made anywhere in parallel, and a shorter
//! input is the beginning of a longer one.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What the elements of an input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InputKind {
    /// Full-range random words: the sums wrap many times.
    Random,
    /// Random words so small that the sum of this many of them stays below 2^30: what the packed tile state can carry.
    Bounded {
        /// The largest number of elements.
        n: u64,
    },
    /// All ones: element i of the scan is i + 1.
    Ones,
    /// Element i is i.
    Ramp,
    /// All bits set.
    Maximum,
    /// Zeros, and one full-range word.
    Spike {
        /// Its index.
        at: u64,
    },
    /// Zeros, and one word below 2^30: a spike that the packed tile state can carry.
    BoundedSpike {
        /// Its index.
        at: u64,
    },
}

/// The sum that the payload of the packed tile state can carry at most: 30 bits (thesis 4.6).
pub const PACKED_MAX_TOTAL: u64 = (1 << 30) - 1;

/// An input of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Input {
    /// What the elements are.
    pub kind: InputKind,
    /// What random elements are drawn from.
    pub seed: u64,
}

impl fmt::Display for Input {
    /// The word in the `input` column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            InputKind::Random => "random",
            InputKind::Bounded { .. } => "bounded",
            InputKind::Ones => "ones",
            InputKind::Ramp => "ramp",
            InputKind::Maximum => "maximum",
            InputKind::Spike { .. } => "spike",
            InputKind::BoundedSpike { .. } => "bounded-spike",
        })
    }
}

/// A 32-bit word from a seed and an index: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn random_word(seed: u64, index: u64) -> u32 {
    let mut z = seed ^ index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

impl Input {
    /// Element `index`.
    #[must_use]
    pub fn element(&self, index: u64) -> u32 {
        match self.kind {
            InputKind::Random => random_word(self.seed, index),
            InputKind::Bounded { n } => {
                let most = PACKED_MAX_TOTAL / n.max(1);
                (u64::from(random_word(self.seed, index)) % (most + 1)) as u32
            }
            InputKind::Ones => 1,
            InputKind::Ramp => index as u32,
            InputKind::Maximum => u32::MAX,
            InputKind::Spike { at } if index == at => random_word(self.seed, at) | 1,
            InputKind::BoundedSpike { at } if index == at => {
                (random_word(self.seed, at) & PACKED_MAX_TOTAL as u32) | 1
            }
            InputKind::Spike { .. } | InputKind::BoundedSpike { .. } => 0,
        }
    }

    /// Whether the sum of the first `n` elements is below 2^30 for sure, so that the packed tile state can carry it.
    #[must_use]
    pub fn fits_packed(&self, n: u64) -> bool {
        match self.kind {
            InputKind::Random | InputKind::Maximum | InputKind::Spike { .. } => n == 0,
            InputKind::Bounded { n: most } => n <= most,
            InputKind::Ones => n <= PACKED_MAX_TOTAL,
            InputKind::Ramp => {
                u128::from(n) * u128::from(n.saturating_sub(1)) / 2 <= u128::from(PACKED_MAX_TOTAL)
            }
            InputKind::BoundedSpike { .. } => true,
        }
    }

    /// Fills `elements` with the elements from index `start`, on all cores.
    pub fn fill(&self, start: u64, elements: &mut [u32]) {
        const CHUNK: usize = 1 << 14;
        elements.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, elements)| {
            let first = start + (chunk * CHUNK) as u64;
            for (offset, element) in elements.iter_mut().enumerate() {
                *element = self.element(first + offset as u64);
            }
        });
    }
}

/// Turns elements into their inclusive scan, starting from `carry`; returns the new carry.
///
/// The reference is as plain as it can be: one addition after another, modulo 2^32.
pub fn scan_in_place(elements: &mut [u32], mut carry: u32) -> u32 {
    for element in elements {
        carry = carry.wrapping_add(*element);
        *element = carry;
    }
    carry
}
