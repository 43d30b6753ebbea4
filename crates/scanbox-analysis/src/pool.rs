//! Units of one model whose rows are taken together: what each unit found, and how far units lie apart.
//!
//! A point's time is the median over its units. What a lead is worth depends on the units too: where each of them has
//! both configs, a unit that is slow as a whole is slow in both, and only what the two do not share stands against the
//! lead. So the spread that stands beside a lead is that of the lead itself over the units that have both; where there
//! are fewer than two, and the configs are of different units, it is how far units lie apart as a whole. A lead that
//! is not above its spread is a tie. Spreads are interquartile ranges: half the units lie within them.

use crate::identity::DeviceIdentity;

/// What becomes of the units of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Units {
    /// Together where they complement each other: none has nine tenths of the points that they have together.
    #[default]
    Auto,
    /// Together.
    Pool,
    /// Each has a table of its own.
    Each,
}

/// The units behind a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnitPool {
    /// Those whose rows are in it, with what each is called; two at least.
    pub units: Vec<(DeviceIdentity, String)>,
    /// How far they lie apart as a whole, as a share, by the points that several have; `None` where none does.
    pub spread: Option<f64>,
    /// Where the times of each cell start, and the end.
    pub(crate) starts: Vec<usize>,
    /// By cell, then by unit.
    pub(crate) times: Vec<UnitTime>,
}

/// What one unit found of a point. Small: of a thousand units there are many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UnitTime {
    /// The position of the unit in [`UnitPool::units`].
    pub unit: u32,
    /// Nanoseconds; only ratios are taken of it.
    pub ns: f32,
}

impl UnitPool {
    fn of_cell(&self, cell: usize) -> &[UnitTime] {
        &self.times[self.starts[cell]..self.starts[cell + 1]]
    }

    /// The spread over units of the lead of one cell of the table over another one, as a share.
    pub(crate) fn lead_spread(&self, best: usize, other: usize) -> Option<f64> {
        let [best, other] = [best, other].map(|cell| self.of_cell(cell));
        let time = |of: &[UnitTime], unit: u32| {
            of.binary_search_by_key(&unit, |time| time.unit).ok().map(|place| f64::from(of[place].ns))
        };
        let ratio = |one: &UnitTime| Some(time(other, one.unit)? / f64::from(one.ns));
        let mut ratios: Vec<f64> = best.iter().filter_map(ratio).collect();
        if ratios.len() >= 2 {
            return Some(interquartile_range(&mut ratios));
        }
        let is_one_unit = ratios.len() == 1 && best.len() == 1 && other.len() == 1;
        self.spread.filter(|_| !is_one_unit)
    }
}

/// The range that half of the values lie in; 0 of fewer than two. Sorts them.
pub(crate) fn interquartile_range(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let at = |share: f64| {
        let place = share * last as f64;
        let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
        below + place.fract() * (above - below)
    };
    at(0.75) - at(0.25)
}
