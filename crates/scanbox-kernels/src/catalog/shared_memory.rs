//! The shared memory of a config: with how many rounds its transposition fits, and how many bytes it takes.

use scanbox_model::api::Api;
use scanbox_model::config::{BlockScan, Config, Family, LoadLayout, Lookback, Rendezvous};
use scanbox_model::problem::{Mode, Placement, Problem};

use super::resolve::Resolved;

fn transposes(config: &Config) -> bool {
    config.kernel.load_layout == LoadLayout::Transposed && config.kernel.batch_size > 1
}

/// Bytes of the vectors that a GLSL kernel stores by whole sectors (`stages/tile/whole_sectors.glsl`); 0 where vectors
/// go to memory as they are.
#[must_use]
pub fn whole_sector_vector(config: &Config, problem: &Problem) -> u64 {
    let kernel = &config.kernel;
    let bytes = problem.element_bytes() * u64::from(kernel.vector_width.lanes());
    let has_pieces = kernel.load_layout == LoadLayout::Striped && (bytes.is_multiple_of(12) || bytes == 32);
    // Tiles that another pass goes over again are transformed by that one.
    let is_transformed = kernel.family != Family::ScanThenPropagate
        && problem.user().is_some_and(|user| user.transforms.output);
    let goes_as_it_is =
        problem.placement() == Placement::OutOfPlace && !problem.is_reversed() && !is_transformed;
    if has_pieces && goes_as_it_is && problem.mode() != Mode::Reduce { bytes } else { 0 }
}

impl Resolved<'_> {
    /// Bytes of shared memory, an upper bound; `None` where no number of rounds makes the transposition fit.
    #[must_use]
    pub fn shared_bytes(&self) -> Option<u64> {
        let rounds = self.transpose_rounds()?;
        let exchange = if transposes(&self.config) { self.exchange_bytes(rounds) } else { 0 };
        Some(self.scan_shared_bytes() + exchange + self.sector_bytes())
    }

    /// The fewest rounds in which the transposition fits the shared memory; `None` where it does not in any.
    pub(super) fn transpose_rounds(&self) -> Option<u32> {
        if !transposes(&self.config) {
            return Some(1);
        }
        let free = u64::from(self.device.max_shared_bytes).checked_sub(self.scan_shared_bytes())?;
        let batch_size = self.config.kernel.batch_size;
        (1..=batch_size)
            .filter(|rounds| batch_size.is_multiple_of(*rounds))
            .find(|&rounds| self.exchange_bytes(rounds) <= free)
    }

    /// Bytes of shared memory that the transposition of a tile takes in this many rounds
    /// (`stages/tile/load_store.glsl`).
    fn exchange_bytes(&self, rounds: u32) -> u64 {
        let Self { config, problem, .. } = self;
        if self.device.api == Api::WebGpu {
            // All invocations together (`stages/tile/load_store.wgsl`).
            let lanes = config.kernel.vector_width.lanes();
            let vectors = config.kernel.batch_size / rounds * config.workgroup_size;
            let padded = vectors + vectors / (32 / lanes);
            return problem.element_bytes() * u64::from(lanes) * u64::from(padded);
        }
        let (kernel, subgroup_size) = (&config.kernel, self.subgroup_size());
        let lanes = kernel.vector_width.lanes();
        let round_vectors = kernel.batch_size / rounds * subgroup_size;
        let pad_period = (32 / lanes).max(kernel.batch_size);
        let subgroups = config.workgroup_size / subgroup_size;
        problem.element_bytes()
            * u64::from(lanes)
            * u64::from(subgroups)
            * u64::from(round_vectors + round_vectors / pad_period)
    }

    /// Bytes of shared memory through which tiles are stored by whole sectors, an upper bound. Elements of 16 bytes go
    /// to the neighbour by shuffles.
    fn sector_bytes(&self) -> u64 {
        let Self { config, problem, .. } = self;
        let is_shared = self.device.api == Api::Vulkan && problem.element_bytes() != 16;
        if is_shared { whole_sector_vector(config, problem) * u64::from(config.workgroup_size) } else { 0 }
    }

    /// Bytes of shared memory of everything but the transposition (headers of the stages), with room for alignment.
    fn scan_shared_bytes(&self) -> u64 {
        let Self { config, problem, .. } = self;
        let kernel = &config.kernel;
        // A structure of 12 bytes may have vectors in it, which begin at multiples of 8 or 16 bytes there.
        let element = problem.element_bytes().next_power_of_two();
        let size = u64::from(config.workgroup_size);
        let subgroup_size = u64::from(self.subgroup_size());
        let subgroups = size / subgroup_size;
        let totals = match kernel.block_scan {
            _ if kernel.family == Family::Persistent => 0,
            BlockScan::Raking => (subgroups | 1) * subgroup_size,
            BlockScan::Blelloch => size + size / 32,
            BlockScan::Subgroup => subgroups,
            BlockScan::KoggeStone => 2 * size,
            BlockScan::Sklansky => size,
            BlockScan::BrentKung | BlockScan::ReduceScan => size + size / 32,
        };
        let shares = match kernel.family {
            Family::Persistent if kernel.rendezvous == Rendezvous::Flags => 4 * (subgroups + 5),
            Family::Persistent if kernel.lookback == Lookback::Gather => 5 * subgroups + 4,
            Family::Persistent if kernel.lookback == Lookback::GatherFallback => 6 * subgroups + 6,
            Family::Persistent => 3 * subgroups + 4,
            Family::ChainedScan
                if matches!(kernel.lookback, Lookback::Gather | Lookback::TwoLevel | Lookback::Fallback) =>
            {
                subgroups
            }
            Family::ChainedScan if kernel.lookback == Lookback::GatherFallback => 2 * subgroups,
            Family::Recompute => subgroups,
            _ => 0,
        };
        const SCALARS: u64 = 6;
        const ALIGNMENT: u64 = 64;
        element * (totals + shares + SCALARS) + ALIGNMENT
    }
}
