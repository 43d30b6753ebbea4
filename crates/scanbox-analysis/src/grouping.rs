//! From files of records to one table per problem, device and run.
//!
//! [`FileRows`] takes the rows of one file and keeps only numbers, so that no more than a row of a file has to be in
//! memory; [`Builder`] puts files together, and [`Builder::finish`] sorts, drops what is replaced and makes the tables.
//! The result does not depend on the order of files or rows.

mod file_rows;
mod group;
mod pooling;

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use scanbox_model::config::{Config, Kernel};
use scanbox_model::device::DeviceKind;
use scanbox_model::merged::MergedInput;
use scanbox_model::record::{Clock, Record};
use scanbox_model::space::Point;

pub use file_rows::FileRows;
use file_rows::{Baselines, BenchmarkRun, Labels, keep_best};
pub use group::release;
use group::{Group, Numbering, SharedPlan};
use pooling::{TableRun, table_runs};

use crate::AnalysisError;
use crate::identity::unit_titles;
use crate::pool::Units;
use crate::problem::Problem;
use crate::table::{Catalog, ConfigIndex, DeviceIdentity, DeviceTable, FastestBaseline, KernelIndex, Tables};
use crate::trust::Trust;
use crate::warning::Warning;

pub use scanbox_model::row_rules::OWN_SUBJECT;

/// One file of records, with what its metadata says.
#[derive(Debug, Clone, Copy)]
pub struct RecordFile<'a> {
    /// The file, for messages.
    pub name: &'a str,
    /// Its rows.
    pub records: &'a [Record],
    /// The legal points of the space on the device; `None` without metadata.
    pub planned: Option<&'a [Point]>,
    /// What was computed; the inclusive sum of words where metadata does not say.
    pub problem: Problem,
    /// Chip or program; `None` without metadata.
    pub kind: Option<DeviceKind>,
    /// The ceiling in GB/s by size.
    pub ceiling_gbps: Option<&'a BTreeMap<u64, f64>>,
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
    labels: Labels,
    groups: Vec<Group>,
    other_subjects: BTreeMap<String, u64>,
    baselines: Baselines,
    trust: Trust,
    warnings: Vec<Warning>,
    units: Units,
    /// Files so far.
    files: u32,
    /// Lists of points that files came with, and what they are here.
    plans: Vec<(Arc<[Point]>, SharedPlan)>,
}

/// What the metadata of a file says.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileFacts<'a> {
    /// The legal points of the space on the device; `None` without metadata. Files of one space share them.
    pub planned: Option<&'a Arc<[Point]>>,
    /// What was computed.
    pub problem: Problem,
    /// Chip or program; `None` without metadata.
    pub kind: Option<DeviceKind>,
    /// The ceiling in GB/s by size.
    pub ceiling_gbps: Option<&'a BTreeMap<u64, f64>>,
    /// Of how many measurements each ceiling is the median, where it is not one.
    pub ceiling_counts: Option<&'a BTreeMap<u64, u64>>,
    /// Of a merged file, what it was made of: units have copies of their own there.
    pub inputs: &'a [MergedInput],
    /// What the user calls the unit that the file is about; empty: nothing.
    pub label: &'a str,
}

impl Builder {
    /// Starts with nothing; throughput is taken from `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            labels: Labels::default(),
            groups: Vec::new(),
            other_subjects: BTreeMap::new(),
            baselines: BTreeMap::new(),
            trust: Trust::default(),
            warnings: Vec::new(),
            units: Units::Auto,
            files: 0,
            plans: Vec::new(),
        }
    }

    /// Says what becomes of units of one model.
    #[must_use]
    pub fn with_units(self, units: Units) -> Self {
        Self { units, ..self }
    }

    /// The clock that throughput is taken from.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Adds a file whose rows are all there.
    ///
    /// # Errors
    /// As [`FileRows::push`].
    pub fn add(&mut self, source: &RecordFile<'_>) -> Result<(), AnalysisError> {
        let mut rows = FileRows::new(source.name, self.clock);
        source.records.iter().try_for_each(|record| rows.push(record))?;
        let RecordFile { planned, problem, kind, ceiling_gbps, .. } = *source;
        let planned: Option<Arc<[Point]>> = planned.map(Arc::from);
        let planned = planned.as_ref();
        self.add_rows(rows, &FileFacts { planned, problem, kind, ceiling_gbps, ..FileFacts::default() });
        Ok(())
    }

    /// Adds the rows of a file, and what its metadata says.
    pub fn add_rows(&mut self, mut file: FileRows, facts: &FileFacts<'_>) {
        self.trust.merge(std::mem::take(&mut file.trust));
        let name = file.name.clone();
        if facts.planned.is_none() {
            self.warnings.push(Warning::NoMetadata { source_name: file.name.clone() });
        }
        if !file.other_subjects.is_empty() {
            self.warnings.push(Warning::OtherSubjects {
                source_name: file.name,
                rows: file.other_subjects.values().sum(),
                subjects: file.other_subjects.keys().cloned().collect(),
            });
        }
        for (subject, rows) in file.other_subjects {
            *self.other_subjects.entry(subject).or_insert(0) += rows;
        }
        for (device, baselines) in file.baselines {
            let best = self.baselines.entry(device).or_default();
            baselines.into_iter().for_each(|(run, found)| best.entry(run).or_default().merge(&found));
        }
        let numbers: Vec<u32> =
            file.labels.configs.iter().map(|&(config, _)| self.labels.intern(config)).collect();
        for group in &mut file.groups {
            group.device.label = facts.label.to_owned();
            group.files.insert(name.clone());
        }
        self.files += 1;
        // Rows of one file whose unit is not told are of the unit that the others are of.
        for mut group in put_to_known_units(file.groups) {
            group.renumber(&numbers);
            group.rows.shrink_to_fit();
            let planned = facts.planned.filter(|_| facts.problem == group.problem);
            let planned = planned.map(|points| self.plan(points));
            group.describe(facts, planned, self.files);
            self.groups.push(group);
        }
    }

    /// These points with the numbers of their configs.
    fn plan(&mut self, points: &Arc<[Point]>) -> SharedPlan {
        if let Some((_, plan)) = self.plans.iter().find(|(other, _)| Arc::ptr_eq(other, points)) {
            return Arc::clone(plan);
        }
        let plan = points.iter().map(|point| (point.n, self.labels.intern(point.config)));
        let plan: SharedPlan = plan.collect::<BTreeSet<_>>().into_iter().collect();
        self.plans.push((Arc::clone(points), Arc::clone(&plan)));
        plan
    }

    /// The tables, ordered by problem, device and provenance, and what was noticed on the way.
    #[must_use]
    pub fn finish(self, runs: Runs) -> (Tables, Vec<Warning>) {
        let Self { labels, groups, other_subjects, baselines, trust, mut warnings, units, .. } = self;
        let mut groups = put_to_known_units(groups);
        groups.sort_by_cached_key(Group::key);
        let mut names: BTreeSet<DeviceIdentity> = groups.iter().map(|group| group.device.clone()).collect();
        let mut of_tables = table_runs(groups, units);
        of_tables.sort_by_cached_key(TableRun::key);
        names.extend(of_tables.iter().map(|run| run.device.clone()));
        let titles = unit_titles(&names);
        let (catalog, numbers) = catalog(&labels.configs);
        let numbering =
            Numbering { catalog: &catalog, numbers: &numbers, titles: &titles, spaces: RefCell::default() };
        let mut devices: Vec<DeviceTable> = Vec::new();
        for of_device in of_tables.chunk_by_mut(TableRun::is_of_one_device) {
            let newest = newest(of_device);
            if runs == Runs::Latest && of_device.len() > 1 {
                warnings.push(older_runs(of_device, newest, of_device[newest].title(&titles)));
            }
            for (index, run) in of_device.iter_mut().enumerate() {
                if runs == Runs::All || index == newest {
                    let distrusted = run.distrusted(&trust, &labels);
                    let mut table = run.table(&numbering, index == newest, &distrusted, &mut warnings);
                    table.baselines = baselines_of(&baselines, &table);
                    if table.baselines.is_empty() {
                        table.baselines = baselines_of_model(&baselines, &table.device, table.problem);
                        if !table.baselines.is_empty() {
                            warnings.push(Warning::BaselinesOfAnotherUnit { device: table.title.clone() });
                        }
                    }
                    let alike = |other: &&DeviceTable| other.space == table.space;
                    if let Some(other) = devices.last().filter(alike) {
                        table.space = Arc::clone(&other.space);
                    }
                    notice(&table, &mut warnings);
                    devices.push(table);
                }
            }
        }
        (Tables { catalog, devices, other_subjects }, warnings)
    }
}

/// The scans of other implementations on a device. Some do not know its UUID.
fn baselines_of(baselines: &Baselines, table: &DeviceTable) -> BTreeMap<u64, FastestBaseline> {
    let units = table.units();
    let unknown_or = |text: &str, own: &str| text.is_empty() || own.is_empty() || text == own;
    let is_unit = |other: &DeviceIdentity, unit: &DeviceIdentity| {
        (other.uuid.is_empty() || other.uuid.eq_ignore_ascii_case(&unit.uuid))
            && unknown_or(&other.host, &unit.host)
            && unknown_or(&other.pci_address, &unit.pci_address)
    };
    let same = |other: &DeviceIdentity| {
        other.name == table.device.name
            && other.api == table.device.api
            && units.iter().any(|unit| is_unit(other, unit))
    };
    fastest(baselines.iter().filter(|((other, about), _)| *about == table.problem && same(other)))
}

/// The same on other units of its model, where scans of scanbox ran beside them: a ratio of two times of one run says
/// something about each unit, a time does not.
fn baselines_of_model(
    baselines: &Baselines,
    device: &DeviceIdentity,
    problem: Problem,
) -> BTreeMap<u64, FastestBaseline> {
    let is_model = |other: &DeviceIdentity| (&other.name, &other.api) == (&device.name, &device.api);
    let mut best =
        fastest(baselines.iter().filter(|((other, about), _)| *about == problem && is_model(other)));
    best.retain(|_, baseline| baseline.own_gbps.is_some());
    best
}

/// The fastest by size.
fn fastest<'a>(
    here: impl Iterator<Item = (&'a (DeviceIdentity, Problem), &'a BTreeMap<(u64, String), BenchmarkRun>)>,
) -> BTreeMap<u64, FastestBaseline> {
    // A run's own rows know their unit, and those of its baselines may not.
    let mut runs: BTreeMap<(u64, &str), BenchmarkRun> = BTreeMap::new();
    for ((n, run), found) in here.flat_map(|(_, runs)| runs) {
        runs.entry((*n, run.as_str())).or_default().merge(found);
    }
    let mut best = BTreeMap::new();
    runs.into_iter().for_each(|((n, _), run)| keep_best(&mut best, n, run));
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

/// Puts groups whose host or PCI address is not known to the only unit that they can be of, where there is one, and
/// groups of one run together.
fn put_to_known_units(mut groups: Vec<Group>) -> Vec<Group> {
    // Only what is alike in name, label, UUID and through what it is driven can be one unit.
    let mut alike: BTreeMap<DeviceIdentity, BTreeSet<DeviceIdentity>> = BTreeMap::new();
    let key = |device: &DeviceIdentity| DeviceIdentity {
        host: String::new(),
        pci_address: String::new(),
        ..device.clone()
    };
    for group in &groups {
        alike.entry(key(&group.device)).or_default().insert(group.device.clone());
    }
    for group in &mut groups {
        let device = &group.device;
        let others = alike.get(&key(device)).into_iter().flatten();
        let known: Vec<&DeviceIdentity> =
            others.filter(|other| other.known() > device.known() && device.may_be(other)).collect();
        // Of one unit less and more may be told: what tells most, if all others may be that.
        let most = known.iter().max_by_key(|other| other.known());
        if let Some(most) = most.filter(|most| known.iter().all(|other| other.may_be(most))) {
            group.device = (*most).clone();
        }
    }
    let mut together: Vec<Group> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    for group in groups {
        match places.entry(group.key()) {
            Entry::Occupied(place) => together[*place.get()].merge(group),
            Entry::Vacant(place) => {
                place.insert(together.len());
                together.push(group);
            }
        }
    }
    together
}

/// The run with the newest row; of equally new ones the last by provenance.
fn newest(runs: &[TableRun]) -> usize {
    let newest = (0..runs.len()).max_by_key(|&index| (runs[index].newest(), index));
    newest.unwrap_or(0)
}

fn older_runs(runs: &[TableRun], newest: usize, device: String) -> Warning {
    let others = runs.iter().enumerate().filter(|&(index, _)| index != newest);
    Warning::OlderRuns {
        device,
        kept: runs[newest].first().provenance.clone(),
        left_out: others.map(|(_, run)| (run.first().provenance.clone(), run.rows())).collect(),
    }
}

fn notice(table: &DeviceTable, warnings: &mut Vec<Warning>) {
    let device = || table.title.clone();
    if !table.distrusted.is_empty() {
        warnings.push(Warning::Distrusted { device: device(), points: table.distrusted.clone() });
    }
    if table.summary.replaced > 0 {
        warnings.push(Warning::Replaced {
            several: table.files.len() > 1,
            device: device(),
            rows: table.summary.replaced,
        });
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
