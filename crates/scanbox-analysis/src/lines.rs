//! Pruning, A2 (thesis 5.5, "Pruning the configuration space"): the best config of each kernel at each size.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crate::ideal::{IdealSet, by_measurement, ideal_set};
use crate::table::{Catalog, Cell, DeviceTable, KernelIndex};

/// One run of one device with its ideal line and the line of each kernel.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    /// The rows behind it.
    pub table: &'a DeviceTable,
    /// The ideal configuration set.
    pub ideal: IdealSet,
    /// Kernels of the space and of the rows, ascending.
    pub kernels: Vec<KernelIndex>,
    /// The place of the best config among the cells of the table, by kernel, then by size as in [`DeviceTable::sizes`].
    best: Vec<Option<NonZeroU32>>,
    /// Lowest and highest throughput by size, in GB/s.
    range: Vec<(f64, f64)>,
}

impl<'a> Lines<'a> {
    /// Finds the ideal line and all kernel lines.
    #[must_use]
    pub fn new(catalog: &Catalog, table: &'a DeviceTable) -> Self {
        let mut kernels = table.space_kernels();
        for index in 0..table.sizes.len() {
            kernels.extend(table.cells_at(index).iter().map(|cell| catalog.kernel_of(cell.config)));
        }
        let kernels: Vec<KernelIndex> = BTreeSet::into_iter(kernels).collect();
        let mut best: Vec<Option<NonZeroU32>> = vec![None; kernels.len() * table.sizes.len()];
        for index in 0..table.sizes.len() {
            for (place, cell) in (table.starts[index]..).zip(table.cells_at(index)) {
                let kernel = catalog.kernel_of(cell.config);
                let row = kernels.partition_point(|&other| other < kernel);
                let slot = &mut best[row * table.sizes.len() + index];
                // Cells come by config, so of equal ones the first by parameters stays.
                if slot.is_none_or(|best| by_measurement(cell, cell_of(table, best)).is_lt()) {
                    *slot = NonZeroU32::new(place as u32 + 1);
                }
            }
        }
        let range = (0..table.sizes.len()).map(|index| {
            let gbps = table.cells_at(index).iter().map(|cell| cell.gbps);
            gbps.fold((f64::INFINITY, 0.0f64), |(low, high), gbps| (low.min(gbps), high.max(gbps)))
        });
        Self { table, ideal: ideal_set(catalog, table), range: range.collect(), kernels, best }
    }

    /// The best config of a kernel at a size; `None` where none is `ok`.
    #[must_use]
    pub fn best(&self, kernel: KernelIndex, n: u64) -> Option<&'a Cell> {
        self.best_at(self.row_of(kernel)?, self.table.size_index(n)?)
    }

    /// The position of a kernel in [`Self::kernels`].
    pub(crate) fn row_of(&self, kernel: KernelIndex) -> Option<usize> {
        self.kernels.binary_search(&kernel).ok()
    }

    /// The same as [`Self::best`] by positions, where many are asked for.
    pub(crate) fn best_at(&self, row: usize, size: usize) -> Option<&'a Cell> {
        Some(cell_of(self.table, self.best[row * self.table.sizes.len() + size]?))
    }

    /// The ideal throughput at a size in GB/s; `None` where no row is `ok`. It is that of the winner, the highest of
    /// the size: no kernel line lies above it.
    #[must_use]
    pub fn ideal_gbps(&self, n: u64) -> Option<f64> {
        Some(self.range[self.table.size_index(n)?].1)
    }

    /// The throughput of the slowest `ok` config at a size in GB/s; `None` where no row is `ok`.
    #[must_use]
    pub fn least_gbps(&self, n: u64) -> Option<f64> {
        Some(self.range[self.table.size_index(n)?].0)
    }

    /// The highest throughput at any size, in GB/s; 0 where no row is `ok`.
    #[must_use]
    pub fn peak_gbps(&self) -> f64 {
        self.range.iter().map(|range| range.1).fold(0.0, f64::max)
    }
}

/// The cell with this number, from 1.
fn cell_of(table: &DeviceTable, number: NonZeroU32) -> &Cell {
    &table.cells[number.get() as usize - 1]
}
