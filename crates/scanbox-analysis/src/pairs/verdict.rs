//! What the pairs of a night amount to: for all rows of a size, for a family at a size, and for configs that decide
//! alone.
//!
//! A change counts as a loss when it is above the threshold and above [`GROUP_ERRORS`] or [`SINGLE_ERRORS`] standard
//! errors. Beside each verdict stands its limit: the loss that would have been found in 95 of 100 nights like this
//! one. Where that is above [`GROUP_LIMIT`] or [`SINGLE_LIMIT`], and above [`THRESHOLDS`] thresholds, nothing is said
//! to be the same.

use std::collections::BTreeMap;

use scanbox_model::config::{Config, Family};

use super::estimate::{ChangeEstimate, median, of_rows, row_deviations, trimmed};
use super::{Pairs, ROUNDS_OF_ALL, Roles, first_changes};
use crate::verdict::Verdict;

/// Standard errors from which on a change of many rows is no chance.
pub const GROUP_ERRORS: f64 = 4.0;
/// The same for a suspect, by the scatter of its [`super::ROUNDS_OF_SUSPECTS`] rounds: for a Student t with 7 degrees
/// of freedom 1 in 400, and only what was a suspect before is asked.
pub const SINGLE_ERRORS: f64 = 4.0;
/// A suspect above the threshold by fewer errors than this is no more than noise.
const SINGLE_ERRORS_DOUBT: f64 = 2.5;
/// A loss of all rows of a size that has to be seen, as a share.
pub const GROUP_LIMIT: f64 = 0.10;
/// A loss of one config that has to be seen, as a share.
pub const SINGLE_LIMIT: f64 = 0.20;
/// Whoever asks for a large threshold does not want to see less than this many of it.
const THRESHOLDS: f64 = 2.0;
/// Rows of a size from which on their median alone tells a loss. Of fewer, the noise is that of neighbouring sizes as
/// well, and smaller sizes are noisier: docs/decisions/gate.md says how often equal nights looked slower.
pub const GROUP_MIN: usize = 12;
/// Rows of a family at a size from which on they are a group.
const FAMILY_MIN: usize = 6;
/// Standard errors that 95 of 100 values do not fall short by.
pub(crate) const POWER: f64 = 1.645;

/// Rows that speak together at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowsOf {
    /// All of them.
    All,
    /// Those of a family.
    Family(Family),
}

/// What became of many rows at a size.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupChange {
    /// Input size in elements.
    pub n: u64,
    /// Which rows.
    pub group: RowsOf,
    /// How many.
    pub rows: usize,
    /// How much slower, as a share of the base; negative is faster.
    pub change: f64,
    /// The loss that would have been found in 95 of 100 nights, as a share; `None` where nothing tells the noise.
    pub limit: Option<f64>,
    /// What that amounts to.
    pub verdict: Verdict,
}

/// Why a config decides alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SingleRole {
    /// It is the winner of the base.
    Shipped,
    /// It is the best one of the kernel that is watched.
    Kernel,
}

/// What became of a config that decides alone.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleChange {
    /// Input size in elements.
    pub n: u64,
    /// Its label.
    pub config: String,
    /// Why it decides.
    pub role: SingleRole,
    /// How much slower, as a share of the base; `None` where it has no pair.
    pub change: Option<f64>,
    /// As in [`GroupChange`].
    pub limit: Option<f64>,
    /// Rounds in processes of their own that it was measured in again; 0 where it was no suspect.
    pub rounds: usize,
    /// What that amounts to.
    pub verdict: Verdict,
}

/// What a night amounts to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// All rows of each size, and families, by size.
    pub groups: Vec<GroupChange>,
    /// Configs that decide alone, by size.
    pub singles: Vec<SingleChange>,
}

impl Judgement {
    /// The verdicts of groups and single configs.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.groups.iter().map(|group| group.verdict).chain(self.singles.iter().map(|single| single.verdict))
    }

    /// All rows of a size.
    #[must_use]
    pub fn at(&self, n: u64) -> Option<&GroupChange> {
        self.groups.iter().find(|group| group.n == n && group.group == RowsOf::All)
    }
}

/// Judges a night; `threshold` is the smallest loss that matters, as a share.
#[must_use]
pub fn judge(pairs: &Pairs, roles: &Roles, threshold: f64) -> Judgement {
    let rows = first_changes(pairs);
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let mut families: BTreeMap<(u64, Family), Vec<f64>> = BTreeMap::new();
    for (&(n, config), &change) in &rows {
        sizes.entry(n).or_default().push(change);
        if let Ok(config) = config.parse::<Config>() {
            families.entry((n, config.kernel.family)).or_default().push(change);
        }
    }
    let judge = PairJudge { threshold: threshold.ln_1p(), deviations: row_deviations(&sizes) };
    let again = rounds_of_suspects(pairs);
    let rounds_of = |key: &(u64, &str)| again.get(key).cloned().unwrap_or_default();
    let all = sizes.iter().map(|(&n, changes)| {
        let group = judge.group(n, RowsOf::All, changes);
        let at_size = rows.iter().filter(|((size, _), _)| *size == n);
        match changes.len() {
            ..GROUP_MIN => judge.few(group, at_size.map(|(key, &first)| (first, rounds_of(key)))),
            _ => group,
        }
    });
    let families = families
        .iter()
        .filter(|((n, _), changes)| changes.len() >= FAMILY_MIN && changes.len() < sizes[n].len())
        .map(|(&(n, family), changes)| judge.group(n, RowsOf::Family(family), changes));
    let mut groups: Vec<GroupChange> = all.chain(families).collect();
    groups.sort_by_key(|group| (group.n, group.group));

    let singles = roles
        .all()
        .into_iter()
        .map(|(key, role)| judge.single(key, role, rows.get(&key).copied(), &mut rounds_of(&key)));
    Judgement { singles: singles.collect(), groups }
}

/// The change in each round in which a row was measured again.
fn rounds_of_suspects(pairs: &Pairs) -> BTreeMap<(u64, &str), Vec<f64>> {
    let mut again: BTreeMap<(u64, &str), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for quad in pairs.quads.iter().filter(|quad| quad.round >= ROUNDS_OF_ALL) {
        let rounds = again.entry((quad.n, quad.config.as_str())).or_default();
        rounds.entry(quad.round).or_default().extend(quad.changes());
    }
    let medians = |rounds: BTreeMap<u32, Vec<f64>>| {
        rounds.into_values().filter_map(|mut values| median(&mut values)).collect()
    };
    again.into_iter().map(|(key, rounds)| (key, medians(rounds))).collect()
}

/// Whether a limit, a logarithm as the threshold, is above what has to be seen, a share.
pub(crate) fn is_powerless(limit: f64, allowed: f64, threshold: f64) -> bool {
    limit > allowed.ln_1p().max(THRESHOLDS * threshold)
}

struct PairJudge {
    /// As a logarithm.
    threshold: f64,
    /// Standard deviation of a row, by size.
    deviations: BTreeMap<u64, f64>,
}

impl PairJudge {
    fn group(&self, n: u64, group: RowsOf, changes: &[f64]) -> GroupChange {
        let rows = changes.len();
        let deviation = self.deviations.get(&n).copied();
        let estimate = of_rows(&mut changes.to_vec(), deviation.unwrap_or_default())
            .unwrap_or(ChangeEstimate { change: 0.0, error: 0.0 });
        let limit = deviation.map(|_| self.limit(estimate.error, GROUP_ERRORS));
        let ChangeEstimate { change, error } = estimate;
        let verdict = match limit {
            None => Verdict::Unclear,
            Some(_) if change.abs() > self.threshold && change.abs() > GROUP_ERRORS * error => {
                if change > 0.0 { Verdict::Slower } else { Verdict::Faster }
            }
            Some(_) if change > self.threshold => Verdict::Unclear,
            // A family is there to find what all rows together do not show; that it cannot is no loss.
            Some(limit) if self.hides(limit) && group == RowsOf::All => Verdict::Unclear,
            Some(_) => Verdict::Same,
        };
        // A family that shows nothing for sure says nothing.
        let verdict = match (group, verdict) {
            (RowsOf::Family(_), Verdict::Unclear) => Verdict::Same,
            (_, verdict) => verdict,
        };
        GroupChange { n, group, rows, change: change.exp_m1(), limit: limit.map(f64::exp_m1), verdict }
    }

    /// The same of so few rows that their median alone tells no loss. Where it looks slower, each row that does was
    /// measured again, and these rounds decide. `rows`: by the first rounds, and by each of the others.
    fn few(&self, group: GroupChange, rows: impl Iterator<Item = (f64, Vec<f64>)>) -> GroupChange {
        if group.change.ln_1p() <= self.threshold {
            return group;
        }
        let (mut changes, mut is_sure) = (Vec::new(), true);
        for (first, mut rounds) in rows {
            let found = trimmed(&mut rounds).filter(|_| first > self.threshold);
            let change = found.map_or(first, |found| found.change);
            // What is not slower is no reason to call the size so.
            is_sure &= change <= self.threshold || found.is_some_and(|found| self.is_slower(&found));
            changes.push(change);
        }
        let change = median(&mut changes).unwrap_or_default();
        let verdict = match group.limit {
            _ if change > self.threshold && is_sure => Verdict::Slower,
            Some(limit) if change <= self.threshold && !self.hides(limit.ln_1p()) => Verdict::Same,
            _ => Verdict::Unclear,
        };
        GroupChange { change: change.exp_m1(), verdict, ..group }
    }

    /// Whether a suspect is slower, by the rounds in which it was measured again.
    fn is_slower(&self, found: &ChangeEstimate) -> bool {
        found.change > self.threshold && found.change > SINGLE_ERRORS * found.error
    }

    /// Whether a limit of all rows, as a logarithm, is above what has to be seen.
    fn hides(&self, limit: f64) -> bool {
        is_powerless(limit, GROUP_LIMIT, self.threshold)
    }

    /// A config by its first rounds, and by those that it was measured in again.
    fn single(
        &self,
        (n, config): (u64, &str),
        role: SingleRole,
        first: Option<f64>,
        rounds: &mut [f64],
    ) -> SingleChange {
        let of = |change: Option<f64>, limit: Option<f64>, rounds, verdict| SingleChange {
            n,
            config: config.to_owned(),
            role,
            change: change.map(f64::exp_m1),
            limit: limit.map(f64::exp_m1),
            rounds,
            verdict,
        };
        let Some(first) = first else { return of(None, None, 0, Verdict::Unmeasured) };
        let powerless = |limit: f64| is_powerless(limit, SINGLE_LIMIT, self.threshold);
        if first <= self.threshold {
            // It would have been a suspect.
            let limit = self.deviations.get(&n).map(|deviation| self.threshold + POWER * deviation);
            let verdict = match limit {
                Some(limit) if !powerless(limit) => Verdict::Same,
                _ => Verdict::Unclear,
            };
            return of(Some(first), limit, 0, verdict);
        }
        // A suspect that was not measured again.
        let Some(found) = trimmed(rounds) else {
            return of(Some(first), None, rounds.len(), Verdict::Unclear);
        };
        let ChangeEstimate { change, error } = found;
        let limit = self.limit(error, SINGLE_ERRORS);
        let verdict = if self.is_slower(&found) {
            Verdict::Slower
        } else if (change > self.threshold && change > SINGLE_ERRORS_DOUBT * error) || powerless(limit) {
            Verdict::Unclear
        } else {
            Verdict::Same
        };
        of(Some(change), Some(limit), rounds.len(), verdict)
    }

    /// The change that is found in 95 of 100 nights, as a logarithm.
    fn limit(&self, error: f64, errors: f64) -> f64 {
        self.threshold.max(errors * error) + POWER * error
    }
}
