//! Random parts of spaces, the same ones every night.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::space::Point;

/// A random part of the points of a product. Each point draws a number from seed, size and label, and at each size
/// those with the smallest are taken: so a seed stands for one set, on every machine, and another value in a list
/// replaces few of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// How many points of each size.
    pub per_size: usize,
    /// Which set.
    #[serde(default)]
    pub seed: u64,
}

impl Sample {
    /// The points that are in the sample.
    #[must_use]
    pub fn of(&self, points: &[Point]) -> BTreeSet<Point> {
        let mut drawn: Vec<(u64, u64, Point)> =
            points.iter().map(|&point| (point.n, self.draw(&point), point)).collect();
        drawn.sort_unstable();
        let sizes = drawn.chunk_by(|a, b| a.0 == b.0);
        sizes.flat_map(|size| size.iter().take(self.per_size)).map(|&(_, _, point)| point).collect()
    }

    /// The number that a point draws.
    fn draw(&self, point: &Point) -> u64 {
        draw(&format!("{} {}", point.n, point.config), self.seed)
    }
}

/// The number that a text draws, the same on every machine: FNV-1a over it, then the last steps of `MurmurHash3`, which
/// spread every bit over all.
pub(crate) fn draw(text: &str, seed: u64) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let hash = text
        .bytes()
        .fold(start, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3));
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}
