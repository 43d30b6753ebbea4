//! What wgpu does not do by itself: a device with what scanbox needs, and buffers whose addresses are known.

use std::error::Error;

use ash::vk;
use scanbox_vk::{DeviceRange, Features, wanted};
use wgpu::hal::vulkan;
use wgpu::wgc::api::Vulkan;

/// A device of wgpu on which is enabled what scanbox needs, and that.
///
/// # Safety
/// The adapter is one of Vulkan.
pub unsafe fn open(adapter: &wgpu::Adapter) -> Result<(wgpu::Device, wgpu::Queue, Features), Box<dyn Error>> {
    // SAFETY: the device is made of what wgpu asks for, and more of what the adapter has.
    unsafe {
        let hal = adapter.as_hal::<Vulkan>().ok_or("this is no Vulkan adapter")?;
        let (instance, physical) = (hal.shared_instance().raw_instance(), hal.raw_physical_device());
        // Features that only some kernels need stay off, so that less has to be merged.
        let mut enabled = wanted(instance, physical)?.features;
        enabled.v10 = vk::PhysicalDeviceFeatures::default();
        (enabled.v12.shader_buffer_int64_atomics, enabled.v12.shader_subgroup_extended_types) = (0, 0);
        enabled.uniform_control_flow.shader_subgroup_uniform_control_flow = 0;
        enabled.maximal_reconvergence.shader_maximal_reconvergence = 0;

        let descriptor = wgpu::DeviceDescriptor::default();
        let extensions = hal.required_device_extensions(descriptor.required_features);
        let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let mut addresses =
            vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
        let mut barriers = vk::PhysicalDeviceSynchronization2Features::default().synchronization2(true);
        let info =
            vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
        let info = info.push_next(&mut addresses).push_next(&mut barriers);
        let mut of_wgpu = hal.physical_device_features(&extensions, descriptor.required_features);
        let info = of_wgpu.add_to_device_create(info);
        // wgpu has put these into the chain too.
        let mut merged = 0;
        let mut next = info.p_next.cast_mut().cast::<vk::BaseOutStructure<'_>>();
        while let Some(one) = next.as_mut() {
            merged += match one.s_type {
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES => {
                    let one = &mut *next.cast::<vk::PhysicalDeviceVulkanMemoryModelFeatures<'_>>();
                    (one.vulkan_memory_model, one.vulkan_memory_model_device_scope) = (1, 1);
                    1
                }
                vk::StructureType::PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES => {
                    let one = &mut *next.cast::<vk::PhysicalDeviceSubgroupSizeControlFeatures<'_>>();
                    (one.subgroup_size_control, one.compute_full_subgroups) = (1, 1);
                    1
                }
                vk::StructureType::PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES => {
                    (*next.cast::<vk::PhysicalDeviceMaintenance4Features<'_>>()).maintenance4 = 1;
                    1
                }
                _ => 0,
            };
            next = one.p_next;
        }
        if merged != 3 {
            return Err(format!("of three structures of features this wgpu has {merged} in its chain").into());
        }
        let raw = instance.create_device(physical, &info, None)?;
        let (limits, hints) = (&descriptor.required_limits, &descriptor.memory_hints);
        let open =
            hal.device_from_raw(raw, None, &extensions, descriptor.required_features, limits, hints, 0, 0)?;
        let (device, queue) = adapter.create_device_from_hal::<Vulkan>(open, &descriptor)?;
        Ok((device, queue, enabled))
    }
}

/// A buffer of wgpu whose address is known, and where it is.
///
/// # Safety
/// The device is one of Vulkan with addresses of buffers.
pub unsafe fn buffer(
    device: &wgpu::Device,
    size: u64,
    usage: wgpu::BufferUsages,
) -> Result<(wgpu::Buffer, DeviceRange), Box<dyn Error>> {
    // SAFETY: memory and buffer are made for each other, and wgpu frees both.
    unsafe {
        let hal = device.as_hal::<Vulkan>().ok_or("this is no Vulkan device")?;
        let raw = hal.raw_device();
        let usages = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::TRANSFER_SRC;
        let made = raw.create_buffer(&vk::BufferCreateInfo::default().size(size).usage(usages), None)?;
        let needs = raw.get_buffer_memory_requirements(made);
        let instance = hal.shared_instance().raw_instance();
        let types = instance.get_physical_device_memory_properties(hal.raw_physical_device());
        let is_local = |place: &u32| {
            let flags = types.memory_types[*place as usize].property_flags;
            needs.memory_type_bits >> place & 1 == 1 && flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
        };
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index((0..types.memory_type_count).find(is_local).ok_or("there is no memory")?)
            .push_next(&mut flags);
        let memory = raw.allocate_memory(&info, None)?;
        raw.bind_buffer_memory(made, memory, 0)?;
        let address = raw.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(made));
        let of_hal = vulkan::Buffer::from_raw_managed(made, memory, 0, needs.size);
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let buffer = device.create_buffer_from_hal::<Vulkan>(of_hal, &descriptor);
        Ok((buffer, DeviceRange { address, bytes: size }))
    }
}
