//! What a program with Vulkan has before it has scanbox: a device, memory, pipelines, a queue.

use std::error::Error;
use std::io::Cursor;

use ash::{Device, Entry, Instance, vk};
use scanbox_vk::{DeviceRange, Features, wanted};

/// The program's own device, and what is enabled of it.
pub struct Gpu {
    /// The loader stays as long as what is made by it.
    _entry: Entry,
    pub instance: Instance,
    pub physical: vk::PhysicalDevice,
    pub device: Device,
    pub enabled: Features,
}

/// A buffer, which the host sees too.
pub struct Array {
    pub buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    pub range: DeviceRange,
    mapped: *mut u32,
}

impl Array {
    #[expect(clippy::mut_from_ref, reason = "it is memory of the device, mapped")]
    pub unsafe fn words(&self) -> &mut [u32] {
        std::slice::from_raw_parts_mut(self.mapped, self.range.bytes as usize / 4)
    }
}

impl Gpu {
    /// The first device, which enables what `wanted` says beside what else the program needs.
    pub unsafe fn open() -> Result<Self, Box<dyn Error>> {
        let entry = Entry::load()?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let instance = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&instance, None)?;
        let physical = *instance.enumerate_physical_devices()?.first().ok_or("there is no device")?;
        let mut wanted = wanted(&instance, physical)?;
        let extensions: Vec<_> = wanted.extensions.iter().map(|name| name.as_ptr()).collect();
        // The first family of lavapipe and of common GPUs has compute; a program looks for one.
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let info =
            vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&extensions);
        let enabled = wanted.features;
        let device = instance.create_device(physical, &wanted.features.enable(info), None)?;
        Ok(Self { _entry: entry, instance, physical, device, enabled })
    }

    pub unsafe fn recording(&self) -> Result<(vk::CommandPool, vk::CommandBuffer), Box<dyn Error>> {
        let pool = self.device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let buffers = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let commands = self.device.allocate_command_buffers(&buffers)?[0];
        self.device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())?;
        Ok((pool, commands))
    }

    pub unsafe fn submit(&self, commands: vk::CommandBuffer) -> Result<(), Box<dyn Error>> {
        let queue = self.device.get_device_queue(0, 0);
        let submit = vk::SubmitInfo::default().command_buffers(std::slice::from_ref(&commands));
        self.device.queue_submit(queue, &[submit], vk::Fence::null())?;
        Ok(self.device.queue_wait_idle(queue)?)
    }

    pub unsafe fn layout(&self, bytes: u32) -> Result<vk::PipelineLayout, Box<dyn Error>> {
        let constants =
            [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(bytes)];
        let layout = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&constants);
        Ok(self.device.create_pipeline_layout(&layout, None)?)
    }

    pub unsafe fn allocate(&self, bytes: u64) -> Result<Array, Box<dyn Error>> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::INDIRECT_BUFFER
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let buffer = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        let buffer = self.device.create_buffer(&buffer, None)?;
        let needs = self.device.get_buffer_memory_requirements(buffer);
        let types = self.instance.get_physical_device_memory_properties(self.physical);
        let visible = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let fits = |(place, of): (usize, &vk::MemoryType)| {
            needs.memory_type_bits >> place & 1 == 1 && of.property_flags.contains(visible)
        };
        let place =
            types.memory_types_as_slice().iter().enumerate().position(fits).ok_or("no such memory")?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info =
            vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(place as u32);
        let memory = self.device.allocate_memory(&info.push_next(&mut flags), None)?;
        self.device.bind_buffer_memory(buffer, memory, 0)?;
        let address = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        let address = self.device.get_buffer_device_address(&address);
        let mapped = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?.cast();
        Ok(Array { buffer, memory, range: DeviceRange { address, bytes }, mapped })
    }

    pub unsafe fn pipeline(
        &self,
        layout: vk::PipelineLayout,
        spirv: &[u8],
    ) -> Result<vk::Pipeline, Box<dyn Error>> {
        let words = ash::util::read_spv(&mut Cursor::new(spirv))?;
        let module = vk::ShaderModuleCreateInfo::default().code(&words);
        let module = self.device.create_shader_module(&module, None)?;
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
        let info =
            vk::ComputePipelineCreateInfo::default().stage(stage.module(module).name(c"main")).layout(layout);
        let made = self.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        self.device.destroy_shader_module(module, None);
        Ok(made.map_err(|(_, error)| error)?[0])
    }
}

pub unsafe fn free(gpu: Gpu, arrays: impl IntoIterator<Item = Array>) {
    for array in arrays {
        gpu.device.destroy_buffer(array.buffer, None);
        gpu.device.free_memory(array.memory, None);
    }
    gpu.device.destroy_device(None);
    gpu.instance.destroy_instance(None);
}
