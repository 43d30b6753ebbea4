//! A prefix sum by scanbox between two compute passes of wgpu, in one submission of wgpu's.
//!
//!     cargo run            (in this folder; a Vulkan device is all it needs)
//!
//! wgpu has no addresses of buffers and enables none of what scanbox needs: so the program makes device and buffers
//! itself, with more switched on, and hands them to wgpu. From there on wgpu tracks them as its own.
//!
//! squares of 0, 1, 2, ... (wgpu) -> their prefix sums (scanbox) -> differences of neighbours (wgpu): squares again.

use std::error::Error;
use std::sync::Arc;

use ash::vk;
use scanbox_pack::{CallUse, Pack, Promises, ScanMode, ScanProblem};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, DeviceRange, Features, ScanCall, Scanner, ScannerInfo, wanted};
use wgpu::hal::vulkan;
use wgpu::wgc::api::Vulkan;

const N: u32 = 1 << 20;
const BYTES: u64 = 4 * N as u64;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> output: array<u32>;
@group(0) @binding(1) var<storage> sums: array<u32>;
@compute @workgroup_size(256) fn squares(@builtin(global_invocation_id) id: vec3u) {
    output[id.x] = id.x * id.x;
}
@compute @workgroup_size(256) fn differences(@builtin(global_invocation_id) id: vec3u) {
    output[id.x] = sums[id.x] - select(sums[id.x - 1], 0u, id.x == 0);
}";

fn main() -> Result<(), Box<dyn Error>> {
    let options = wgpu::RequestAdapterOptions::default();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        ..wgpu::InstanceDescriptor::new_without_display_handle_from_env()
    });
    let adapter = pollster::block_on(instance.request_adapter(&options))?;
    // SAFETY: everything is made from what was made before it, and lives until the queue is idle.
    let (device, queue, enabled) = unsafe { open(&adapter) }?;

    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    // SAFETY: as above; scratch memory is prepared before it is used, and arrays are written before they are read.
    let (squares, squares_at) = unsafe { buffer(&device, BYTES, storage) }?;
    let (sums, sums_at) = unsafe { buffer(&device, BYTES, storage) }?;
    let scan = unsafe { device.as_hal::<Vulkan>() }.map(|hal| {
        let pack = Pack::read(include_bytes!("../../../packs/portable.scanpack"))?;
        let info = ScannerInfo {
            instance: hal.shared_instance().raw_instance(),
            physical: hal.raw_physical_device(),
            device: hal.raw_device(),
            enabled,
            pipeline_cache: vk::PipelineCache::null(),
            pack: Arc::new(pack),
            promises: Promises::NONE,
        };
        let sum = ScanProblem::built_in(ScanMode::Inclusive, "u32", "add").ok_or("there is no such scan")?;
        // SAFETY: the handles are wgpu's, which outlives the scan.
        let scanner = unsafe { Scanner::new(&info) }?;
        Ok::<_, Box<dyn Error>>(scanner.scan(&sum, N.into(), CallUse::default())?)
    });
    let scan = scan.ok_or("this is no Vulkan device")??;
    // SAFETY: as above.
    let (_scratch, scratch_at) = unsafe { buffer(&device, scan.scratch().bytes.max(256), storage) }?;
    let call = ScanCall {
        input: squares_at,
        output: sums_at,
        scratch: scratch_at,
        n: CallLength::Host(N.into()),
        init: None,
        total: None,
    };

    let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let result = wgpu::BufferDescriptor { label: None, size: BYTES, usage: read, mapped_at_creation: false };
    let result = device.create_buffer(&result);
    let [mut before, mut own, mut behind] =
        [(); 3].map(|()| device.create_command_encoder(&Default::default()));
    compute(&device, &mut before, "squares", &[&squares]);
    // An encoder is wgpu's or one's own.
    // SAFETY: it records what the scan says it does, with barriers on both sides, since wgpu knows nothing of it; all
    // memory lives until the queue is idle.
    unsafe {
        own.as_hal_mut::<Vulkan, _, _>(|encoder| {
            let commands = encoder.ok_or("this is no Vulkan encoder")?.raw_handle();
            let hal = device.as_hal::<Vulkan>().ok_or("this is no Vulkan device")?;
            scan.cmd_prepare(commands, scratch_at)?;
            // Of wgpu's passes and of what is prepared.
            barrier(hal.raw_device(), commands, Access::COMPUTE, scan.sync().before);
            scan.cmd_scan(commands, &call)?;
            barrier(hal.raw_device(), commands, scan.sync().behind, Access::COMPUTE);
            Ok::<_, Box<dyn Error>>(())
        })?;
    }
    compute(&device, &mut behind, "differences", &[&squares, &sums]);
    behind.copy_buffer_to_buffer(&squares, 0, &result, 0, BYTES);
    queue.submit([before, own, behind].map(wgpu::CommandEncoder::finish));

    result.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the memory can be read"));
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let words = result.get_mapped_range(..)?.to_vec();
    let words = words.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    let wrong = words.zip(0..N).filter(|(word, place)| *word != place.wrapping_mul(*place)).count();
    let chosen = scan.chosen(N.into()).label.to_owned();
    if wrong > 0 {
        return Err(format!("{wrong} of {N} differences of prefix sums are wrong, by {chosen}").into());
    }
    println!(
        "{N} prefix sums between two passes of wgpu are right, by {chosen} on {}",
        adapter.get_info().name
    );
    Ok(())
}

/// A device of wgpu on which is enabled what scanbox needs, and that.
///
/// # Safety
/// The adapter is one of Vulkan.
unsafe fn open(adapter: &wgpu::Adapter) -> Result<(wgpu::Device, wgpu::Queue, Features), Box<dyn Error>> {
    // SAFETY: the device is made of what wgpu asks for, and more of what the adapter has.
    unsafe {
        let hal = adapter.as_hal::<Vulkan>().ok_or("this is no Vulkan adapter")?;
        let (instance, physical) = (hal.shared_instance().raw_instance(), hal.raw_physical_device());
        // Features that only some kernels need stay off, so that less has to be merged.
        let mut enabled = wanted(instance, physical)?.features;
        enabled.v10 = vk::PhysicalDeviceFeatures::default();
        (enabled.v12.shader_buffer_int64_atomics, enabled.v12.shader_subgroup_extended_types) = (0, 0);
        enabled.uniform_control_flow.shader_subgroup_uniform_control_flow = 0;

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
unsafe fn buffer(
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

/// A compute pass of wgpu on some buffers.
fn compute(
    device: &wgpu::Device,
    encoder: &mut wgpu::CommandEncoder,
    entry: &str,
    buffers: &[&wgpu::Buffer],
) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(SHADER.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some(entry),
        compilation_options: Default::default(),
        cache: None,
    });
    let resources = buffers.iter().map(|buffer| buffer.as_entire_binding());
    let entries = (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource });
    let entries: Vec<_> = entries.collect();
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(N / 256, 1, 1);
}
