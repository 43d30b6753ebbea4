//! The rows of one run while files are read, and the table that they become.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::device::DeviceKind;
use scanbox_model::record::{Clock, Record, Status};

use super::FileFacts;
use crate::confirmed::TimeScale;
use crate::problem::Problem;
use crate::table::{
    Catalog, Cell, ConfigIndex, DeviceIdentity, DeviceTable, FailedPoint, KernelIndex, Provenance, RowCounts,
    SpaceOrigin,
};
use crate::trust::{Distrusted, timestamp_key};

/// The rows of one run of one device about one problem, before they are sorted. Configs are numbered in order of
/// appearance.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) problem: Problem,
    pub(super) device: DeviceIdentity,
    pub(super) files: BTreeSet<String>,
    pub(super) provenance: Provenance,
    pub(super) kind: Option<DeviceKind>,
    pub(super) newest: u64,
    pub(super) newest_utc: String,
    pub(super) summary: RowCounts,
    pub(super) rows: Vec<TableRow>,
    pub(super) failures: Vec<(u64, u32, Status)>,
    /// Set when at least one file with metadata has rows of the group.
    pub(super) has_plan: bool,
    pub(super) planned: Vec<(u64, u32)>,
    /// Points of the rows from files without metadata.
    pub(super) shown: Vec<(u64, u32)>,
    pub(super) ceiling_gbps: BTreeMap<u64, f64>,
}

/// An `ok` row with a time. The order of the fields is the order of rows: of two rows of one point the greater is the
/// later one, and rows that are equal in everything are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TableRow {
    pub(super) n: u64,
    pub(super) config: u32,
    pub(super) timestamp: u64,
    pub(super) order_index: u64,
    pub(super) median_ns: u64,
    q1_ns: u64,
    q3_ns: u64,
    pub(super) samples: u32,
    pub(super) bytes_moved: u64,
    pub(super) confirmed_ns: Option<u64>,
}

impl Group {
    pub(super) fn new(record: &Record, problem: Problem) -> Self {
        Self {
            problem,
            device: DeviceIdentity::of(record),
            files: BTreeSet::new(),
            provenance: Provenance {
                driver: record.driver.clone(),
                version: release(&record.subject_version).to_owned(),
                kernel_hash: record.kernel_hash.clone(),
            },
            kind: None,
            newest: 0,
            newest_utc: String::new(),
            summary: RowCounts::default(),
            rows: Vec::new(),
            failures: Vec::new(),
            has_plan: false,
            planned: Vec::new(),
            shown: Vec::new(),
            ceiling_gbps: BTreeMap::new(),
        }
    }

    pub(super) fn holds(&self, record: &Record, problem: Problem) -> bool {
        self.problem == problem
            && self.device.is_of(record)
            && self.provenance.kernel_hash == record.kernel_hash
            && self.provenance.driver == record.driver
            && self.provenance.version == release(&record.subject_version)
    }

    pub(super) fn is_run_of(&self, other: &Self) -> bool {
        (self.problem, &self.device, &self.provenance) == (other.problem, &other.device, &other.provenance)
    }

    pub(super) fn push(&mut self, record: &Record, config: u32, clock: Clock) {
        let timestamp = timestamp_key(&record.timestamp_utc);
        if self.newest_utc.is_empty() || timestamp > self.newest {
            self.newest = timestamp;
            self.newest_utc.clone_from(&record.timestamp_utc);
        }
        self.summary.rows += 1;
        *self.summary.by_status.entry(record.status).or_insert(0) += 1;
        let usable = record.throughput_gbps(clock).is_some_and(|gbps| gbps > 0.0);
        match record.time(clock).filter(|_| usable) {
            Some(time) => self.rows.push(TableRow {
                n: record.n_elements,
                config,
                timestamp,
                order_index: record.order_index,
                median_ns: time.median_ns,
                q1_ns: time.q1_ns,
                q3_ns: time.q3_ns,
                samples: record.samples,
                bytes_moved: record.bytes_moved,
                // It is a `steady` time.
                confirmed_ns: record.confirmed_ns.filter(|_| clock == Clock::Steady),
            }),
            None => {
                self.summary.without_time += u64::from(record.status == Status::Ok);
                self.failures.push((record.n_elements, config, record.status));
            }
        }
    }

    /// Replaces the numbers of configs.
    pub(super) fn renumber(&mut self, numbers: &[u32]) {
        for row in &mut self.rows {
            row.config = numbers[row.config as usize];
        }
        for (_, config, _) in &mut self.failures {
            *config = numbers[*config as usize];
        }
    }

    /// The points of its rows.
    fn attempted(&self) -> Vec<(u64, u32)> {
        let mut points: Vec<(u64, u32)> = self.rows.iter().map(|row| (row.n, row.config)).collect();
        points.extend(self.failures.iter().map(|&(n, config, _)| (n, config)));
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Takes over what the metadata of its file says.
    pub(super) fn describe(&mut self, facts: &FileFacts<'_>, planned: Option<Vec<(u64, u32)>>) {
        self.kind = facts.kind;
        match planned {
            Some(planned) if !planned.is_empty() => {
                self.has_plan = true;
                self.planned = planned;
            }
            _ => self.shown = self.attempted(),
        }
        self.ceiling_gbps = facts.ceiling_gbps.cloned().unwrap_or_default();
    }

    /// Takes over what another file has of the same run.
    pub(super) fn merge(&mut self, other: Self) {
        if other.newest > self.newest {
            self.newest = other.newest;
            self.newest_utc = other.newest_utc;
        }
        self.kind = self.kind.or(other.kind);
        self.summary.rows += other.summary.rows;
        self.summary.without_time += other.summary.without_time;
        for (status, rows) in other.summary.by_status {
            *self.summary.by_status.entry(status).or_insert(0) += rows;
        }
        self.files.extend(other.files);
        self.rows.extend(other.rows);
        self.failures.extend(other.failures);
        self.has_plan |= other.has_plan;
        self.planned.extend(other.planned);
        self.shown.extend(other.shown);
        for (n, gbps) in other.ceiling_gbps {
            // Several files of one run may each have measured it: a ceiling is the highest.
            let entry = self.ceiling_gbps.entry(n).or_insert(gbps);
            *entry = entry.max(gbps);
        }
    }

    /// The table of its rows. `distrusted` counts nowhere: points by size and number of config.
    pub(super) fn table(
        &mut self,
        catalog: &Catalog,
        numbers: &[ConfigIndex],
        newest_run: bool,
        distrusted: &BTreeMap<(u64, u32), Distrusted>,
    ) -> DeviceTable {
        let number = |config: u32| numbers[config as usize];
        let mut summary = std::mem::take(&mut self.summary);
        if self.has_plan {
            self.planned.sort_unstable();
            self.planned.dedup();
            let attempted = self.attempted();
            let has_row = |point: &&(u64, u32)| attempted.binary_search(point).is_ok();
            summary.planned_points = Some(self.planned.len() as u64);
            summary.planned_with_row = self.planned.iter().filter(has_row).count() as u64;
        }

        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable_by_key(|row| (row.n, number(row.config), *row));
        let all = rows.len();
        // The last row of each point stays: walked from behind, the first.
        rows.reverse();
        rows.dedup_by_key(|row| (row.n, row.config));
        rows.reverse();
        summary.replaced = (all - rows.len()) as u64;
        let mut denied = Vec::new();
        rows.retain(|row| {
            let Some(point) = distrusted.get(&(row.n, row.config)) else { return true };
            denied.push(point.clone());
            let failure = (row.n, row.config, Status::WrongResult);
            if !self.failures.contains(&failure) {
                self.failures.push(failure);
            }
            false
        });
        denied.sort();

        let mut sizes: Vec<u64> = rows.iter().map(|row| row.n).collect();
        sizes.dedup();
        let mut starts: Vec<usize> = sizes.iter().map(|&n| rows.partition_point(|row| row.n < n)).collect();
        starts.push(rows.len());
        let mut cells = Vec::with_capacity(rows.len());
        for of_size in rows.chunk_by(|a, b| a.n == b.n) {
            let scale = TimeScale::of(of_size.iter().map(|row| (row.median_ns, row.confirmed_ns)));
            cells.extend(of_size.iter().map(|row| {
                let time_ns = scale.time_ns(row.median_ns, row.confirmed_ns);
                Cell {
                    config: number(row.config),
                    gbps: row.bytes_moved as f64 / time_ns,
                    time_ns,
                    median_ns: row.median_ns,
                    q1_ns: row.q1_ns,
                    q3_ns: row.q3_ns,
                    samples: row.samples,
                    confirmed_ns: row.confirmed_ns.filter(|_| scale.is_confirmed()),
                }
            }));
        }

        let failures = self.failures.iter().map(|&(n, config, status)| FailedPoint {
            n,
            config: number(config),
            status,
        });
        let mut failures: Vec<FailedPoint> = failures.collect();
        failures.sort_unstable();

        let space = self.planned.iter().chain(&self.shown);
        let mut space: Vec<(u64, KernelIndex)> =
            space.map(|&(n, config)| (n, catalog.kernel_of(number(config)))).collect();
        space.sort_unstable();
        space.dedup();
        DeviceTable {
            device: self.device.clone(),
            title: String::new(),
            files: self.files.iter().cloned().collect(),
            distrusted: denied,
            problem: self.problem,
            kind: self.kind,
            provenance: self.provenance.clone(),
            newest_utc: std::mem::take(&mut self.newest_utc),
            newest_run,
            summary,
            sizes,
            ceiling_gbps: std::mem::take(&mut self.ceiling_gbps),
            peak_gbps: None,
            baselines: BTreeMap::new(),
            space_origin: if self.has_plan { SpaceOrigin::Planned } else { SpaceOrigin::Rows },
            space,
            cells,
            starts,
            failures,
        }
    }
}

/// The version without its build: `0.1.0+abc` is `0.1.0`.
#[must_use]
pub fn release(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}
