//! The portable kernel, A18 (thesis 5.7): one kernel for several devices.
//!
//! Each device is measured by its ideal line, never by the line of another kernel, so that no distance is negative.
//! The launch shape may differ per device and size: the answer has that launch table.

use crate::best_kernel::{Criterion, KernelLine, Places, Ranking, rank};
use crate::coverage::Coverage;
use crate::eligible::{Eligibility, eligibility};
use crate::lines::Lines;
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
    /// Kernels that cannot be told from the winner at any size of the comparison (see [`crate::stats`]), ascending.
    pub ties: Vec<KernelIndex>,
    /// The line of the winner on each device, in the order of the devices: the launch table.
    pub lines: Vec<KernelLine>,
    /// What the score of the winner is made of, by device and size.
    pub terms: Vec<Term>,
}

/// One device and size of a comparison, as the metric sees it: after the normalisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The position of the device.
    pub device: usize,
    /// Input size in elements.
    pub n: u64,
    /// How much it counts.
    pub weight: f64,
    /// The ideal line.
    pub ideal: f64,
    /// The line of the winner.
    pub winner: f64,
    /// The line of the runner-up; `None` where there is none.
    pub runner_up: Option<f64>,
}

impl Choice {
    /// Chooses a kernel for these devices; `None` where nothing can be compared.
    #[must_use]
    pub fn new(devices: &[&Lines<'_>], eligibility: &Eligibility, criterion: &Criterion<'_>) -> Option<Self> {
        let ranking = rank(devices, eligibility, criterion)?;
        let kernel = ranking.winner.kernel;
        let others = Normalization::ALL.into_iter().filter(|&other| other != criterion.normalization);
        let winners = others.filter_map(|normalization| {
            let other = Criterion { normalization, ..*criterion };
            rank(devices, eligibility, &other).map(|ranking| (normalization, ranking.winner.kernel))
        });
        Some(Self {
            other_normalizations: winners.filter(|&(_, winner)| winner != kernel).collect(),
            ties: ties(devices, eligibility, kernel),
            lines: devices.iter().map(|lines| KernelLine::new(lines, kernel, eligibility)).collect(),
            terms: terms(devices, eligibility, criterion, &ranking),
            ranking,
        })
    }
}

fn terms(
    devices: &[&Lines<'_>],
    eligibility: &Eligibility,
    criterion: &Criterion<'_>,
    ranking: &Ranking,
) -> Vec<Term> {
    let Some(places) = Places::new(devices, &eligibility.sizes, criterion) else { return Vec::new() };
    let winner = places.line(ranking.winner.kernel);
    let runner_up = ranking.others.first().map(|score| places.line(score.kernel));
    let at = devices.iter().enumerate();
    let at = at.flat_map(|(device, _)| eligibility.sizes.iter().map(move |&n| (device, n)));
    let term = |(index, (device, n)): (usize, (usize, u64))| {
        Some(Term {
            device,
            n,
            weight: places.weights[index],
            ideal: places.ideal[index],
            winner: winner[index]?.1,
            runner_up: runner_up.as_ref().and_then(|line| line[index]).map(|(_, x)| x),
        })
    };
    at.enumerate().filter_map(term).collect()
}

/// The eligible kernels whose intervals overlap those of the winner at every size on every device.
fn ties(devices: &[&Lines<'_>], eligibility: &Eligibility, winner: KernelIndex) -> Vec<KernelIndex> {
    let is_tied = |lines: &Lines<'_>, n: u64, kernel: KernelIndex| {
        let cells = (lines.best(winner, n), lines.best(kernel, n));
        let size = lines.table.size_index(n);
        matches!((size, cells), (Some(size), (Some(a), Some(b))) if lines.table.is_tie(size, a, b))
    };
    let everywhere = |&kernel: &KernelIndex| {
        devices.iter().all(|lines| eligibility.sizes.iter().all(|&n| is_tied(lines, n, kernel)))
    };
    eligibility.kernels.iter().copied().filter(|kernel| *kernel != winner).filter(everywhere).collect()
}

/// Finds the portable kernel of these devices.
#[must_use]
pub fn portable_kernel(
    catalog: &Catalog,
    devices: &[&Lines<'_>],
    coverage: &Coverage,
    criterion: &Criterion<'_>,
) -> (PortableKernel, Vec<Warning>) {
    let (eligibility, warnings) = eligibility(catalog, devices, coverage);
    let choice = Choice::new(devices, &eligibility, criterion);
    (PortableKernel { eligibility, choice }, warnings)
}
