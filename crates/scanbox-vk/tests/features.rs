//! Features that devices offer and kernels need.

use ash::vk;
use scanbox_vk::features::{Features, OptionalFeatures};

#[test]
fn what_is_enabled_is_what_is_needed() {
    let missing: Vec<&str> = Features::default().missing().collect();
    assert_eq!((missing.len(), missing[0], missing[6]), (7, "bufferDeviceAddress", "maintenance4"));
    for bits in 0..8 {
        let has = |bit: u32| bits >> bit & 1 == 1;
        let [int64_atomics, int64_elements, float64_elements] = [has(0), has(1), has(2)];
        let optional = OptionalFeatures { int64_atomics, int64_elements, float64_elements };
        let features = Features::to_enable(optional);
        assert_eq!((features.missing().count(), features.optional()), (0, optional));
    }
    let mut features = Features::to_enable(OptionalFeatures::default());
    features.v13.synchronization2 = vk::FALSE;
    assert!(features.missing().eq(["synchronization2"]));
}

/// 64-bit integers are part of both, and alone are neither.
#[test]
fn half_a_feature_is_none() {
    let check = |set: fn(&mut Features)| {
        let mut features = Features::default();
        set(&mut features);
        assert_eq!(features.optional(), OptionalFeatures::default());
    };
    check(|features| features.v10.shader_int64 = vk::TRUE);
    check(|features| features.v12.shader_buffer_int64_atomics = vk::TRUE);
    check(|features| features.v12.shader_subgroup_extended_types = vk::TRUE);
}

unsafe extern "system" fn offered(_: vk::PhysicalDevice, features: *mut vk::PhysicalDeviceFeatures2<'_>) {
    // SAFETY: Vulkan wants a chain there, whose structures say what they are.
    unsafe {
        (*features).features.shader_float64 = vk::TRUE;
        let mut next = (*features).p_next.cast::<vk::BaseOutStructure<'_>>();
        while let Some(one) = next.as_mut() {
            match one.s_type {
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => {
                    let v12 = next.cast::<vk::PhysicalDeviceVulkan12Features<'_>>();
                    (*v12).buffer_device_address = vk::TRUE;
                }
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => {
                    let v13 = next.cast::<vk::PhysicalDeviceVulkan13Features<'_>>();
                    (*v13).maintenance4 = vk::TRUE;
                }
                other => panic!("{other:?} was not asked for"),
            }
            next = one.p_next;
        }
    }
}

#[test]
#[expect(clippy::fn_to_numeric_cast_any, reason = "drivers hand out functions as addresses")]
fn a_device_is_asked_for_its_features() {
    let load = |name: &std::ffi::CStr| match name.to_bytes() {
        b"vkGetPhysicalDeviceFeatures2" => {
            offered as vk::PFN_vkGetPhysicalDeviceFeatures2 as *const std::ffi::c_void
        }
        _ => std::ptr::null(),
    };
    // SAFETY: the function has the type of its name, and takes any physical device.
    let features = unsafe {
        let instance = ash::Instance::load_with(load, vk::Instance::null());
        Features::of(&instance, vk::PhysicalDevice::null())
    };
    let missing: Vec<&str> = features.missing().collect();
    assert_eq!((missing.len(), missing[0], missing[4]), (5, "vulkanMemoryModel", "synchronization2"));
    assert!(features.optional().float64_elements && !features.optional().int64_elements);
    assert!(features.v12.p_next.is_null() && features.v13.p_next.is_null());
}
