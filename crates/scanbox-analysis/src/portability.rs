//! Portability, A23: how much of each device's ideal line one kernel reaches, as one number over all devices.
//!
//! The number is the PP of Pennycook, Sewall and Lee ("Implications of a metric for performance portability", Future
//! Generation Computer Systems 92, 2019): the harmonic mean of the efficiencies, and 0 where a device is not supported.
//! Efficiencies are against the best config of each size. The cascade (Sewall et al., "Interpreting and visualizing
//! performance portability metrics", P3HPC 2020) adds one device after the other, the most efficient one first, and
//! shows which devices a kernel fails on.

use std::collections::BTreeSet;

use crate::coverage::Coverage;
use crate::lines::Lines;
use crate::stats;
use crate::table::{Catalog, KernelIndex};
use crate::warning::Warning;

/// One kernel on several devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Portability {
    /// The kernel.
    pub kernel: KernelIndex,
    /// Its efficiency on each device from 0 to 1, in the order of the devices: the harmonic mean over the sizes.
    /// 0: it is not `ok` at one of them at least.
    pub efficiencies: Vec<f64>,
    /// The harmonic mean over all devices and sizes, 0 where a device is not supported.
    pub pp: f64,
    /// The arithmetic mean of the efficiencies: what not to judge by, for comparison.
    pub mean: f64,
    /// Devices by efficiency, the most efficient one first.
    pub cascade: Vec<CascadeStep>,
}

/// One step of a cascade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CascadeStep {
    /// The position of the device that is added.
    pub device: usize,
    /// The efficiency on it.
    pub efficiency: f64,
    /// PP over the devices up to this one.
    pub pp: f64,
}

/// Every kernel with its portability, the highest PP first, and what it was computed over.
#[derive(Debug, Clone, PartialEq)]
pub struct PortabilityAnswer {
    /// The sizes of the comparison.
    pub sizes: Vec<u64>,
    /// The kernels. Of equal ones the one with the higher mean is first, then the first by parameters.
    pub kernels: Vec<Portability>,
}

impl Portability {
    /// The portability of a kernel by its efficiency on each device.
    #[must_use]
    pub fn new(kernel: KernelIndex, efficiencies: Vec<f64>) -> Self {
        let mut order: Vec<usize> = (0..efficiencies.len()).collect();
        order.sort_by(|&a, &b| efficiencies[b].total_cmp(&efficiencies[a]).then(a.cmp(&b)));
        let sorted: Vec<f64> = order.iter().map(|&device| efficiencies[device]).collect();
        // The harmonic means of the first ones, each from the sum of the one before.
        let mut inverse = 0.0;
        let cascade = order.iter().enumerate().map(|(before, &device)| {
            inverse += efficiencies[device].recip();
            let pp = (inverse / (before + 1) as f64).recip();
            CascadeStep { device, efficiency: efficiencies[device], pp }
        });
        let cascade = cascade.collect();
        Self {
            kernel,
            pp: stats::harmonic_mean(&sorted).unwrap_or(0.0),
            mean: stats::mean(&sorted).unwrap_or(0.0),
            cascade,
            efficiencies,
        }
    }
}

/// The portability of every kernel of these devices over the sizes that the coverage asks for. A kernel that does not
/// cover them all on a device is not supported there. `dead` devices were swept, and no row of them is `ok`: they
/// support no kernel, and stand behind the others in every answer.
#[must_use]
pub fn portability(
    catalog: &Catalog,
    devices: &[&Lines<'_>],
    dead: usize,
    coverage: &Coverage,
) -> (PortabilityAnswer, Vec<Warning>) {
    let (eligibility, warnings) = crate::eligible::eligibility(catalog, devices, coverage);
    let sizes = eligibility.sizes;
    let all: BTreeSet<KernelIndex> = devices.iter().flat_map(|lines| lines.kernels.iter().copied()).collect();
    let efficiency = |lines: &Lines<'_>, kernel| {
        let at = |&n: &u64| Some(lines.best(kernel, n)?.gbps / lines.ideal_gbps(n)?);
        let by_size: Vec<f64> = sizes.iter().map(|n| at(n).unwrap_or(0.0)).collect();
        stats::harmonic_mean(&by_size).unwrap_or(0.0)
    };
    let mut kernels: Vec<Portability> = Vec::new();
    if !sizes.is_empty() {
        kernels.extend(all.into_iter().map(|kernel| {
            let alive = devices.iter().map(|lines| efficiency(lines, kernel));
            Portability::new(kernel, alive.chain(std::iter::repeat_n(0.0, dead)).collect())
        }));
    }
    kernels
        .sort_by(|a, b| b.pp.total_cmp(&a.pp).then(b.mean.total_cmp(&a.mean)).then(a.kernel.cmp(&b.kernel)));
    (PortabilityAnswer { sizes, kernels }, warnings)
}
