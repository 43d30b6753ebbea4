//! What a program has to enable on its device.

use std::ffi::CStr;

use ash::{khr, vk};

use crate::features::Features;
use crate::hand_over_error::HandOverError;

/// What a program merges into its own `VkDeviceCreateInfo`.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What kernels cannot do without, and of what some of them use, all that the device has.
    pub features: Features,
    /// Extensions of the device.
    pub extensions: Vec<&'static CStr>,
}

/// What to enable on a device. Whoever enables less of what is optional gets other kernels; without what is required
/// there are none.
///
/// # Errors
/// What the device lacks.
///
/// # Safety
/// The instance is valid, was made for Vulkan 1.3 or newer, and has the physical device.
pub unsafe fn wanted(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
) -> Result<Wanted, HandOverError> {
    // SAFETY: the caller sees to the device.
    let properties = unsafe { instance.get_physical_device_properties(physical) };
    if properties.api_version < vk::API_VERSION_1_3 {
        return Err(HandOverError::NotOffered { feature: "Vulkan 1.3" });
    }
    // SAFETY: the caller sees to the device, which knows Vulkan 1.3.
    let offered = unsafe { Features::of(instance, physical) };
    if let Some(feature) = offered.missing().next() {
        return Err(HandOverError::NotOffered { feature });
    }
    let mut features = Features::to_enable(offered.optional());
    let mut extensions = Vec::new();
    // SAFETY: the caller sees to the device.
    let listed = unsafe { instance.enumerate_device_extension_properties(physical) }
        .map_err(HandOverError::vulkan("vkEnumerateDeviceExtensionProperties"))?;
    let has = |name| listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name));
    // A device that has it wants it enabled (VUID-VkDeviceCreateInfo-pProperties-04451).
    if has(khr::portability_subset::NAME) {
        extensions.push(khr::portability_subset::NAME);
    }
    let name = khr::shader_subgroup_uniform_control_flow::NAME;
    if has(name) {
        let mut uniform = vk::PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR::default();
        let mut chain = vk::PhysicalDeviceFeatures2::default().push_next(&mut uniform);
        // SAFETY: the caller sees to the device, which knows the structure in the chain.
        unsafe { instance.get_physical_device_features2(physical, &mut chain) };
        if uniform.shader_subgroup_uniform_control_flow == vk::TRUE {
            features.uniform_control_flow.shader_subgroup_uniform_control_flow = vk::TRUE;
            extensions.push(name);
        }
    }
    Ok(Wanted { features, extensions })
}
