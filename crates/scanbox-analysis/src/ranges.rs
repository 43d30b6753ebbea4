//! Which config to take in which range of sizes: what a pack says.
//!
//! A range has one config, and as few ranges as possible cover all sizes: a config stays as long as it is within 2 % of
//! the best of those that may be taken, since nearer ties are chance. Of those that are, the one that stays longest is
//! taken. Between the last size of a range and the first one of the next, the two change where the straight lines
//! between their times meet, as in [`mod@crate::between`].
//!
//! What a choice loses is said against the fastest of all that was measured, whether it may be taken or not.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::config::{Config, Family};

use crate::table::{Catalog, DeviceTable};

/// By how much a config may be slower than the best one and still be as good, in parts per million.
pub const NEAR_PPM: u32 = 20_000;

/// Whether a time is as good as the best one.
fn is_near(ns: f64, best: f64) -> bool {
    ns <= best * (1.0 + f64::from(NEAR_PPM) / 1e6)
}

/// Stand-ins of a range at most.
const MOST_OTHERS: usize = 3;

/// The time of a config at a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfigTime {
    /// Nanoseconds, on one scale with all others of the size ([`crate::confirmed`]).
    pub ns: f64,
    /// Whether a confirmation measured it.
    pub confirmed: bool,
}

/// The times of configs by size. A number of workgroups that stands for a size is left to the size.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeGrid {
    /// Sizes in elements, ascending.
    sizes: Vec<u64>,
    /// The fastest of all at each size, in nanoseconds.
    fastest_ns: Vec<f64>,
    /// By config, then by size.
    configs: Vec<(Config, Vec<Option<ConfigTime>>)>,
}

/// A config and the sizes that it is taken for.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeRange {
    /// The fewest elements. The range ends where the next one begins.
    pub from: u64,
    /// The config.
    pub config: Config,
    /// What stands in for it where it cannot be had, the best one first.
    pub others: Vec<Config>,
    /// How much slower than the fastest of all it is at the worst size of the range, in parts per million; `None` where
    /// it has no time at a size of the range.
    pub worst_loss_ppm: Option<u32>,
}

/// What a choice loses over all sizes, in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChoiceLoss {
    /// The arithmetic mean.
    pub mean_ppm: u32,
    /// The largest one.
    pub worst_ppm: u32,
    /// At this size.
    pub worst_at: u64,
    /// Sizes that have a time of what was chosen.
    pub sizes: usize,
}

impl TimeGrid {
    /// The times of a table.
    #[must_use]
    pub fn of(catalog: &Catalog, table: &DeviceTable) -> Self {
        let count = table.sizes.len();
        let mut configs: BTreeMap<Config, Vec<Option<ConfigTime>>> = BTreeMap::new();
        let mut fastest_ns = vec![f64::INFINITY; count];
        for (size, fastest) in fastest_ns.iter_mut().enumerate() {
            for cell in table.cells_at(size) {
                *fastest = fastest.min(cell.time_ns);
                let config = Config { workgroups: None, ..*catalog.config(cell.config) };
                let time = ConfigTime { ns: cell.time_ns, confirmed: cell.confirmed_ns.is_some() };
                put(&mut configs.entry(config).or_insert_with(|| vec![None; count])[size], time);
            }
        }
        Self { sizes: table.sizes.clone(), fastest_ns, configs: configs.into_iter().collect() }
    }

    /// The times of those that may be taken, under the names that `taken_as` gives them. The fastest of all stays.
    #[must_use]
    pub fn only(&self, taken_as: impl Fn(&Config) -> Option<Config>) -> Self {
        let mut configs: BTreeMap<Config, Vec<Option<ConfigTime>>> = BTreeMap::new();
        for (config, times) in &self.configs {
            let Some(name) = taken_as(config) else { continue };
            let slots = configs.entry(name).or_insert_with(|| vec![None; times.len()]);
            for (slot, time) in slots.iter_mut().zip(times) {
                time.iter().for_each(|time| put(slot, *time));
            }
        }
        let (sizes, fastest_ns) = (self.sizes.clone(), self.fastest_ns.clone());
        Self { sizes, fastest_ns, configs: configs.into_iter().collect() }
    }

    /// Sizes in elements, ascending.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The largest size at which one of the configs has a time.
    #[must_use]
    pub fn largest(&self) -> Option<u64> {
        let has = |size: &usize| self.configs.iter().any(|(_, times)| times[*size].is_some());
        (0..self.sizes.len()).rfind(has).map(|size| self.sizes[size])
    }

    /// The configs, by parameters.
    pub fn configs(&self) -> impl Iterator<Item = &Config> {
        self.configs.iter().map(|(config, _)| config)
    }

    /// The times of a config, by size.
    pub fn times(&self, config: &Config) -> impl Iterator<Item = (u64, ConfigTime)> {
        let row = self.row(config);
        let times = row.iter().flat_map(|&row| self.configs[row].1.iter().enumerate());
        let times: Vec<_> = times.filter_map(|(size, time)| Some((self.sizes[size], (*time)?))).collect();
        times.into_iter()
    }

    fn row(&self, config: &Config) -> Option<usize> {
        self.configs.binary_search_by(|(other, _)| other.cmp(config)).ok()
    }

    fn ns(&self, row: usize, size: usize) -> Option<f64> {
        self.configs[row].1[size].map(|time| time.ns)
    }

    /// How much slower than the fastest of all a config is at a size, as a share.
    fn loss(&self, row: usize, size: usize) -> Option<f64> {
        Some((self.ns(row, size)? / self.fastest_ns[size] - 1.0).max(0.0))
    }

    /// The sizes at which one of these has a time, and the smallest of them there.
    fn best(&self, rows: &[usize]) -> Vec<(usize, f64)> {
        let best = |size| rows.iter().filter_map(|&row| self.ns(row, size)).min_by(f64::total_cmp);
        (0..self.sizes.len()).filter_map(|size| Some((size, best(size)?))).collect()
    }

    /// The ranges of all sizes with at most `most` configs, ascending; none where nothing may be taken. The first one
    /// begins with one element.
    #[must_use]
    pub fn ranges(&self, most: Option<usize>) -> Vec<SizeRange> {
        let all: Vec<usize> = (0..self.configs.len()).collect();
        let rows = most.map_or_else(|| all.clone(), |most| self.fewest(&all, most.max(1)));
        let best = self.best(&rows);
        let near = |row: usize, at: usize| {
            let (size, ns) = best[at];
            self.ns(row, size).is_some_and(|own| is_near(own, ns))
        };
        // First and last place in `best`, and what runs there.
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        let mut at = 0;
        while at < best.len() {
            let end = |row: usize| (at..best.len()).find(|&at| !near(row, at)).unwrap_or(best.len());
            let sum = |row: usize| (at..end(row)).filter_map(|at| self.loss(row, best[at].0)).sum::<f64>();
            let used = |row: usize| runs.iter().any(|run| run.2 == row);
            let better = |a: &usize, b: &usize| {
                let longer = end(*b).cmp(&end(*a));
                longer.then(used(*b).cmp(&used(*a))).then(sum(*a).total_cmp(&sum(*b)))
            };
            let Some(row) = rows.iter().copied().filter(|&row| near(row, at)).min_by(better) else { break };
            let behind = end(row);
            runs.push((at, behind - 1, row));
            at = behind;
        }
        let mut from = 1;
        let mut ranges = Vec::new();
        for (place, &(_, last, row)) in runs.iter().enumerate() {
            let last = best[last].0;
            let next =
                runs.get(place + 1).map(|&(first, _, next)| self.change((last, row), (best[first].0, next)));
            let chosen: BTreeSet<usize> = runs.iter().map(|run| run.2).collect();
            ranges.push(self.range(from, next, row, &chosen, &rows));
            from = next.unwrap_or(from);
        }
        ranges
    }

    /// One config for all sizes, since only the device knows how many elements a call has: the one whose worst loss is
    /// the smallest, of those that have a time at the largest size. Of these, those that start as many workgroups for
    /// few elements as for many come first: what others start and do not need takes a time that no row shows.
    #[must_use]
    pub fn one_for_all(&self) -> Option<SizeRange> {
        let all: Vec<usize> = (0..self.configs.len()).collect();
        let (largest, _) = *self.best(&all).last()?;
        let (steady, growing): (Vec<usize>, Vec<usize>) = all
            .into_iter()
            .filter(|&row| self.ns(row, largest).is_some())
            .partition(|&row| !grows(&self.configs[row].0));
        let rows = if steady.is_empty() { growing } else { steady.clone() };
        let row = *self.fewest(&rows, 1).first()?;
        let range = self.range(1, None, row, &BTreeSet::from([row]), &rows);
        let worst_loss_ppm = range.worst_loss_ppm.filter(|_| !steady.is_empty());
        Some(SizeRange { worst_loss_ppm, ..range })
    }

    /// At most so many of these configs, whose largest loss is small: each one more makes it the smallest, and then one
    /// takes the place of another as long as that makes it smaller. The first ones have to be good everywhere, and the
    /// later ones leave them to be good in places.
    fn fewest(&self, rows: &[usize], most: usize) -> Vec<usize> {
        let sizes: Vec<usize> = self.best(rows).into_iter().map(|(size, _)| size).collect();
        let price = |chosen: &[usize]| {
            Price::of(&sizes, |size| {
                chosen.iter().filter_map(|&row| self.loss(row, size)).min_by(f64::total_cmp)
            })
        };
        let cheapest = |sets: &mut dyn Iterator<Item = Vec<usize>>| {
            sets.map(|set| (price(&set), set)).min_by(|(a, _), (b, _)| a.cmp(b))
        };
        let mut chosen: Vec<usize> = Vec::new();
        let mut paid = price(&chosen);
        while chosen.len() < most.min(rows.len()) {
            let others = rows.iter().filter(|row| !chosen.contains(row));
            let more = cheapest(&mut others.map(|&row| [&chosen[..], &[row]].concat()));
            let Some(next) = more else { break };
            (paid, chosen) = next;
        }
        loop {
            let others = rows.iter().filter(|row| !chosen.contains(row));
            let swaps = others.flat_map(|&row| (0..chosen.len()).map(move |place| (place, row)));
            let swapped = |(place, row): (usize, usize)| {
                let mut swapped = chosen.clone();
                swapped[place] = row;
                swapped
            };
            let best = cheapest(&mut swaps.map(swapped)).filter(|(price, _)| price.cmp(&paid).is_lt());
            let Some(next) = best else { break };
            (paid, chosen) = next;
        }
        chosen.sort_unstable();
        chosen
    }

    /// The fewest elements for which `next`, which runs at a size, is taken in place of `row`, which runs at a smaller
    /// one.
    fn change(&self, (low, row): (usize, usize), (high, next): (usize, usize)) -> u64 {
        let (from, to) = (self.sizes[low], self.sizes[high]);
        let ahead = |size| Some(self.ns(row, size)? - self.ns(next, size)?);
        match (ahead(low), ahead(high)) {
            (Some(below), Some(above)) if below < 0.0 && above > 0.0 => {
                let share = -below / (above - below);
                (from + (share * (to - from) as f64).ceil() as u64).clamp(from + 1, to)
            }
            // What was measured at both ends is known to be fine in between.
            (Some(below), _) if below >= 0.0 => from + 1,
            (Some(_), None) => from + 1,
            (_, Some(_)) => to,
            (None, None) => from + (to - from).div_ceil(2),
        }
    }

    /// For calls that have about as many elements as the largest size or more: of the configs that are near the best
    /// there, the one with the smallest batch, whose code is the shortest. No other one stands in for it: few programs
    /// have such calls.
    #[must_use]
    pub fn shortest_of_largest(&self) -> Option<SizeRange> {
        let all: Vec<usize> = (0..self.configs.len()).collect();
        let (largest, best) = *self.best(&all).last()?;
        let rows = all
            .into_iter()
            .filter_map(|row| Some((row, self.ns(row, largest).filter(|ns| is_near(*ns, best))?)));
        let length = |row: usize| self.configs[row].0.kernel.batch_size;
        let (row, _) =
            rows.min_by(|one, other| length(one.0).cmp(&length(other.0)).then(one.1.total_cmp(&other.1)))?;
        Some(self.range(1, None, row, &BTreeSet::from([row]), &[row]))
    }

    fn range(
        &self,
        from: u64,
        next: Option<u64>,
        row: usize,
        chosen: &BTreeSet<usize>,
        rows: &[usize],
    ) -> SizeRange {
        let inside = |n: &u64| *n >= from && next.is_none_or(|next| *n < next);
        let sizes: Vec<usize> = (0..self.sizes.len()).filter(|&size| inside(&self.sizes[size])).collect();
        let worst = |row: usize| {
            let losses: Option<Vec<f64>> = sizes.iter().map(|&size| self.loss(row, size)).collect();
            losses.filter(|losses| !losses.is_empty()).map(|losses| losses.into_iter().fold(0.0, f64::max))
        };
        let ranked = |candidates: &mut dyn Iterator<Item = usize>| {
            let mut ranked: Vec<(f64, usize)> = candidates
                .filter(|other| *other != row)
                .filter_map(|other| Some((worst(other)?, other)))
                .collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            ranked
        };
        // What is in the pack already costs nothing; where there is nothing else, one more is worth its place.
        let mut others = ranked(&mut chosen.iter().copied());
        others.truncate(MOST_OTHERS);
        if others.is_empty() {
            let kernel = |row: usize| self.configs[row].0.kernel;
            let another = rows.iter().copied().filter(|&other| kernel(other) != kernel(row));
            others.extend(ranked(&mut another.into_iter()).first().copied());
        }
        SizeRange {
            from,
            config: self.configs[row].0,
            others: others.into_iter().map(|(_, other)| self.configs[other].0).collect(),
            worst_loss_ppm: worst(row).map(ppm),
        }
    }

    /// The same times, of which the fastest at each size is one of these.
    #[must_use]
    pub fn among_themselves(mut self) -> Self {
        for (size, fastest) in self.fastest_ns.iter_mut().enumerate() {
            let times = self.configs.iter().filter_map(|(_, times)| Some(times[size]?.ns));
            *fastest = times.fold(f64::INFINITY, f64::min);
        }
        self
    }

    /// What ranges lose at each size that has a time of what runs there, as a share.
    fn shares(&self, ranges: &[SizeRange]) -> Vec<(u64, f64)> {
        let share = |(size, &n): (usize, &u64)| {
            let range = ranges.partition_point(|range| range.from <= n).checked_sub(1)?;
            Some((n, self.loss(self.row(&ranges[range].config)?, size)?))
        };
        self.sizes.iter().enumerate().filter_map(share).collect()
    }

    /// What ranges lose at each size that has a time of what runs there, in parts per million.
    #[must_use]
    pub fn losses_of(&self, ranges: &[SizeRange]) -> Vec<(u64, u32)> {
        self.shares(ranges).into_iter().map(|(n, share)| (n, ppm(share))).collect()
    }

    /// What ranges lose; `None` where none of their configs has a time.
    #[must_use]
    pub fn loss_of(&self, ranges: &[SizeRange]) -> Option<ChoiceLoss> {
        let losses = self.shares(ranges);
        let (worst_at, worst) = *losses.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
        let mean = losses.iter().map(|(_, loss)| loss).sum::<f64>() / losses.len() as f64;
        Some(ChoiceLoss { mean_ppm: ppm(mean), worst_ppm: ppm(worst), worst_at, sizes: losses.len() })
    }
}

/// What a set of configs loses: the sizes that it has no time at, its largest loss, and the sum of all.
#[derive(Debug, Clone, Copy)]
struct Price(usize, f64, f64);

impl Price {
    /// Of the losses at these sizes.
    fn of(sizes: &[usize], loss: impl Fn(usize) -> Option<f64>) -> Self {
        sizes.iter().fold(Self(0, 0.0, 0.0), |Self(missing, worst, sum), &size| match loss(size) {
            Some(loss) => Self(missing, worst.max(loss), sum + loss),
            None => Self(missing + 1, worst, sum),
        })
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let Self(missing, worst, sum) = self;
        missing.cmp(&other.0).then(worst.total_cmp(&other.1)).then(sum.total_cmp(&other.2))
    }
}

/// Keeps the shorter time.
fn put(slot: &mut Option<ConfigTime>, time: ConfigTime) {
    if slot.is_none_or(|other| time.ns < other.ns) {
        *slot = Some(time);
    }
}

/// Whether a call starts more workgroups the more elements it is laid out for.
fn grows(config: &Config) -> bool {
    match config.kernel.family {
        Family::ChainedScan | Family::Recompute | Family::ReduceThenScan | Family::ScanThenPropagate => true,
        Family::OneWorkgroup | Family::Persistent => false,
    }
}

/// A share in parts per million, rounded up, so that no loss is said to be smaller than it is.
fn ppm(share: f64) -> u32 {
    // Times have at most ten significant digits; what lies behind them is rounding.
    (share * 1e6 - 1e-3).ceil().max(0.0) as u32
}
