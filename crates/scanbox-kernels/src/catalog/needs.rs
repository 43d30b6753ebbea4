//! What kernels need of a device beyond what Vulkan promises: one table, for the rules of a session and for packs.

use scanbox_model::config::{Config, Family, Rendezvous, TileOrder};
use scanbox_model::device::DeviceProfile;
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::Promises;

use super::resolve::{co_resident, passes_totals_on};

/// Something that kernels may need.
struct Need {
    guarantee: Guarantee,
    /// The same, as packs say it.
    promise: Promises,
    /// Whether a session refuses kernels that need it on devices that are not known to give it. In a session, a hang
    /// costs a row.
    is_rule: bool,
    /// Whether a config needs it on a device.
    needed: fn(&Config, &DeviceProfile) -> bool,
}

/// In the order in which rules say no.
const NEEDS: [Need; 4] = [
    Need {
        guarantee: Guarantee::Progress,
        promise: Promises::PROGRESS,
        is_rule: false,
        // Who falls back adds up what it waits for.
        needed: |config, _| passes_totals_on(config.kernel.family) && !config.kernel.lookback.falls_back(),
    },
    Need {
        guarantee: Guarantee::CoResidency,
        promise: Promises::CO_RESIDENCY,
        is_rule: true,
        needed: |config, _| co_resident(&config.kernel),
    },
    Need {
        guarantee: Guarantee::WorkgroupOrder,
        promise: Promises::WORKGROUP_ORDER,
        is_rule: true,
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
        is_rule: true,
        needed: |config, device| {
            config.kernel.rendezvous == Rendezvous::Flags && config.workgroup_size > device.subgroup_size
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

/// The first guarantee that a session refuses to do without, and the device is not known to give.
pub(super) fn not_given(config: &Config, device: &DeviceProfile) -> Option<Guarantee> {
    let lacks = |need: &&Need| {
        need.is_rule && (need.needed)(config, device) && !device.guarantees.contains(&need.guarantee)
    };
    NEEDS.iter().find(lacks).map(|need| need.guarantee)
}
