//! Anchors: what every shard of a split size measures beside its points, and what that says of its unit.

use std::collections::BTreeMap;

use scanbox_model::record::{Record, Selection, Status};

use crate::spread::median;

/// The times of an anchor: at the start, and at the end.
type StartEnd = [Option<u64>; 2];

/// By how much longer the anchors among these rows took at the end than at the start, in percent: the median of all
/// that one unit measured at both. Of several units that of the one that changed most; `None` where nobody measured
/// both.
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
    drifts.max_by(|a, b| a.abs().total_cmp(&b.abs()))
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
        rows.push(Record { status: Status::WrongResult, ..row("a", "x", AnchorEnd, 9000) });
        check(&rows, Some(3.0));
    }
}
