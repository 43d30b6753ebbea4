//! Physical devices (what they are, and whether they can be used) and the logical device.

use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::{khr, vk};
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings};
use scanbox_kernels::catalog::ASSUMED_UNITS;
use scanbox_model::api::Api;
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::guarantee_probe::GuaranteeFacts;
use scanbox_model::timer::Timer;
use scanbox_vk::driver::{driver_build, driver_name};
use scanbox_vk::features::{Features, OptionalFeatures};
use scanbox_vk::shape::{ShapeLimits, subgroup_problems};

use super::VulkanError;
use super::instance::Instance;
use crate::select::Listed;

/// The variable that has RADV make pipelines for a chip that is not there.
pub const FORCED_FAMILY: &str = "RADV_FORCE_FAMILY";

/// The memory of a device that has none, so that its space has the points of a chip: that of many cards.
const NULL_MEMORY_BYTES: u64 = 16 << 30;

/// A physical device: what the outside may know, and what opening it needs.
pub(super) struct Candidate {
    pub raw: vk::PhysicalDevice,
    pub listed: Listed,
    /// The queue family to use; meaningful when there are no problems.
    queue_family: u32,
    pub limits: VulkanLimits,
}

/// Facts that only this module needs.
#[derive(Debug, Clone)]
pub(super) struct VulkanLimits {
    /// Buffers in bytes at most.
    pub max_buffer_bytes: u64,
    /// What a pipeline cache is only good for.
    pub pipeline_cache_uuid: [u8; vk::UUID_SIZE],
    /// The driver's version, as a plain number.
    pub driver_version: u32,
    /// Whether the driver stands on another interface, and lacks some of what all others have: nothing that kernels
    /// use.
    is_portability_subset: bool,
    /// Whether the driver tells statistics of pipelines.
    executable_statistics: bool,
}

/// Every physical device, hardware first, then software, each in the loader's order.
pub(super) fn candidates(instance: &Instance) -> Result<Vec<Candidate>, VulkanError> {
    // SAFETY: the instance is valid.
    let physical = unsafe { instance.raw.enumerate_physical_devices() }.map_err(|result| match result {
        // What the loader returns when drivers are installed but none of them works.
        vk::Result::ERROR_INITIALIZATION_FAILED | vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
            VulkanError::NoDevice
        }
        result => VulkanError::call("vkEnumeratePhysicalDevices", result),
    })?;
    let mut candidates: Vec<_> =
        physical.into_iter().map(|raw| candidate(instance, raw)).collect::<Result<_, _>>()?;
    if candidates.is_empty() {
        return Err(VulkanError::NoDevice);
    }
    // Stable: within each kind the loader's order stays.
    candidates.sort_by_key(|candidate| match candidate.listed.profile.kind {
        DeviceKind::Hardware => 0,
        DeviceKind::Software => 1,
        DeviceKind::Null => 2,
    });
    Ok(candidates)
}

/// Asks a physical device everything at once.
fn candidate(instance: &Instance, raw: vk::PhysicalDevice) -> Result<Candidate, VulkanError> {
    let mut ids = vk::PhysicalDeviceIDProperties::default();
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties13 = vk::PhysicalDeviceVulkan13Properties::default();
    let mut features = Features::default();

    // SAFETY: `raw` comes from this instance.
    let base = unsafe { instance.raw.get_physical_device_properties(raw) };
    let version = base.api_version;
    let has = |minimum| version >= minimum;
    // Structures may only be in the chain of a device that knows them.
    if has(vk::API_VERSION_1_1) {
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut ids)
            .push_next(&mut subgroup)
            .push_next(&mut maintenance3);
        if has(vk::API_VERSION_1_2) {
            properties = properties.push_next(&mut driver);
        }
        if has(vk::API_VERSION_1_3) {
            properties = properties.push_next(&mut properties13);
        }
        // SAFETY: `raw` comes from this instance, and the device knows every structure in the chain.
        unsafe { instance.raw.get_physical_device_properties2(raw, &mut properties) };
    }
    // SAFETY: `raw` comes from this instance.
    let extensions = unsafe { instance.raw.enumerate_device_extension_properties(raw) }
        .map_err(|result| VulkanError::call("vkEnumerateDeviceExtensionProperties", result))?;
    let has_extension =
        |name: &CStr| extensions.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name));
    if has(vk::API_VERSION_1_3) {
        // SAFETY: `raw` comes from this instance, and knows Vulkan 1.3, as the instance does, and what it lists.
        unsafe {
            features = Features::of(&instance.raw, raw);
            features.ask_extensions(&instance.raw, raw, has_extension);
        }
    }
    // SAFETY: `raw` comes from this instance.
    let families = unsafe { instance.raw.get_physical_device_queue_family_properties(raw) };
    // SAFETY: `raw` comes from this instance.
    let memory = unsafe { instance.raw.get_physical_device_memory_properties(raw) };

    let limits = &base.limits;
    let kind = kind(&base, &driver);
    let compute_units = compute_units(instance, raw, has_extension);
    let queue_family = queue_family(&families);
    let shapes = ShapeLimits::of(limits, &subgroup, &properties13);
    let optional = features.optional();

    let profile = DeviceProfile {
        name: text(base.device_name_as_c_str()),
        uuid: uuid_text(ids.device_uuid),
        pci_address: pci_address(instance, raw, has_extension),
        vendor_id: base.vendor_id,
        device_id: base.device_id,
        kind,
        driver: driver_name(&driver),
        driver_build: driver_build(&base),
        api_version: version_text(version),
        subgroup_size: shapes.subgroup_size,
        min_subgroup_size: shapes.min_subgroup_size,
        max_subgroup_size: shapes.max_subgroup_size,
        pinned_subgroups: shapes.pins_subgroup_size.then_some(shapes.max_workgroup_subgroups),
        max_workgroup_size: shapes.max_workgroup_size,
        max_workgroup_count: limits.max_compute_work_group_count,
        max_shared_bytes: limits.max_compute_shared_memory_size,
        max_storage_buffer_bytes: u64::from(limits.max_storage_buffer_range),
        max_allocation_bytes: maintenance3.max_memory_allocation_size,
        memory_bytes: match kind {
            DeviceKind::Null => NULL_MEMORY_BYTES,
            DeviceKind::Hardware | DeviceKind::Software => largest_local_heap(&memory),
        },
        buffer_addresses: features.v12.buffer_device_address == vk::TRUE,
        int64_atomics: optional.int64_atomics,
        int64_elements: optional.int64_elements,
        float64_elements: optional.float64_elements,
        uniform_control_flow: features.uniform_control_flow.shader_subgroup_uniform_control_flow == vk::TRUE,
        maximal_reconvergence: features.maximal_reconvergence.shader_maximal_reconvergence == vk::TRUE,
        // Of no clock it is infinite, which no file can say.
        timestamp_period_ns: if limits.timestamp_period.is_finite() { limits.timestamp_period } else { 0.0 },
        timestamp_valid_bits: queue_family.map_or(0, |family| families[family].timestamp_valid_bits),
        api: Api::Vulkan,
        implementation: String::new(),
        robustness: None,
        timer: Timer::Timestamps,
        timer_resolution_ns: 0.0,
        forced: Forced::default(),
        guarantees: Vec::new(),
        guarantee_facts: GuaranteeFacts::default(),
        residency: None,
        arguments_probe: None,
        compute_units,
        assumed_compute_units: compute_units.is_none().then_some(ASSUMED_UNITS),
    };

    let mut problems = Vec::new();
    if !has(vk::API_VERSION_1_3) {
        problems.push(format!("offers Vulkan {}, and 1.3 is needed", profile.api_version));
    } else {
        problems.extend(features.missing().map(|name| format!("lacks the feature {name}")));
        problems.extend(subgroup_problems(&subgroup, shapes.subgroup_size));
    }
    if queue_family.is_none() {
        problems.push("has no queue family with compute and timestamps".to_owned());
    }

    let limits = VulkanLimits {
        max_buffer_bytes: properties13.max_buffer_size,
        pipeline_cache_uuid: base.pipeline_cache_uuid,
        driver_version: base.driver_version,
        is_portability_subset: has_extension(khr::portability_subset::NAME),
        executable_statistics: has_extension(khr::pipeline_executable_properties::NAME),
    };
    let queue_family = queue_family.unwrap_or(0) as u32;
    Ok(Candidate { raw, listed: Listed { profile, problems }, queue_family, limits })
}

/// What stands behind the driver. RADV makes pipelines for any chip that `RADV_FORCE_FAMILY` names, without one.
fn kind(base: &vk::PhysicalDeviceProperties, driver: &vk::PhysicalDeviceDriverProperties<'_>) -> DeviceKind {
    let is_forced =
        || driver.driver_id == vk::DriverId::MESA_RADV && std::env::var_os(FORCED_FAMILY).is_some();
    if base.device_type == vk::PhysicalDeviceType::CPU {
        DeviceKind::Software
    } else if text(base.device_name_as_c_str()).starts_with("Null hardware") || is_forced() {
        DeviceKind::Null
    } else {
        DeviceKind::Hardware
    }
}

/// The largest heap of the device's own, in bytes.
fn largest_local_heap(memory: &vk::PhysicalDeviceMemoryProperties) -> u64 {
    let heaps = memory.memory_heaps_as_slice().iter();
    let local = heaps.filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
    local.map(|heap| heap.size).max().unwrap_or(0)
}

/// The first family with compute and timestamps, one with graphics before others: that is the main queue of a
/// device. The additional compute queues share its execution units, and some drivers give them less of the chip or
/// a lower priority.
fn queue_family(families: &[vk::QueueFamilyProperties]) -> Option<usize> {
    let usable = |flags| {
        families
            .iter()
            .position(|family| family.queue_flags.contains(flags) && family.timestamp_valid_bits > 0)
    };
    usable(vk::QueueFlags::COMPUTE | vk::QueueFlags::GRAPHICS).or_else(|| usable(vk::QueueFlags::COMPUTE))
}

/// Where the device stands on the PCI bus, as `lspci -D` writes it.
fn pci_address(instance: &Instance, raw: vk::PhysicalDevice, has: impl Fn(&CStr) -> bool) -> Option<String> {
    if !has(ash::ext::pci_bus_info::NAME) {
        return None;
    }
    let mut pci = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut pci);
    // SAFETY: `raw` comes from this instance, and the device knows the structure in the chain.
    unsafe { instance.raw.get_physical_device_properties2(raw, &mut properties) };
    let (domain, bus) = (pci.pci_domain, pci.pci_bus);
    Some(format!("{domain:04x}:{bus:02x}:{:02x}.{:x}", pci.pci_device, pci.pci_function))
}

/// How many units of the device run workgroups, from whatever extension tells it.
fn compute_units(instance: &Instance, raw: vk::PhysicalDevice, has: impl Fn(&CStr) -> bool) -> Option<u32> {
    let mut nvidia = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
    let mut amd = vk::PhysicalDeviceShaderCorePropertiesAMD::default();
    let mut active = vk::PhysicalDeviceShaderCoreProperties2AMD::default();
    let mut arm = vk::PhysicalDeviceShaderCoreBuiltinsPropertiesARM::default();
    let mut properties = vk::PhysicalDeviceProperties2::default();
    if has(ash::nv::shader_sm_builtins::NAME) {
        properties = properties.push_next(&mut nvidia);
    }
    if has(ash::amd::shader_core_properties::NAME) {
        properties = properties.push_next(&mut amd);
    }
    if has(ash::amd::shader_core_properties2::NAME) {
        properties = properties.push_next(&mut active);
    }
    if has(ash::arm::shader_core_builtins::NAME) {
        properties = properties.push_next(&mut arm);
    }
    // SAFETY: `raw` comes from this instance, and the device knows every structure in the chain.
    unsafe { instance.raw.get_physical_device_properties2(raw, &mut properties) };
    let units = [
        nvidia.shader_sm_count,
        // Those that are not switched off, where the driver tells apart.
        active.active_compute_unit_count,
        amd.shader_engine_count * amd.shader_arrays_per_engine_count * amd.compute_units_per_shader_array,
        arm.shader_core_count,
    ];
    units.into_iter().find(|&units| units > 0)
}

pub(super) fn hex(bytes: [u8; vk::UUID_SIZE]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(name: Result<&CStr, std::ffi::FromBytesUntilNulError>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// `8-4-4-4-12` hexadecimal digits, as RFC 9562 writes it.
fn uuid_text(uuid: [u8; vk::UUID_SIZE]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

pub(super) fn version_text(version: u32) -> String {
    let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
    format!("{major}.{minor}.{}", vk::api_version_patch(version))
}

/// The logical device, its only queue and its memory. Everything that is made from it holds it in an [`Arc`].
pub(super) struct Gpu {
    pub profile: Arc<DeviceProfile>,
    pub raw: ash::Device,
    pub physical: vk::PhysicalDevice,
    /// What is enabled.
    pub enabled: Features,
    pub queue: vk::Queue,
    pub queue_family: u32,
    pub limits: VulkanLimits,
    /// Reads statistics of pipelines, where the driver tells them.
    pub statistics: Option<khr::pipeline_executable_properties::Device>,
    /// Names objects for the validation layer, where it is on.
    names: Option<ash::ext::debug_utils::Device>,
    /// Dropped by hand: its memory has to be gone before the device.
    allocator: ManuallyDrop<Mutex<Allocator>>,
    /// Dropped last.
    _instance: Instance,
}

impl Gpu {
    /// See [`Instance::validation_log`].
    #[cfg(feature = "testing")]
    pub fn validation_log(&self) -> super::instance::ValidationLog {
        self._instance.validation_log()
    }

    /// Creates the logical device of a candidate without problems.
    pub fn new(instance: Instance, candidate: &Candidate) -> Result<Arc<Self>, VulkanError> {
        let Candidate { raw: physical, queue_family, limits, listed } = candidate;
        let profile = &listed.profile;
        let mut enabled = Features::to_enable(OptionalFeatures {
            int64_atomics: profile.int64_atomics,
            int64_elements: profile.int64_elements,
            float64_elements: profile.float64_elements,
        });
        enabled.uniform_control_flow.shader_subgroup_uniform_control_flow =
            vk::Bool32::from(profile.uniform_control_flow);
        enabled.maximal_reconvergence.shader_maximal_reconvergence =
            vk::Bool32::from(profile.maximal_reconvergence);
        let mut statistics_feature = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
            .pipeline_executable_info(true);
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(*queue_family).queue_priorities(&[1.0])];
        let mut extensions: Vec<_> = enabled.extensions().map(CStr::as_ptr).collect();
        let mut features = enabled;
        let mut info = features.enable(vk::DeviceCreateInfo::default().queue_create_infos(&queues));
        if limits.is_portability_subset {
            extensions.push(khr::portability_subset::NAME.as_ptr());
        }
        if limits.executable_statistics {
            extensions.push(khr::pipeline_executable_properties::NAME.as_ptr());
            info = info.push_next(&mut statistics_feature);
        }
        info = info.enabled_extension_names(&extensions);
        // SAFETY: the physical device comes from this instance; it offers what is enabled, as `candidate` found out.
        let raw = unsafe { instance.raw.create_device(*physical, &info, None) }
            .map_err(|result| VulkanError::call("vkCreateDevice", result))?;

        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.raw.clone(),
            device: raw.clone(),
            physical_device: *physical,
            debug_settings: AllocatorDebugSettings::default(),
            buffer_device_address: true,
            // All that is large is allocated on its own; the smallest blocks are enough for the rest.
            allocation_sizes: AllocationSizes::new(4 << 20, 4 << 20),
        });
        let allocator = match allocator {
            Ok(allocator) => ManuallyDrop::new(Mutex::new(allocator)),
            Err(error) => {
                // SAFETY: nothing was made from the device.
                unsafe { raw.destroy_device(None) };
                return Err(VulkanError::Allocator(error));
            }
        };
        // SAFETY: the family and the one queue in it are those that the device was created with.
        let queue = unsafe { raw.get_device_queue(*queue_family, 0) };
        Ok(Arc::new(Self {
            profile: Arc::new(profile.clone()),
            queue,
            queue_family: *queue_family,
            statistics: limits
                .executable_statistics
                .then(|| khr::pipeline_executable_properties::Device::new(&instance.raw, &raw)),
            physical: *physical,
            enabled,
            limits: limits.clone(),
            names: instance.validates().then(|| ash::ext::debug_utils::Device::new(&instance.raw, &raw)),
            allocator,
            raw,
            _instance: instance,
        }))
    }

    /// The instance that it was made from.
    pub fn instance(&self) -> &ash::Instance {
        &self._instance.raw
    }

    /// What workgroups it can start.
    pub fn shape_limits(&self) -> ShapeLimits {
        let profile = &self.profile;
        ShapeLimits {
            max_workgroup_size: profile.max_workgroup_size,
            subgroup_size: profile.subgroup_size,
            min_subgroup_size: profile.min_subgroup_size,
            max_subgroup_size: profile.max_subgroup_size,
            pins_subgroup_size: profile.pinned_subgroups.is_some(),
            max_workgroup_subgroups: profile.pinned_subgroups.unwrap_or(0),
        }
    }

    /// The allocator. Its users leave it consistent or do not come back from Vulkan at all.
    pub fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an object a name in messages of the validation layer.
    pub fn name<T: vk::Handle>(&self, handle: T, name: &str) {
        let Some(names) = &self.names else { return };
        let Ok(name) = std::ffi::CString::new(name) else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(handle).object_name(&name);
        // SAFETY: the extension is enabled, and the object was made from this device. A name that is not taken is
        // no loss.
        let _ = unsafe { names.set_debug_utils_object_name(&info) };
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: everything made from the device holds it, so all of it is gone, and each call waited for its own
        // work. The allocator is not used again; its memory goes before the device, and the instance goes after
        // this body.
        unsafe {
            ManuallyDrop::drop(&mut self.allocator);
            self.raw.destroy_device(None);
        }
    }
}
