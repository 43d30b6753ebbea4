//! One of the two runs: its rows by size and config.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::device_api::DeviceApi;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Clock, Record, Status};

use super::{CompareQuestion, ConfigChange, Measured, RunDifference};
use crate::AnalysisError;
use crate::grouping::{OWN_SUBJECT, RecordFile};
use crate::ideal::winner;
use crate::pairs::Pairs;
use crate::stats;
use crate::table::DeviceIdentity;
use crate::trust::Trust;

/// The rows of a run.
pub struct RunRows<'a> {
    clock: Clock,
    rows: BTreeMap<u64, BTreeMap<&'a str, &'a Record>>,
    /// Configs that were wrong, by size, whatever another row says.
    distrusted: BTreeSet<(u64, &'a str)>,
    /// The ceiling in GB/s by size.
    pub ceiling_gbps: Option<&'a BTreeMap<u64, f64>>,
}

/// The time of an `ok` row.
#[derive(Debug, Clone, Copy)]
pub struct Time<'a> {
    /// The row.
    pub record: &'a Record,
    /// Nanoseconds: of the confirmation, where there was one.
    pub ns: u64,
    sweep_ns: u64,
    confirmed_ns: Option<u64>,
    /// Standard deviation of the median that the samples of the row show, as a share.
    pub sampling: f64,
}

impl<'a> RunRows<'a> {
    /// The rows of a file. Those of benchmarks and other implementations are left out; of two of one config, size and
    /// unit the later one stays, and of several units of a model the one in the middle. What `trust` says was wrong
    /// counts as wrong.
    pub fn new(source: &RecordFile<'a>, clock: Clock, trust: &Trust) -> Result<Self, AnalysisError> {
        let mut units: BTreeMap<u64, BTreeMap<&str, Vec<&Record>>> = BTreeMap::new();
        let mut device: Option<&Record> = None;
        let own = |record: &&Record| record.subject == OWN_SUBJECT && !record.is_of_benchmark();
        for record in source.records.iter().filter(own) {
            let first = device.get_or_insert(record);
            if first.device != record.device || !DeviceApi::of(first).is_of(record) {
                let title = |row: &Record| format!("{} ({})", title_of(row), row.device_uuid);
                return Err(AnalysisError::SeveralDevices {
                    source_name: source.name.to_owned(),
                    first: title(first),
                    second: title(record),
                });
            }
            // One row of each unit: the latest.
            let age = |record: &Record| (record.timestamp_utc.clone(), record.order_index);
            let unit = DeviceIdentity::of(record);
            let of_units = units.entry(record.n_elements).or_default().entry(&record.config_id).or_default();
            match of_units.iter_mut().find(|other| unit.may_be(&DeviceIdentity::of(other))) {
                Some(other) if age(record) >= age(other) => *other = record,
                Some(_) => {}
                None => of_units.push(record),
            }
        }
        let at_size = |(n, configs): (u64, BTreeMap<&'a str, Vec<&'a Record>>)| {
            let rows = configs.into_iter().filter_map(|(config, rows)| Some((config, middle(rows, clock)?)));
            (n, rows.collect())
        };
        let rows: BTreeMap<u64, BTreeMap<&str, &Record>> = units.into_iter().map(at_size).collect();
        let all =
            rows.iter().flat_map(|(&n, at)| at.iter().map(move |(&config, &record)| (n, config, record)));
        let distrusted =
            all.filter(|(.., record)| !trust.trusts(record)).map(|(n, config, _)| (n, config)).collect();
        Ok(Self { clock, rows, distrusted, ceiling_gbps: source.ceiling_gbps })
    }

    /// Sizes that were tried, ascending.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.rows.keys().copied()
    }

    /// Any row: what they have in common is that of all.
    pub fn any_row(&self) -> Option<&'a Record> {
        self.rows.values().flat_map(BTreeMap::values).next().copied()
    }

    /// The row of a config.
    pub fn row(&self, n: u64, config: &str) -> Option<&'a Record> {
        self.rows.get(&n)?.get(config).copied()
    }

    /// Whether a config has a row, whatever it says.
    pub fn has_tried(&self, n: u64, config: &str) -> bool {
        self.row(n, config).is_some()
    }

    /// How a config ended, and why, where it failed.
    pub fn end(&self, n: u64, config: &str) -> Option<(Status, &'a str)> {
        let row = self.row(n, config)?;
        if row.status == Status::Ok && self.distrusted.contains(&(n, config)) {
            return Some((Status::WrongResult, "it was wrong, and nothing has shown it right since"));
        }
        Some((row.status, &row.reason))
    }

    /// The time of a config, if it is `ok`.
    pub fn time(&self, n: u64, config: &str) -> Option<Time<'a>> {
        let is_trusted = !self.distrusted.contains(&(n, config));
        Time::of(self.row(n, config).filter(|_| is_trusted)?, self.clock)
    }

    /// All times of a size, by label.
    pub fn times(&self, n: u64) -> impl Iterator<Item = Time<'a>> {
        self.rows
            .get(&n)
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(move |record| !self.distrusted.contains(&(n, record.config_id.as_str())))
            .filter_map(|&record| Time::of(record, self.clock))
    }

    /// The config that wins a size.
    pub fn winner(&self, n: u64) -> Option<Time<'a>> {
        Time::best(&self.times(n).collect::<Vec<_>>())
    }

    /// How far the readings of the canary lie apart, as a share.
    pub fn canary_range(&self) -> Option<f64> {
        let readings = || self.rows.values().flat_map(BTreeMap::values).filter_map(|record| record.drift_pct);
        let (lowest, highest) = (readings().reduce(f64::min)?, readings().reduce(f64::max)?);
        Some((highest - lowest) / 100.0)
    }
}

impl<'a> Time<'a> {
    fn of(record: &'a Record, clock: Clock) -> Option<Self> {
        let time = record.time(clock).filter(|time| record.status == Status::Ok && time.median_ns > 0)?;
        // It is a `steady` time.
        let confirmed_ns = record.confirmed_ns.filter(|&ns| clock == Clock::Steady && ns > 0);
        Some(Self {
            record,
            ns: confirmed_ns.unwrap_or(time.median_ns),
            sweep_ns: time.median_ns,
            confirmed_ns,
            sampling: stats::median_deviation(time.median_ns, time.q1_ns, time.q3_ns, record.samples)
                .max(stats::relative_step(time.median_ns, record.resolution_ns(clock))),
        })
    }

    /// The same without its confirmation.
    pub fn unconfirmed(self) -> Self {
        Self { ns: self.sweep_ns, confirmed_ns: None, ..self }
    }

    /// Whether its time is that of a confirmation.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed_ns.is_some()
    }

    /// Rounds of its confirmation, and the standard deviation of the median of a round, as a share, that their range
    /// shows.
    pub fn rounds(&self) -> Option<(u32, f64)> {
        self.confirmed_ns?;
        let (rounds, spread_pct) = (self.record.rounds?, self.record.round_spread_pct?);
        Some((rounds, stats::deviation_of_range(spread_pct / 100.0, rounds)?))
    }

    /// What the sweep alone shows as the fastest.
    pub fn fastest(times: &[Self]) -> Option<Self> {
        times.iter().min_by_key(|time| time.sweep_ns).map(|time| time.unconfirmed())
    }

    /// The best, as the ideal line has it: by confirmed times, where the fastest was confirmed.
    pub fn best(times: &[Self]) -> Option<Self> {
        let fastest = times.iter().min_by_key(|time| time.sweep_ns)?;
        Some(*winner(fastest, times, |time| time.confirmed_ns))
    }

    /// For a report.
    pub fn measured(&self) -> Measured {
        Measured { config: self.record.config_id.clone(), ns: self.ns, confirmed: self.is_confirmed() }
    }
}

/// Of the rows of several units that with the median time, of an even number the faster of the two in the middle; a
/// row that failed where all did.
fn middle(mut rows: Vec<&Record>, clock: Clock) -> Option<&Record> {
    let time = |row: &Record| row.time(clock).filter(|_| row.status == Status::Ok).map(|time| time.median_ns);
    if rows.iter().any(|row| time(row).is_some()) {
        rows.retain(|row| time(row).is_some());
    }
    rows.sort_by_key(|row| time(row));
    rows.get(rows.len().checked_sub(1)? / 2).copied()
}

/// What the device of a row is called, through whatever it is driven.
fn title_of(record: &Record) -> String {
    DeviceApi::of(record).title_of(&record.device)
}

/// What the two runs do not have in common.
pub fn differences(
    sides: &[RunRows<'_>; 2],
    question: &CompareQuestion,
) -> Result<Vec<RunDifference>, AnalysisError> {
    let [Some(base), Some(new)] = [sides[0].any_row(), sides[1].any_row()] else { return Ok(Vec::new()) };
    let [base_title, new_title] = [title_of(base), title_of(new)];
    if base_title != new_title && !question.accept_device {
        return Err(AnalysisError::OtherModel { base: base_title, new: new_title });
    }
    // A file of a sweep holds one problem.
    let problems = [base, new].map(|row| Problem::of_row(row).ok().map(|problem| problem.title()));
    if let [Some(base), Some(new)] = &problems
        && base != new
    {
        return Err(AnalysisError::OtherProblem { base: base.clone(), new: new.clone() });
    }
    let pairs = [
        ("device", &base_title, &new_title),
        ("unit", &base.device_uuid, &new.device_uuid),
        ("driver", &base.driver, &new.driver),
        ("kernels", &base.kernel_hash, &new.kernel_hash),
        ("version", &base.subject_version, &new.subject_version),
    ];
    let differing = pairs.into_iter().filter(|(_, base, new)| base != new);
    Ok(differing
        .map(|(what, base, new)| RunDifference { what, base: base.clone(), new: new.clone() })
        .collect())
}

/// Configs with a time in both sweeps of which the pairs say nothing.
pub fn unmeasured(pairs: &Pairs, configs: &[ConfigChange]) -> usize {
    let timed = pairs.quads.iter().map(|quad| (quad.n, quad.config.as_str()));
    let failed = pairs.failed.iter().map(|failed| (failed.n, failed.config.as_str()));
    let told: BTreeSet<(u64, &str)> = timed.chain(failed).collect();
    let is_in_both = |config: &&ConfigChange| config.new_ns.is_some();
    configs.iter().filter(is_in_both).filter(|config| !told.contains(&(config.n, &config.config))).count()
}
