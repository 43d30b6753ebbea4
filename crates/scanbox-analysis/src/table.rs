//! Dense tables: the usable rows of one run of one device, by size and config. [`crate::grouping`] fills them.
//!
//! Configs and kernels are numbers here; the [`Catalog`] of all tables knows what they stand for. Numbers are given in
//! the fixed order of the parameter tuple, so comparing two numbers is the last tie-break of every answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use scanbox_model::config::{Config, Kernel};
use scanbox_model::device::DeviceKind;
use scanbox_model::record::{Record, Status};

pub use crate::identity::DeviceIdentity;
use crate::pool::UnitPool;
use crate::problem::Problem;
use crate::stats::{self, ConfidenceInterval};
use crate::trust::Distrusted;

/// The number of a config in the [`Catalog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigIndex(pub(crate) u32);

/// The number of a kernel in the [`Catalog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelIndex(pub(crate) u32);

/// Every config and kernel of all tables, in the fixed order of their parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    pub(crate) configs: Vec<(Config, KernelIndex)>,
    pub(crate) kernels: Vec<Kernel>,
}

impl Catalog {
    /// The config with this number.
    #[must_use]
    pub fn config(&self, index: ConfigIndex) -> &Config {
        &self.configs[index.0 as usize].0
    }

    /// The kernel of the config with this number.
    #[must_use]
    pub fn kernel_of(&self, index: ConfigIndex) -> KernelIndex {
        self.configs[index.0 as usize].1
    }

    /// The kernel with this number.
    #[must_use]
    pub fn kernel(&self, index: KernelIndex) -> &Kernel {
        &self.kernels[index.0 as usize]
    }
}

/// How rows came about: rows that differ here are of different runs and are never merged silently.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Provenance {
    /// Driver name and version.
    pub driver: String,
    /// scanbox's version, without what follows a `+` (a resume by another build of one version is one run).
    pub version: String,
    /// Hash of all kernel sources.
    pub kernel_hash: String,
}

/// One `ok` row that has a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The config.
    pub config: ConfigIndex,
    /// Throughput by [`Self::time_ns`], in GB/s; above zero.
    pub gbps: f64,
    /// The time of one call, in nanoseconds, that every answer goes by: on one scale with all others of its size
    /// ([`crate::confirmed`]).
    pub time_ns: f64,
    /// Median time of one call in the sweep.
    pub median_ns: u64,
    /// First quartile.
    pub q1_ns: u64,
    /// Third quartile.
    pub q3_ns: u64,
    /// Samples behind them.
    pub samples: u32,
    /// What a step of the timer comes to in the time of one call, in nanoseconds: 0 where steps are not known, and no
    /// matter.
    pub resolution_ns: f64,
    /// Median time by the confirmation of the sweep, where the config took part in it.
    pub confirmed_ns: Option<u64>,
    /// What the driver told of its kernel.
    pub occupancy: Occupancy,
}

/// What a kernel takes of a unit and how much of it is there at a time, in four bytes: there are millions of rows. A 0
/// says that nobody told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Occupancy {
    /// Registers per invocation.
    pub registers: u16,
    /// Subgroups that one SIMD unit holds.
    pub subgroups_per_simd: u8,
    /// Workgroups that one compute unit holds.
    pub workgroups_held: u8,
}

impl Occupancy {
    /// That of a row.
    pub(crate) fn of(record: &Record) -> Self {
        let byte = |count: Option<u32>| count.map_or(0, |count| u8::try_from(count).unwrap_or(u8::MAX));
        Self {
            registers: record.registers.map_or(0, |count| u16::try_from(count).unwrap_or(u16::MAX)),
            subgroups_per_simd: byte(record.subgroups_per_simd),
            workgroups_held: byte(record.workgroups_held),
        }
    }
}

impl Cell {
    /// Interquartile range over median; at least a step of the timer over that.
    #[must_use]
    pub fn relative_spread(&self) -> f64 {
        stats::relative_spread(self.median_ns, self.q1_ns, self.q3_ns)
            .max(stats::relative_step(self.median_ns, self.resolution_ns))
    }

    /// The interval of the throughput in GB/s by which ties are found: what the ends of the interval of the time
    /// give, which is as wide, for its size, as the samples of the sweep make it, and the steps of its timer.
    #[must_use]
    pub fn interval(&self) -> ConfidenceInterval {
        let time = stats::median_interval(self.median_ns, self.q1_ns, self.q3_ns, self.samples)
            .at_least(self.median_ns, self.resolution_ns);
        let work = self.gbps * self.median_ns as f64;
        let high = if time.low > 0.0 { work / time.low } else { f64::INFINITY };
        ConfidenceInterval { low: work / time.high, high }
    }
}

/// One attempted point that did not end `ok`, or has no time of the chosen clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailedPoint {
    /// Input size in elements.
    pub n: u64,
    /// The config.
    pub config: ConfigIndex,
    /// How it ended.
    pub status: Status,
}

/// Where the space of a table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceOrigin {
    /// The legal points of the space in the metadata.
    Planned,
    /// What the rows show.
    Rows,
}

/// What the rows of a table were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowCounts {
    /// Rows, whatever they say.
    pub rows: u64,
    /// Rows by status.
    pub by_status: BTreeMap<Status, u64>,
    /// `ok` rows that a later `ok` row of the same point replaced.
    pub replaced: u64,
    /// `ok` rows that have no time of the chosen clock.
    pub without_time: u64,
    /// Points of the space, where metadata says so.
    pub planned_points: Option<u64>,
    /// Planned points that have a row; 0 without metadata.
    pub planned_with_row: u64,
}

/// The fastest scan of another implementation at a size.
#[derive(Debug, Clone, PartialEq)]
pub struct FastestBaseline {
    /// What it is called.
    pub subject: String,
    /// Its throughput in GB/s.
    pub gbps: f64,
    /// The fastest scan of scanbox's own in the same run, in GB/s: what it is to be compared with. `None` where the run
    /// has none.
    pub own_gbps: Option<f64>,
}

/// The usable rows of one run of one device about one problem, or of several units of a model taken together.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceTable {
    /// The device; of several units what they have in common.
    pub device: DeviceIdentity,
    /// What it is called: no other unit of these tables is called the same.
    pub title: String,
    /// The files that its rows are from, ascending.
    pub files: Vec<String>,
    /// What counts nowhere although it has an `ok` row, because it was wrong once; ascending.
    pub distrusted: Vec<Distrusted>,
    /// What was scanned.
    pub problem: Problem,
    /// Chip or program; `None` without metadata.
    pub kind: Option<DeviceKind>,
    /// Driver, version and kernel sources.
    pub provenance: Provenance,
    /// The time of the newest row, UTC.
    pub newest_utc: String,
    /// Whether no other run of this device about this problem is newer.
    pub newest_run: bool,
    /// Counts.
    pub summary: RowCounts,
    /// Sizes with at least one `ok` row, ascending.
    pub sizes: Vec<u64>,
    /// The ceiling in GB/s by size, where metadata has it: the median over the files that do.
    pub ceiling_gbps: BTreeMap<u64, f64>,
    /// Of how many measurements that is, by size.
    pub ceiling_counts: BTreeMap<u64, u64>,
    /// The bandwidth of the device in GB/s that the user gave.
    pub peak_gbps: Option<f64>,
    /// The fastest scan of another implementation on this device by size, where files have it: on hot buffers.
    pub baselines: BTreeMap<u64, FastestBaseline>,
    /// Where [`Self::space`] comes from.
    pub space_origin: SpaceOrigin,
    /// Which kernels have a legal config at which size: pairs, ascending. Tables of one space share it.
    pub space: Arc<[(u64, KernelIndex)]>,
    /// Cells by size, then config; one per point.
    pub(crate) cells: Vec<Cell>,
    /// Where the cells of each size start, and the end.
    pub(crate) starts: Vec<usize>,
    /// By size, then config.
    pub(crate) failures: Vec<FailedPoint>,
    /// Of several units of a model what each found.
    pub pool: Option<UnitPool>,
}

impl DeviceTable {
    /// The cells of the size with this position in [`Self::sizes`], by config; at least one.
    #[must_use]
    pub fn cells_at(&self, size: usize) -> &[Cell] {
        &self.cells[self.starts[size]..self.starts[size + 1]]
    }

    /// The position of a size in [`Self::sizes`].
    #[must_use]
    pub fn size_index(&self, n: u64) -> Option<usize> {
        self.sizes.binary_search(&n).ok()
    }

    /// Attempts at this size that did not end with a usable row.
    #[must_use]
    pub fn failures_at(&self, n: u64) -> &[FailedPoint] {
        let start = self.failures.partition_point(|failure| failure.n < n);
        let end = self.failures.partition_point(|failure| failure.n <= n);
        &self.failures[start..end]
    }

    /// The kernels of the space.
    #[must_use]
    pub fn space_kernels(&self) -> BTreeSet<KernelIndex> {
        self.space.iter().map(|&(_, kernel)| kernel).collect()
    }

    /// The sizes where at least this share of the kernels of the space has a legal config; 1: every kernel (A3).
    #[must_use]
    pub fn sizes_of_share(&self, share: f64) -> BTreeSet<u64> {
        let kernels = self.space_kernels().len() as f64;
        let groups = self.space.chunk_by(|a, b| a.0 == b.0);
        groups.filter(|group| group.len() as f64 >= share * kernels).map(|group| group[0].0).collect()
    }

    /// Whether the space has a legal config of a kernel at a size.
    #[must_use]
    pub fn is_legal(&self, n: u64, kernel: KernelIndex) -> bool {
        self.space.binary_search(&(n, kernel)).is_ok()
    }

    /// The units behind it: one, or those of a pool.
    #[must_use]
    pub fn units(&self) -> Vec<&DeviceIdentity> {
        match &self.pool {
            Some(pool) => pool.units.iter().map(|(unit, _)| unit).collect(),
            None => vec![&self.device],
        }
    }

    /// Whether one of its units has this UUID, whatever its case.
    #[must_use]
    pub fn has_unit(&self, uuid: &str) -> bool {
        self.units().iter().any(|unit| unit.uuid.eq_ignore_ascii_case(uuid))
    }

    /// The spread over units of the lead that a config has over another one at a size with this position, as a share;
    /// `None` where there is one unit, or nothing is known of it.
    #[must_use]
    pub fn lead_spread(&self, size: usize, best: ConfigIndex, other: ConfigIndex) -> Option<f64> {
        let pool = self.pool.as_ref()?;
        let cell = |config: ConfigIndex| {
            let cells = self.cells_at(size);
            let place = cells.binary_search_by_key(&config, |cell| cell.config).ok()?;
            Some(self.starts[size] + place)
        };
        pool.lead_spread(cell(best)?, cell(other)?)
    }

    /// Whether the lead of the better of two cells of a size is not above the noise of their samples, or not above
    /// what units differ in it.
    #[must_use]
    pub(crate) fn is_tie(&self, size: usize, best: &Cell, other: &Cell) -> bool {
        best.interval().overlaps(&other.interval())
            || self
                .lead_spread(size, best.config, other.config)
                .is_some_and(|spread| other.time_ns / best.time_ns - 1.0 <= spread)
    }
}

/// All tables, ordered by problem, device and provenance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tables {
    /// What the numbers of configs and kernels stand for.
    pub catalog: Catalog,
    /// One table per problem, device and run.
    pub devices: Vec<DeviceTable>,
    /// Rows of implementations other than scanbox, by subject: they enter no answer but the comparison with a baseline.
    pub other_subjects: BTreeMap<String, u64>,
}

impl Tables {
    /// The problems that the rows are about, ascending.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.devices.iter().map(|table| table.problem).collect();
        problems.sort_unstable();
        problems.dedup();
        problems
    }
}
