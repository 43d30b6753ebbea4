//! Kernels and configs: what follows from their parameters, which [`crate::parameters`] declares.

pub use crate::parameters::words::{
    Arguments, BackOff, BlockScan, Family, LoadLayout, Lookback, Parameter, Publish, Rendezvous, Reset,
    SubgroupScan, SubgroupSize, TileOrder, TileState, VectorWidth,
};
pub use crate::parameters::{Config, Kernel, LabelError};

impl Kernel {
    /// Elements that one invocation owns per tile.
    #[must_use]
    pub fn items_per_invocation(&self) -> u32 {
        self.batch_size * self.vector_width.lanes()
    }
}

/// Rows at most that few elements are split into (`stages/block/few_elements.glsl`).
pub const MOST_ROWS: u32 = 8;

impl Config {
    /// Elements per tile: what one workgroup processes at a time.
    #[must_use]
    pub fn tile_elements(&self) -> u64 {
        u64::from(self.kernel.items_per_invocation()) * u64::from(self.workgroup_size)
    }

    /// Tiles for `n` elements.
    #[must_use]
    pub fn tiles(&self, n: u64) -> u64 {
        n.div_ceil(self.tile_elements())
    }

    /// Whether few elements are split over workgroups by rows that are smaller than tiles, up to [`MOST_ROWS`], where
    /// nothing of the problem is against it (`FEW_APART` of the kernels).
    #[must_use]
    pub fn scans_few(&self) -> bool {
        let Kernel { family, batch_size, tile_order, .. } = self.kernel;
        family == Family::Persistent
            && self.workgroup_size >= 512
            && batch_size > 1
            && tile_order != TileOrder::Ticket
    }

    /// The input size that a config with fixed workgroups stands for; `None` where it takes any size.
    #[must_use]
    pub fn fixed_elements(&self) -> Option<u64> {
        self.workgroups.map(|workgroups| u64::from(workgroups) * self.tile_elements())
    }
}
