//! An instance without a driver, whose one physical device is what a test makes of it.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};

use ash::{khr, vk};
use scanbox_vk::Features;
use scanbox_vk::features::OptionalFeatures;

/// The physical device.
#[derive(Clone)]
pub struct FakeDevice {
    pub api_version: u32,
    pub device_id: u32,
    /// What it offers.
    pub features: Features,
    pub operations: vk::SubgroupFeatureFlags,
    /// Of the smallest subgroup, of the one that it has by itself, and of the largest one.
    pub subgroups: [u32; 3],
    /// Shaders whose pipelines may ask for one of them.
    pub pinned_stages: vk::ShaderStageFlags,
    pub max_groups: [u32; 3],
    pub max_shared_bytes: u32,
    /// Extensions that it has.
    pub extensions: Vec<&'static CStr>,
}

impl Default for FakeDevice {
    fn default() -> Self {
        let all = OptionalFeatures { int64_atomics: true, int64_elements: true, float64_elements: true };
        let mut features = Features::to_enable(all);
        features.uniform_control_flow.shader_subgroup_uniform_control_flow = vk::TRUE;
        Self {
            api_version: vk::API_VERSION_1_3,
            device_id: 0x2335,
            features,
            operations: vk::SubgroupFeatureFlags::from_raw(0xff),
            subgroups: [32; 3],
            pinned_stages: vk::ShaderStageFlags::COMPUTE,
            max_groups: [1 << 31, 65_535, 65_535],
            max_shared_bytes: 1 << 15,
            extensions: vec![khr::shader_subgroup_uniform_control_flow::NAME],
        }
    }
}

thread_local! {
    static DEVICE: RefCell<FakeDevice> = RefCell::default();
}

fn put(to: &mut [c_char], text: &CStr) {
    to.iter_mut().zip(text.to_bytes_with_nul()).for_each(|(to, byte)| *to = *byte as c_char);
}

unsafe extern "system" fn properties(_: vk::PhysicalDevice, made: *mut vk::PhysicalDeviceProperties) {
    let device = DEVICE.with_borrow(Clone::clone);
    // SAFETY: Vulkan wants one there.
    let made = unsafe { &mut *made };
    *made = vk::PhysicalDeviceProperties {
        api_version: device.api_version,
        vendor_id: 0x10de,
        device_id: device.device_id,
        driver_version: 0x9127_8100,
        ..Default::default()
    };
    made.pipeline_cache_uuid[0] = 0xab;
    made.limits.max_compute_work_group_count = device.max_groups;
    made.limits.max_compute_work_group_invocations = 1024;
    made.limits.max_compute_work_group_size = [1024; 3];
    made.limits.max_compute_shared_memory_size = device.max_shared_bytes;
}

unsafe extern "system" fn properties2(_: vk::PhysicalDevice, made: *mut vk::PhysicalDeviceProperties2<'_>) {
    let device = DEVICE.with_borrow(Clone::clone);
    let [min, own, max] = device.subgroups;
    // SAFETY: Vulkan wants a chain there, whose structures say what they are.
    unsafe {
        let mut next = (*made).p_next.cast::<vk::BaseOutStructure<'_>>();
        while let Some(one) = next.as_mut() {
            match one.s_type {
                vk::StructureType::PHYSICAL_DEVICE_SUBGROUP_PROPERTIES => {
                    let subgroup = &mut *next.cast::<vk::PhysicalDeviceSubgroupProperties<'_>>();
                    subgroup.subgroup_size = own;
                    subgroup.supported_stages = vk::ShaderStageFlags::COMPUTE;
                    subgroup.supported_operations = device.operations;
                }
                vk::StructureType::PHYSICAL_DEVICE_DRIVER_PROPERTIES => {
                    let driver = &mut *next.cast::<vk::PhysicalDeviceDriverProperties<'_>>();
                    put(&mut driver.driver_name, c"NVIDIA");
                    put(&mut driver.driver_info, c"580.159.04");
                }
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES => {
                    let v13 = &mut *next.cast::<vk::PhysicalDeviceVulkan13Properties<'_>>();
                    (v13.min_subgroup_size, v13.max_subgroup_size) = (min, max);
                    v13.required_subgroup_size_stages = device.pinned_stages;
                    v13.max_compute_workgroup_subgroups = 32;
                }
                other => panic!("{other:?} was not asked for"),
            }
            next = one.p_next;
        }
    }
}

unsafe extern "system" fn features2(_: vk::PhysicalDevice, made: *mut vk::PhysicalDeviceFeatures2<'_>) {
    let offered = DEVICE.with_borrow(|device| device.features);
    // SAFETY: as above.
    unsafe {
        (*made).features = offered.v10;
        let mut next = (*made).p_next.cast::<vk::BaseOutStructure<'_>>();
        while let Some(one) = next.as_mut() {
            let behind = one.p_next;
            match one.s_type {
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => *next.cast() = offered.v12,
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => *next.cast() = offered.v13,
                vk::StructureType::PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR => {
                    *next.cast() = offered.maximal_reconvergence;
                }
                _ => *next.cast() = offered.uniform_control_flow,
            }
            (*next).p_next = behind;
            next = behind;
        }
    }
}

unsafe extern "system" fn extensions(
    _: vk::PhysicalDevice,
    _: *const c_char,
    count: *mut u32,
    made: *mut vk::ExtensionProperties,
) -> vk::Result {
    let names = DEVICE.with_borrow(|device| device.extensions.clone());
    // SAFETY: Vulkan wants a number there, and room for as many where it is no question.
    unsafe {
        if let Some(first) = made.as_mut() {
            let room = std::slice::from_raw_parts_mut(first, *count as usize);
            room.iter_mut().zip(&names).for_each(|(one, name)| put(&mut one.extension_name, name));
        }
        *count = names.len() as u32;
    }
    vk::Result::SUCCESS
}

/// An instance with this device, on this thread.
#[expect(clippy::fn_to_numeric_cast_any, reason = "drivers hand out functions as addresses")]
pub fn instance(device: FakeDevice) -> ash::Instance {
    DEVICE.set(device);
    let load = |name: &CStr| match name.to_bytes() {
        b"vkGetPhysicalDeviceProperties" => {
            properties as vk::PFN_vkGetPhysicalDeviceProperties as *const c_void
        }
        b"vkGetPhysicalDeviceProperties2" => {
            properties2 as vk::PFN_vkGetPhysicalDeviceProperties2 as *const c_void
        }
        b"vkGetPhysicalDeviceFeatures2" => features2 as vk::PFN_vkGetPhysicalDeviceFeatures2 as *const c_void,
        b"vkEnumerateDeviceExtensionProperties" => {
            extensions as vk::PFN_vkEnumerateDeviceExtensionProperties as *const c_void
        }
        _ => std::ptr::null(),
    };
    // SAFETY: each function has the type of its name.
    unsafe { ash::Instance::load_with(load, vk::Instance::null()) }
}
