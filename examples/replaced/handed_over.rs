//! The scan of wgpu-prefix-sum-demo, replaced: what that program calls of its fastest scan, by scanbox. In place,
//! exclusive, of as many sums of u32 as one likes.

use std::sync::Arc;
use std::sync::mpsc::channel;

use anyhow::{Context, anyhow};
use ash::vk;
use scanbox_pack::{CallUse, Pack, Promises, ScanMode, ScanProblem};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, DeviceRange, Features, Scan, ScanCall, Scanner, ScannerInfo, wanted};
use wgpu::hal::api::Vulkan;
use wgpu::hal::vulkan;

pub struct SubgroupScanGpuContext {
    scan: Scan,
    call: ScanCall,
    data: wgpu::Buffer,
    _scratch: wgpu::Buffer,
    readback: wgpu::Buffer,
    device: wgpu::Device,
    pub queue: wgpu::Queue,
}

impl SubgroupScanGpuContext {
    pub async fn new(n: usize) -> anyhow::Result<Self> {
        let descriptor = wgpu::InstanceDescriptor { backends: wgpu::Backends::VULKAN, ..Default::default() };
        let adapter = wgpu::Instance::new(&descriptor).request_adapter(&Default::default()).await?;
        // SAFETY: everything is made from what was made before it; the scan is dropped before the device.
        unsafe {
            let (device, queue, enabled) = open(&adapter)?;
            let pack = std::env::var("SCANBOX_PACK").context("SCANBOX_PACK names a pack of sums in place")?;
            let scan = {
                let hal = device.as_hal::<Vulkan>().context("this is no Vulkan device")?;
                let info = ScannerInfo {
                    instance: hal.shared_instance().raw_instance(),
                    physical: hal.raw_physical_device(),
                    device: hal.raw_device(),
                    enabled,
                    pipeline_cache: vk::PipelineCache::null(),
                    pack: Arc::new(Pack::read(&std::fs::read(pack)?)?),
                    promises: Promises::NONE,
                };
                let sum = ScanProblem::built_in(ScanMode::Exclusive, "u32", "add").context("a sum")?;
                let sum = ScanProblem { in_place: true, ..sum };
                Scanner::new(&info)?.scan(&sum, n as u64, CallUse::default())?
            };
            let (data, at) = buffer(&device, 4 * n as u64)?;
            let (_scratch, scratch) = buffer(&device, scan.scratch().bytes.max(256))?;
            let n = CallLength::Host(n as u64);
            let call = ScanCall { input: at, output: at, scratch, n, init: None, total: None };
            let readback = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: at.bytes,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            });
            let context = Self { scan, call, data, _scratch, readback, device, queue };
            let mut prepare = context.get_command_encoder();
            context.record(&mut prepare, |scan, commands| scan.cmd_prepare(commands, scratch));
            context.submit(prepare);
            Ok(context)
        }
    }

    /// Records into an encoder that has nothing of wgpu's, with barriers on both sides.
    fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        record: impl FnOnce(&Scan, vk::CommandBuffer) -> Result<(), scanbox_vk::HandOverError>,
    ) {
        // SAFETY: all memory lives as long as this, which waits for the queue in the end.
        unsafe {
            let hal = self.device.as_hal::<Vulkan>().expect("it was one of Vulkan");
            encoder.as_hal_mut::<Vulkan, _, _>(|encoder| {
                let commands = encoder.expect("it is of the device").raw_handle();
                let outside = Access {
                    stages: Access::COMPUTE.stages | Access::TRANSFER.stages,
                    memory: Access::COMPUTE.memory | Access::TRANSFER.memory,
                };
                barrier(hal.raw_device(), commands, outside, self.scan.sync().before);
                record(&self.scan, commands).expect("the call was laid out for it");
                barrier(hal.raw_device(), commands, self.scan.sync().behind, outside);
            });
        }
    }

    pub fn encode_scan(&self, encoder: &mut wgpu::CommandEncoder) {
        // SAFETY: as above.
        self.record(encoder, |scan, commands| unsafe { scan.cmd_scan(commands, &self.call) });
    }

    pub fn upload_data(&self, input: &[u32]) {
        self.queue.write_buffer(&self.data, 0, bytemuck::cast_slice(input));
    }

    pub fn read_computed_data(&self) -> anyhow::Result<Vec<u32>> {
        let mut encoder = self.get_command_encoder();
        encoder.copy_buffer_to_buffer(&self.data, 0, &self.readback, 0, self.data.size());
        self.submit(encoder);
        let (sender, receiver) = channel();
        self.readback.map_async(wgpu::MapMode::Read, .., move |mapped| drop(sender.send(mapped)));
        self.wait_idle()?;
        receiver.recv()??;
        let words = bytemuck::cast_slice(&self.readback.get_mapped_range(..)).to_vec();
        self.readback.unmap();
        Ok(words)
    }

    pub fn get_command_encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }

    pub fn run_prefix_sum(&self) {
        let mut encoder = self.get_command_encoder();
        self.encode_scan(&mut encoder);
        self.submit(encoder);
    }

    pub fn submit(&self, encoder: wgpu::CommandEncoder) {
        self.queue.submit([encoder.finish()]);
    }

    pub fn wait_idle(&self) -> anyhow::Result<()> {
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }
}

impl Drop for SubgroupScanGpuContext {
    fn drop(&mut self) {
        let _ = self.wait_idle();
    }
}

/// A device of wgpu on which is enabled what scanbox needs, and that. For another program take
/// examples/wgpu/src/interop.rs, which is for wgpu 30; this program has wgpu 28, whose calls have other arguments.
///
/// # Safety
/// The adapter is one of Vulkan.
unsafe fn open(adapter: &wgpu::Adapter) -> anyhow::Result<(wgpu::Device, wgpu::Queue, Features)> {
    // SAFETY: the device is made of what wgpu asks for, and more of what the adapter has.
    unsafe {
        let hal = adapter.as_hal::<Vulkan>().ok_or_else(|| anyhow!("this is no Vulkan adapter"))?;
        let (instance, physical) = (hal.shared_instance().raw_instance(), hal.raw_physical_device());
        // Features that only some kernels need stay off, so that less has to be merged.
        let mut enabled = wanted(instance, physical)?.features;
        enabled.v10 = vk::PhysicalDeviceFeatures::default();
        (enabled.v12.shader_buffer_int64_atomics, enabled.v12.shader_subgroup_extended_types) = (0, 0);
        enabled.uniform_control_flow.shader_subgroup_uniform_control_flow = 0;
        enabled.maximal_reconvergence.shader_maximal_reconvergence = 0;

        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
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
        let mut next = info.p_next.cast_mut().cast::<vk::BaseOutStructure<'_>>();
        while let Some(one) = next.as_mut() {
            match one.s_type {
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES => {
                    let one = &mut *next.cast::<vk::PhysicalDeviceVulkanMemoryModelFeatures<'_>>();
                    (one.vulkan_memory_model, one.vulkan_memory_model_device_scope) = (1, 1);
                }
                vk::StructureType::PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES => {
                    let one = &mut *next.cast::<vk::PhysicalDeviceSubgroupSizeControlFeatures<'_>>();
                    (one.subgroup_size_control, one.compute_full_subgroups) = (1, 1);
                }
                vk::StructureType::PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES => {
                    (*next.cast::<vk::PhysicalDeviceMaintenance4Features<'_>>()).maintenance4 = 1;
                }
                _ => {}
            }
            next = one.p_next;
        }
        let raw = instance.create_device(physical, &info, None)?;
        let hints = &descriptor.memory_hints;
        let open =
            hal.device_from_raw(raw, None, &extensions, descriptor.required_features, hints, 0, 0)?;
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
) -> anyhow::Result<(wgpu::Buffer, DeviceRange)> {
    // SAFETY: memory and buffer are made for each other, and wgpu frees both.
    unsafe {
        let hal = device.as_hal::<Vulkan>().ok_or_else(|| anyhow!("this is no Vulkan device"))?;
        let raw = hal.raw_device();
        let usages = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
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
            .memory_type_index((0..types.memory_type_count).find(is_local).ok_or_else(|| anyhow!("there is no memory"))?)
            .push_next(&mut flags);
        let memory = raw.allocate_memory(&info, None)?;
        raw.bind_buffer_memory(made, memory, 0)?;
        let address = raw.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(made));
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let of_hal = vulkan::Buffer::from_raw_managed(made, memory, 0, needs.size);
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let buffer = device.create_buffer_from_hal::<Vulkan>(of_hal, &descriptor);
        Ok((buffer, DeviceRange { address, bytes: size }))
    }
}
