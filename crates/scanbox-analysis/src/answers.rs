//! All answers at once: what `scanbox analyze` shows.

use std::collections::BTreeSet;

use scanbox_model::device::DeviceKind;

use crate::bandwidth::{AgainstBaseline, Utilization, against_baseline, utilization};
use crate::best_kernel::{Criterion, KernelLine, LinePoint, Ranking, rank};
use crate::coverage::Coverage;
use crate::density::Density;
use crate::eligible::{Eligibility, eligibility};
use crate::ideal::IdealSet;
use crate::lines::Lines;
use crate::metric::Metric;
use crate::normalize::Normalization;
use crate::portability::{PortabilityAnswer, portability};
use crate::portable::{Choice, PortableKernel, portable_kernel};
use crate::portfolio::{Portfolio, portfolio};
use crate::problem::Problem;
use crate::shared::{Candidates, SharedMetric, SharedSet, shared_set};
use crate::speed::{Speed, speeds};
use crate::table::{DeviceTable, Tables};
use crate::transfer::{Transfer, transfers};
use crate::trends::Trend;
use crate::warning::Warning;
use crate::weights::Weights;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The metric that chooses kernels.
    pub metric: Metric,
    /// The metric that chooses the config of a size for several devices.
    pub shared_metric: SharedMetric,
    /// What throughput is divided by; `None`: what the preset says.
    pub normalization: Option<Normalization>,
    /// What is taken where nothing is said.
    pub preset: Preset,
    /// Over which sizes kernels are compared.
    pub coverage: Coverage,
    /// How much each size counts.
    pub weights: Weights,
    /// The largest portfolio; `None`: there is no answer about portfolios.
    pub portfolio: Option<usize>,
    /// Whether the answers across devices are given by every metric, not only by the chosen ones.
    pub all_metrics: bool,
    /// Whether distributions (A19) and trends (A21) are worked out, which takes longer than all the rest.
    pub distributions: bool,
    /// Whether software devices enter the answers across devices beside hardware.
    pub include_software: bool,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            metric: Metric::Squared,
            shared_metric: SharedMetric::Squared,
            normalization: None,
            preset: Preset::Scanbox,
            coverage: Coverage::Auto,
            weights: Weights::Uniform,
            portfolio: None,
            all_metrics: false,
            distributions: false,
            include_software: false,
        }
    }
}

/// Which normalisation an answer takes where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// Nothing for one device, `size-best` across devices.
    #[default]
    Scanbox,
    /// As in the thesis: across devices `device-peak` for the means, maxima and minima of shared configs (5.13
    /// to 5.15), and GB/s for everything that is a distance (5.18 to 5.20).
    Thesis,
}

impl Question {
    /// The normalisation of the answers of one device.
    #[must_use]
    pub fn normalization_alone(&self) -> Normalization {
        self.normalization.unwrap_or(Normalization::None)
    }

    /// The normalisation of portfolios: every size counts alike. By GB/s only the large sizes count, and a set of
    /// kernels would be chosen as if it ran nowhere else.
    #[must_use]
    pub fn normalization_portfolio(&self) -> Normalization {
        self.normalization.unwrap_or(Normalization::SizeBest)
    }

    /// The normalisation of the portable kernel.
    #[must_use]
    pub fn normalization_across(&self) -> Normalization {
        self.normalization.unwrap_or(match self.preset {
            Preset::Scanbox => Normalization::SizeBest,
            Preset::Thesis => Normalization::None,
        })
    }

    /// The normalisation of a shared set.
    #[must_use]
    pub fn normalization_shared(&self, metric: SharedMetric) -> Normalization {
        self.normalization.unwrap_or(match self.preset {
            Preset::Scanbox => Normalization::SizeBest,
            Preset::Thesis if metric.highest_wins() => Normalization::DevicePeak,
            Preset::Thesis => Normalization::None,
        })
    }

    fn criterion(&self, metric: Metric, normalization: Normalization) -> Criterion<'_> {
        Criterion { metric, normalization, weights: &self.weights }
    }

    /// What the metrics of the thesis choose, and the chosen one if it is another.
    fn by_metric(
        &self,
        devices: &[&Lines<'_>],
        eligibility: &Eligibility,
        normalization: Normalization,
    ) -> Vec<MetricAnswer> {
        let mut metrics = Metric::THESIS.to_vec();
        if !metrics.contains(&self.metric) {
            metrics.push(self.metric);
        }
        let answer = |metric| {
            let ranking = rank(devices, eligibility, &self.criterion(metric, normalization))?;
            let line = |lines: &&Lines<'_>| KernelLine::new(lines, ranking.winner.kernel, eligibility);
            Some(MetricAnswer { lines: devices.iter().map(line).collect(), ranking })
        };
        metrics.into_iter().filter_map(answer).collect()
    }
}

/// Every answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers<'a> {
    /// By problem, device and run, in the order of [`Tables::devices`].
    pub devices: Vec<DeviceAnswer<'a>>,
    /// Across devices, by problem; none of a problem with fewer than two devices, or without one that has an `ok` row.
    pub across: Vec<AcrossAnswer>,
}

/// The answers of one run of one device about one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceAnswer<'a> {
    /// The rows behind it.
    pub table: &'a DeviceTable,
    /// The ideal configuration set (A1).
    pub ideal: IdealSet,
    /// What it reaches of the bandwidth (A20); `None` where that is not known.
    pub utilization: Option<Utilization>,
    /// What it is against another implementation (A22); `None` without rows of one.
    pub baseline: Option<AgainstBaseline>,
    /// What kernels were compared over which sizes (A3).
    pub eligibility: Eligibility,
    /// The best kernel by the chosen metric, with its line (A10); `None` where nothing can be compared.
    pub choice: Option<Choice>,
    /// The choices by every metric of the thesis (A4 to A9), and by the chosen one if it is another.
    pub by_metric: Vec<MetricAnswer>,
    /// The best sets of kernels (A24); `None` where nobody asked, or nothing can be compared.
    pub portfolio: Option<Portfolio>,
    /// The distribution of the throughput of all configs by size (A19), where the question asks for it.
    pub densities: Vec<Density>,
    /// What each parameter is worth by size (A21), where the question asks for it.
    pub trends: Vec<Trend>,
}

/// What one of several metrics chooses.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricAnswer {
    /// Every eligible kernel by it.
    pub ranking: Ranking,
    /// The line of its winner on each device.
    pub lines: Vec<KernelLine>,
}

impl MetricAnswer {
    /// The arithmetic mean of what the winner loses over the sizes of the choice and all devices, in percent.
    #[must_use]
    pub fn mean_loss_pct(&self) -> Option<f64> {
        // Every device has the same sizes in the choice.
        let means: Vec<f64> = self.lines.iter().filter_map(KernelLine::mean_loss_pct).collect();
        crate::stats::mean(&means)
    }

    /// Its largest loss on any device.
    #[must_use]
    pub fn worst(&self) -> Option<&LinePoint> {
        let points = self.lines.iter().filter_map(KernelLine::worst);
        points.reduce(|a, b| if b.loss_pct > a.loss_pct { b } else { a })
    }
}

/// The answers across devices about one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct AcrossAnswer {
    /// What was scanned.
    pub problem: Problem,
    /// Positions of the devices in [`Answers::devices`].
    pub devices: Vec<usize>,
    /// Positions of devices that were swept, and of which no row is `ok`: they support no kernel, which portability
    /// counts. Behind `devices` there.
    pub dead: Vec<usize>,
    /// Each device against the first one, where they have a config in common.
    pub speeds: Vec<Speed>,
    /// The portable kernel (A18).
    pub portable: PortableKernel,
    /// The portable kernels by every metric, where the question asks for them.
    pub by_metric: Vec<MetricAnswer>,
    /// The shared configs by the chosen metric (A12 to A17).
    pub shared: SharedSet,
    /// The shared configs by the other metrics, where the question asks for them.
    pub shared_by_metric: Vec<SharedSet>,
    /// What the ideal set of each device reaches on each (A11), by `from`, then `to`; positions are in `devices`. Of
    /// many devices some ([`crate::transfer::TRANSFER_DEVICES`]).
    pub transfers: Vec<Transfer>,
    /// What each kernel is worth on all devices (A23).
    pub portability: PortabilityAnswer,
    /// The best sets of kernels (A24); `None` where nobody asked, or nothing can be compared.
    pub portfolio: Option<Portfolio>,
}

/// Answers everything that the tables hold.
#[must_use]
pub fn answer<'a>(tables: &'a Tables, question: &Question) -> (Answers<'a>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let lines: Vec<Lines<'a>> =
        tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect();
    let problems = tables.problems();
    let across =
        problems.iter().filter_map(|&problem| across(tables, &lines, problem, question, &mut warnings));
    let across = across.collect();
    let mut devices = Vec::new();
    for lines in lines {
        let (device, more) = device_answer(tables, lines, question);
        devices.push(device);
        warnings.extend(more);
    }
    (Answers { devices, across }, warnings)
}

fn device_answer<'a>(
    tables: &Tables,
    lines: Lines<'a>,
    question: &Question,
) -> (DeviceAnswer<'a>, Vec<Warning>) {
    let (eligibility, mut warnings) = eligibility(&tables.catalog, &[&lines], &question.coverage);
    if lines.table.sizes.is_empty() {
        // Grouping has said that there is nothing usable; that there is no common size follows from it.
        warnings.clear();
    }
    let without_ceiling = lines.table.sizes_without_ceiling();
    if !without_ceiling.is_empty() {
        warnings.push(Warning::SizesWithoutCeiling {
            device: lines.table.title.clone(),
            ceiling: lines.table.problem.ceiling(),
            sizes: without_ceiling,
            no_bandwidth: lines.table.bandwidth().is_none(),
        });
    }
    let normalization = question.normalization_alone();
    warnings.extend(cannot_judge(&[&lines], &eligibility, normalization, &question.weights));
    let by_metric = question.by_metric(&[&lines], &eligibility, normalization);
    let criterion = question.criterion(question.metric, normalization);
    let choice = Choice::new(&[&lines], &eligibility, &criterion);
    let portfolio = portfolio_of(&[&lines], &eligibility, question);
    let (mut densities, mut trends) = (Vec::new(), Vec::new());
    if question.distributions {
        (densities, _) = crate::density::densities(lines.table);
        (trends, _) = crate::trends::trends(&tables.catalog, &lines);
    }
    let answer = DeviceAnswer {
        table: lines.table,
        densities,
        trends,
        utilization: utilization(lines.table, &lines.ideal),
        baseline: against_baseline(lines.table, &lines.ideal),
        ideal: lines.ideal,
        eligibility,
        choice,
        by_metric,
        portfolio,
    };
    (answer, warnings)
}

fn portfolio_of(devices: &[&Lines<'_>], eligibility: &Eligibility, question: &Question) -> Option<Portfolio> {
    let most = question.portfolio?;
    let criterion = question.criterion(question.metric, question.normalization_portfolio());
    let best = rank(devices, eligibility, &criterion);
    portfolio(devices, &eligibility.sizes, &criterion, best.as_ref(), most)
}

/// Why a metric has nothing to work with although kernels can be compared.
fn cannot_judge(
    devices: &[&Lines<'_>],
    eligibility: &Eligibility,
    normalization: Normalization,
    weights: &Weights,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let names = |devices: &[&Lines<'_>]| devices.iter().map(|lines| lines.table.title.clone()).collect();
    let without: Vec<&Lines<'_>> =
        devices.iter().copied().filter(|lines| lines.table.bandwidth().is_none()).collect();
    if normalization == Normalization::Ceiling && !without.is_empty() {
        warnings.push(Warning::NoBandwidth { devices: names(&without) });
    }
    if !eligibility.sizes.is_empty() && weights.of(&eligibility.sizes).is_none() {
        warnings.push(Warning::NoWeight { devices: names(devices), sizes: eligibility.sizes.clone() });
    }
    warnings
}

fn across(
    tables: &Tables,
    lines: &[Lines<'_>],
    problem: Problem,
    question: &Question,
    warnings: &mut Vec<Warning>,
) -> Option<AcrossAnswer> {
    let usable = |&index: &usize| {
        let table = lines[index].table;
        table.problem == problem && table.newest_run
    };
    let mut devices: Vec<usize> = (0..lines.len()).filter(usable).collect();
    let is_software = |&index: &usize| lines[index].table.kind == Some(DeviceKind::Software);
    let software: Vec<usize> = devices.iter().copied().filter(is_software).collect();
    if !question.include_software && !software.is_empty() && software.len() < devices.len() {
        devices.retain(|index| !software.contains(index));
        let names = software.iter().map(|&index| lines[index].table.title.clone()).collect();
        warnings.push(Warning::SoftwareLeftOut { devices: names });
    }
    let (devices, dead): (Vec<usize>, Vec<usize>) =
        devices.into_iter().partition(|&index| !lines[index].table.sizes.is_empty());
    if devices.is_empty() || devices.len() + dead.len() < 2 {
        return None;
    }
    let older = lines.iter().filter(|lines| lines.table.problem == problem && !lines.table.newest_run);
    let older: BTreeSet<&str> = older.map(|lines| lines.table.title.as_str()).collect();
    for device in older {
        warnings.push(Warning::NewestRunOnly { device: device.to_owned() });
    }
    let chosen: Vec<&Lines<'_>> = devices.iter().map(|&index| &lines[index]).collect();
    let normalization = question.normalization_across();
    let criterion = question.criterion(question.metric, normalization);
    let (portable, more) = portable_kernel(&tables.catalog, &chosen, &question.coverage, &criterion);
    warnings.extend(more);
    warnings.extend(cannot_judge(&chosen, &portable.eligibility, normalization, &question.weights));
    let by_metric = if question.all_metrics {
        question.by_metric(&chosen, &portable.eligibility, normalization)
    } else {
        Vec::new()
    };

    let candidates = Candidates::of_every_size(&tables.catalog, &chosen);
    let shared =
        |metric: SharedMetric| shared_set(&candidates, metric, question.normalization_shared(metric));
    let others = SharedMetric::ALL.into_iter().filter(|metric| *metric != question.shared_metric);
    // What they leave out is in the answers: sizes that do not transfer, and kernels with efficiency 0. Pairs are not.
    let (transfers, more) = transfers(&chosen);
    warnings.extend(more.into_iter().filter(|one| matches!(one, Warning::TooManyTransfers { .. })));
    let (portability, _) = portability(&tables.catalog, &chosen, dead.len(), &question.coverage);
    let mut speeds = speeds(&chosen);
    speeds.retain(|speed| !is_apart(speed, &transfers));
    Some(AcrossAnswer {
        transfers,
        portability,
        speeds,
        dead,
        problem,
        portfolio: portfolio_of(&chosen, &portable.eligibility, question),
        devices,
        portable,
        by_metric,
        shared: shared(question.shared_metric),
        shared_by_metric: others.filter(|_| question.all_metrics).map(shared).collect(),
    })
}

/// Whether no config of the set of one device is ok on the other, either way: they were swept over different spaces,
/// which their ideal lines would compare.
fn is_apart(speed: &Speed, transfers: &[Transfer]) -> bool {
    let pair = [(speed.base, speed.other), (speed.other, speed.base)];
    let mut both =
        transfers.iter().filter(|transfer| pair.contains(&(transfer.from, transfer.to))).peekable();
    both.peek().is_some() && both.all(|transfer| transfer.points.is_empty())
}
