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

    /// The input size that a config with fixed workgroups stands for; `None` where it takes any size.
    #[must_use]
    pub fn fixed_elements(&self) -> Option<u64> {
        self.workgroups.map(|workgroups| u64::from(workgroups) * self.tile_elements())
    }
}
