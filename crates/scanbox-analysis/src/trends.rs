//! Trends, A21 (thesis 5.2 and figures 5.1 to 5.3): which value of each parameter wins at which size, and what is lost
//! where a parameter is pinned to one value.

use std::collections::BTreeMap;

use scanbox_model::parameters::{PARAMETERS, Value};

use crate::ideal::by_measurement;
use crate::lines::Lines;
use crate::stats;
use crate::table::{Catalog, Cell};
use crate::warning::Warning;

/// One parameter over the sizes of one run of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The name of its column.
    pub parameter: &'static str,
    /// Its value in the ideal configuration set, by size, ascending.
    pub ideal: Vec<(u64, Value)>,
    /// The best line with the parameter pinned to each of its values, ascending by value; at least two.
    pub pinned: Vec<PinnedLine>,
}

/// The best that configs with one value of a parameter reach.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedLine {
    /// The value.
    pub value: Value,
    /// The sizes where a config with it is `ok`, ascending.
    pub points: Vec<PinnedPoint>,
}

/// One size of a pinned line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinnedPoint {
    /// Input size in elements.
    pub n: u64,
    /// The best config with the value.
    pub best: Cell,
    /// What is lost against the ideal line, in percent of it.
    pub loss_pct: f64,
}

impl PinnedLine {
    /// The point at a size.
    #[must_use]
    pub fn at(&self, n: u64) -> Option<&PinnedPoint> {
        self.points.binary_search_by_key(&n, |point| point.n).ok().map(|index| &self.points[index])
    }

    /// The point with the largest loss, the smallest size of several.
    #[must_use]
    pub fn worst(&self) -> Option<&PinnedPoint> {
        self.points.iter().reduce(|worst, point| if point.loss_pct > worst.loss_pct { point } else { worst })
    }

    /// The arithmetic mean of the loss over its sizes, in percent.
    #[must_use]
    pub fn mean_loss_pct(&self) -> Option<f64> {
        let losses: Vec<f64> = self.points.iter().map(|point| point.loss_pct).collect();
        stats::mean(&losses)
    }
}

/// A value that a parameter may have at each of some sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant<'a> {
    /// The value.
    pub value: &'a Value,
    /// The arithmetic mean of what it loses over these sizes, in percent.
    pub mean_loss_pct: f64,
    /// The most that it loses.
    pub worst_loss_pct: f64,
    /// At this size, the smallest of several.
    pub worst_at: u64,
    /// How many other values have a config at each of these sizes.
    pub rivals: usize,
}

impl Trend {
    /// The value to pin the parameter to for these sizes: of the values that have a config at every one of them the
    /// one that loses least on average, the first of several. `None` where no value has one.
    #[must_use]
    pub fn constant(&self, sizes: &[u64]) -> Option<Constant<'_>> {
        let losses = |line: &PinnedLine| {
            sizes.iter().map(|&n| Some((line.at(n)?.loss_pct, n))).collect::<Option<Vec<(f64, u64)>>>()
        };
        let whole: Vec<Constant<'_>> = self
            .pinned
            .iter()
            .filter_map(|line| {
                let losses = losses(line)?;
                let mean_loss_pct = stats::mean(&losses.iter().map(|loss| loss.0).collect::<Vec<f64>>())?;
                let (worst_loss_pct, worst_at) =
                    losses.into_iter().reduce(|worst, loss| if loss.0 > worst.0 { loss } else { worst })?;
                Some(Constant { value: &line.value, mean_loss_pct, worst_loss_pct, worst_at, rivals: 0 })
            })
            .collect();
        let rivals = whole.len().checked_sub(1)?;
        let best = whole
            .into_iter()
            .reduce(|best, other| if other.mean_loss_pct < best.mean_loss_pct { other } else { best })?;
        Some(Constant { rivals, ..best })
    }

    /// What the wrong value costs at a size: the largest loss of a value that has a config there, in percent.
    #[must_use]
    pub fn stakes_pct(&self, n: u64) -> Option<f64> {
        self.pinned.iter().filter_map(|line| line.at(n)).map(|point| point.loss_pct).max_by(f64::total_cmp)
    }

    /// At how many sizes the ideal configuration set goes over to another value.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.ideal.windows(2).filter(|pair| pair[0].1 != pair[1].1).count()
    }
}

/// The trend of every parameter that has at least two values among the `ok` rows, in the order of [`PARAMETERS`].
#[must_use]
pub fn trends(catalog: &Catalog, lines: &Lines<'_>) -> (Vec<Trend>, Vec<Warning>) {
    let table = lines.table;
    let mut answer = Vec::new();
    for parameter in PARAMETERS {
        let value = |cell: &Cell| parameter.value(catalog.config(cell.config));
        let mut best: BTreeMap<Value, BTreeMap<u64, Cell>> = BTreeMap::new();
        for (index, &n) in table.sizes.iter().enumerate() {
            for cell in table.cells_at(index) {
                let of_size = best.entry(value(cell)).or_default().entry(n).or_insert(*cell);
                // Cells come by config, so of equal ones the first by parameters stays.
                if by_measurement(cell, of_size).is_lt() {
                    *of_size = *cell;
                }
            }
        }
        // Rows from before there was a parameter without a column had its default: nobody chose between values.
        let chosen = |value: &Value| *value != Value::Open && Some(*value) != parameter.default;
        if best.len() < 2 || (parameter.column.is_none() && !best.keys().any(chosen)) {
            continue;
        }
        let point = |(n, best): (u64, Cell)| {
            let ideal_gbps = lines.ideal_gbps(n)?;
            Some(PinnedPoint { n, best, loss_pct: 100.0 * (1.0 - best.gbps / ideal_gbps) })
        };
        let line = |(value, best): (Value, BTreeMap<u64, Cell>)| PinnedLine {
            value,
            points: best.into_iter().filter_map(point).collect(),
        };
        answer.push(Trend {
            parameter: parameter.name,
            ideal: lines.ideal.points.iter().map(|point| (point.n, value(&point.best))).collect(),
            pinned: best.into_iter().map(line).collect(),
        });
    }
    let one_size = Warning::OneSize { device: table.title.clone() };
    (answer, if table.sizes.len() == 1 { vec![one_size] } else { Vec::new() })
}
