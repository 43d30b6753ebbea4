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
    let mut offered = unsafe { Features::of(instance, physical) };
    if let Some(feature) = offered.missing().next() {
        return Err(HandOverError::NotOffered { feature });
    }
    let mut features = Features::to_enable(offered.optional());
    let mut extensions = Vec::new();
    // SAFETY: the caller sees to the device.
    let listed = unsafe { instance.enumerate_device_extension_properties(physical) }
        .map_err(HandOverError::vulkan("vkEnumerateDeviceExtensionProperties"))?;
    let has = |name: &CStr| listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name));
    // A device that has it wants it enabled (VUID-VkDeviceCreateInfo-pProperties-04451).
    if has(khr::portability_subset::NAME) {
        extensions.push(khr::portability_subset::NAME);
    }
    // SAFETY: the caller sees to the device, which has the extensions that it lists.
    unsafe { offered.ask_extensions(instance, physical, has) };
    features.uniform_control_flow = offered.uniform_control_flow;
    features.maximal_reconvergence = offered.maximal_reconvergence;
    extensions.extend(features.extensions());
    Ok(Wanted { features, extensions })
}
