//! A benchmark in one line per size: the fastest config against the fastest scan of another implementation in the
//! same run, whichever of its subjects that is, tuned ones and those whose calls overlap included.
//!
//! Two ratios, because there are two contracts. *Kept*: scratch memory is what the call before has left, and the
//! config may be any. *Same contract*: scratch memory of unknown content, as a library finds it; a config either
//! clears what it needs within its time or needs nothing ([`scanbox_model::record::Record::is_stateless`]).

use std::collections::BTreeSet;

use scanbox_model::config::{Kernel, Reset};
use scanbox_model::record::{Cache, Record, Selection};

use crate::bench::{Heat, TimedSubject, is_baseline};
use crate::grouping::OWN_SUBJECT;
use crate::interval::times_as_fast;
use crate::stats::ConfidenceInterval;

/// One size and cache state.
#[derive(Debug, Clone, PartialEq)]
pub struct Versus<'a> {
    /// Input size in elements.
    pub n: u64,
    /// Hot or cold.
    pub cache: Cache,
    /// The fastest scan of another implementation.
    pub baseline: Option<RatedSubject<'a>>,
    /// The fastest config.
    pub kept: Option<RatedSubject<'a>>,
    /// The fastest config on scratch memory of unknown content.
    pub same_contract: Option<RatedSubject<'a>>,
    /// The one kernel that was measured at every size, named or the best one of a sweep.
    pub one_kernel: Option<RatedSubject<'a>>,
    /// The same on scratch memory of unknown content.
    pub one_kernel_same_contract: Option<RatedSubject<'a>>,
}

/// One subject of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatedSubject<'a> {
    /// Its row.
    pub record: &'a Record,
    /// Median time of one call, in nanoseconds.
    pub median_ns: u64,
    /// How many times as fast as the fastest scan of another implementation it is.
    pub ratio: Option<f64>,
    /// What holds that at 95 %.
    pub interval: Option<ConfidenceInterval>,
    /// Throughput in percent of the ceiling.
    pub ceiling_pct: Option<f64>,
}

/// The lines of a benchmark. Subjects that were measured in another run than the configs of a size have no part in it.
#[must_use]
pub fn lines<'a>(heats: &[Heat<'a>]) -> Vec<Versus<'a>> {
    let kernel = one_kernel(heats);
    let line = |heat: &Heat<'a>| {
        let own = |subject: &TimedSubject<'_>| subject.record.subject == OWN_SUBJECT;
        let run = heat.subjects.iter().find(|subject| own(subject)).map(|subject| &subject.record.run_id);
        let of_run = |subject: &&TimedSubject<'a>| run.is_none_or(|run| *run == subject.record.run_id);
        // The fastest first.
        let subjects: Vec<&TimedSubject<'a>> = heat.subjects.iter().filter(of_run).collect();
        let find = |suits: &dyn Fn(&TimedSubject<'_>) -> bool| {
            subjects.iter().find(|subject| suits(subject)).copied()
        };
        let baseline = find(&|subject| is_baseline(subject.record));
        let ceiling = find(&|subject| subject.is_ceiling());
        let first = |suits: &dyn Fn(&TimedSubject<'_>) -> bool| {
            let subject = find(suits)?;
            let times = |other: &TimedSubject<'_>| other.median_ns as f64 / subject.median_ns as f64;
            let held = |other: &TimedSubject<'_>| Some(times_as_fast(subject.record, other.record)?.interval);
            let is_another = |other: &&TimedSubject<'_>| !std::ptr::eq(other.record, subject.record);
            let ceiling = ceiling.filter(|ceiling| ceiling.gbps > 0.0);
            let ceiling_pct = ceiling.map(|ceiling| 100.0 * subject.gbps / ceiling.gbps);
            Some(RatedSubject {
                record: subject.record,
                median_ns: subject.median_ns,
                ratio: baseline.map(times),
                interval: baseline.filter(is_another).and_then(held),
                ceiling_pct,
            })
        };
        let stateless =
            |subject: &TimedSubject<'_>| own(subject) && subject.record.is_stateless() == Some(true);
        let one = |subject: &TimedSubject<'_>| own(subject) && Some(kernel_of(subject.record)) == kernel;
        Versus {
            n: heat.n,
            cache: heat.cache,
            baseline: first(&|subject| is_baseline(subject.record)),
            kept: first(&own),
            same_contract: first(&stateless),
            one_kernel: first(&one),
            one_kernel_same_contract: first(&|subject| one(subject) && stateless(subject)),
        }
    };
    heats.iter().map(line).collect()
}

/// The kernel of a row, whatever its reset is: that of another contract is the same kernel.
fn kernel_of(record: &Record) -> String {
    let kernel = record.config().map(|config| Kernel { reset: Reset::Auto, ..config.kernel });
    kernel.map_or_else(String::new, |kernel| kernel.to_string())
}

/// The kernel that was measured at every size on purpose: the first of those that were named, else the best one of a
/// sweep.
fn one_kernel(heats: &[Heat<'_>]) -> Option<String> {
    let everywhere = |reason: Selection| {
        let at = |heat: &Heat<'_>| -> BTreeSet<String> {
            let chosen = heat.subjects.iter().filter(|subject| subject.record.selection.contains(&reason));
            chosen.map(|subject| kernel_of(subject.record)).collect()
        };
        let mut sizes = heats.iter().map(at);
        let first = sizes.next()?;
        sizes.fold(first, |all, here| &all & &here).into_iter().next()
    };
    everywhere(Selection::Named).or_else(|| everywhere(Selection::BestKernel))
}

/// A ratio as it is shown: two digits. Whoever says where one is below 1 has to mean the same number.
#[must_use]
pub fn shown(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

/// The ratios of one contract over the sizes of a cache state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RatioSummary {
    /// The smallest and the largest, as shown.
    pub range: Option<(f64, f64)>,
    /// The sizes where it is below 1 as shown, ascending, in runs of sizes that follow each other.
    pub loses: Vec<(u64, u64)>,
    /// The smallest and the largest of those.
    pub loses_range: Option<(f64, f64)>,
}

/// What the ratios of one contract say. `ratios` is by size, ascending.
#[must_use]
pub fn verdict(ratios: &[(u64, Option<f64>)]) -> RatioSummary {
    let mut verdict = RatioSummary::default();
    let widen = |range: &mut Option<(f64, f64)>, ratio: f64| {
        let (low, high) = range.unwrap_or((ratio, ratio));
        *range = Some((low.min(ratio), high.max(ratio)));
    };
    let mut before = false;
    for &(n, ratio) in ratios {
        let ratio = ratio.map(shown);
        let loses = ratio.is_some_and(|ratio| ratio < 1.0);
        if let Some(ratio) = ratio {
            widen(&mut verdict.range, ratio);
            if loses {
                widen(&mut verdict.loses_range, ratio);
            }
        }
        match verdict.loses.last_mut() {
            Some((_, to)) if loses && before => *to = n,
            _ if loses => verdict.loses.push((n, n)),
            _ => {}
        }
        before = loses;
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_where_it_loses_stand_in_runs() {
        fn check(ratios: &[(u64, f64)], loses: &[(u64, u64)], range: (f64, f64)) {
            let ratios: Vec<_> = ratios.iter().map(|&(n, ratio)| (n, Some(ratio))).collect();
            let verdict = verdict(&ratios);
            assert_eq!((&verdict.loses[..], verdict.range), (loses, Some(range)), "{ratios:?}");
        }
        check(&[(1, 1.5), (2, 1.0)], &[], (1.0, 1.5));
        check(&[(1, 0.9), (2, 0.8), (4, 1.2), (8, 0.5)], &[(1, 2), (8, 8)], (0.5, 1.2));
        // What is shown as 1.00 does not lose, what is shown as 0.99 does.
        check(&[(1, 0.996), (2, 0.994)], &[(2, 2)], (0.99, 1.0));
        let between = verdict(&[(1, Some(0.9)), (2, None), (4, Some(0.9))]);
        assert_eq!(between.loses, [(1, 1), (4, 4)], "what was not measured joins nothing");
        assert_eq!(verdict(&[(1, None)]), RatioSummary::default());
    }
}
