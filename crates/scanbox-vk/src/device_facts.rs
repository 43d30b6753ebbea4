//! What a device is, as choices from packs and the making of pipelines need it.

use ash::vk;
use scanbox_pack::{FeatureSet, SeenDevice};

use crate::driver::{driver_build, driver_name};
use crate::features::Features;
use crate::hand_over_error::HandOverError;
use crate::shape::ShapeLimits;

/// A device and what of it is enabled.
#[derive(Debug)]
pub(crate) struct DeviceFacts {
    vendor_id: u32,
    device_id: u32,
    driver: String,
    driver_build: String,
    /// What workgroups it can start.
    pub shapes: ShapeLimits,
    /// Workgroups of each dimension at most.
    pub max_groups: [u32; 3],
    max_shared_bytes: u32,
    features: FeatureSet,
}

/// Operations of subgroups that packs ask for by name.
const OPERATIONS: [(vk::SubgroupFeatureFlags, FeatureSet); 7] = [
    (vk::SubgroupFeatureFlags::VOTE, FeatureSet::VOTE),
    (vk::SubgroupFeatureFlags::ARITHMETIC, FeatureSet::ARITHMETIC),
    (vk::SubgroupFeatureFlags::BALLOT, FeatureSet::BALLOT),
    (vk::SubgroupFeatureFlags::SHUFFLE, FeatureSet::SHUFFLE),
    (vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE, FeatureSet::SHUFFLE_RELATIVE),
    (vk::SubgroupFeatureFlags::CLUSTERED, FeatureSet::CLUSTERED),
    (vk::SubgroupFeatureFlags::QUAD, FeatureSet::QUAD),
];

impl DeviceFacts {
    /// Asks a device on which these features are enabled.
    ///
    /// # Errors
    /// What it lacks, or has not enabled.
    ///
    /// # Safety
    /// The instance is valid, was made for Vulkan 1.3 or newer, and has the physical device.
    pub unsafe fn of(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        enabled: &Features,
    ) -> Result<Self, HandOverError> {
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties13 = vk::PhysicalDeviceVulkan13Properties::default();
        // SAFETY: the caller sees to the device.
        let base = unsafe { instance.get_physical_device_properties(physical) };
        if base.api_version < vk::API_VERSION_1_3 {
            return Err(HandOverError::Lacks { feature: "Vulkan 1.3" });
        }
        if let Some(feature) = enabled.missing().next() {
            return Err(HandOverError::Lacks { feature });
        }
        let mut chain = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut subgroup)
            .push_next(&mut driver)
            .push_next(&mut properties13);
        // SAFETY: the caller sees to the device, which knows every structure in the chain.
        unsafe { instance.get_physical_device_properties2(physical, &mut chain) };
        let operations = subgroup.supported_operations;
        if !subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE)
            || !operations.contains(vk::SubgroupFeatureFlags::BASIC)
        {
            return Err(HandOverError::Lacks { feature: "basic subgroup operations in compute shaders" });
        }
        let limits = &base.limits;
        let shapes = ShapeLimits::of(limits, &subgroup, &properties13);
        // SPIR-V 1.6 may run with any of them, unless a pipeline asks for one.
        if shapes.min_subgroup_size != shapes.max_subgroup_size && !shapes.pins_subgroup_size {
            return Err(HandOverError::Lacks { feature: "a choice of the subgroup size in compute shaders" });
        }
        Ok(Self {
            vendor_id: base.vendor_id,
            device_id: base.device_id,
            driver: driver_name(&driver),
            driver_build: driver_build(&base),
            shapes,
            max_groups: limits.max_compute_work_group_count,
            max_shared_bytes: limits.max_compute_shared_memory_size,
            features: OPERATIONS
                .into_iter()
                .filter(|(flag, _)| operations.contains(*flag))
                .fold(enabled.set(), |set, (_, feature)| set.with(feature)),
        })
    }

    /// As choices see it.
    pub fn seen(&self) -> SeenDevice<'_> {
        let ShapeLimits {
            max_workgroup_size,
            subgroup_size,
            min_subgroup_size,
            max_subgroup_size,
            pins_subgroup_size,
            max_workgroup_subgroups,
        } = self.shapes;
        // Only where a pipeline asks for a size there are others than its own, and a limit of subgroups.
        let [min, max, most] = if pins_subgroup_size {
            [min_subgroup_size, max_subgroup_size, max_workgroup_subgroups]
        } else {
            [subgroup_size, subgroup_size, u32::MAX]
        };
        SeenDevice {
            vendor_id: self.vendor_id,
            device_id: self.device_id,
            driver: &self.driver,
            driver_build: &self.driver_build,
            subgroup_size,
            min_subgroup_size: min,
            max_subgroup_size: max,
            max_workgroup_size,
            max_workgroup_subgroups: most,
            max_shared_bytes: self.max_shared_bytes,
            features: self.features,
        }
    }
}
