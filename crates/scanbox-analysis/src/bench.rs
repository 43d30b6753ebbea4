//! Benchmarks: what the subjects of one run reached against each other, at each size and cache state.
//!
//! The ceiling of a size is the fastest copy (of a reduction: read) of any subject; the baseline is the fastest scan
//! of another implementation. Both were measured in blocks that alternate with everything else at the size.

use std::collections::BTreeMap;

use scanbox_model::call_form::CallForm;
use scanbox_model::record::{Cache, Clock, Record, Selection, Status};

use crate::grouping::OWN_SUBJECT;
use crate::interval::longer_percent;

/// The subjects of one size and cache state.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat<'a> {
    /// Input size in elements.
    pub n: u64,
    /// Hot or cold.
    pub cache: Cache,
    /// The ceiling, in GB/s.
    pub ceiling_gbps: Option<f64>,
    /// The fastest scan of another implementation.
    pub baseline: Option<&'a Record>,
    /// The subjects that are `ok`, the fastest first.
    pub subjects: Vec<TimedSubject<'a>>,
    /// The subjects that are not.
    pub failed: Vec<&'a Record>,
}

/// One subject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedSubject<'a> {
    /// Its row.
    pub record: &'a Record,
    /// Median time of one call, in nanoseconds.
    pub median_ns: u64,
    /// Throughput by it, in GB/s.
    pub gbps: f64,
    /// That in percent of the ceiling.
    pub ceiling_pct: Option<f64>,
    /// How many times as fast as the fastest scan of another implementation it is.
    pub baseline_ratio: Option<f64>,
}

impl TimedSubject<'_> {
    /// Interquartile range over median of its samples, in percent; at least a step of the timer over that.
    #[must_use]
    pub fn spread_pct(&self, clock: Clock) -> Option<f64> {
        let time = self.record.time(clock)?;
        let step = crate::stats::relative_step(time.median_ns, self.record.resolution_ns(clock));
        Some(100.0 * crate::stats::relative_spread(time.median_ns, time.q1_ns, time.q3_ns).max(step))
    }

    /// Whether it is a ceiling: a copy or a read.
    #[must_use]
    pub fn is_ceiling(&self) -> bool {
        is_ceiling(self.record)
    }
}

pub(crate) fn is_ceiling(record: &Record) -> bool {
    record.selection.contains(&Selection::Ceiling)
}

/// The throughput of a row as a baseline of sweeps, in GB/s: a scan of another implementation, on hot buffers as
/// theirs are. By steady times alone: what a span has in it beside the call is another thing on each side.
#[must_use]
pub fn baseline_gbps(record: &Record, clock: Clock) -> Option<f64> {
    let is_comparable = clock == Clock::Steady && is_baseline(record) && record.cache == Some(Cache::Hot);
    record.throughput_gbps(clock).filter(|_| is_comparable)
}

/// The same of a scan of scanbox's own in a benchmark, which a baseline of its run can stand beside.
pub(crate) fn own_gbps(record: &Record, clock: Clock) -> Option<f64> {
    let is_own = record.subject == OWN_SUBJECT && !is_ceiling(record) && record.is_ordinary();
    let is_comparable = clock == Clock::Steady && is_own && record.cache == Some(Cache::Hot);
    record.throughput_gbps(clock).filter(|_| is_comparable)
}

pub(crate) fn is_baseline(record: &Record) -> bool {
    record.selection.contains(&Selection::Baseline) && !is_ceiling(record)
}

/// The rows of a benchmark by size and cache state, ascending. Rows of sweeps, which have no cache state, are left
/// out, and so are those with simulated blocking and of other forms of calls: they are slower, or faster, for that and
/// not as subjects.
#[must_use]
pub fn heats(records: &[Record], clock: Clock) -> Vec<Heat<'_>> {
    let mut groups: BTreeMap<(u64, Cache), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.is_ordinary()) {
        if let Some(cache) = record.cache {
            groups.entry((record.n_elements, cache)).or_default().push(record);
        }
    }
    groups.into_iter().map(|((n, cache), records)| heat(n, cache, &records, clock)).collect()
}

/// A form of calls, and the ordinary calls of its config at the same size, in the same state of the buffers.
#[derive(Debug, Clone, Copy)]
pub struct TimedForm<'a> {
    /// Its row.
    pub record: &'a Record,
    /// Which form.
    pub form: CallForm,
    /// The median of a call in nanoseconds; none where it is not ok.
    pub median_ns: Option<u64>,
    /// That of an ordinary call of the same run; none where it has no time.
    pub ordinary_ns: Option<u64>,
    /// By how many percent the form takes longer, by the same rounds; none where one of them has no time.
    pub more_percent: Option<f64>,
}

/// Every form of calls that took part, in the order of the rows.
#[must_use]
pub fn timed_forms(records: &[Record], clock: Clock) -> Vec<TimedForm<'_>> {
    let median = |record: &Record| record.time(clock).map(|time| time.median_ns);
    let key =
        |record: &Record| (record.run_id.clone(), record.n_elements, record.cache, record.config_id.clone());
    let ordinary: BTreeMap<_, &Record> = records
        .iter()
        .filter(|record| record.subject == OWN_SUBJECT && record.is_ordinary() && median(record).is_some())
        .map(|record| (key(record), record))
        .collect();
    let mut forms = Vec::new();
    for record in records {
        if let Some(form) = record.call_form {
            let ordinary = ordinary.get(&key(record));
            forms.push(TimedForm {
                record,
                form,
                median_ns: median(record),
                ordinary_ns: ordinary.and_then(|row| median(row)),
                more_percent: ordinary.and_then(|row| longer_percent(record, row)),
            });
        }
    }
    forms
}

fn heat<'a>(n: u64, cache: Cache, records: &[&'a Record], clock: Clock) -> Heat<'a> {
    let mut subjects: Vec<TimedSubject<'a>> = Vec::new();
    let mut failed = Vec::new();
    for &record in records {
        match (record.throughput_gbps(clock), record.time(clock)) {
            (Some(gbps), Some(time)) => subjects.push(TimedSubject {
                record,
                median_ns: time.median_ns,
                gbps,
                ceiling_pct: None,
                baseline_ratio: None,
            }),
            _ => failed.push(record),
        }
    }
    subjects
        .sort_by(|a, b| b.gbps.total_cmp(&a.gbps).then_with(|| a.record.config_id.cmp(&b.record.config_id)));
    let ceiling_gbps = subjects.iter().find(|subject| subject.is_ceiling()).map(|subject| subject.gbps);
    let baseline = subjects.iter().find(|subject| is_baseline(subject.record)).copied();
    for subject in &mut subjects {
        subject.ceiling_pct =
            ceiling_gbps.filter(|&gbps| gbps > 0.0).map(|ceiling| 100.0 * subject.gbps / ceiling);
        subject.baseline_ratio = baseline
            .filter(|_| !is_ceiling(subject.record))
            .map(|baseline| baseline.median_ns as f64 / subject.median_ns as f64);
    }
    failed.sort_by_key(|record| record.status != Status::WrongResult);
    Heat { n, cache, ceiling_gbps, baseline: baseline.map(|subject| subject.record), subjects, failed }
}
