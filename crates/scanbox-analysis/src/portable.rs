//! The portable kernel, A18 (thesis 5.7): one kernel for several devices.
//!
//! The ceiling of each device is its ideal line, never the line of another kernel, so that no distance is negative.
//! The launch shape may differ per device and size: the answer has that launch table.

use crate::best_kernel::{KernelLine, Ranking, rank};
use crate::eligible::{Eligibility, eligibility};
use crate::lines::Lines;
use crate::metric::Metric;
use crate::normalize::Normalization;
use crate::table::{Catalog, KernelIndex};
use crate::warning::Warning;

/// One kernel for several devices.
#[derive(Debug, Clone, PartialEq)]
pub struct PortableKernel {
    /// What was compared.
    pub eligibility: Eligibility,
    /// The kernels by score; `None` where nothing can be compared.
    pub choice: Option<Choice>,
}

/// The kernel that was chosen, and how firmly.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Every eligible kernel by the chosen metric.
    pub ranking: Ranking,
    /// Normalisations that would choose another kernel, with that kernel.
    pub other_normalizations: Vec<(Normalization, KernelIndex)>,
    /// The line of the winner on each device, in the order of the devices: the launch table.
    pub lines: Vec<KernelLine>,
}

impl Choice {
    /// Chooses a kernel for these devices; `None` where nothing can be compared.
    #[must_use]
    pub fn new(
        devices: &[&Lines<'_>],
        eligibility: &Eligibility,
        metric: Metric,
        normalization: Normalization,
    ) -> Option<Self> {
        let ranking = rank(devices, eligibility, metric, normalization)?;
        let kernel = ranking.winner.kernel;
        let others = Normalization::ALL.into_iter().filter(|&other| other != normalization);
        let winners = others.filter_map(|other| {
            rank(devices, eligibility, metric, other).map(|ranking| (other, ranking.winner.kernel))
        });
        Some(Self {
            other_normalizations: winners.filter(|&(_, winner)| winner != kernel).collect(),
            lines: devices.iter().map(|lines| KernelLine::new(lines, kernel, eligibility)).collect(),
            ranking,
        })
    }
}

/// Finds the portable kernel of these devices.
#[must_use]
pub fn portable_kernel(
    catalog: &Catalog,
    devices: &[&Lines<'_>],
    metric: Metric,
    normalization: Normalization,
) -> (PortableKernel, Vec<Warning>) {
    let (eligibility, warnings) = eligibility(catalog, devices);
    let choice = Choice::new(devices, &eligibility, metric, normalization);
    (PortableKernel { eligibility, choice }, warnings)
}
