//! Base and new measured against each other in one night, in alternating blocks: what the gate judges where it can.
//!
//! Two sweeps of two nights differ by more than what changed: by clocks, temperature, the unit, a neighbour. Where
//! what made the base still runs, both can be measured again in turns, and what two neighbouring blocks have in
//! common cancels. A
//! [`Quad`] is four blocks of one config at one size: base, new, new, base, or the other way round; it holds two
//! pairs of neighbours, and a steady drift cancels in it as a whole.
//!
//! The first [`ROUNDS_OF_ALL`] rounds measure every row once each. That is enough for what many rows say together:
//! half of a size, a family. One row alone is another matter: its place in memory, say, may cost it 6 % for the life
//! of a process. So a config that decides alone ([`Roles`]) and looks slower is a suspect, and is measured again
//! in [`ROUNDS_OF_SUSPECTS`] more rounds, each in processes of its own. Only they decide on it: what made it a
//! suspect is not counted twice. The same goes for each row of a size that has fewer than [`GROUP_MIN`].

mod estimate;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

pub use scanbox_model::pair_file::Side;
use scanbox_model::record::Status;

use self::estimate::median;
pub use self::verdict::{
    GROUP_ERRORS, GROUP_LIMIT, GROUP_MIN, GroupChange, Judgement, RowsOf, SINGLE_LIMIT, SingleChange,
    SingleRole, judge,
};
pub(crate) use self::verdict::{POWER, is_powerless};

/// Rounds in which every row is measured.
pub const ROUNDS_OF_ALL: u32 = 2;
/// Rounds in which suspects are measured again.
pub const ROUNDS_OF_SUSPECTS: u32 = 10;
/// Quads of a suspect per round.
pub const QUADS_OF_SUSPECTS: u32 = 2;

/// Four blocks of one config at one size, in which base and new alternate. Each time is the median of a block, in
/// nanoseconds per call.
#[derive(Debug, Clone, PartialEq)]
pub struct Quad {
    /// Input size in elements.
    pub n: u64,
    /// Its label.
    pub config: String,
    /// The round, from 0.
    pub round: u32,
    /// The blocks of the base.
    pub base_ns: [f64; 2],
    /// Those of the new program, each next to the one of the base at the same place.
    pub new_ns: [f64; 2],
}

impl Quad {
    /// `ln(new / base)` of its two pairs of neighbours.
    #[must_use]
    pub fn changes(&self) -> [f64; 2] {
        [0, 1].map(|place| (self.new_ns[place] / self.base_ns[place]).ln())
    }
}

/// A config that one of the programs could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Input size in elements.
    pub n: u64,
    /// Its label.
    pub config: String,
    /// The round, from 0.
    pub round: u32,
    /// Which program.
    pub side: Side,
    /// How it ended.
    pub status: Status,
    /// Why.
    pub reason: String,
}

impl Failed {
    /// Whether the new program could not run what the base's can, for a reason of its own.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.side == Side::New && crate::verdict::breaks(self.status)
    }
}

/// What one night measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pairs {
    /// Times.
    pub quads: Vec<Quad>,
    /// What could not be timed.
    pub failed: Vec<Failed>,
}

/// The configs that decide alone, by size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// The winner of the base: what is shipped.
    pub shipped: BTreeMap<u64, String>,
    /// The best config of the kernel that is watched.
    pub kernel: BTreeMap<u64, String>,
}

impl Roles {
    /// Sizes and labels, each with its role; a config in both has the first one.
    fn all(&self) -> BTreeMap<(u64, &str), SingleRole> {
        let mut all = BTreeMap::new();
        for (role, configs) in [(SingleRole::Kernel, &self.kernel), (SingleRole::Shipped, &self.shipped)] {
            all.extend(configs.iter().map(|(&n, config)| ((n, config.as_str()), role)));
        }
        all
    }
}

/// The configs that decide alone and look slower, by more than `threshold` (a share), after the first rounds, and those
/// of sizes that look slower by few rows: what is to be measured again.
#[must_use]
pub fn suspects(pairs: &Pairs, roles: &Roles, threshold: f64) -> Vec<(u64, String)> {
    let rows = first_changes(pairs);
    let threshold = threshold.ln_1p();
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    rows.iter().for_each(|(&(n, _), &change)| sizes.entry(n).or_default().push(change));
    sizes.retain(|_, changes| changes.len() < GROUP_MIN && median(changes) > Some(threshold));
    let of_few = rows.keys().copied().filter(|(n, _)| sizes.contains_key(n));
    let asked: BTreeSet<(u64, &str)> = roles.all().into_keys().chain(of_few).collect();
    let is_suspect = |key: &(u64, &str)| rows.get(key).is_some_and(|&change| change > threshold);
    asked.into_iter().filter(is_suspect).map(|(n, config)| (n, config.to_owned())).collect()
}

/// The change of every row by the rounds of all: the median of its pairs of neighbours.
fn first_changes(pairs: &Pairs) -> BTreeMap<(u64, &str), f64> {
    let mut rows: BTreeMap<(u64, &str), Vec<f64>> = BTreeMap::new();
    for quad in pairs.quads.iter().filter(|quad| quad.round < ROUNDS_OF_ALL) {
        rows.entry((quad.n, quad.config.as_str())).or_default().extend(quad.changes());
    }
    rows.into_iter().filter_map(|(key, mut changes)| Some((key, median(&mut changes)?))).collect()
}

impl Pairs {
    /// The time of the base's own program for every row, in nanoseconds: the median of its blocks.
    #[must_use]
    pub fn base_times(&self) -> BTreeMap<(u64, &str), f64> {
        let mut rows: BTreeMap<(u64, &str), Vec<f64>> = BTreeMap::new();
        for quad in self.quads.iter().filter(|quad| quad.round < ROUNDS_OF_ALL) {
            rows.entry((quad.n, quad.config.as_str())).or_default().extend(quad.base_ns);
        }
        rows.into_iter().filter_map(|(key, mut times)| Some((key, median(&mut times)?))).collect()
    }
}
