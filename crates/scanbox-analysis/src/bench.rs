//! Benchmarks: what the subjects of one run reached against each other, at each size and cache state.
//!
//! The ceiling of a size is the fastest copy of any subject; the baseline of a size is the fastest scan of another
//! implementation. Both were measured in blocks that alternate with everything else at the size.

use std::collections::BTreeMap;

use scanbox_model::record::{Cache, Clock, Record, Selection, Status};

/// The subjects of one size and cache state.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat<'a> {
    /// Input size in elements.
    pub n: u64,
    /// Hot or cold.
    pub cache: Cache,
    /// The fastest copy of any subject, in GB/s.
    pub copy_gbps: Option<f64>,
    /// The fastest scan of another implementation.
    pub baseline: Option<&'a Record>,
    /// The subjects that are `ok`, the fastest first.
    pub places: Vec<Place<'a>>,
    /// The subjects that are not.
    pub failed: Vec<&'a Record>,
}

/// One subject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place<'a> {
    /// Its row.
    pub record: &'a Record,
    /// Median time of one call, in nanoseconds.
    pub median_ns: u64,
    /// Throughput by it, in GB/s.
    pub gbps: f64,
    /// That in percent of the fastest copy.
    pub copy_pct: Option<f64>,
    /// How many times as fast as the fastest scan of another implementation it is.
    pub baseline_ratio: Option<f64>,
}

impl Place<'_> {
    /// Interquartile range over median of its samples, in percent.
    #[must_use]
    pub fn spread_pct(&self, clock: Clock) -> Option<f64> {
        let time = self.record.time(clock)?;
        Some(100.0 * crate::stats::relative_spread(time.median_ns, time.q1_ns, time.q3_ns))
    }

    /// Whether it is a copy.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        is_copy(self.record)
    }
}

pub(crate) fn is_copy(record: &Record) -> bool {
    record.selection.contains(&Selection::Copy)
}

/// The throughput of a row as a baseline of sweeps, in GB/s: a scan of another implementation, on hot buffers as
/// theirs are. By steady times alone: what a span has in it beside the call is another thing on each side.
#[must_use]
pub fn baseline_gbps(record: &Record, clock: Clock) -> Option<f64> {
    let is_comparable = clock == Clock::Steady && is_baseline(record) && record.cache == Some(Cache::Hot);
    record.throughput_gbps(clock).filter(|_| is_comparable)
}

pub(crate) fn is_baseline(record: &Record) -> bool {
    record.selection.contains(&Selection::Baseline) && !is_copy(record)
}

/// The rows of a benchmark by size and cache state, ascending. Rows of sweeps, which have no cache state, are left
/// out, and so are those with simulated blocking: they are slower for that, not as subjects.
#[must_use]
pub fn heats(records: &[Record], clock: Clock) -> Vec<Heat<'_>> {
    let mut groups: BTreeMap<(u64, Cache), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.blocking.is_none()) {
        if let Some(cache) = record.cache {
            groups.entry((record.n_elements, cache)).or_default().push(record);
        }
    }
    groups.into_iter().map(|((n, cache), records)| heat(n, cache, &records, clock)).collect()
}

fn heat<'a>(n: u64, cache: Cache, records: &[&'a Record], clock: Clock) -> Heat<'a> {
    let mut places: Vec<Place<'a>> = Vec::new();
    let mut failed = Vec::new();
    for &record in records {
        match (record.throughput_gbps(clock), record.time(clock)) {
            (Some(gbps), Some(time)) => places.push(Place {
                record,
                median_ns: time.median_ns,
                gbps,
                copy_pct: None,
                baseline_ratio: None,
            }),
            _ => failed.push(record),
        }
    }
    places
        .sort_by(|a, b| b.gbps.total_cmp(&a.gbps).then_with(|| a.record.config_id.cmp(&b.record.config_id)));
    let copy_gbps = places.iter().find(|place| place.is_copy()).map(|place| place.gbps);
    let baseline = places.iter().find(|place| is_baseline(place.record)).copied();
    for place in &mut places {
        place.copy_pct = copy_gbps.filter(|&copy| copy > 0.0).map(|copy| 100.0 * place.gbps / copy);
        place.baseline_ratio = baseline
            .filter(|_| !is_copy(place.record))
            .map(|baseline| baseline.median_ns as f64 / place.median_ns as f64);
    }
    failed.sort_by_key(|record| record.status != Status::WrongResult);
    Heat { n, cache, copy_gbps, baseline: baseline.map(|place| place.record), places, failed }
}
