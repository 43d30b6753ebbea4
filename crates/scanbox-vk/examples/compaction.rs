//! Stream compaction on the GPU: of a million values those are kept that are multiples of three, in order, and the step
//! behind it runs on these alone, however many there are. The host never learns how many.
//!
//!     cargo run -p scanbox-vk --example compaction [PACK]
//!
//! mark (1 for what is kept) -> exclusive sum of the marks (where it goes) -> scatter -> a third of each.
//! One recording, submitted several times with other values; every result is checked.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "Vulkan is a C API; compact says why it is called rightly"
)]
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::io::Cursor;
use std::sync::Arc;

use ash::{Device, Entry, Instance, vk};
use scanbox_pack::{CallUse, Pack, Promises, ScanMode, ScanProblem};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, DeviceRange, ScanCall, Scanner, ScannerInfo, wanted};

const N: u32 = 1 << 20;
/// What runs where the program is not told another pack.
pub const PORTABLE_PACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs/portable.scanpack");

fn main() -> Result<(), Box<dyn Error>> {
    let pack = std::env::args().nth(1).unwrap_or_else(|| PORTABLE_PACK.to_owned());
    println!("{}", compact(&std::fs::read(pack)?)?);
    Ok(())
}

/// What it did with this pack, as a sentence.
///
/// # Errors
/// What Vulkan or the library says, or that a result is wrong.
pub fn compact(pack: &[u8]) -> Result<String, Box<dyn Error>> {
    // SAFETY: everything is made from what was made before it, is used by this thread alone, and lives until the queue
    // is idle; barriers stand between what depends on each other.
    unsafe { run(pack) }
}

unsafe fn run(pack: &[u8]) -> Result<String, Box<dyn Error>> {
    // The program's own instance and device. The device enables what `wanted` says beside what else the program needs.
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
    let gpu = Gpu { instance: &instance, physical, device: &device };

    // 1: a scanner, of the device and a pack. 2: a scan, which makes the pipelines.
    let scanner = Scanner::new(&ScannerInfo {
        instance: &instance,
        physical,
        device: &device,
        enabled,
        pipeline_cache: vk::PipelineCache::null(),
        pack: Arc::new(Pack::read(pack)?),
        promises: Promises::NONE,
    })?;
    let sum = ScanProblem::built_in(ScanMode::Exclusive, "u32", "add").ok_or("no such scan")?;
    let scan = scanner.scan(&sum, N.into(), CallUse::default())?;

    let values = gpu.allocate(u64::from(N) * 4)?;
    let marks = gpu.allocate(u64::from(N) * 4)?;
    let places = gpu.allocate(u64::from(N) * 4)?;
    let kept = gpu.allocate(u64::from(N) * 4)?;
    let counts = gpu.allocate(16)?;
    // Memory of its own begins at multiples of far more than the 256 bytes that scratch memory asks for.
    let scratch = gpu.allocate(scan.scratch().bytes.max(1))?;
    let arrays =
        [values.range, marks.range, places.range, kept.range, counts.range].map(|range| range.address);

    let constants = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(48)];
    let layout = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&constants);
    let layout = device.create_pipeline_layout(&layout, None)?;
    let mark = gpu.pipeline(layout, include_bytes!("shaders/mark.spv"))?;
    let scatter = gpu.pipeline(layout, include_bytes!("shaders/scatter.spv"))?;
    let third = gpu.pipeline(layout, include_bytes!("shaders/third.spv"))?;

    let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
    let buffers = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    let commands = device.allocate_command_buffers(&buffers)?[0];
    device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())?;
    let mut words: Vec<u8> = arrays.iter().flat_map(|address| address.to_le_bytes()).collect();
    words.extend([N, 0].iter().flat_map(|word| word.to_le_bytes()));
    let push = |pipeline| {
        device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
        device.cmd_push_constants(commands, layout, vk::ShaderStageFlags::COMPUTE, 0, &words);
    };
    let sync = scan.sync();
    let indirect = Access {
        stages: vk::PipelineStageFlags2::COMPUTE_SHADER | vk::PipelineStageFlags2::DRAW_INDIRECT,
        memory: Access::COMPUTE.memory | vk::AccessFlags2::INDIRECT_COMMAND_READ,
    };

    scan.cmd_prepare(commands, scratch.range)?;
    push(mark);
    device.cmd_dispatch(commands, N.div_ceil(256), 1, 1);
    barrier(&device, commands, Access::COMPUTE, sync.before);
    // 3: the scan, wherever the program needs it.
    let call = ScanCall {
        input: marks.range,
        output: places.range,
        scratch: scratch.range,
        n: CallLength::Host(N.into()),
        init: None,
        total: None,
    };
    scan.cmd_scan(commands, &call)?;
    barrier(&device, commands, sync.behind, Access::COMPUTE);
    push(scatter);
    device.cmd_dispatch(commands, N.div_ceil(256), 1, 1);
    barrier(&device, commands, Access::COMPUTE, indirect);
    push(third);
    device.cmd_dispatch_indirect(commands, counts.buffer, 0);
    barrier(&device, commands, Access::COMPUTE, Access::HOST);
    device.end_command_buffer(commands)?;

    let queue = device.get_device_queue(0, 0);
    let mut most = 0;
    for round in 0..3_u32 {
        let random = |i: u32| (i + round * N).wrapping_mul(2_654_435_761) >> 7;
        values.words().iter_mut().zip(0..).for_each(|(value, i)| *value = random(i));
        let submit = vk::SubmitInfo::default().command_buffers(std::slice::from_ref(&commands));
        device.queue_submit(queue, &[submit], vk::Fence::null())?;
        device.queue_wait_idle(queue)?;
        let expected: Vec<u32> =
            (0..N).map(random).filter(|value| value % 3 == 0).map(|value| value / 3).collect();
        if counts.words()[3] as usize != expected.len() || kept.words()[..expected.len()] != expected {
            return Err(format!("round {round}: wrong, with {} values kept", counts.words()[3]).into());
        }
        most = expected.len().max(most);
    }
    let chosen = scan.chosen(N.into());
    let told =
        format!("right three times, up to {most} of {N} kept, by {} ({})", chosen.label, chosen.reason);

    drop((scan, scanner));
    for pipeline in [mark, scatter, third] {
        device.destroy_pipeline(pipeline, None);
    }
    device.destroy_pipeline_layout(layout, None);
    device.destroy_command_pool(pool, None);
    for array in [values, marks, places, kept, counts, scratch] {
        device.destroy_buffer(array.buffer, None);
        device.free_memory(array.memory, None);
    }
    device.destroy_device(None);
    instance.destroy_instance(None);
    Ok(told)
}

struct Gpu<'a> {
    instance: &'a Instance,
    physical: vk::PhysicalDevice,
    device: &'a Device,
}

/// A buffer, which the host sees too.
struct Array {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    range: DeviceRange,
    mapped: *mut u32,
}

impl Array {
    #[expect(clippy::mut_from_ref, reason = "it is memory of the device, mapped")]
    unsafe fn words(&self) -> &mut [u32] {
        std::slice::from_raw_parts_mut(self.mapped, self.range.bytes as usize / 4)
    }
}

impl Gpu<'_> {
    unsafe fn allocate(&self, bytes: u64) -> Result<Array, Box<dyn Error>> {
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

    unsafe fn pipeline(
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
