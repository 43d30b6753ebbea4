//! The ideal configuration set, A1 (thesis 5.1): the best config for each size.
//!
//! Of two configs the better one has the higher throughput; where those are equal the lower relative spread; then the
//! kernel that the set needs at more of the other sizes; then the fixed order of the parameters.
//!
//! Throughput is by the one time that each row has ([`crate::confirmed`]): where the leaders of a size were confirmed
//! (`scanbox sweep --confirm`), the best is the one with the smallest confirmed time, and everything beside it is
//! relative to that.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::table::{Catalog, Cell, DeviceTable, KernelIndex};

/// The best config at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdealPoint {
    /// Input size in elements.
    pub n: u64,
    /// The best config and its time.
    pub best: Cell,
    /// The second-best config; `None` where only one is `ok`.
    pub runner_up: Option<Cell>,
    /// By how much the best is faster than the runner-up, in percent of the runner-up; never below 0.
    pub margin_pct: Option<f64>,
    /// How far units of the model lie apart in that lead, in percent of the runner-up (see [`crate::pool`]): a lead
    /// that is not above it is a tie. `None` of one unit.
    pub unit_spread_pct: Option<f64>,
    /// Other configs that cannot be told from the best (see [`crate::stats`] and [`crate::pool`]).
    pub ties: usize,
    /// Configs that are `ok` at this size.
    pub configs: usize,
    /// The ceiling of this size, in GB/s.
    pub ceiling_gbps: Option<f64>,
    /// How many measurements it is the median of.
    pub ceiling_count: u64,
    /// The fastest scan of another implementation at this size, in GB/s.
    pub baseline_gbps: Option<f64>,
    /// The fastest scan of scanbox's own in the run of that one, in GB/s; `None` where it has none.
    pub baseline_own_gbps: Option<f64>,
}

impl IdealPoint {
    /// The best in percent of the ceiling (A20).
    #[must_use]
    pub fn ceiling_pct(&self) -> Option<f64> {
        self.ceiling_gbps.map(|ceiling| 100.0 * self.best.gbps / ceiling)
    }

    /// How many times as fast as the fastest scan of another implementation the fastest one of the same run is. Where
    /// that run has none of scanbox's own, the best of this sweep, which was measured in another run, stands for it.
    #[must_use]
    pub fn baseline_ratio(&self) -> Option<f64> {
        let own = self.baseline_own_gbps.unwrap_or(self.best.gbps);
        self.baseline_gbps.map(|baseline| own / baseline)
    }
}

/// The best config for each size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IdealSet {
    /// By size, ascending; as [`DeviceTable::sizes`].
    pub points: Vec<IdealPoint>,
    /// At how many sizes the set uses each kernel: its length is how many kernels have to be shipped.
    pub uses: BTreeMap<KernelIndex, usize>,
}

/// Better first: throughput, then what was confirmed, of confirmed ones the faster in the sweep, then spread. Equal
/// where only the tie-breaks that look at other sizes or at the parameters can decide.
pub(crate) fn by_measurement(a: &Cell, b: &Cell) -> Ordering {
    let unconfirmed = |cell: &Cell| cell.confirmed_ns.is_none();
    let both_confirmed = !unconfirmed(a) && !unconfirmed(b);
    let in_sweep = |cell: &Cell| if both_confirmed { cell.median_ns } else { 0 };
    b.gbps
        .total_cmp(&a.gbps)
        .then_with(|| unconfirmed(a).cmp(&unconfirmed(b)))
        .then_with(|| in_sweep(a).cmp(&in_sweep(b)))
        .then_with(|| a.relative_spread().total_cmp(&b.relative_spread()))
}

/// Of the rows of a size the one that wins, `fastest` being the one that its own measurement shows as the fastest:
/// where that one was confirmed, the one with the smallest confirmed time, else that one. (A sweep that went on after
/// its confirmation may have found a faster one since.)
pub fn winner<'a, T>(
    fastest: &'a T,
    rows: impl IntoIterator<Item = &'a T>,
    confirmed_ns: impl Fn(&T) -> Option<u64>,
) -> &'a T {
    if confirmed_ns(fastest).is_none() {
        return fastest;
    }
    let confirmed = rows.into_iter().filter(|row| confirmed_ns(row).is_some());
    // Of equal ones the fastest by its own measurement stays.
    confirmed.fold(fastest, |best, row| if confirmed_ns(row) < confirmed_ns(best) { row } else { best })
}

/// Finds the ideal configuration set of one run of one device.
#[must_use]
pub fn ideal_set(catalog: &Catalog, table: &DeviceTable) -> IdealSet {
    let undisputed = undisputed_uses(catalog, table);
    let uses = |cell: &Cell| undisputed.get(&catalog.kernel_of(cell.config)).copied().unwrap_or(0);
    let better = |a: &Cell, b: &Cell| {
        by_measurement(a, b).then_with(|| uses(b).cmp(&uses(a))).then_with(|| a.config.cmp(&b.config))
    };
    let mut set = IdealSet::default();
    for (index, &n) in table.sizes.iter().enumerate() {
        let cells = table.cells_at(index);
        let Some(best) = cells.iter().min_by(|a, b| better(a, b)) else { continue };
        let others = || cells.iter().filter(|cell| cell.config != best.config);
        let runner_up = others().min_by(|a, b| better(a, b)).copied();
        *set.uses.entry(catalog.kernel_of(best.config)).or_insert(0) += 1;
        set.points.push(IdealPoint {
            n,
            best: *best,
            runner_up,
            margin_pct: runner_up.map(|second| 100.0 * (best.gbps / second.gbps - 1.0)),
            unit_spread_pct: runner_up
                .and_then(|second| table.lead_spread(index, best.config, second.config))
                .map(|spread| 100.0 * spread),
            ties: others().filter(|cell| table.is_tie(index, best, cell)).count(),
            configs: cells.len(),
            baseline_gbps: table.baselines.get(&n).map(|other| other.gbps).filter(|&gbps| gbps > 0.0),
            baseline_own_gbps: table.baselines.get(&n).and_then(|other| other.own_gbps),
            ceiling_gbps: table.ceiling_gbps.get(&n).copied().filter(|&gbps| gbps > 0.0),
            ceiling_count: table.ceiling_counts.get(&n).copied().unwrap_or_default(),
        });
    }
    set
}

/// At how many sizes each kernel is best by measurement alone, no other kernel being equal.
fn undisputed_uses(catalog: &Catalog, table: &DeviceTable) -> BTreeMap<KernelIndex, usize> {
    let mut uses = BTreeMap::new();
    for index in 0..table.sizes.len() {
        let cells = table.cells_at(index);
        let Some(best) = cells.iter().min_by(|a, b| by_measurement(a, b)) else { continue };
        let equal = cells.iter().filter(|cell| by_measurement(cell, best) == Ordering::Equal);
        let kernels: BTreeSet<KernelIndex> = equal.map(|cell| catalog.kernel_of(cell.config)).collect();
        if let (1, Some(&kernel)) = (kernels.len(), kernels.first()) {
            *uses.entry(kernel).or_insert(0) += 1;
        }
    }
    uses
}
