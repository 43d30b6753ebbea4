//! What kernels need of a device beyond what Vulkan promises: one table, for the rules of a session and for packs.

use std::fmt;

use scanbox_model::config::{Config, Family, Lookback, Rendezvous, TileOrder};
use scanbox_model::device::DeviceProfile;
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::Promises;

use super::resolve::{co_resident, passes_totals_on};

/// Something that kernels may need.
struct Need {
    guarantee: Guarantee,
    /// The same, as packs say it.
    promise: Promises,
    /// Whether a config needs it on a device.
    needed: fn(&Config, &DeviceProfile) -> bool,
}

/// In the order in which rules say no.
const NEEDS: [Need; 4] = [
    Need {
        guarantee: Guarantee::Progress,
        promise: Promises::PROGRESS,
        // Who falls back adds up what it waits for.
        needed: |config, _| passes_totals_on(config.kernel.family) && !config.kernel.lookback.falls_back(),
    },
    Need {
        guarantee: Guarantee::CoResidency,
        promise: Promises::CO_RESIDENCY,
        needed: |config, _| co_resident(&config.kernel),
    },
    Need {
        guarantee: Guarantee::WorkgroupOrder,
        promise: Promises::WORKGROUP_ORDER,
        // Who falls back needs nobody to have started.
        needed: |config, _| {
            config.kernel.tile_order == TileOrder::WorkgroupId
                && config.kernel.family != Family::Persistent
                && !config.kernel.lookback.falls_back()
        },
    },
    Need {
        guarantee: Guarantee::SubgroupProgress,
        promise: Promises::SUBGROUP_PROGRESS,
        needed: |config, device| {
            config.kernel.rendezvous == Rendezvous::Flags
                && config.workgroup_size > device.subgroup_size_of(&config.kernel)
        },
    },
];

/// What a config needs of a device beyond what Vulkan promises.
#[must_use]
pub fn needs(config: &Config, device: &DeviceProfile) -> Promises {
    NEEDS
        .iter()
        .filter(|need| (need.needed)(config, device))
        .fold(Promises::NONE, |needs, need| needs.with(need.promise))
}

/// The same guarantees, as packs say them.
#[must_use]
pub fn promises(guarantees: &[Guarantee]) -> Promises {
    NEEDS
        .iter()
        .filter(|need| guarantees.contains(&need.guarantee))
        .fold(Promises::NONE, |promises, need| promises.with(need.promise))
}

/// What a config needs, as guarantees.
pub fn needed(config: &Config, device: &DeviceProfile) -> impl Iterator<Item = Guarantee> {
    NEEDS.iter().filter(|need| (need.needed)(config, device)).map(|need| need.guarantee)
}

/// The first guarantee that a session refuses to do without, and does not take the device to give. In a session a hang
/// costs a row, so that it takes more on trust than a program does ([`DeviceProfile::gives`]).
pub(super) fn not_given(config: &Config, device: &DeviceProfile) -> Option<Guarantee> {
    needed(config, device).find(|guarantee| !device.gives(*guarantee))
}

/// A kind of waiting: what kernels have in common of which one hangs where the others do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    /// What it needs of a device.
    pub guarantees: Vec<Guarantee>,
    lookback: Lookback,
    tile_order: TileOrder,
    is_persistent: bool,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let persistent = if self.is_persistent { "persistent workgroups, " } else { "" };
        write!(f, "{persistent}lookback {}, tiles by {}", self.lookback, self.tile_order)
    }
}

/// The kind of waiting of a config; none where nobody waits for anybody who might never come.
#[must_use]
pub fn waiting(config: &Config, device: &DeviceProfile) -> Option<Waiting> {
    let guarantees: Vec<Guarantee> = needed(config, device).collect();
    (!guarantees.is_empty()).then_some(Waiting {
        guarantees,
        lookback: config.kernel.lookback,
        tile_order: config.kernel.tile_order,
        is_persistent: config.kernel.family == Family::Persistent,
    })
}
