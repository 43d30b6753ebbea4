//! Few rows that have every pair of values which many rows have between them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The pairs of values that some values have: two parameters and a value of each.
pub fn pairs<const N: usize>(values: &[usize; N]) -> impl Iterator<Item = (usize, usize, usize, usize)> + '_ {
    (0..N).flat_map(move |a| (0..a).map(move |b| (a, values[a], b, values[b])))
}

/// Few rows that have every pair which any of `all` has: the one with the most new pairs, again and again; of several
/// such rows the first.
#[must_use]
pub fn covering<const N: usize>(all: &[[usize; N]]) -> Vec<[usize; N]> {
    covering_beside(&[], all)
}

/// Few rows that have every pair which any of `all` has and none of `chosen`.
#[must_use]
pub fn covering_beside<const N: usize>(chosen: &[[usize; N]], all: &[[usize; N]]) -> Vec<[usize; N]> {
    let base = all.iter().chain(chosen).flatten().max().map_or(0, |largest| largest + 1);
    let index = |(a, x, b, y): (usize, usize, usize, usize)| ((a * N + b) * base + x) * base + y;
    let mut covered = vec![false; N * N * base * base];
    chosen.iter().flat_map(pairs).for_each(|pair| covered[index(pair)] = true);
    let new = |row: &[usize; N], covered: &[bool]| pairs(row).filter(|&pair| !covered[index(pair)]).count();
    // Counts only ever fall, so that one which is still the largest when it is made anew is the largest of all.
    let mut heap: BinaryHeap<_> =
        all.iter().enumerate().map(|(place, row)| (new(row, &covered), Reverse(place))).collect();
    let mut rows = Vec::new();
    while let Some((counted, Reverse(place))) = heap.pop() {
        let row = all[place];
        let count = new(&row, &covered);
        if count < counted {
            heap.push((count, Reverse(place)));
        } else if count > 0 {
            pairs(&row).for_each(|pair| covered[index(pair)] = true);
            rows.push(row);
        }
    }
    rows
}
