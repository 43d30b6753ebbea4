//! Units that are off: what every shard of a split size measures beside its points says by how much.
//!
//! Where the configs of a size are spread over units, a unit that is slower than the others makes its configs look
//! slow. The anchors show it. The time of a unit at an anchor over the median of all units is its ratio there; its
//! ratio at a size is the median of those, and its ratio that of all anchors. A unit whose ratio is off by more than
//! [`OFF_PCT`] is left out; of two units nobody can say which one is off. The times of a shard whose anchors took
//! another time at its end than at its start ([`scanbox_model::shard::ShardOf::drifted_pct`]) are left out, too: the
//! first and the last ones are not comparable. What failed, or was wrong, stays: that says nothing of speed.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::merged::{MergedInput, MergedUnit};
use scanbox_model::record::{Record, Status};
use scanbox_model::units::plural;

use super::rows::is_of_point;
use crate::spread::median;

/// By how much a unit may be slower or faster than the median of all, in percent.
pub const OFF_PCT: f64 = 5.0;
/// So many units tell which one of them is off.
const UNITS_MIN: usize = 3;

/// How a unit stands to the others.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitRatio {
    /// The unit.
    pub unit: MergedUnit,
    /// Its time over that of all units, the median of all anchors.
    pub ratio: f64,
    /// The same at each size.
    pub ratios: BTreeMap<u64, f64>,
    /// Whether it is off.
    pub is_off: bool,
}

impl UnitRatio {
    /// By how much it is slower or faster than the others, as a clause.
    #[must_use]
    pub fn how(&self) -> String {
        let Self { unit, ratio, .. } = self;
        let (by, how) = (100.0 * (ratio - 1.0).abs(), if *ratio > 1.0 { "slower" } else { "faster" });
        format!("{unit} is {by:.1} % {how} than the others at the anchors")
    }
}

/// What is left out of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitsLeftOut {
    /// Why, one sentence for each unit and shard.
    pub reasons: Vec<String>,
    /// How many rows of points.
    pub rows: u64,
}

/// How units stand to each other by their anchors; nothing where there are none. Anchors of shards that drifted are at
/// no one speed, so that they judge nobody: rows of `inputs`, the files that all rows are of.
#[must_use]
pub fn ratios<'a>(records: impl IntoIterator<Item = &'a Record>, inputs: &[MergedInput]) -> Vec<UnitRatio> {
    let mut times: BTreeMap<(u64, &str), BTreeMap<MergedUnit, Vec<f64>>> = BTreeMap::new();
    let judges = |row: &&Record| row.is_anchor() && row.status == Status::Ok && !is_of_drifted(row, inputs);
    for row in records.into_iter().filter(judges) {
        let Some(time) = row.steady else { continue };
        let of_anchor = times.entry((row.n_elements, &row.config_id)).or_default();
        of_anchor.entry(MergedUnit::of(row)).or_default().push(time.median_ns as f64);
    }
    let mut units: BTreeMap<MergedUnit, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    let all: BTreeSet<&MergedUnit> = times.values().flat_map(BTreeMap::keys).collect();
    let judges = all.len() >= UNITS_MIN;
    for ((n, _), of_anchor) in &times {
        let of_units: Vec<(&MergedUnit, f64)> =
            of_anchor.iter().filter_map(|(unit, times)| Some((unit, median(&mut times.clone())?))).collect();
        let fleet = median(&mut of_units.iter().map(|(_, time)| *time).collect::<Vec<_>>());
        let Some(fleet) = fleet.filter(|fleet| *fleet > 0.0) else { continue };
        for (unit, time) in of_units {
            units.entry(unit.clone()).or_default().entry(*n).or_default().push(time / fleet);
        }
    }
    let of_unit = |(unit, sizes): (MergedUnit, BTreeMap<u64, Vec<f64>>)| {
        let mut together: Vec<f64> = sizes.values().flatten().copied().collect();
        let ratio = median(&mut together)?;
        let ratios = sizes.into_iter().filter_map(|(n, mut found)| Some((n, median(&mut found)?))).collect();
        Some(UnitRatio { unit, ratio, ratios, is_off: judges && 100.0 * (ratio - 1.0).abs() > OFF_PCT })
    };
    units.into_iter().filter_map(of_unit).collect()
}

/// Takes the times of points of units that are off out of the rows, and names the files of `inputs` that have them.
/// Their anchors stay, which say so.
#[must_use]
pub fn leave_out_units(
    records: &mut Vec<Record>,
    ratios: &[UnitRatio],
    inputs: &[MergedInput],
) -> UnitsLeftOut {
    let mut left_out = UnitsLeftOut::default();
    for off in ratios.iter().filter(|unit| unit.is_off) {
        let rows = take(records, |row| MergedUnit::of(row) == off.unit);
        let runs: BTreeSet<&String> = rows.iter().map(|row| &row.run_id).collect();
        let has = |input: &&MergedInput| input.run_ids.iter().any(|run| runs.contains(run));
        let files: Vec<&str> = inputs.iter().filter(has).map(|input| input.name.as_str()).collect();
        let of = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
        left_out.add(rows.len() as u64, format!("{}{of}", off.how()));
    }
    left_out
}

/// Takes the times of points of shards that drifted out of the rows: before these are united, so that none of them
/// stands for a point that was measured again. Nothing is said of a shard whose points all were.
#[must_use]
pub fn leave_out_drifted(records: &mut Vec<Record>, inputs: &[MergedInput]) -> UnitsLeftOut {
    let mut taken = Vec::new();
    for input in inputs {
        let Some(shard) = &input.shard else { continue };
        let Some(drift) = shard.drifted_pct() else { continue };
        let rows = take(records, |row| is_of(row, input));
        taken.push((rows, format!("{}: the anchors of {shard} took {drift:+.1} % at the end", input.name)));
    }
    let mut left_out = UnitsLeftOut::default();
    if taken.is_empty() {
        return left_out;
    }
    let point = |row: &Record| (row.config_id.clone(), row.n_elements);
    let there: BTreeSet<_> = records.iter().filter(|row| is_of_point(row)).map(point).collect();
    for (rows, why) in taken {
        if rows.iter().any(|row| !there.contains(&(row.config_id.clone(), row.n_elements))) {
            left_out.add(rows.len() as u64, why);
        }
    }
    left_out
}

/// Whether a row, an anchor too, is of a shard that drifted: what was measured again may take its place.
#[must_use]
pub fn is_of_drifted(row: &Record, inputs: &[MergedInput]) -> bool {
    inputs.iter().any(|input| has_drifted(input) && is_of(row, input))
}

/// Whether a file is that of a shard whose anchors drifted.
pub(super) fn has_drifted(input: &MergedInput) -> bool {
    input.shard.as_ref().is_some_and(|shard| shard.drifted_pct().is_some())
}

fn is_of(row: &Record, input: &MergedInput) -> bool {
    input.run_ids.contains(&row.run_id) && input.units.contains(&MergedUnit::of(row))
}

impl UnitsLeftOut {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.reasons.extend(other.reasons);
        self
    }

    fn add(&mut self, rows: u64, why: String) {
        self.rows += rows;
        self.reasons.push(format!("{why}: {} left out", plural(rows as usize, "row")));
    }
}

/// A measurement: its run, point and unit.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TakenRow {
    run_id: String,
    config_id: String,
    n_elements: u64,
    unit: MergedUnit,
}

/// The measurements that are taken out; a file that goes on with another one repeats what that has.
fn take(records: &mut Vec<Record>, is: impl Fn(&Record) -> bool) -> BTreeSet<TakenRow> {
    let mut taken = BTreeSet::new();
    records.retain(|row| {
        let stays = !is_of_point(row) || row.status != Status::Ok || !is(row);
        if !stays {
            taken.insert(TakenRow {
                run_id: row.run_id.clone(),
                config_id: row.config_id.clone(),
                n_elements: row.n_elements,
                unit: MergedUnit::of(row),
            });
        }
        stays
    });
    taken
}
