//! Units of one model taken together: which are, which is off, and the table that they become.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file_rows::Labels;
use super::group::{Group, Numbering, SharedPlan, in_both, union};
use crate::pool::{UnitPool, UnitTime, Units, interquartile_range};
use crate::problem::Problem;
use crate::spread::median;
use crate::table::{Cell, ConfigIndex, DeviceIdentity, DeviceTable, Provenance, SpaceOrigin};
use crate::trust::{Distrusted, Trust, TrustScope};
use crate::warning::{UnitOff, Warning};

/// Of the points that units have together, the share that makes one of them no fragment.
const WHOLE: (usize, usize) = (9, 10);
/// By how much a unit may be slower or faster than the median of all, as a share.
pub const OFF: f64 = 0.05;
/// Points that a unit has to share with others before anything is said of it, or made of it.
const SHARED_MIN: usize = 3;

/// What has one table: a run of a unit, or those of several units of its model.
#[derive(Debug)]
pub(super) struct TableRun {
    pub device: DeviceIdentity,
    /// One, or several with rows of the same problem, driver, version and sources.
    pub units: Vec<Group>,
}

impl TableRun {
    pub fn first(&self) -> &Group {
        &self.units[0]
    }

    pub fn key(&self) -> (Problem, DeviceIdentity, Provenance) {
        (self.first().problem, self.device.clone(), self.first().provenance.clone())
    }

    pub fn is_of_one_device(a: &Self, b: &Self) -> bool {
        (a.first().problem, &a.device) == (b.first().problem, &b.device)
    }

    pub fn newest(&self) -> u64 {
        self.units.iter().map(|group| group.newest).max().unwrap_or_default()
    }

    pub fn rows(&self) -> u64 {
        self.units.iter().map(|group| group.summary.rows).sum()
    }

    pub fn title(&self, titles: &BTreeMap<DeviceIdentity, String>) -> String {
        let title = titles.get(&self.device).cloned().unwrap_or_default();
        match self.units.len() {
            1 => title,
            units => format!("{title}, {units} units"),
        }
    }

    /// What counts nowhere: of several units what was wrong on one of them, since they run one program.
    pub fn distrusted(&self, trust: &Trust, labels: &Labels) -> BTreeMap<(u64, u32), Distrusted> {
        let of_unit = |group: &Group| {
            let (device, provenance) = (&group.device, &group.provenance);
            let program = TrustScope {
                problem: group.problem,
                device: device.name.clone(),
                api: device.api.clone(),
                device_uuid: device.uuid.clone(),
                driver: provenance.driver.clone(),
                kernel_hash: provenance.kernel_hash.clone(),
            };
            trust.of_program(&program, &device.host, &device.pci_address)
        };
        let points = self.units.iter().flat_map(of_unit);
        points.filter_map(|point| Some((labels.point(&point)?, point))).collect()
    }

    /// The table of its rows.
    pub fn table(
        &mut self,
        numbering: &Numbering<'_>,
        newest_run: bool,
        distrusted: &BTreeMap<(u64, u32), Distrusted>,
        warnings: &mut Vec<Warning>,
    ) -> DeviceTable {
        let title = self.title(numbering.titles);
        let table_of = |group: &mut Group| group.table(numbering, newest_run, distrusted);
        let mut tables: Vec<DeviceTable> = self.units.iter_mut().map(table_of).collect();
        let mut table = match tables.len() {
            1 => tables.remove(0),
            _ => {
                let anchors = self.units.iter().map(|group| group.anchors(numbering));
                let tables = tables.into_iter().zip(anchors).collect();
                let mut table = pooled(&self.device, &title, numbering.titles, tables, warnings);
                self.count_planned(numbering, &mut table);
                table
            }
        };
        table.title = title;
        let units = table.units();
        // What a file says of several units it says once.
        let of_units = self.units.iter().filter(|group| units.contains(&&group.device));
        let measured: BTreeMap<(u64, u32, u32), (f64, u64)> =
            of_units.flat_map(|group| group.ceiling_gbps.iter().map(|(&at, &found)| (at, found))).collect();
        // What a merged file says as a whole is of what its units say.
        let is_whole = |&(n, file, place): &(u64, u32, u32)| {
            place == 0 && measured.range((n, file, 1)..=(n, file, u32::MAX)).next().is_some()
        };
        let mut ceilings: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for (&(n, ..), &(gbps, count)) in measured.iter().filter(|(at, _)| !is_whole(at)) {
            ceilings.entry(n).or_default().push(gbps);
            *counts.entry(n).or_insert(0) += count;
        }
        table.ceiling_counts = counts;
        let middle = |(n, mut found): (u64, Vec<f64>)| Some((n, median(&mut found)?));
        table.ceiling_gbps = ceilings.into_iter().filter_map(middle).collect();
        table
    }

    /// How much of the space units have together.
    fn count_planned(&self, numbering: &Numbering<'_>, table: &mut DeviceTable) {
        let mut plans: Vec<SharedPlan> = Vec::new();
        for plan in self.units.iter().flat_map(|group| &group.planned) {
            if !plans.iter().any(|other| Arc::ptr_eq(other, plan)) {
                plans.push(Arc::clone(plan));
            }
        }
        if plans.is_empty() {
            return;
        }
        let number = |&(n, config): &(u64, u32)| (n, numbering.numbers[config as usize]);
        let mut planned: Vec<(u64, ConfigIndex)> = union(&plans).iter().map(number).collect();
        planned.sort_unstable();
        let cells = table.sizes.iter().enumerate();
        let cells =
            cells.flat_map(|(size, &n)| table.cells_at(size).iter().map(move |cell| (n, cell.config)));
        let mut attempted: Vec<(u64, ConfigIndex)> =
            cells.chain(table.failures.iter().map(|failure| (failure.n, failure.config))).collect();
        attempted.sort_unstable();
        attempted.dedup();
        table.summary.planned_points = Some(planned.len() as u64);
        table.summary.planned_with_row = in_both(&planned, &attempted);
    }
}

/// Puts groups of one model, problem, driver, version and sources together, where they are to be. Groups are in order
/// of all of that, but for the unit.
pub(super) fn table_runs(groups: Vec<Group>, units: Units) -> Vec<TableRun> {
    let mut models: BTreeMap<_, Vec<Group>> = BTreeMap::new();
    for group in groups {
        let DeviceIdentity { name, label, api, .. } = group.device.clone();
        models.entry((group.problem, name, label, api, group.provenance.clone())).or_default().push(group);
    }
    let mut runs = Vec::new();
    for ((_, name, label, api, _), groups) in models {
        let together = match units {
            Units::Each => false,
            Units::Pool => groups.len() > 1,
            Units::Auto => complement_each_other(&groups),
        };
        if together {
            runs.push(TableRun {
                device: DeviceIdentity { name, label, api, ..DeviceIdentity::default() },
                units: groups,
            });
        } else {
            runs.extend(
                groups.into_iter().map(|group| TableRun { device: group.device.clone(), units: vec![group] }),
            );
        }
    }
    runs
}

/// Whether none of several units has nine tenths of the points that they have together.
fn complement_each_other(groups: &[Group]) -> bool {
    if groups.len() < 2 {
        return false;
    }
    let sizes: BTreeSet<u64> = groups.iter().flat_map(Group::points).map(|(n, _)| n).collect();
    let sizes: Vec<u64> = sizes.into_iter().collect();
    let configs = groups.iter().flat_map(Group::points).map(|(_, config)| config as usize + 1).max();
    let width = configs.unwrap_or_default();
    // By which unit each point was seen last, so that one vector does for all units.
    let mut seen = vec![0u32; sizes.len() * width];
    let (mut all, mut largest) = (0, 0);
    for (unit, group) in (1u32..).zip(groups) {
        let mut own = 0;
        for (n, config) in group.points() {
            let size = sizes.partition_point(|&size| size < n);
            let last = &mut seen[size * width + config as usize];
            all += usize::from(*last == 0);
            own += usize::from(*last != unit);
            *last = unit;
        }
        largest = largest.max(own);
    }
    WHOLE.1 * largest < WHOLE.0 * all
}

/// A unit: its table, and what it measured beside its points.
type UnitCells = (DeviceTable, Vec<(u64, Cell)>);

/// The cells of a size over all units, each with the position of its unit: by config, then by unit.
struct SizeCells<'a> {
    cells: Vec<(u32, &'a Cell)>,
    anchors: Vec<(u32, &'a Cell)>,
}

impl<'a> SizeCells<'a> {
    fn of(tables: &'a [UnitCells], n: u64) -> Self {
        let (mut cells, mut anchors) = (Vec::new(), Vec::new());
        for (unit, (table, beside)) in (0..).zip(tables) {
            let own = table.size_index(n).map_or(&[][..], |size| table.cells_at(size));
            cells.extend(own.iter().map(|cell| (unit, cell)));
            let beside = beside.iter().filter(|(size, _)| *size == n);
            anchors.extend(beside.map(|(_, cell)| (unit, cell)));
        }
        for list in [&mut cells, &mut anchors] {
            list.sort_unstable_by_key(|&(unit, cell): &(u32, &Cell)| (cell.config, unit));
        }
        Self { cells, anchors }
    }

    /// What several units can be set against each other by.
    fn points(&self) -> impl Iterator<Item = &[(u32, &'a Cell)]> {
        by_point(&self.cells).chain(by_point(&self.anchors))
    }
}

fn sizes_of(tables: &[UnitCells]) -> BTreeSet<u64> {
    tables.iter().flat_map(|(table, _)| table.sizes.iter().copied()).collect()
}

/// The time of each unit over the median of all units, of each point that several have: by unit.
fn ratios<'a, 'b>(units: usize, points: impl Iterator<Item = &'b [(u32, &'a Cell)]>) -> Vec<Vec<f64>>
where
    'a: 'b,
{
    let mut ratios = vec![Vec::new(); units];
    let mut times = Vec::new();
    for point in points.filter(|point| point.len() > 1) {
        times.clear();
        times.extend(point.iter().map(|(_, cell)| cell.time_ns));
        let Some(middle) = median(&mut times) else { continue };
        for (unit, cell) in point {
            ratios[*unit as usize].push(cell.time_ns / middle);
        }
    }
    ratios
}

/// How slow each unit is: the median of these; `None` where it shares too few points.
fn factors(ratios: &mut [Vec<f64>]) -> Vec<Option<f64>> {
    let factor = |ratios: &mut Vec<f64>| if ratios.len() < SHARED_MIN { None } else { median(ratios) };
    ratios.iter_mut().map(factor).collect()
}

fn by_point<'a, 'b>(cells: &'b [(u32, &'a Cell)]) -> impl Iterator<Item = &'b [(u32, &'a Cell)]> {
    cells.chunk_by(|a, b| a.1.config == b.1.config)
}

/// What the times of each unit are divided by at a size, so that those of all can stand side by side: 1 where units
/// have the size whole, since what a unit is slower by is in all of its configs; else what the points say that several
/// have. `None` where they do not say it.
fn scales(units: usize, of_size: &SizeCells<'_>) -> Option<Vec<f64>> {
    let SizeCells { cells, .. } = of_size;
    let points = by_point(cells).count();
    let mut own = vec![0; units];
    cells.iter().for_each(|&(unit, _)| own[unit as usize] += 1);
    let mut scales = vec![1.0; units];
    if own.iter().all(|&own| own == 0 || WHOLE.1 * own >= WHOLE.0 * points) {
        return Some(scales);
    }
    let factors = factors(&mut ratios(units, of_size.points()));
    for unit in (0..units).filter(|&unit| own[unit] > 0) {
        scales[unit] = factors[unit]?;
    }
    Some(scales)
}

/// A cell with the median of each figure of these.
fn median_cell(point: &[(u32, &Cell)], scales: &[f64]) -> Cell {
    let first = point[0].1;
    if point.len() == 1 && scales[point[0].0 as usize] == 1.0 {
        return *first;
    }
    let middle = |figure: &dyn Fn(&Cell) -> f64| {
        let mut all: Vec<f64> =
            point.iter().map(|&(unit, cell)| figure(cell) / scales[unit as usize]).collect();
        median(&mut all).unwrap_or_default()
    };
    let whole = |figure: &dyn Fn(&Cell) -> u64| middle(&|cell| figure(cell) as f64).round() as u64;
    let mut samples: Vec<u32> = point.iter().map(|(_, cell)| cell.samples).collect();
    samples.sort_unstable();
    let time_ns = middle(&|cell| cell.time_ns);
    let is_confirmed = point.iter().all(|(_, cell)| cell.confirmed_ns.is_some());
    Cell {
        config: first.config,
        gbps: (first.gbps * first.time_ns).round() / time_ns,
        time_ns,
        median_ns: whole(&|cell| cell.median_ns),
        q1_ns: whole(&|cell| cell.q1_ns),
        q3_ns: whole(&|cell| cell.q3_ns),
        resolution_ns: middle(&|cell| cell.resolution_ns),
        samples: samples[samples.len() / 2],
        confirmed_ns: is_confirmed.then(|| whole(&|cell| cell.confirmed_ns.unwrap_or_default())),
        occupancy: first.occupancy,
    }
}

/// One table of those of several units of a model, which are in order; what is off is left out. `device` is what they
/// are together, `title` what that is called, `titles` what each unit is.
fn pooled(
    device: &DeviceIdentity,
    title: &str,
    titles: &BTreeMap<DeviceIdentity, String>,
    mut tables: Vec<UnitCells>,
    warnings: &mut Vec<Warning>,
) -> DeviceTable {
    let name = |table: &DeviceTable| titles.get(&table.device).cloned().unwrap_or_default();
    let factors = leave_out(title, &name, &mut tables, warnings);
    let mut known: Vec<f64> = factors.into_iter().flatten().collect();
    let mut pool = UnitPool {
        units: tables.iter().map(|(table, _)| (table.device.clone(), name(table))).collect(),
        spread: (known.len() > 1).then(|| interquartile_range(&mut known)),
        ..UnitPool::default()
    };
    let sizes: Vec<u64> = sizes_of(&tables).into_iter().collect();
    let (mut cells, mut starts, mut apart) = (Vec::new(), Vec::new(), Vec::new());
    for &n in &sizes {
        let of_size = SizeCells::of(&tables, n);
        let scales = scales(tables.len(), &of_size).unwrap_or_else(|| {
            apart.push(n);
            vec![1.0; tables.len()]
        });
        starts.push(cells.len());
        for point in by_point(&of_size.cells) {
            pool.starts.push(pool.times.len());
            pool.times.extend(
                point.iter().map(|&(unit, cell)| UnitTime {
                    unit,
                    ns: (cell.time_ns / scales[unit as usize]) as f32,
                }),
            );
            cells.push(median_cell(point, &scales));
        }
    }
    starts.push(cells.len());
    pool.starts.push(pool.times.len());
    if !apart.is_empty() {
        warnings.push(Warning::SizesOverUnits { device: title.to_owned(), sizes: apart });
    }
    let tables = tables.into_iter().map(|(table, _)| DeviceTable { cells: Vec::new(), ..table });
    let mut whole = tables.reduce(put_together).expect("the few that are off are left out, never all");
    whole.files.sort();
    whole.files.dedup();
    whole.distrusted.sort();
    whole.distrusted.dedup();
    whole.failures.sort_unstable();
    let device = device.clone();
    DeviceTable { device, title: title.to_owned(), sizes, cells, starts, pool: Some(pool), ..whole }
}

/// What two units have beside their times.
fn put_together(mut all: DeviceTable, other: DeviceTable) -> DeviceTable {
    all.files.extend(other.files);
    all.distrusted.extend(other.distrusted);
    all.kind = all.kind.or(other.kind);
    all.newest_utc = all.newest_utc.max(other.newest_utc);
    all.summary.rows += other.summary.rows;
    all.summary.replaced += other.summary.replaced;
    all.summary.without_time += other.summary.without_time;
    for (status, rows) in other.summary.by_status {
        *all.summary.by_status.entry(status).or_insert(0) += rows;
    }
    if other.space_origin == SpaceOrigin::Planned {
        all.space_origin = SpaceOrigin::Planned;
    }
    if all.space != other.space {
        let both: BTreeSet<_> = all.space.iter().chain(other.space.iter()).copied().collect();
        all.space = both.into_iter().collect();
    }
    all.failures.extend(other.failures);
    all
}

/// How slow each unit is; those that are off are named, and left out where they are the few.
fn leave_out(
    title: &str,
    name: &dyn Fn(&DeviceTable) -> String,
    tables: &mut Vec<UnitCells>,
    warnings: &mut Vec<Warning>,
) -> Vec<Option<f64>> {
    let mut found = all_ratios(tables);
    let factors_of_all = factors(&mut found);
    let is_off = |factor: &Option<f64>| factor.is_some_and(|factor| (factor - 1.0).abs() > OFF);
    let off = (0..tables.len()).filter(|&unit| is_off(&factors_of_all[unit]));
    let off: Vec<UnitOff> = off
        .map(|unit| UnitOff {
            unit: name(&tables[unit].0),
            per_mille: factors_of_all[unit].map_or(0, |factor| (1000.0 * (factor - 1.0)).round() as i64),
            points: found[unit].len(),
        })
        .collect();
    if off.is_empty() {
        return factors_of_all;
    }
    // Where they are not the few, nobody knows who is right.
    let left_out = 2 * off.len() < tables.len();
    warnings.push(Warning::UnitsOff { device: title.to_owned(), units: off, left_out });
    if !left_out {
        return factors_of_all;
    }
    let mut kept = factors_of_all.iter().map(|factor| !is_off(factor));
    tables.retain(|_| kept.next().unwrap_or(true));
    factors(&mut all_ratios(tables))
}

fn all_ratios(tables: &[UnitCells]) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new(); tables.len()];
    for n in sizes_of(tables) {
        let cells = SizeCells::of(tables, n);
        for (all, of_size) in all.iter_mut().zip(ratios(tables.len(), cells.points())) {
            all.extend(of_size);
        }
    }
    all
}
