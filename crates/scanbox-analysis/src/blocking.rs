//! Simulated blocking: how fast lookbacks with fallback are, and what they do, while some tiles never publish their
//! total.
//!
//! Time is that of the ordinary build of a config; what lookbacks do was counted by workgroups of another build, in
//! another call. Both ran with the same tiles blocked.

use std::collections::BTreeMap;

use scanbox_model::record::{Cache, Clock, Record};

use crate::bench::is_ceiling;

/// One size.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockedSize<'a> {
    /// Input size in elements.
    pub n: u64,
    /// The ceiling, in GB/s.
    pub ceiling_gbps: Option<f64>,
    /// The configs, in the order of their labels.
    pub lines: Vec<BlockedLine<'a>>,
}

/// One config at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockedLine<'a> {
    /// Its label.
    pub config: &'a str,
    /// Without blocking first, then from few blocked tiles to many.
    pub points: Vec<BlockedPoint<'a>>,
}

/// One config at one size with some tiles blocked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockedPoint<'a> {
    /// Its row.
    pub record: &'a Record,
    /// Throughput by the median, in GB/s, where the row is `ok`.
    pub gbps: Option<f64>,
    /// Its time as a multiple of that without blocking.
    pub slowdown: Option<f64>,
    /// What lookbacks did, where that was counted.
    pub means: Option<LookbackMeans>,
}

/// What lookbacks did: means over the workgroups of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookbackMeans {
    /// Looks that found nothing where the lookback could not go on without.
    pub spins: f64,
    /// Tiles that the lookback was made of.
    pub lookback_length: f64,
    /// Tiles that the workgroup added up for others.
    pub fallbacks: f64,
    /// Those of them that nobody had published before.
    pub insertions: f64,
}

impl LookbackMeans {
    /// The means of a row that has counts.
    fn of(record: &Record) -> Option<Self> {
        let workgroups = f64::from(record.parameters.workgroups.filter(|&workgroups| workgroups > 0)?);
        let mean = |sum: Option<u64>| sum.map(|sum| sum as f64 / workgroups);
        Some(Self {
            spins: mean(record.spins_sum)?,
            lookback_length: mean(record.lookback_length_sum)?,
            fallbacks: mean(record.fallbacks_sum)?,
            insertions: mean(record.insertions_sum)?,
        })
    }
}

/// The rows of a benchmark of simulated blocking on hot buffers, by size.
#[must_use]
pub fn blocked_sizes(records: &[Record], clock: Clock) -> Vec<BlockedSize<'_>> {
    let mut sizes: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.cache == Some(Cache::Hot)) {
        sizes.entry(record.n_elements).or_default().push(record);
    }
    sizes.into_iter().map(|(n, records)| size(n, &records, clock)).collect()
}

fn size<'a>(n: u64, records: &[&'a Record], clock: Clock) -> BlockedSize<'a> {
    let ceilings = records.iter().filter(|record| is_ceiling(record));
    let ceiling_gbps = ceilings.filter_map(|record| record.throughput_gbps(clock)).reduce(f64::max);
    let mut configs: BTreeMap<&str, Vec<&'a Record>> = BTreeMap::new();
    for &record in records.iter().filter(|record| !is_ceiling(record)) {
        configs.entry(&record.config_id).or_default().push(record);
    }
    let line = |(config, mut rows): (&'a str, Vec<&'a Record>)| {
        // None comes before any number: the rarest blocking is the one with the largest.
        rows.sort_by_key(|row| row.blocking.map(|k| u32::MAX - k));
        let time =
            |row: &Record| row.throughput_gbps(clock).and_then(|_| Some(row.time(clock)?.median_ns as f64));
        let free = rows.first().filter(|row| row.blocking.is_none()).and_then(|row| time(row));
        let point = |record: &'a Record| BlockedPoint {
            record,
            gbps: record.throughput_gbps(clock),
            slowdown: free.and_then(|free| Some(time(record)? / free)),
            means: LookbackMeans::of(record),
        };
        BlockedLine { config, points: rows.into_iter().map(point).collect() }
    };
    BlockedSize { n, ceiling_gbps, lines: configs.into_iter().map(line).collect() }
}

#[cfg(test)]
mod tests {
    use scanbox_model::parameters::Cells;
    use scanbox_model::record::{Selection, Status, TimeStats};

    use super::*;

    fn row(config: &str, blocking: Option<u32>, median_ns: u64, sums: Option<[u64; 4]>) -> Record {
        Record {
            config_id: config.to_owned(),
            n_elements: 1000,
            bytes_moved: 8000,
            parameters: Cells { workgroups: Some(10), ..Cells::default() },
            cache: Some(Cache::Hot),
            status: Status::Ok,
            steady: Some(TimeStats { median_ns, ..TimeStats::default() }),
            blocking,
            spins_sum: sums.map(|sums| sums[0]),
            lookback_length_sum: sums.map(|sums| sums[1]),
            fallbacks_sum: sums.map(|sums| sums[2]),
            insertions_sum: sums.map(|sums| sums[3]),
            ..Record::default()
        }
    }

    #[test]
    fn lines_go_from_nothing_to_half_of_the_tiles() {
        let copy = Record { selection: vec![Selection::Ceiling], ..row("copy", None, 1000, None) };
        let hung = Record { status: Status::Timeout, steady: None, ..row("b", Some(1), 1, None) };
        let cold = Record { cache: Some(Cache::Cold), ..row("a", None, 1, None) };
        let rows = [
            row("a", Some(1), 4000, Some([50, 100, 20, 5])),
            copy,
            row("a", None, 2000, Some([0, 90, 0, 0])),
            hung,
            row("a", Some(9), 2500, None),
            row("b", None, 1500, None),
            cold,
        ];
        let sizes = blocked_sizes(&rows, Clock::Steady);
        assert_eq!((sizes.len(), sizes[0].n, sizes[0].ceiling_gbps), (1, 1000, Some(8.0)));
        let [a, b] = &sizes[0].lines[..] else { panic!("{sizes:?}") };
        let told = |line: &BlockedLine<'_>| -> Vec<_> {
            line.points.iter().map(|point| (point.record.blocking, point.gbps, point.slowdown)).collect()
        };
        assert_eq!(
            told(a),
            [(None, Some(4.0), Some(1.0)), (Some(9), Some(3.2), Some(1.25)), (Some(1), Some(2.0), Some(2.0))]
        );
        assert_eq!(told(b)[1], (Some(1), None, None), "what did not end has no time");
        let means = LookbackMeans { spins: 5.0, lookback_length: 10.0, fallbacks: 2.0, insertions: 0.5 };
        assert_eq!(a.points.iter().map(|point| point.means).collect::<Vec<_>>()[1..], [None, Some(means)]);
        assert_eq!(a.points[0].means.unwrap().lookback_length, 9.0);
    }
}
