//! What is still to be measured, as arguments of `scanbox sweep`.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::record::Record;
use scanbox_model::sizes::sizes_text;
use scanbox_model::space::Point;

use super::rows::is_of_point;

/// Configs that a filter names at most: of more, all at their sizes are asked for.
const CONFIGS_NAMED: usize = 16;

/// Points that one command measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What chooses them, such as `--shard 3/16`.
    pub arguments: Vec<String>,
    /// How many of them have no row.
    pub points: u64,
}

/// The points without a row on any unit, in the order in which they were planned.
#[must_use]
pub fn without_row(planned: &[Point], records: &[Record]) -> Vec<Point> {
    let own = records.iter().filter(|row| is_of_point(row));
    let done: BTreeSet<(&str, u64)> = own.map(|row| (row.config_id.as_str(), row.n_elements)).collect();
    let is_left = |point: &&Point| !done.contains(&(point.config.to_string().as_str(), point.n));
    planned.iter().filter(is_left).copied().collect()
}

/// Which of these parts have points that are missing. A part is what chooses it, and its points.
#[must_use]
pub fn parts(parts: &[(Vec<String>, Vec<Point>)], missing: &[Point]) -> Vec<Missing> {
    let missing: BTreeSet<&Point> = missing.iter().collect();
    let of = |(arguments, points): &(Vec<String>, Vec<Point>)| {
        let points = points.iter().filter(|point| missing.contains(point)).count() as u64;
        (points > 0).then(|| Missing { arguments: arguments.clone(), points })
    };
    parts.iter().filter_map(of).collect()
}

/// The sizes, and where only some configs are missing there, a filter that keeps those. Sizes that miss the same
/// configs stand together.
#[must_use]
pub fn sizes(planned: &[Point], missing: &[Point]) -> Vec<Missing> {
    let mut of_size: BTreeMap<u64, u64> = BTreeMap::new();
    planned.iter().for_each(|point| *of_size.entry(point.n).or_insert(0) += 1);
    let mut labels: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for point in missing {
        labels.entry(point.n).or_default().insert(point.config.to_string());
    }
    let mut together: BTreeMap<Option<String>, (Vec<u64>, u64)> = BTreeMap::new();
    for (n, labels) in labels {
        let all = of_size.get(&n) == Some(&(labels.len() as u64)) || labels.len() > CONFIGS_NAMED;
        let points = labels.len() as u64;
        let filter = (!all).then(|| labels.into_iter().collect::<Vec<_>>().join("|"));
        let entry = together.entry(filter).or_default();
        entry.0.push(n);
        entry.1 += points;
    }
    let arguments = |filter: Option<String>, sizes: &[u64]| {
        let mut arguments = sizes_words(sizes.iter().copied()).to_vec();
        arguments.extend(
            filter.into_iter().flat_map(|labels| ["--filter".to_owned(), format!("config={labels}")]),
        );
        arguments
    };
    let of = |(filter, (sizes, points)): (Option<String>, (Vec<u64>, u64))| Missing {
        arguments: arguments(filter, &sizes),
        points,
    };
    together.into_iter().map(of).collect()
}

/// Sizes as arguments.
#[must_use]
pub fn sizes_words(sizes: impl Iterator<Item = u64>) -> [String; 2] {
    ["--sizes".to_owned(), sizes_text(sizes)]
}
