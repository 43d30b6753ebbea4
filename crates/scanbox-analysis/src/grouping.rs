//! From files of records to one table per device and run.
//!
//! [`Builder::add`] takes one file at a time and keeps only numbers, so the records of a file can be dropped before the
//! next one is read; [`Builder::finish`] sorts, drops what is replaced and makes the tables. The result does not
//! depend on the order of files or rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use scanbox_model::config::{Config, Kernel};
use scanbox_model::device::DeviceKind;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Clock, Record, Selection, Status};
use scanbox_model::space::Point;

use crate::AnalysisError;
use crate::table::{
    Catalog, Cell, ConfigIndex, DeviceIdentity, DeviceTable, Failure, KernelIndex, Provenance, SpaceOrigin,
    Summary, Tables,
};
use crate::warning::Warning;

/// The subject of rows that scanbox measured of its own kernels.
pub const OWN_SUBJECT: &str = "scanbox";

/// What its rows of a benchmark are called, which are no part of a sweep.
const OWN_BENCHMARK: &str = "scanbox (benchmark)";

/// One file of records, with what its metadata says.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file, for messages.
    pub name: &'a str,
    /// Its rows.
    pub records: &'a [Record],
    /// The legal points of the space on the device; `None` without metadata.
    pub planned: Option<&'a [Point]>,
    /// Chip or program; `None` without metadata.
    pub kind: Option<DeviceKind>,
    /// Measured copy in GB/s by size.
    pub copy_gbps: Option<&'a BTreeMap<u64, f64>>,
}

/// What becomes of a device that has rows of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runs {
    /// The run with the newest row is taken.
    #[default]
    Latest,
    /// Each run has a table of its own.
    All,
}

/// Collects files.
#[derive(Debug)]
pub struct Builder {
    clock: Clock,
    /// That of the first row.
    problem: Option<Problem>,
    configs: Vec<(Config, String)>,
    by_config: HashMap<Config, u32>,
    by_label: HashMap<String, u32>,
    groups: Vec<Group>,
    other_subjects: BTreeMap<String, u64>,
    /// By device and size.
    baselines: BTreeMap<DeviceIdentity, BTreeMap<u64, f64>>,
    warnings: Vec<Warning>,
}

/// The rows of one run of one device, before they are sorted. Configs are numbered in order of appearance.
#[derive(Debug)]
struct Group {
    device: DeviceIdentity,
    provenance: Provenance,
    kind: Option<DeviceKind>,
    newest: u64,
    newest_utc: String,
    summary: Summary,
    rows: Vec<Row>,
    failures: Vec<(u64, u32, Status)>,
    /// Set when at least one file with metadata has rows of the group.
    has_plan: bool,
    planned: BTreeSet<(u64, u32)>,
    /// Points of the rows from files without metadata.
    shown: BTreeSet<(u64, u32)>,
    copy_gbps: BTreeMap<u64, f64>,
}

/// An `ok` row with a time. The order of the fields is the order of rows: of two rows of one point the greater is the
/// later one, and rows that are equal in everything are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    n: u64,
    config: u32,
    timestamp: u64,
    order_index: u64,
    median_ns: u64,
    q1_ns: u64,
    q3_ns: u64,
    samples: u32,
    bytes_moved: u64,
    confirmed_ns: Option<u64>,
}

impl Builder {
    /// Starts with nothing; throughput is taken from `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            problem: None,
            configs: Vec::new(),
            by_config: HashMap::new(),
            by_label: HashMap::new(),
            groups: Vec::new(),
            other_subjects: BTreeMap::new(),
            baselines: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// When a row of scanbox's own has labels that are none or do not belong together, or is of another problem than those
    /// before it.
    pub fn add(&mut self, source: &Source<'_>) -> Result<(), AnalysisError> {
        let mut touched: BTreeSet<usize> = BTreeSet::new();
        let mut others: BTreeMap<&str, u64> = BTreeMap::new();
        let mut last = None;
        for (index, record) in source.records.iter().enumerate() {
            // Rows of a benchmark have a cache state: they are no part of a sweep.
            if record.subject != OWN_SUBJECT || record.cache.is_some() {
                let subject = if record.subject == OWN_SUBJECT { OWN_BENCHMARK } else { &record.subject };
                *others.entry(subject).or_insert(0) += 1;
                self.note_baseline(record);
                continue;
            }
            let config = self.intern_label(record).map_err(|(column, reason)| AnalysisError::Label {
                source_name: source.name.to_owned(),
                row: index + 1,
                column,
                reason,
            })?;
            self.note_problem(record).map_err(|(column, reason)| AnalysisError::Label {
                source_name: source.name.to_owned(),
                row: index + 1,
                column,
                reason,
            })?;
            let group = self.group_of(record, last);
            last = Some(group);
            touched.insert(group);
            self.groups[group].push(record, config, self.clock, source.planned.is_none());
        }
        if source.planned.is_none() {
            self.warnings.push(Warning::NoMetadata { source_name: source.name.to_owned() });
        }
        if !others.is_empty() {
            let subjects = others.keys().map(|&subject| subject.to_owned()).collect();
            let rows = others.values().sum();
            self.warnings.push(Warning::OtherSubjects {
                source_name: source.name.to_owned(),
                rows,
                subjects,
            });
        }
        for (subject, rows) in others {
            *self.other_subjects.entry(subject.to_owned()).or_insert(0) += rows;
        }
        let planned: Option<Vec<(u64, u32)>> = source
            .planned
            .map(|points| points.iter().map(|point| (point.n, self.intern_config(point.config))).collect());
        for group in touched {
            self.groups[group].describe(source, planned.as_deref());
        }
        Ok(())
    }

    /// What the rows so far are of; `None` without any.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        self.problem
    }

    /// All rows have to be of one problem: times of different ones are not to be compared.
    fn note_problem(&mut self, record: &Record) -> Result<(), (&'static str, String)> {
        let problem = Problem::of_row(record).map_err(|reason| ("op", reason))?;
        let first = *self.problem.get_or_insert(problem);
        match problem.difference(&first) {
            Some(difference) => Err((
                difference.column,
                format!(
                    "`{}`, where the rows before have `{}`: analyse files of one problem at a time",
                    difference.own, difference.others
                ),
            )),
            None => Ok(()),
        }
    }

    /// Keeps the throughput of a scan of another implementation.
    fn note_baseline(&mut self, record: &Record) {
        let is_scan =
            record.selection.contains(&Selection::Baseline) && !record.selection.contains(&Selection::Copy);
        let gbps = record.throughput_gbps(self.clock).filter(|_| is_scan && record.cache == Some(Cache::Hot));
        if let Some(gbps) = gbps {
            let device = DeviceIdentity { name: record.device.clone(), uuid: record.device_uuid.clone() };
            let best = self.baselines.entry(device).or_default().entry(record.n_elements).or_insert(gbps);
            *best = best.max(gbps);
        }
    }

    /// The number of the config of a row, or the column that is wrong and why.
    fn intern_label(&mut self, record: &Record) -> Result<u32, (&'static str, String)> {
        let index = match self.by_label.get(&record.config_id) {
            Some(&index) => index,
            None => {
                let config: Config =
                    record.config_id.parse().map_err(|error| ("config_id", format!("{error}")))?;
                let index = self.intern_config(config);
                self.by_label.insert(record.config_id.clone(), index);
                index
            }
        };
        let kernel_label = &self.configs[index as usize].1;
        if *kernel_label != record.kernel_id {
            let found: String = record.kernel_id.chars().take(80).collect();
            return Err((
                "kernel_id",
                format!("`{found}` where {} belongs to {kernel_label}", record.config_id),
            ));
        }
        Ok(index)
    }

    fn intern_config(&mut self, config: Config) -> u32 {
        *self.by_config.entry(config).or_insert_with(|| {
            self.configs.push((config, config.kernel.to_string()));
            (self.configs.len() - 1) as u32
        })
    }

    /// The group of a row; `last` is the group of the row before, which it nearly always shares.
    fn group_of(&mut self, record: &Record, last: Option<usize>) -> usize {
        if let Some(last) = last.filter(|&last| self.groups[last].holds(record)) {
            return last;
        }
        self.groups.iter().position(|group| group.holds(record)).unwrap_or_else(|| {
            self.groups.push(Group::new(record));
            self.groups.len() - 1
        })
    }

    /// The tables, ordered by device and provenance, and what was noticed on the way.
    #[must_use]
    pub fn finish(self, runs: Runs) -> (Tables, Vec<Warning>) {
        let Self { configs, mut groups, other_subjects, baselines, mut warnings, .. } = self;
        groups.sort_by(|a, b| (&a.device, &a.provenance).cmp(&(&b.device, &b.provenance)));
        let (catalog, numbers) = catalog(&configs);
        let mut devices = Vec::new();
        for of_device in groups.chunk_by_mut(|a, b| a.device == b.device) {
            let newest = newest(of_device);
            if runs == Runs::Latest && of_device.len() > 1 {
                warnings.push(older_runs(of_device, newest));
            }
            for (index, group) in of_device.iter_mut().enumerate() {
                if runs == Runs::All || index == newest {
                    let mut table = group.table(&catalog, &numbers, index == newest);
                    table.baseline_gbps = baseline_of(&baselines, &table.device);
                    notice(&table, &mut warnings);
                    devices.push(table);
                }
            }
        }
        (Tables { catalog, devices, other_subjects }, warnings)
    }
}

/// The scans of other implementations on a device. Some do not know its UUID.
fn baseline_of(
    baselines: &BTreeMap<DeviceIdentity, BTreeMap<u64, f64>>,
    device: &DeviceIdentity,
) -> BTreeMap<u64, f64> {
    let mut best = BTreeMap::new();
    let same = |other: &DeviceIdentity| {
        other.name == device.name && (other.uuid.is_empty() || other.uuid.eq_ignore_ascii_case(&device.uuid))
    };
    for (&n, &gbps) in baselines.iter().filter(|(other, _)| same(other)).flat_map(|(_, sizes)| sizes) {
        let entry = best.entry(n).or_insert(gbps);
        *entry = entry.max(gbps);
    }
    best
}

/// The catalog in the fixed order of parameters, and for each number of appearance the number in it.
fn catalog(configs: &[(Config, String)]) -> (Catalog, Vec<ConfigIndex>) {
    let kernels: BTreeSet<Kernel> = configs.iter().map(|(config, _)| config.kernel).collect();
    let kernels: Vec<Kernel> = kernels.into_iter().collect();
    let mut order: Vec<usize> = (0..configs.len()).collect();
    order.sort_by_key(|&index| configs[index].0);
    let mut numbers = vec![ConfigIndex(0); configs.len()];
    for (number, &index) in order.iter().enumerate() {
        numbers[index] = ConfigIndex(number as u32);
    }
    let configs = order.iter().map(|&index| {
        let config = configs[index].0;
        (config, KernelIndex(kernels.partition_point(|kernel| *kernel < config.kernel) as u32))
    });
    (Catalog { configs: configs.collect(), kernels: kernels.clone() }, numbers)
}

/// The group with the newest row; of equally new ones the last by provenance.
fn newest(groups: &[Group]) -> usize {
    let newest = (0..groups.len()).max_by_key(|&index| (groups[index].newest, index));
    newest.unwrap_or(0)
}

fn older_runs(groups: &[Group], newest: usize) -> Warning {
    let others = groups.iter().enumerate().filter(|&(index, _)| index != newest);
    Warning::OlderRuns {
        device: groups[newest].device.name.clone(),
        kept: groups[newest].provenance.clone(),
        left_out: others.map(|(_, group)| (group.provenance.clone(), group.summary.rows)).collect(),
    }
}

fn notice(table: &DeviceTable, warnings: &mut Vec<Warning>) {
    let device = || table.device.name.clone();
    if table.summary.replaced > 0 {
        warnings.push(Warning::Replaced { device: device(), rows: table.summary.replaced });
    }
    if table.summary.without_time > 0 {
        warnings.push(Warning::WithoutTime { device: device(), rows: table.summary.without_time });
    }
    if let Some(planned) = table.summary.planned_points {
        let missing = planned - table.summary.planned_with_row;
        if missing > 0 {
            warnings.push(Warning::Incomplete { device: device(), missing, planned });
        }
    }
    if table.sizes.is_empty() {
        warnings.push(Warning::NothingUsable { device: device() });
    }
}

/// A time stamp as a number in the order of time: 14 digits of date and time and 4 of the fraction of the second.
fn timestamp_key(text: &str) -> u64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction_end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    let number = |digits: &str, count| {
        let digits = digits.bytes().filter(u8::is_ascii_digit).chain(std::iter::repeat(b'0'));
        digits.take(count).fold(0u64, |number, digit| 10 * number + u64::from(digit - b'0'))
    };
    10_000 * number(whole, 14) + number(&fraction[..fraction_end], 4)
}

/// The version without its build: `0.1.0+abc` is `0.1.0`.
fn release(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

impl Group {
    fn new(record: &Record) -> Self {
        Self {
            device: DeviceIdentity { name: record.device.clone(), uuid: record.device_uuid.clone() },
            provenance: Provenance {
                driver: record.driver.clone(),
                version: release(&record.subject_version).to_owned(),
                kernel_hash: record.kernel_hash.clone(),
            },
            kind: None,
            newest: 0,
            newest_utc: String::new(),
            summary: Summary::default(),
            rows: Vec::new(),
            failures: Vec::new(),
            has_plan: false,
            planned: BTreeSet::new(),
            shown: BTreeSet::new(),
            copy_gbps: BTreeMap::new(),
        }
    }

    fn holds(&self, record: &Record) -> bool {
        self.device.uuid == record.device_uuid
            && self.device.name == record.device
            && self.provenance.kernel_hash == record.kernel_hash
            && self.provenance.driver == record.driver
            && self.provenance.version == release(&record.subject_version)
    }

    fn push(&mut self, record: &Record, config: u32, clock: Clock, show: bool) {
        let timestamp = timestamp_key(&record.timestamp_utc);
        if self.newest_utc.is_empty() || timestamp > self.newest {
            self.newest = timestamp;
            self.newest_utc.clone_from(&record.timestamp_utc);
        }
        self.summary.rows += 1;
        *self.summary.by_status.entry(record.status).or_insert(0) += 1;
        if show {
            self.shown.insert((record.n_elements, config));
        }
        let usable = record.throughput_gbps(clock).is_some_and(|gbps| gbps > 0.0);
        match record.time(clock).filter(|_| usable) {
            Some(time) => self.rows.push(Row {
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

    /// Takes over what the metadata of a file says.
    fn describe(&mut self, source: &Source<'_>, planned: Option<&[(u64, u32)]>) {
        self.kind = self.kind.or(source.kind);
        if let Some(planned) = planned {
            self.has_plan = true;
            self.planned.extend(planned);
        }
        for (&n, &gbps) in source.copy_gbps.into_iter().flatten() {
            // Several files of one run may each have measured it: a ceiling is the highest.
            let entry = self.copy_gbps.entry(n).or_insert(gbps);
            *entry = entry.max(gbps);
        }
    }

    fn table(&mut self, catalog: &Catalog, numbers: &[ConfigIndex], newest_run: bool) -> DeviceTable {
        let number = |config: u32| numbers[config as usize];
        let mut summary = std::mem::take(&mut self.summary);
        if self.has_plan {
            let mut attempted: Vec<(u64, u32)> = self.rows.iter().map(|row| (row.n, row.config)).collect();
            attempted.extend(self.failures.iter().map(|&(n, config, _)| (n, config)));
            attempted.sort_unstable();
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

        let mut sizes: Vec<u64> = rows.iter().map(|row| row.n).collect();
        sizes.dedup();
        let mut starts: Vec<usize> = sizes.iter().map(|&n| rows.partition_point(|row| row.n < n)).collect();
        starts.push(rows.len());
        let cells = rows.iter().map(|row| Cell {
            config: number(row.config),
            gbps: scanbox_model::units::throughput_gbps(row.bytes_moved, row.median_ns).unwrap_or(0.0),
            median_ns: row.median_ns,
            q1_ns: row.q1_ns,
            q3_ns: row.q3_ns,
            samples: row.samples,
            confirmed_ns: row.confirmed_ns,
        });

        let failures =
            self.failures.iter().map(|&(n, config, status)| Failure { n, config: number(config), status });
        let mut failures: Vec<Failure> = failures.collect();
        failures.sort_unstable();

        let space = self.planned.iter().chain(&self.shown);
        let space: BTreeSet<(u64, KernelIndex)> =
            space.map(|&(n, config)| (n, catalog.kernel_of(number(config)))).collect();
        DeviceTable {
            device: self.device.clone(),
            kind: self.kind,
            provenance: self.provenance.clone(),
            newest_utc: std::mem::take(&mut self.newest_utc),
            newest_run,
            summary,
            sizes,
            copy_gbps: std::mem::take(&mut self.copy_gbps),
            baseline_gbps: BTreeMap::new(),
            space_origin: if self.has_plan { SpaceOrigin::Planned } else { SpaceOrigin::Rows },
            space: space.into_iter().collect(),
            cells: cells.collect(),
            starts,
            failures,
        }
    }
}
