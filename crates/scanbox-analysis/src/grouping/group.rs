//! The rows of one run while files are read, and the table that they become.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use scanbox_model::device::DeviceKind;
use scanbox_model::merged::MergedUnit;
use scanbox_model::record::{Clock, Record, Status};

use super::FileFacts;
use crate::confirmed::TimeScale;
use crate::merge::origin::measured_copies;
use crate::problem::Problem;
use crate::table::{
    Catalog, Cell, ConfigIndex, DeviceIdentity, DeviceTable, FailedPoint, KernelIndex, Occupancy, Provenance,
    RowCounts, SpaceOrigin,
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
    /// Rows of what every unit of a fleet measures beside its points.
    anchors: Vec<TableRow>,
    pub(super) failures: Vec<(u64, u32, Status)>,
    /// The points of the spaces of its files with metadata, each list once.
    pub(super) planned: Vec<SharedPlan>,
    /// Whether no row is from a file with metadata: then every row shows the space.
    pub(super) is_unplanned: bool,
    /// Where it is not: points of the rows from files without metadata.
    shown: Vec<(u64, u32)>,
    /// In GB/s, by size, the number of the file that says so, and the place of what that was merged from (from 1; 0:
    /// what the file says as a whole), with how many measurements that is the median of.
    pub(super) ceiling_gbps: BTreeMap<(u64, u32, u32), (f64, u64)>,
}

/// Which kernels have a legal config at which size: pairs, ascending.
pub(super) type KernelSpace = Arc<[(u64, KernelIndex)]>;

/// What the numbers of configs and the units of all tables are called.
pub(super) struct Numbering<'a> {
    pub catalog: &'a Catalog,
    /// By number of appearance.
    pub numbers: &'a [ConfigIndex],
    pub titles: &'a BTreeMap<DeviceIdentity, String>,
    /// What the plans so far come to.
    pub spaces: RefCell<Vec<(SharedPlan, KernelSpace)>>,
}

/// Sizes and numbers of configs, ascending. Files of one space on equal devices have one.
pub(super) type SharedPlan = Arc<[(u64, u32)]>;

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
    /// See [`Cell::resolution_ns`]; here in whole picoseconds, which have an order.
    resolution_ps: u64,
    occupancy: Occupancy,
}

impl TableRow {
    /// That of a row, if it is `ok` and has a time.
    fn of(record: &Record, config: u32, timestamp: u64, clock: Clock) -> Option<Self> {
        record.throughput_gbps(clock).filter(|&gbps| gbps > 0.0)?;
        let time = record.time(clock)?;
        Some(Self {
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
            resolution_ps: (1000.0 * record.resolution_ns(clock)).ceil() as u64,
            occupancy: Occupancy::of(record),
        })
    }

    /// It as a cell, by its own time.
    fn cell(&self, config: ConfigIndex) -> Cell {
        let time_ns = self.median_ns as f64;
        Cell {
            config,
            gbps: self.bytes_moved as f64 / time_ns,
            time_ns,
            median_ns: self.median_ns,
            q1_ns: self.q1_ns,
            q3_ns: self.q3_ns,
            samples: self.samples,
            resolution_ns: self.resolution_ps as f64 / 1000.0,
            confirmed_ns: None,
            occupancy: self.occupancy,
        }
    }
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
            anchors: Vec::new(),
            failures: Vec::new(),
            planned: Vec::new(),
            is_unplanned: true,
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

    /// What rows of one run of one unit have in common, in the order of tables.
    pub(super) fn key(&self) -> (Problem, DeviceIdentity, Provenance) {
        (self.problem, self.device.clone(), self.provenance.clone())
    }

    pub(super) fn push(&mut self, record: &Record, config: u32, clock: Clock) {
        let timestamp = timestamp_key(&record.timestamp_utc);
        if self.newest_utc.is_empty() || timestamp > self.newest {
            self.newest = timestamp;
            self.newest_utc.clone_from(&record.timestamp_utc);
        }
        self.summary.rows += 1;
        *self.summary.by_status.entry(record.status).or_insert(0) += 1;
        match TableRow::of(record, config, timestamp, clock) {
            Some(row) => self.rows.push(row),
            None => {
                self.summary.without_time += u64::from(record.status == Status::Ok);
                self.failures.push((record.n_elements, config, record.status));
            }
        }
    }

    pub(super) fn push_anchor(&mut self, record: &Record, config: u32, clock: Clock) {
        let timestamp = timestamp_key(&record.timestamp_utc);
        self.anchors.extend(TableRow::of(record, config, timestamp, clock));
    }

    /// What it measured beside its points, by size and config: of several times of one the median, of an even number
    /// the lower of the two in the middle.
    pub(super) fn anchors(&self, numbering: &Numbering<'_>) -> Vec<(u64, Cell)> {
        let mut rows = self.anchors.clone();
        rows.sort_unstable_by_key(|row| (row.n, row.config, row.median_ns));
        let of_point = rows.chunk_by(|a, b| (a.n, a.config) == (b.n, b.config));
        let middle = of_point.map(|rows| &rows[(rows.len() - 1) / 2]);
        middle.map(|row| (row.n, row.cell(numbering.numbers[row.config as usize]))).collect()
    }

    /// Replaces the numbers of configs.
    pub(super) fn renumber(&mut self, numbers: &[u32]) {
        for row in self.rows.iter_mut().chain(&mut self.anchors) {
            row.config = numbers[row.config as usize];
        }
        for (_, config, _) in &mut self.failures {
            *config = numbers[*config as usize];
        }
    }

    /// The point of each of its rows.
    pub(super) fn points(&self) -> impl Iterator<Item = (u64, u32)> {
        let failures = self.failures.iter().map(|&(n, config, _)| (n, config));
        self.rows.iter().map(|row| (row.n, row.config)).chain(failures)
    }

    /// The points of its rows, ascending, each once.
    fn attempted(&self) -> Vec<(u64, u32)> {
        let mut points: Vec<(u64, u32)> = self.points().collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Takes over what the metadata of its file says; `file` is the number of that.
    pub(super) fn describe(&mut self, facts: &FileFacts<'_>, planned: Option<SharedPlan>, file: u32) {
        self.kind = facts.kind;
        if let Some(planned) = planned.filter(|planned| !planned.is_empty()) {
            self.is_unplanned = false;
            self.planned = vec![planned];
        }
        let ceilings = facts.ceiling_gbps.into_iter().flatten();
        let count = |n| facts.ceiling_counts.and_then(|counts| counts.get(n)).copied().unwrap_or(1);
        self.ceiling_gbps = ceilings.map(|(n, &gbps)| ((*n, file, 0), (gbps, count(n)))).collect();
        // What this unit has measured itself says more than the median of all units.
        let unit = MergedUnit {
            host: self.device.host.clone(),
            pci_address: self.device.pci_address.clone(),
            uuid: self.device.uuid.clone(),
        };
        for copy in measured_copies(facts.inputs).filter(|copy| copy.units.contains(&unit)) {
            self.ceiling_gbps.remove(&(copy.n, file, 0));
            self.ceiling_gbps.insert((copy.n, file, copy.place), (copy.gbps, 1));
        }
    }

    /// Takes over what another file has of the same run.
    pub(super) fn merge(&mut self, other: Self) {
        // Where some rows have a plan, the others show beside it what they are about.
        if self.is_unplanned != other.is_unplanned {
            let unplanned = if self.is_unplanned { &*self } else { &other };
            let shown = unplanned.attempted();
            self.shown.extend(shown);
            self.is_unplanned = false;
        }
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
        self.shown.extend(other.shown);
        self.rows.extend(other.rows);
        self.anchors.extend(other.anchors);
        self.failures.extend(other.failures);
        for plan in other.planned {
            if !self.planned.iter().any(|own| Arc::ptr_eq(own, &plan)) {
                self.planned.push(plan);
            }
        }
        // Several files of one run may each have measured it.
        self.ceiling_gbps.extend(other.ceiling_gbps);
    }

    /// Which kernels have a legal config at which size. `attempted`: the points of its rows, ascending.
    fn space(&self, numbering: &Numbering<'_>, attempted: &[(u64, u32)]) -> KernelSpace {
        let shown = if self.is_unplanned { attempted } else { &self.shown };
        let of = |points: &mut dyn Iterator<Item = &(u64, u32)>| -> KernelSpace {
            let kernel = |config: u32| numbering.catalog.kernel_of(numbering.numbers[config as usize]);
            let mut space: Vec<(u64, KernelIndex)> = points.map(|&(n, config)| (n, kernel(config))).collect();
            space.sort_unstable();
            space.dedup();
            space.into()
        };
        match (&*self.planned, shown) {
            // That of all units of a model.
            ([plan], []) => {
                let mut known = numbering.spaces.borrow_mut();
                if let Some((_, space)) = known.iter().find(|(other, _)| Arc::ptr_eq(other, plan)) {
                    return Arc::clone(space);
                }
                let space = of(&mut plan.iter());
                known.push((Arc::clone(plan), Arc::clone(&space)));
                space
            }
            (plans, shown) => of(&mut plans.iter().flat_map(|plan| plan.iter()).chain(shown)),
        }
    }

    /// The table of its rows. `distrusted` counts nowhere: points by size and number of config.
    pub(super) fn table(
        &mut self,
        numbering: &Numbering<'_>,
        newest_run: bool,
        distrusted: &BTreeMap<(u64, u32), Distrusted>,
    ) -> DeviceTable {
        let number = |config: u32| numbering.numbers[config as usize];
        let mut summary = std::mem::take(&mut self.summary);
        let attempted = self.attempted();
        let planned = union(&self.planned);
        if !self.is_unplanned {
            summary.planned_points = Some(planned.len() as u64);
            summary.planned_with_row = in_both(&planned, &attempted);
        }
        let space = self.space(numbering, &attempted);

        let mut rows = std::mem::take(&mut self.rows);
        let place = |row: &TableRow| (row.n, number(row.config));
        rows.sort_unstable_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
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
                    gbps: row.bytes_moved as f64 / time_ns,
                    time_ns,
                    confirmed_ns: row.confirmed_ns.filter(|_| scale.is_confirmed()),
                    ..row.cell(number(row.config))
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
            ceiling_gbps: BTreeMap::new(),
            ceiling_counts: BTreeMap::new(),
            peak_gbps: None,
            baselines: BTreeMap::new(),
            space,
            space_origin: if self.is_unplanned { SpaceOrigin::Rows } else { SpaceOrigin::Planned },
            cells,
            starts,
            failures,
            pool: None,
        }
    }
}

/// The points of several plans, ascending, each once.
pub(super) fn union(plans: &[SharedPlan]) -> SharedPlan {
    match plans {
        [plan] => Arc::clone(plan),
        plans => {
            let points: BTreeSet<(u64, u32)> = plans.iter().flat_map(|plan| plan.iter().copied()).collect();
            points.into_iter().collect()
        }
    }
}

/// How many points two ascending lists have in common.
pub(super) fn in_both<T: Ord>(a: &[T], b: &[T]) -> u64 {
    let mut rest = b;
    let is_there = |point: &&T| {
        rest = &rest[rest.iter().take_while(|other| other < point).count()..];
        rest.first() == Some(*point)
    };
    a.iter().filter(is_there).count() as u64
}

/// The version without its build: `0.1.0+abc` is `0.1.0`.
#[must_use]
pub fn release(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}
