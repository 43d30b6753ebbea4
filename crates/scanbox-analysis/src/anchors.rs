//! Anchors: what every shard of a split size measures beside its points, and what that says of its unit.
//!
//! A unit that does not keep its speed measures its first and its last points on different scales. Nobody can tell
//! which of them are right, so all times of the runs in such a file are taken back ([`drifted_runs`]): a merge leaves
//! them out, and whoever goes on with the file measures those points again. What failed or was wrong stays.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::record::{Record, Selection, Status};
use scanbox_model::shard::is_drift;

use crate::spread::median;

/// The times of an anchor: at the start, and at the end.
type StartEnd = [Option<u64>; 2];

/// By how much longer the anchors among these rows took at the end than at the start, in percent: the median of all
/// that one unit measured at both. Of several units that of the one that changed most; `None` where nobody measured
/// both. In hundredths of a percent, as metadata has it.
#[must_use]
pub fn drift_pct<'a>(rows: impl IntoIterator<Item = &'a Record>) -> Option<f64> {
    let mut units: BTreeMap<_, BTreeMap<(u64, &str), StartEnd>> = BTreeMap::new();
    for row in rows {
        let Some(time) = row.steady.filter(|_| row.status == Status::Ok) else { continue };
        let api = (row.api, &row.implementation, row.robustness);
        let unit = (row.host.as_str(), &row.pci_address, &row.device_uuid, api);
        let of_unit = units.entry(unit).or_default();
        let [start, end] = of_unit.entry((row.n_elements, &row.config_id)).or_default();
        if row.selection.contains(&Selection::AnchorStart) {
            start.get_or_insert(time.median_ns);
        }
        // A shard that went on after its end has another one.
        if row.selection.contains(&Selection::AnchorEnd) {
            *end = Some(time.median_ns);
        }
    }
    let drifts = units.into_values().filter_map(|anchors| {
        let both = anchors.into_values().filter_map(|[start, end]| Some((start.filter(|ns| *ns > 0)?, end?)));
        let mut ratios: Vec<f64> = both.map(|(start, end)| end as f64 / start as f64).collect();
        Some(100.0 * (median(&mut ratios)? - 1.0))
    });
    let drift = drifts.max_by(|a, b| a.abs().total_cmp(&b.abs()));
    drift.map(|pct| (100.0 * pct).round() / 100.0)
}

/// The runs whose times do not count: all runs with rows in the file of a shard whose anchors drifted.
#[must_use]
pub fn drifted_runs(rows: &[Record]) -> BTreeSet<String> {
    match drift_pct(rows.iter().filter(|row| row.is_anchor())) {
        Some(pct) if is_drift(pct) => rows.iter().map(|row| row.run_id.clone()).collect(),
        _ => BTreeSet::new(),
    }
}

/// Whether a row says a time that does not count, because its run is one of these.
#[must_use]
pub fn is_taken_back(row: &Record, drifted: &BTreeSet<String>) -> bool {
    row.status == Status::Ok && drifted.contains(&row.run_id)
}

#[cfg(test)]
mod tests {
    use scanbox_model::record::TimeStats;

    use super::*;

    #[test]
    fn a_drift_is_that_of_the_unit_that_changed_most() {
        use Selection::{AnchorEnd, AnchorMiddle, AnchorStart};
        let row = |host: &str, config: &str, stage, ns| Record {
            host: host.to_owned(),
            config_id: config.to_owned(),
            n_elements: 1024,
            selection: vec![stage],
            status: Status::Ok,
            steady: Some(TimeStats { median_ns: ns, ..TimeStats::default() }),
            ..Record::default()
        };
        let check = |rows: &[Record], expected: Option<f64>| {
            let found = drift_pct(rows);
            let same = match (found, expected) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                (a, b) => a == b,
            };
            assert!(same, "{found:?} {expected:?}");
        };
        check(&[], None);
        check(&[row("a", "x", AnchorStart, 1000), row("a", "x", AnchorMiddle, 2000)], None);
        // What only one of them has says nothing, and nor do units about each other.
        check(&[row("a", "x", AnchorStart, 1000), row("b", "x", AnchorEnd, 2000)], None);
        check(&[row("a", "x", AnchorStart, 1000), row("a", "y", AnchorEnd, 2000)], None);
        let mut rows = vec![row("a", "x", AnchorStart, 1000), row("a", "x", AnchorEnd, 1030)];
        check(&rows, Some(3.0));
        // The median: one that is off is one.
        rows.extend([row("a", "y", AnchorStart, 1000), row("a", "y", AnchorEnd, 1000)]);
        rows.extend([row("a", "z", AnchorStart, 1000), row("a", "z", AnchorEnd, 5000)]);
        check(&rows, Some(3.0));
        rows.extend([row("b", "x", AnchorStart, 1000), row("b", "x", AnchorEnd, 950)]);
        check(&rows, Some(-5.0));
        // The last end counts, and the first start.
        rows.extend([row("b", "x", AnchorEnd, 1000), row("b", "x", AnchorStart, 500)]);
        check(&rows, Some(3.0));
        let wrong = Record { status: Status::WrongResult, ..row("a", "x", AnchorEnd, 9000) };
        rows.push(wrong.clone());
        check(&rows, Some(3.0));
        // All times of all runs in the file are taken back, and nothing else.
        let point = |run: &str| Record {
            run_id: run.to_owned(),
            selection: Vec::new(),
            ..row("a", "x", AnchorStart, 1)
        };
        rows.extend([point("one"), point("two")]);
        let runs = drifted_runs(&rows);
        assert_eq!(runs.iter().map(String::as_str).collect::<Vec<_>>(), ["", "one", "two"]);
        assert!(is_taken_back(&rows[0], &runs) && is_taken_back(&point("one"), &runs));
        assert!(!is_taken_back(&wrong, &runs) && !is_taken_back(&point("three"), &runs));
        // Up to 2 % is no drift.
        let edge = |end| vec![row("a", "x", AnchorStart, 100_000), row("a", "x", AnchorEnd, end)];
        assert!(drifted_runs(&edge(102_004)).is_empty() && !drifted_runs(&edge(102_010)).is_empty());
    }
}
