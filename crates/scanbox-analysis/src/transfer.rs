//! Transfer, A11 (thesis 5.6 and figure 5.12): what the ideal configuration set of one device reaches on another.

use std::collections::BTreeSet;

use crate::lines::Lines;
use crate::stats;
use crate::table::{ConfigIndex, DeviceTable};
use crate::warning::Warning;

/// The ideal configuration set of one device on another one, or on itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// The position of the device whose set it is.
    pub from: usize,
    /// The position of the device that it runs on.
    pub to: usize,
    /// Sizes that both devices have, where the config of the one is `ok` on the other, ascending.
    pub points: Vec<TransferPoint>,
    /// Sizes that both have, where it is not.
    pub missing: Vec<u64>,
}

/// One size of a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransferPoint {
    /// Input size in elements.
    pub n: u64,
    /// The config that is ideal on the one device.
    pub config: ConfigIndex,
    /// What it reaches on the other, in GB/s.
    pub gbps: f64,
    /// That as a part of the ideal line there, from 0 to 1.
    pub efficiency: f64,
}

impl Transfer {
    /// The point with the lowest efficiency, the smallest size of several.
    #[must_use]
    pub fn worst(&self) -> Option<&TransferPoint> {
        self.points
            .iter()
            .reduce(|worst, point| if point.efficiency < worst.efficiency { point } else { worst })
    }

    /// The geometric mean of the efficiencies.
    #[must_use]
    pub fn geometric_mean(&self) -> Option<f64> {
        stats::geometric_mean(&self.efficiencies())
    }

    /// The harmonic mean of the efficiencies: that of the time, where every size moves the same bytes.
    #[must_use]
    pub fn harmonic_mean(&self) -> Option<f64> {
        stats::harmonic_mean(&self.efficiencies())
    }

    fn efficiencies(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.efficiency).collect()
    }
}

/// Devices that are set against each other at most: of so many there are 4,096 pairs.
pub const TRANSFER_DEVICES: usize = 64;

/// Every device's set on every device: by `from`, then `to`. A device on itself has 1 everywhere. Of more than
/// [`TRANSFER_DEVICES`] so many take part, one of each model and driver first.
#[must_use]
pub fn transfers(devices: &[&Lines<'_>]) -> (Vec<Transfer>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut answer = Vec::new();
    let shown = shown(devices);
    if shown.len() < devices.len() {
        warnings.push(Warning::TooManyTransfers { devices: devices.len(), shown: shown.len() });
    }
    for &from in &shown {
        for &to in &shown {
            let (source, target) = (devices[from], devices[to]);
            let transfer = transfer(source, target, from, to);
            if !transfer.missing.is_empty() {
                warnings.push(Warning::NotTransferred {
                    from: source.table.title.clone(),
                    to: target.table.title.clone(),
                    sizes: transfer.missing.clone(),
                });
            }
            answer.push(transfer);
        }
    }
    (answer, warnings)
}

/// The positions of those that take part, ascending.
fn shown(devices: &[&Lines<'_>]) -> Vec<usize> {
    if devices.len() <= TRANSFER_DEVICES {
        return (0..devices.len()).collect();
    }
    let mut models = BTreeSet::new();
    let is_first = |&at: &usize| {
        let table = devices[at].table;
        models.insert((&table.device.name, &table.device.api, &table.provenance.driver))
    };
    let (first, others): (Vec<usize>, Vec<usize>) = (0..devices.len()).partition(is_first);
    let mut shown: Vec<usize> = first.into_iter().chain(others).take(TRANSFER_DEVICES).collect();
    shown.sort_unstable();
    shown
}

fn transfer(source: &Lines<'_>, target: &Lines<'_>, from: usize, to: usize) -> Transfer {
    let mut transfer = Transfer { from, to, points: Vec::new(), missing: Vec::new() };
    for ideal in &source.ideal.points {
        let Some(ideal_gbps) = target.ideal_gbps(ideal.n) else { continue };
        let config = ideal.best.config;
        match gbps_of(target.table, ideal.n, config) {
            Some(gbps) => {
                let efficiency = gbps / ideal_gbps;
                transfer.points.push(TransferPoint { n: ideal.n, config, gbps, efficiency });
            }
            None => transfer.missing.push(ideal.n),
        }
    }
    transfer
}

/// What a config reaches at a size.
fn gbps_of(table: &DeviceTable, n: u64, config: ConfigIndex) -> Option<f64> {
    let cells = table.cells_at(table.size_index(n)?);
    cells.binary_search_by_key(&config, |cell| cell.config).ok().map(|index| cells[index].gbps)
}
