//! All answers at once: what `scanbox analyze` shows.

use scanbox_model::device::DeviceKind;

use crate::best_kernel::{Ranking, rank};
use crate::eligible::{Eligibility, eligibility};
use crate::ideal::IdealSet;
use crate::lines::Lines;
use crate::metric::Metric;
use crate::normalize::Normalization;
use crate::portable::{Choice, PortableKernel, portable_kernel};
use crate::table::{DeviceTable, Tables};
use crate::warning::Warning;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The metric that chooses kernels.
    pub metric: Metric,
    /// What throughput is divided by; `None`: nothing for one device, `size-best` across devices.
    pub normalization: Option<Normalization>,
    /// Whether software devices enter the answers across devices beside hardware.
    pub include_software: bool,
}

impl Question {
    /// The normalisation of the answers of one device.
    #[must_use]
    pub fn normalization_alone(&self) -> Normalization {
        self.normalization.unwrap_or(Normalization::None)
    }

    /// The normalisation of the answers across devices.
    #[must_use]
    pub fn normalization_across(&self) -> Normalization {
        self.normalization.unwrap_or(Normalization::SizeBest)
    }
}

/// Every answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers<'a> {
    /// By device and run, in the order of [`Tables::devices`].
    pub devices: Vec<DeviceAnswer<'a>>,
    /// Across devices; `None` with fewer than two.
    pub across: Option<AcrossAnswer>,
}

/// The answers of one run of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceAnswer<'a> {
    /// The rows behind it.
    pub table: &'a DeviceTable,
    /// The ideal configuration set (A1).
    pub ideal: IdealSet,
    /// What kernels were compared over which sizes (A3).
    pub eligibility: Eligibility,
    /// The best kernel by the chosen metric, with its line (A10); `None` where nothing can be compared.
    pub choice: Option<Choice>,
    /// The rankings by every metric of the thesis (A4 to A9), and by the chosen one if it is another.
    pub by_metric: Vec<Ranking>,
}

/// The answers across devices.
#[derive(Debug, Clone, PartialEq)]
pub struct AcrossAnswer {
    /// Positions of the devices in [`Answers::devices`].
    pub devices: Vec<usize>,
    /// The portable kernel (A18).
    pub portable: PortableKernel,
}

/// Answers everything that the tables hold.
#[must_use]
pub fn answer<'a>(tables: &'a Tables, question: &Question) -> (Answers<'a>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let lines: Vec<Lines<'a>> =
        tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect();
    let across = across(tables, &lines, question, &mut warnings);
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
    let (eligibility, mut warnings) = eligibility(&tables.catalog, &[&lines]);
    if lines.table.sizes.is_empty() {
        // Grouping has said that there is nothing usable; that there is no common size follows from it.
        warnings.clear();
    }
    let normalization = question.normalization_alone();
    let mut metrics = Metric::THESIS.to_vec();
    if !metrics.contains(&question.metric) {
        metrics.push(question.metric);
    }
    let by_metric =
        metrics.into_iter().filter_map(|metric| rank(&[&lines], &eligibility, metric, normalization));
    let by_metric = by_metric.collect();
    let choice = Choice::new(&[&lines], &eligibility, question.metric, normalization);
    (DeviceAnswer { table: lines.table, ideal: lines.ideal, eligibility, choice, by_metric }, warnings)
}

fn across(
    tables: &Tables,
    lines: &[Lines<'_>],
    question: &Question,
    warnings: &mut Vec<Warning>,
) -> Option<AcrossAnswer> {
    let usable = |&index: &usize| !lines[index].table.sizes.is_empty() && lines[index].table.newest_run;
    let mut devices: Vec<usize> = (0..lines.len()).filter(usable).collect();
    let is_software = |&index: &usize| lines[index].table.kind == Some(DeviceKind::Software);
    let software: Vec<usize> = devices.iter().copied().filter(is_software).collect();
    if !question.include_software && !software.is_empty() && software.len() < devices.len() {
        devices.retain(|index| !software.contains(index));
        let names = software.iter().map(|&index| lines[index].table.device.name.clone()).collect();
        warnings.push(Warning::SoftwareLeftOut { devices: names });
    }
    if devices.len() < 2 {
        return None;
    }
    for older in lines.iter().filter(|lines| !lines.table.newest_run) {
        let warning = Warning::NewestRunOnly { device: older.table.device.name.clone() };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let chosen: Vec<&Lines<'_>> = devices.iter().map(|&index| &lines[index]).collect();
    let (portable, more) =
        portable_kernel(&tables.catalog, &chosen, question.metric, question.normalization_across());
    warnings.extend(more);
    Some(AcrossAnswer { devices, portable })
}
