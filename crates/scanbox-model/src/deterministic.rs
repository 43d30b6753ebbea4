//! Which kernels are deterministic: their results have the same bits on every run.
//!
//! Sums and products of floats round, so their bits depend on the order of combining. Within a tile every kernel has
//! one order, given by its parameters and the subgroup size. What may differ from run to run is how the totals of
//! tiles come together.

use crate::config::{Family, Kernel, Lookback, TileOrder, TileState};

impl Kernel {
    /// Whether a result has the same bits on every run on one device, for every problem that the kernel can compute.
    ///
    /// Yes, where the totals of tiles are combined in an order that no timing decides:
    /// - one workgroup; recompute; reduce-then-scan and scan-then-propagate, whose passes wait for each other;
    /// - lookback chain: prefixes are handed from tile to tile;
    /// - lookback gather and two-level: each invocation adds the totals of its own predecessors, in their order. In a
    ///   persistent kernel these go on from the last tile that the workgroup had, so that only a fixed assignment of
    ///   tiles (round robin) will do;
    /// - kernels that only ever add integers, which nothing rounds: tile state packed.
    ///
    /// No for lookback sequential, parallel and fallback: how many totals are added before an inclusive prefix is met
    /// depends on when the others have published theirs. No for gather-fallback: who adds a tile up depends on that,
    /// and compilers need not make one total of a user's operator, or of zeros of both signs, from two pieces of code.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        if self.tile_state == TileState::Packed {
            return true;
        }
        match (self.lookback, self.family) {
            (Lookback::None | Lookback::Chain, _) => true,
            (Lookback::Gather | Lookback::TwoLevel, Family::Persistent) => {
                self.tile_order == TileOrder::RoundRobin
            }
            (Lookback::Gather | Lookback::TwoLevel, _) => true,
            (
                Lookback::Sequential | Lookback::Parallel | Lookback::Fallback | Lookback::GatherFallback,
                _,
            ) => false,
        }
    }
}
