//! Who takes part in a benchmark: configs that were named, and those that a sweep recommends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;
use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::between::between;
use scanbox_analysis::grouping::{Builder, Runs};
use scanbox_analysis::lines::Lines;
use scanbox_analysis::table::{Cell, Tables};
use scanbox_kernels::catalog;
use scanbox_model::config::{Arguments, Config, Kernel, Reset};
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Totals;
use scanbox_model::problem::{Problem, ProblemDifference};
use scanbox_model::record::{Clock, Selection};
use scanbox_runner::bench::Selected;
use scanbox_runner::subject::Subject;

use crate::exit::UsageError;
use crate::inputs::add_file;
use scanbox_session::notes::note;
use scanbox_session::probe::guarantees::with_all;

/// How a kernel comes by clean tile states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ScratchUse {
    /// As in the config: by default its scratch memory is kept from call to call and never cleared
    Kept,
    /// Every call first clears what it needs, as a library call without state must
    Stateless,
}

/// What a sweep recommends for a device, by the size that was swept.
#[derive(Debug)]
pub struct Tuned {
    /// The sweep.
    tables: Tables,
    /// Which of its tables is that of the device.
    place: usize,
    /// The winners.
    ideal: BTreeMap<u64, Config>,
    /// The winners among those that clear what they need in every call.
    ideal_filled: BTreeMap<u64, Config>,
    /// The winners among those that have nothing to clear.
    ideal_free: BTreeMap<u64, Config>,
    /// The best kernel on average with its best launch shape.
    best_kernel: BTreeMap<u64, Config>,
    /// A kernel that was asked for with its best launch shape.
    kernel: BTreeMap<u64, Config>,
}

impl Tuned {
    /// Reads a sweep file. `kernel` is a kernel that was asked for.
    pub fn read(
        path: &Path,
        problem: &Problem,
        device: &DeviceProfile,
        kernel: Option<Kernel>,
    ) -> anyhow::Result<Self> {
        let mut warnings = Vec::new();
        let mut builder = Builder::new(Clock::Steady);
        add_file(&mut builder, path, &mut warnings)?;
        let (tables, more) = builder.finish(Runs::Latest);
        warnings.extend(more.iter().map(ToString::to_string));
        let differences = tables.problems().into_iter().map(|swept| swept.difference(problem));
        let differences: Option<Vec<ProblemDifference>> = differences.collect();
        if let Some(ProblemDifference { column, flag, own, others }) = differences.iter().flatten().next() {
            let message = format!(
                "--from {}: its rows have {column} `{own}`, this run has `{others}` ({flag})",
                path.display()
            );
            return Err(UsageError(message).into());
        }
        let fits = |place: &usize| {
            let table = &tables.devices[*place];
            table.problem == *problem
                && table.device.name == device.name
                && table.device.api.api == device.api
        };
        let mut places: Vec<usize> = (0..tables.devices.len()).filter(fits).collect();
        // What is driven just so first, and this very unit.
        let api = device.device_api();
        places.sort_by_key(|&place| {
            let table = &tables.devices[place];
            (table.device.api != api, !table.has_unit(&device.uuid))
        });
        let Some(&place) = places.first() else {
            let there: BTreeSet<&str> = tables.devices.iter().map(|table| table.title.as_str()).collect();
            let there = if there.is_empty() {
                "no rows of a sweep".to_owned()
            } else {
                format!("rows of {}", there.into_iter().collect::<Vec<_>>().join(", "))
            };
            bail!("--from {}: it has {there}, and this device is {}", path.display(), device.title());
        };
        for warning in &warnings {
            note(&format!("warning: {warning}"));
        }
        let question = Question { include_software: true, ..Question::default() };
        let (answers, _) = answer(&tables, &question);
        let answer = &answers.devices[place];
        let config = |index| *tables.catalog.config(index);
        let line = answer.choice.as_ref().and_then(|choice| choice.lines.first());
        let best_kernel = line.into_iter().flat_map(|line| &line.points);
        let ideal: BTreeMap<u64, Config> =
            answer.ideal.points.iter().map(|point| (point.n, config(point.best.config))).collect();
        let best_kernel = best_kernel.map(|point| (point.n, config(point.best.config))).collect();
        let (mut ideal_filled, mut ideal_free) = (BTreeMap::new(), BTreeMap::new());
        let mut of_kernel = BTreeMap::new();
        if ideal.is_empty() {
            bail!("--from {}: no row of {} is ok", path.display(), device.name);
        }
        for (index, &n) in answer.table.sizes.iter().enumerate() {
            for (winners, is_filled) in [(&mut ideal_filled, true), (&mut ideal_free, false)] {
                let suits = |cell: &&Cell| {
                    let config = config(cell.config);
                    has_states(&config) == is_filled && is_stateless(config, problem, n, device)
                };
                let cells = answer.table.cells_at(index).iter().filter(suits);
                if let Some(best) = cells.max_by(|a, b| a.gbps.total_cmp(&b.gbps)) {
                    winners.insert(n, config(best.config));
                }
            }
        }
        if let Some(kernel) = kernel {
            let lines = Lines::new(&tables.catalog, answer.table);
            let index = lines.kernels.iter().find(|&&index| *tables.catalog.kernel(index) == kernel);
            for &n in &answer.table.sizes {
                if let Some(cell) = index.and_then(|&index| lines.best(index, n)) {
                    of_kernel.insert(n, config(cell.config));
                }
            }
            if of_kernel.is_empty() {
                let message = format!(
                    "--kernel {kernel}: {} has no row of it that is ok; name a config with its workgroup size instead",
                    path.display()
                );
                return Err(UsageError(message).into());
            }
        }
        Ok(Self { tables, place, ideal, ideal_filled, ideal_free, best_kernel, kernel: of_kernel })
    }

    /// What to run at a size: the winner of that size, or what is best between two of them; outside of them the
    /// winner of the nearest one.
    fn choice(
        &self,
        winners: &BTreeMap<u64, Config>,
        n: u64,
        suits: impl Fn(&Config) -> bool,
    ) -> Option<Config> {
        let between = || between(&self.tables.catalog, &self.tables.devices[self.place], n, suits);
        winners.get(&n).copied().or_else(between).or_else(|| nearest(winners, n))
    }

    /// What to run at a size, and why.
    fn choices(
        &self,
        scratch: &[ScratchUse],
        n: u64,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> impl Iterator<Item = (Config, Selection)> {
        // Both kinds take part: the sweep timed them far apart, and clearing costs about what their times differ by.
        let stateless = |winners, is_filled: bool| {
            let asked = scratch.contains(&ScratchUse::Stateless);
            let suits = |config: &Config| {
                has_states(config) == is_filled && is_stateless(*config, problem, n, device)
            };
            asked.then(|| self.choice(winners, n, suits)).flatten()
        };
        let one_kernel = |winners: &BTreeMap<u64, Config>| {
            let kernel = winners.values().next()?.kernel;
            self.choice(winners, n, |config| config.kernel == kernel)
        };
        [
            (self.choice(&self.ideal, n, |_| true), Selection::Ideal),
            (one_kernel(&self.best_kernel), Selection::BestKernel),
            (one_kernel(&self.kernel), Selection::Named),
            (stateless(&self.ideal_filled, true), Selection::IdealStateless),
            (stateless(&self.ideal_free, false), Selection::IdealStateless),
        ]
        .into_iter()
        .filter_map(|(config, selection)| Some((config?, selection)))
    }

    /// The sizes that were swept.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.ideal.keys().copied()
    }
}

/// The config of the nearest size, in powers of two.
fn nearest(tuned: &BTreeMap<u64, Config>, n: u64) -> Option<Config> {
    let distance = |swept: u64| ((swept as f64).log2() - (n as f64).log2()).abs();
    let best = tuned.iter().min_by(|a, b| distance(*a.0).total_cmp(&distance(*b.0)));
    best.map(|(_, config)| *config)
}

/// The subjects of a size, the ceilings aside.
pub fn selected(
    named: &[Config],
    tuned: Option<&Tuned>,
    scratch: &[ScratchUse],
    n: u64,
    problem: &Problem,
    device: &DeviceProfile,
) -> Vec<Selected> {
    let mut chosen: Vec<(Config, Selection)> = Vec::new();
    if let Some(tuned) = tuned {
        chosen.extend(tuned.choices(scratch, n, problem, device));
    }
    chosen.extend(named.iter().map(|config| (*config, Selection::Named)));
    let mut selected: Vec<Selected> = Vec::new();
    for (config, selection) in chosen {
        let config = launched(config, problem, n, device);
        for scratch in scratch {
            let subject = Subject::config(match scratch {
                ScratchUse::Kept => config,
                ScratchUse::Stateless => stateless(config, problem, n, device),
            });
            match selected.iter_mut().find(|one| one.subject == subject) {
                Some(one) if one.selection.contains(&selection) => {}
                Some(one) => {
                    one.selection.push(selection);
                    one.selection.sort();
                }
                None => selected.push(Selected { subject, selection: vec![selection] }),
            }
        }
    }
    selected
}

/// Adds the configs with push constants in place of arguments elsewhere. They are there to compare: nobody chose them.
pub fn join_push(selected: &mut Vec<Selected>) {
    let configs: Vec<Config> = selected.iter().filter_map(|one| one.subject.as_config().copied()).collect();
    for config in configs {
        let kernel = Kernel { arguments: Arguments::Push, ..config.kernel };
        let subject = Subject::config(Config { kernel, ..config });
        if selected.iter().all(|one| one.subject != subject) {
            selected.push(Selected { subject, selection: Vec::new() });
        }
    }
}

/// The configs among the subjects of all sizes.
pub fn configs_of(selected: &[(u64, Vec<Selected>)]) -> Vec<Config> {
    let subjects = selected.iter().flat_map(|(_, of_size)| of_size);
    subjects.filter_map(|one| one.subject.as_config()).copied().collect()
}

/// The config as it can run this many elements: a workgroup count that stands for another size is left free.
pub fn launched(config: Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Config {
    match catalog::legal(&config, problem, n, &with_all(device)) {
        Ok(()) => config,
        Err(_) => Config { workgroups: None, ..config },
    }
}

/// Whether it passes totals on by states, which somebody has to clear.
fn has_states(config: &Config) -> bool {
    config.kernel.family.entry().totals == Totals::PassedOn
}

/// Whether a config needs nothing from the call before.
fn is_stateless(config: Config, problem: &Problem, n: u64, device: &DeviceProfile) -> bool {
    stateless(config, problem, n, device) == config
}

/// The config with tile states that every call clears, where it has any: whatever the device is known to keep so far.
fn stateless(config: Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Config {
    match catalog::plan(&config, problem, n, &with_all(device)) {
        Ok(plan) if !plan.scratch.content.is_stateless() => {
            Config { kernel: Kernel { reset: Reset::Fill, ..config.kernel }, ..config }
        }
        _ => config,
    }
}
