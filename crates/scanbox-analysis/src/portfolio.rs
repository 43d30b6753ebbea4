//! A portfolio, A24: the best K kernels to ship. At each size the fastest of them runs; the metric judges that line.
//!
//! One kernel of a portfolio need not run at every size, but all of them together have to. A portfolio of one is the
//! best kernel ([`crate::best_kernel`]) by the same normalisation, one of all kernels is the ideal line. Every set of
//! K kernels is tried while there are few enough of them; beyond that the set of K - 1 gets the kernel that helps most.
//!
//! A kernel that another one is at least as good as everywhere is in no set that would not be as good with that other
//! one, so sets are made of the others alone: of 155 kernels of a sweep 32 may be left. (By cosine they are made of
//! all: a line that is higher somewhere may have a worse angle.)

use crate::best_kernel::{Criterion, Places, ROUNDING, Ranking};
use crate::lines::Lines;
use crate::metric::Metric;
use crate::normalize::Normalization;
use crate::stats;
use crate::table::KernelIndex;

/// Every set is tried while the number of sets times the number of devices and sizes is at most this: 12 million sets
/// of 4 of 132 kernels at 20 sizes are below it.
pub const EXACT_LIMIT: u64 = 300_000_000;

/// Sets of 1, 2, ... kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Portfolio {
    /// What throughput was divided by.
    pub normalization: Normalization,
    /// Kernels that are `ok` somewhere in the comparison.
    pub candidates: usize,
    /// Those of them that sets were made of: no other one is at least as good everywhere.
    pub undominated: usize,
    /// Sizes of the comparison, on all devices.
    pub compared: usize,
    /// All sizes at which a row is `ok`, on all devices: more than were compared where a kernel lacks some.
    pub measured: usize,
    /// Ascending by the number of kernels; ends at the number that was asked for, or where the ideal line is reached.
    pub sets: Vec<KernelSet>,
}

/// A set of kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSet {
    /// The kernels, ascending.
    pub kernels: Vec<KernelIndex>,
    /// The score of its line by the metric.
    pub score: f64,
    /// Whether no set of as many kernels is better; otherwise the set is one kernel more than the set before it.
    pub exact: bool,
    /// Sizes of the comparison (on all devices) where none of its kernels is `ok`; the score leaves them out.
    pub uncovered: usize,
    /// The mean loss against the ideal line over sizes and devices, in percent.
    pub mean_loss_pct: f64,
    /// The largest loss in percent, and its size.
    pub worst: (f64, u64),
    /// The largest loss in percent at a size outside the comparison, and that size; `None` where it covers none.
    pub worst_elsewhere: Option<(f64, u64)>,
    /// Every size that was measured at which none of its kernels is `ok`, once per device, ascending.
    pub not_covered: Vec<u64>,
}

/// How a set does: sets that cover more places first, then by score, then by the sum of throughput.
#[derive(Clone, Copy, PartialEq)]
struct SetStanding {
    uncovered: usize,
    rank: f64,
    total: f64,
}

struct Search<'a> {
    places: Places<'a>,
    metric: Metric,
    /// By kernel: its line; minus infinity where it is not `ok`.
    lines: Vec<Vec<f64>>,
    /// The kernels that sets are made of, ascending.
    undominated: Vec<usize>,
    tolerance: f64,
    total_tolerance: f64,
}

/// Finds the best sets of up to `most` kernels over these sizes. `best_kernel` is the ranking of single kernels.
/// `None` where nothing can be compared.
#[must_use]
pub fn portfolio(
    devices: &[&Lines<'_>],
    sizes: &[u64],
    criterion: &Criterion<'_>,
    best_kernel: Option<&Ranking>,
    most: usize,
) -> Option<Portfolio> {
    let places = Places::new(devices, sizes, criterion)?;
    let all: std::collections::BTreeSet<KernelIndex> =
        devices.iter().flat_map(|lines| lines.kernels.iter().copied()).collect();
    let mut kernels = Vec::new();
    let mut lines: Vec<Vec<f64>> = Vec::new();
    for kernel in all {
        let line = places.line(kernel);
        if line.iter().any(Option::is_some) {
            kernels.push(kernel);
            lines.push(line.iter().map(|place| place.map_or(f64::NEG_INFINITY, |(_, x)| x)).collect());
        }
    }
    let magnitude = |metric: Metric| ROUNDING * metric.magnitude(&places.ideal, &places.weights);
    let search = Search {
        metric: criterion.metric,
        tolerance: magnitude(criterion.metric),
        total_tolerance: magnitude(Metric::Sum),
        undominated: match criterion.metric {
            Metric::Cosine => (0..lines.len()).collect(),
            _ => undominated(&lines),
        },
        places,
        lines,
    };
    let mut sets: Vec<KernelSet> = Vec::new();
    let mut previous: Vec<usize> = Vec::new();
    // All of the undominated ones together are the ideal line.
    for count in 1..=most.min(search.undominated.len()) {
        let single = best_kernel.filter(|_| count == 1);
        let (chosen, exact) = match single {
            Some(ranking) => {
                let position = kernels.binary_search(&ranking.winner.kernel).ok()?;
                (vec![position], true)
            }
            None if search.is_small(count) => (search.every_set(count), true),
            None => (search.one_more(&previous), false),
        };
        let line = search.line(&chosen);
        let everywhere = losses(devices, &kernels, &chosen);
        let (compared, elsewhere): (Vec<_>, Vec<_>) =
            everywhere.into_iter().partition(|(n, _)| sizes.contains(n));
        let of = |places: &[(u64, Option<f64>)]| -> Vec<(f64, u64)> {
            places.iter().filter_map(|&(n, loss)| Some((loss?, n))).collect()
        };
        let largest =
            |losses: Vec<(f64, u64)>| losses.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a });
        let losses = of(&compared);
        let not_covered = compared.iter().chain(&elsewhere).filter(|(_, loss)| loss.is_none());
        let mut not_covered: Vec<u64> = not_covered.map(|&(n, _)| n).collect();
        not_covered.sort_unstable();
        sets.push(KernelSet {
            kernels: chosen.iter().map(|&index| kernels[index]).collect(),
            score: search.sign() * search.standing(&line).rank,
            exact,
            uncovered: search.standing(&line).uncovered,
            mean_loss_pct: stats::mean(&losses.iter().map(|loss| loss.0).collect::<Vec<_>>()).unwrap_or(0.0),
            worst: largest(losses).unwrap_or((0.0, 0)),
            worst_elsewhere: largest(of(&elsewhere)),
            not_covered,
        });
        if line.iter().zip(&search.places.ideal).all(|(x, ideal)| x >= ideal) {
            break;
        }
        previous = chosen;
    }
    Some(Portfolio {
        normalization: criterion.normalization,
        candidates: kernels.len(),
        undominated: search.undominated.len(),
        compared: search.places.len(),
        measured: devices.iter().map(|lines| lines.ideal.points.len()).sum(),
        sets,
    })
}

/// The lines that no other one is at least as high as everywhere; of equal ones the first.
fn undominated(lines: &[Vec<f64>]) -> Vec<usize> {
    let covers = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a >= b);
    let is_needed = |&index: &usize| {
        let better = |(other, line): (usize, &Vec<f64>)| {
            other != index && covers(line, &lines[index]) && (other < index || !covers(&lines[index], line))
        };
        !lines.iter().enumerate().any(better)
    };
    (0..lines.len()).filter(is_needed).collect()
}

/// The loss of a set in percent at every size of every device that has an `ok` row; `None` where the set covers it not.
fn losses(devices: &[&Lines<'_>], kernels: &[KernelIndex], chosen: &[usize]) -> Vec<(u64, Option<f64>)> {
    let loss = |lines: &Lines<'_>, n: u64| {
        let cells = chosen.iter().filter_map(|&index| lines.best(kernels[index], n));
        let best = cells.map(|cell| cell.gbps).reduce(f64::max)?;
        Some(100.0 * (1.0 - best / lines.ideal_gbps(n)?))
    };
    let places =
        devices.iter().flat_map(|&lines| lines.ideal.points.iter().map(move |point| (lines, point.n)));
    places.map(|(lines, n)| (n, loss(lines, n))).collect()
}

impl Search<'_> {
    fn sign(&self) -> f64 {
        if self.metric.highest_wins() { -1.0 } else { 1.0 }
    }

    /// Whether every set of so many kernels can be tried.
    fn is_small(&self, count: usize) -> bool {
        let kernels = self.undominated.len() as u64;
        // There are as many sets of k as of all but k, and the number rises up to the middle.
        let taken = (count as u64).min(kernels - count as u64);
        let most = EXACT_LIMIT / self.places.len() as u64;
        let mut sets = 1u64;
        for factor in 0..taken {
            // Each product is divisible: it is a binomial coefficient again.
            sets = sets * (kernels - factor) / (factor + 1);
            if sets > most {
                return false;
            }
        }
        sets <= most
    }

    /// The fastest of these kernels at each place.
    fn line(&self, kernels: &[usize]) -> Vec<f64> {
        let mut line = vec![f64::NEG_INFINITY; self.places.len()];
        kernels.iter().for_each(|&kernel| self.raise(&mut line, kernel));
        line
    }

    fn raise(&self, line: &mut [f64], kernel: usize) {
        for (x, &other) in line.iter_mut().zip(&self.lines[kernel]) {
            *x = x.max(other);
        }
    }

    fn standing(&self, line: &[f64]) -> SetStanding {
        let uncovered = line.iter().filter(|x| **x == f64::NEG_INFINITY).count();
        if uncovered == 0 {
            let rank = self.sign() * self.metric.score(&self.places.ideal, line, &self.places.weights);
            return SetStanding { uncovered, rank, total: self.places.total(line) };
        }
        // What is not covered is left out: it counts as if it were ideal, and any set that covers it comes first.
        let of = |values: &[f64]| -> Vec<f64> {
            let covered = values.iter().zip(line).filter(|(_, x)| **x != f64::NEG_INFINITY);
            covered.map(|(value, _)| *value).collect()
        };
        let (ideal, weights, line) = (of(&self.places.ideal), of(&self.places.weights), of(line));
        let rank = self.sign() * self.metric.score(&ideal, &line, &weights);
        SetStanding { uncovered, rank, total: Metric::Sum.score(&ideal, &line, &weights) }
    }

    /// Whether a set is better than the best one so far; of equal ones the first stays.
    fn is_better(&self, new: &SetStanding, best: &SetStanding) -> bool {
        if new.uncovered != best.uncovered {
            return new.uncovered < best.uncovered;
        }
        if (new.rank - best.rank).abs() > self.tolerance {
            return new.rank < best.rank;
        }
        new.total > best.total + self.total_tolerance
    }

    /// The best of all sets of so many kernels.
    fn every_set(&self, count: usize) -> Vec<usize> {
        let kernels = self.undominated.len();
        // Places in `undominated`.
        let mut chosen: Vec<usize> = (0..count).collect();
        // The line of the first 0, 1, ... kernels of the set.
        let mut lines = vec![vec![f64::NEG_INFINITY; self.places.len()]; count + 1];
        let mut best: Option<(SetStanding, Vec<usize>)> = None;
        let mut changed = 0;
        loop {
            for depth in changed..count {
                let (done, rest) = lines.split_at_mut(depth + 1);
                rest[0].copy_from_slice(&done[depth]);
                self.raise(&mut rest[0], self.undominated[chosen[depth]]);
            }
            let standing = self.standing(&lines[count]);
            if best.as_ref().is_none_or(|(best, _)| self.is_better(&standing, best)) {
                best = Some((standing, chosen.clone()));
            }
            // The next set in order.
            let movable = (0..count).rev().find(|&depth| chosen[depth] < kernels - count + depth);
            let Some(depth) = movable else { break };
            chosen[depth] += 1;
            for later in depth + 1..count {
                chosen[later] = chosen[later - 1] + 1;
            }
            changed = depth;
        }
        let chosen = best.map(|(_, chosen)| chosen).unwrap_or_default();
        chosen.into_iter().map(|place| self.undominated[place]).collect()
    }

    /// The set and the kernel that helps it most.
    fn one_more(&self, set: &[usize]) -> Vec<usize> {
        let line = self.line(set);
        let mut best: Option<(SetStanding, usize)> = None;
        for &kernel in self.undominated.iter().filter(|kernel| !set.contains(kernel)) {
            let mut raised = line.clone();
            self.raise(&mut raised, kernel);
            let standing = self.standing(&raised);
            if best.as_ref().is_none_or(|(best, _)| self.is_better(&standing, best)) {
                best = Some((standing, kernel));
            }
        }
        let mut more = set.to_vec();
        more.extend(best.map(|(_, kernel)| kernel));
        more.sort_unstable();
        more
    }
}
