//! A program of its own on a device: what a user of the library brings along.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::{ext, vk};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::packing::{PackBuilder, PackOrigin, is_splittable, pack_device, scan_problem};
use scanbox_model::config::{Arguments, Config, Family};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Problem};
use scanbox_pack::{
    ArgumentKind, Breakpoint, CallUse, ChoiceTable, Pack, PackProblem, Promises, ScanMode, ScanProblem,
};
use scanbox_testing::device::example;
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, DeviceRange, Features, Scanner, ScannerInfo, Wanted, wanted};

/// One test at a time: lavapipe ends the loops of workgroups that wait for one which the system has descheduled.
static TURN: Mutex<()> = Mutex::new(());

/// What the validation layer has said.
type Complaints = Arc<Mutex<Vec<String>>>;

unsafe extern "system" fn complain(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    complaints: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer hands over one with a text, and what the messenger was made with, which outlives it.
    unsafe {
        let text = CStr::from_ptr((*data).p_message).to_string_lossy().into_owned();
        (*complaints.cast::<Mutex<Vec<String>>>()).lock().unwrap().push(text);
    }
    vk::FALSE
}

/// What stands in front of memory that begins behind a multiple of 256.
const FRONT: u32 = 0xfeed_f00d;
/// Bytes of memory of a test.
const MEMORY_BYTES: u64 = 48 << 20;

/// A device, a queue, and memory that the host sees too.
pub struct TestGpu {
    pub device: ash::Device,
    pub profile: DeviceProfile,
    pub buffer: vk::Buffer,
    pub instance: ash::Instance,
    pub physical: vk::PhysicalDevice,
    enabled: Features,
    /// Two where the family has so many; otherwise one is both.
    pub queues: [vk::Queue; 2],
    family: u32,
    memory: vk::DeviceMemory,
    mapped: *mut u32,
    address: u64,
    taken: std::cell::Cell<u64>,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    complaints: Complaints,
    _entry: ash::Entry,
    _turn: MutexGuard<'static, ()>,
}

/// The place of the memory that tests work in, which the host sees: that of the device itself if there is such, since
/// what is in memory of the host does not go through all caches of the device.
fn memory_type(types: &[vk::MemoryPropertyFlags], allowed: u32) -> Option<u32> {
    let seen = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
    let find = |flags| {
        (0..)
            .zip(types)
            .find(|(place, of)| allowed >> place & 1 == 1 && of.contains(flags))
            .map(|(place, _)| place)
    };
    find(seen | vk::MemoryPropertyFlags::DEVICE_LOCAL).or_else(|| find(seen))
}

#[test]
fn tests_work_in_memory_of_the_device_if_they_can() {
    let seen = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
    let (local, cached) = (vk::MemoryPropertyFlags::DEVICE_LOCAL, vk::MemoryPropertyFlags::HOST_CACHED);
    // As NVIDIA lists them.
    let types = [vk::MemoryPropertyFlags::empty(), local, seen, seen | cached, local | seen];
    assert_eq!(memory_type(&types, !0), Some(4));
    assert_eq!(memory_type(&types, 0b01111), Some(2));
    assert_eq!(memory_type(&types[..4], !0), Some(2));
    assert_eq!(memory_type(&types, 0b00011), None);
}

impl TestGpu {
    /// The first device; nothing where tests on a device are not asked for.
    #[allow(clippy::print_stderr, reason = "a test that did not run has to say so")]
    pub fn new() -> Option<Self> {
        if std::env::var_os("SCANBOX_TEST_DEVICE").is_none() {
            eprintln!("skipped: set SCANBOX_TEST_DEVICE=1");
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: everything is made in order, of what was made before, with what the device says it has.
        Some(unsafe { Self::made(turn) })
    }

    unsafe fn made(turn: MutexGuard<'static, ()>) -> Self {
        // SAFETY: as the caller says; so all below.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let complaints = Complaints::default();
            let validates = std::env::var_os("SCANBOX_VALIDATION").is_some_and(|on| on == "1");
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let layers = [c"VK_LAYER_KHRONOS_validation".as_ptr()];
            let extensions = [ext::debug_utils::NAME.as_ptr(), ext::validation_features::NAME.as_ptr()];
            let enabled = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
            let mut validation = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
            let mut info = vk::InstanceCreateInfo::default().application_info(&application);
            if validates {
                info = info
                    .enabled_layer_names(&layers)
                    .enabled_extension_names(&extensions)
                    .push_next(&mut validation);
            }
            let instance = entry.create_instance(&info, None).unwrap();
            let messenger = validates.then(|| {
                let functions = ext::debug_utils::Instance::new(&entry, &instance);
                let severity = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR
                    | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING;
                let types = vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION;
                let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                    .message_severity(severity)
                    .message_type(types)
                    .pfn_user_callback(Some(complain))
                    .user_data(Arc::as_ptr(&complaints).cast_mut().cast());
                let messenger = functions.create_debug_utils_messenger(&info, None).unwrap();
                (functions, messenger)
            });
            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let families = instance.get_physical_device_queue_family_properties(physical);
            let family = families.iter().position(|one| one.queue_flags.contains(vk::QueueFlags::COMPUTE));
            let family = family.unwrap() as u32;
            let queue_count = families[family as usize].queue_count.min(2);
            let Wanted { mut features, extensions } = wanted(&instance, physical).unwrap();
            // For arrays of more memory than can be had at once.
            features.v10.sparse_binding = instance.get_physical_device_features(physical).sparse_binding;
            let enabled = features;
            let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
            let priorities = [1.0; 2];
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&priorities[..queue_count as usize])];
            let info =
                vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
            let device = instance.create_device(physical, &features.enable(info), None).unwrap();
            let queues = [0, queue_count - 1].map(|place| device.get_device_queue(family, place));
            let info = vk::BufferCreateInfo::default().size(MEMORY_BYTES).usage(
                vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
                    | vk::BufferUsageFlags::TRANSFER_SRC
                    | vk::BufferUsageFlags::TRANSFER_DST,
            );
            let buffer = device.create_buffer(&info, None).unwrap();
            let needs = device.get_buffer_memory_requirements(buffer);
            let types = instance.get_physical_device_memory_properties(physical);
            let types: Vec<_> = types.memory_types_as_slice().iter().map(|of| of.property_flags).collect();
            let mut flags =
                vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(memory_type(&types, needs.memory_type_bits).unwrap())
                .push_next(&mut flags);
            let memory = device.allocate_memory(&info, None).unwrap();
            device.bind_buffer_memory(buffer, memory, 0).unwrap();
            let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
            let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
            let address = device.get_buffer_device_address(&info);
            Self {
                profile: profile(&instance, physical, &enabled),
                device,
                buffer,
                physical,
                enabled,
                queues,
                family,
                memory,
                mapped: mapped.unwrap().cast(),
                address,
                taken: std::cell::Cell::new(0),
                messenger,
                complaints,
                instance,
                _entry: entry,
                _turn: turn,
            }
        }
    }

    /// A scanner of this pack, for a program that promises progress.
    pub fn scanner(&self, pack: Pack) -> Scanner {
        self.scanner_by(&self.device, vk::PipelineCache::null(), Arc::new(pack))
    }

    /// The same by other functions of the device, and with a cache.
    pub fn scanner_by(
        &self,
        device: &ash::Device,
        pipeline_cache: vk::PipelineCache,
        pack: Arc<Pack>,
    ) -> Scanner {
        let info = ScannerInfo {
            instance: &self.instance,
            physical: self.physical,
            device,
            enabled: self.enabled,
            pipeline_cache,
            pack,
            promises: Promises::PROGRESS,
        };
        // SAFETY: the device outlives what is made here, and the code is our own.
        unsafe { Scanner::new(&info) }.unwrap()
    }

    /// Memory of nobody else in this test, filled with garbage; it begins `offset` bytes behind a multiple of 256.
    pub fn take(&self, bytes: u64, offset: u64) -> DeviceRange {
        let at = self.taken.get().next_multiple_of(256);
        self.taken.set(at + offset + bytes);
        assert!(self.taken.get() <= MEMORY_BYTES, "{bytes} bytes more");
        let range = DeviceRange { address: self.address + at + offset, bytes };
        self.words(DeviceRange { address: self.address + at, bytes: offset }).fill(FRONT);
        self.spoil(range);
        range
    }

    /// Whether what stands in front of a range is what it was.
    pub fn front_is_kept(&self, range: DeviceRange, offset: u64) -> bool {
        let front = DeviceRange { address: range.address - offset, bytes: offset };
        self.words(front).iter().all(|word| *word == FRONT)
    }

    /// Gives back what was taken from this address on.
    pub fn give_back(&self, address: u64) {
        self.taken.set(self.offset(address));
    }

    /// Gives back all that was taken.
    pub fn forget(&self) {
        self.taken.set(0);
    }

    /// Where memory stands in the buffer.
    pub fn offset(&self, address: u64) -> u64 {
        address - self.address
    }

    /// The words of a range. No work is pending, and nobody holds others.
    #[expect(clippy::mut_from_ref, reason = "memory that a device changes too")]
    pub fn words(&self, range: DeviceRange) -> &mut [u32] {
        let at = self.offset(range.address);
        assert!(at + range.bytes <= MEMORY_BYTES);
        // SAFETY: it is mapped, and within bounds.
        unsafe { std::slice::from_raw_parts_mut(self.mapped.add(at as usize / 4), range.bytes as usize / 4) }
    }

    /// Fills a range with what no kernel leaves.
    pub fn spoil(&self, range: DeviceRange) {
        for (place, word) in (0u32..).zip(self.words(range)) {
            *word = place.wrapping_mul(0x9e37_79b9) ^ 0xdead_beef;
        }
    }

    pub fn pool(&self) -> vk::CommandPool {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        // SAFETY: the family is that of the queue.
        unsafe { self.device.create_command_pool(&info, None) }.unwrap()
    }

    /// A recording, behind everything before it, which may be submitted any number of times.
    pub fn record(&self, pool: vk::CommandPool, record: impl FnOnce(vk::CommandBuffer)) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let begin = vk::CommandBufferBeginInfo::default();
        // SAFETY: the pool is that of the caller's thread.
        unsafe {
            let commands = self.device.allocate_command_buffers(&info).unwrap()[0];
            self.device.begin_command_buffer(commands, &begin).unwrap();
            record(commands);
            barrier(&self.device, commands, Access::COMPUTE, Access::HOST);
            self.device.end_command_buffer(commands).unwrap();
            commands
        }
    }

    /// A barrier between calls.
    pub fn between(&self, commands: vk::CommandBuffer) {
        // SAFETY: it is being recorded.
        unsafe { barrier(&self.device, commands, Access::COMPUTE, Access::COMPUTE) };
    }

    /// Submits recordings together and waits for them.
    pub fn submit(&self, commands: &[vk::CommandBuffer]) {
        let submits = [vk::SubmitInfo::default().command_buffers(commands)];
        self.submit_to(0, &submits);
        self.wait();
    }

    /// Submits to one of two queues, and does not wait.
    pub fn submit_to(&self, queue: usize, submits: &[vk::SubmitInfo<'_>]) {
        // SAFETY: what is submitted was recorded, and one thread uses the queues.
        unsafe { self.device.queue_submit(self.queues[queue], submits, vk::Fence::null()) }.unwrap();
    }

    /// Waits for both queues.
    pub fn wait(&self) {
        // SAFETY: one thread uses the queues.
        self.queues.iter().for_each(|queue| unsafe { self.device.queue_wait_idle(*queue) }.unwrap());
    }

    /// Whether its queues are two.
    pub fn has_two_queues(&self) -> bool {
        self.queues[0] != self.queues[1]
    }

    /// The device, with another function for barriers; and the one that it has.
    #[expect(clippy::fn_to_numeric_cast_any, reason = "drivers hand out functions as addresses")]
    pub fn with_barriers(
        &self,
        other: vk::PFN_vkCmdPipelineBarrier2,
    ) -> (ash::Device, vk::PFN_vkCmdPipelineBarrier2) {
        let handle = self.device.handle();
        let load = |name: &CStr| match name.to_bytes() {
            b"vkCmdPipelineBarrier2" => other as *const c_void,
            // SAFETY: the device is one of the instance.
            _ => unsafe { self.instance.get_device_proc_addr(handle, name.as_ptr()) }
                .map_or(std::ptr::null(), |function| function as *const c_void),
        };
        // SAFETY: each function has the type of its name.
        let device = unsafe { ash::Device::load_with(load, handle) };
        (device, self.device.fp_v1_3().cmd_pipeline_barrier2)
    }

    /// Records and submits once.
    pub fn once(&self, record: impl FnOnce(vk::CommandBuffer)) {
        let pool = self.pool();
        self.submit(&[self.record(pool, record)]);
        self.drop_pool(pool);
    }

    pub fn drop_pool(&self, pool: vk::CommandPool) {
        // SAFETY: nothing of it is pending.
        unsafe { self.device.destroy_command_pool(pool, None) };
    }
}

impl Drop for TestGpu {
    fn drop(&mut self) {
        // SAFETY: nothing is pending, and what tests made is gone.
        unsafe {
            self.device.destroy_buffer(self.buffer, None);
            self.device.free_memory(self.memory, None);
            self.device.destroy_device(None);
            if let Some((functions, messenger)) = &self.messenger {
                functions.destroy_debug_utils_messenger(*messenger, None);
            }
            self.instance.destroy_instance(None);
        }
        let complaints = self.complaints.lock().unwrap();
        assert!(complaints.is_empty() || std::thread::panicking(), "{}", complaints.join("\n"));
    }
}

/// What the catalog wants to know of the device.
unsafe fn profile(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    enabled: &Features,
) -> DeviceProfile {
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties =
        vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup).push_next(&mut driver);
    // SAFETY: the caller's device knows all that.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    let base = properties.properties;
    let optional = enabled.optional();
    let size = subgroup.subgroup_size;
    DeviceProfile {
        device_id: base.device_id,
        driver_build: scanbox_vk::driver::driver_build(&base),
        subgroup_size: size,
        min_subgroup_size: size,
        max_subgroup_size: size,
        max_workgroup_size: base.limits.max_compute_work_group_invocations,
        max_workgroup_count: base.limits.max_compute_work_group_count,
        max_shared_bytes: base.limits.max_compute_shared_memory_size,
        int64_atomics: optional.int64_atomics,
        int64_elements: optional.int64_elements,
        float64_elements: optional.float64_elements,
        compute_units: Some(2),
        ..example("test", base.vendor_id, &scanbox_vk::driver::driver_name(&driver))
    }
}

/// What a test wants of a pack.
pub struct PackWish<'a> {
    pub problem: Problem,
    pub call_use: CallUse,
    /// From which number of elements on there is which kernel.
    pub choices: &'a [(u64, &'a str)],
}

fn compiler() -> Compiler {
    Compiler::new(None, Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("spirv"))).unwrap()
}

/// Whether a device gets to the end of a kernel. On `SwiftShader` no persistent kernel with several subgroups per
/// workgroup does.
fn hangs(config: &Config, device: &DeviceProfile) -> bool {
    let several = config.workgroup_size > device.subgroup_size;
    config.kernel.family == Family::Persistent && several && device.driver.contains("SwiftShader")
}

/// A pack with these kernels, measured on this device; `None` where one of them does not run here. For arrays at any
/// element there is also what runs where vectors may begin.
pub fn pack(device: &DeviceProfile, wish: &PackWish<'_>) -> Option<Pack> {
    let aligned = CallUse { any_element: false, ..wish.call_use };
    let uses: &[CallUse] = if wish.call_use.any_element { &[aligned, wish.call_use] } else { &[aligned] };
    pack_of_uses(device, (&wish.problem, None), uses, wish.choices)
}

/// The same for each of these uses, of a problem and the file of its operator.
pub fn pack_of_uses(
    device: &DeviceProfile,
    (problem, file): (&Problem, Option<&OperatorFile>),
    uses: &[CallUse],
    choices: &[(u64, &str)],
) -> Option<Pack> {
    let compiler = file.into_iter().fold(compiler(), |by, file| by.with_operator(file.clone()));
    let mut builder = PackBuilder::new();
    let mut measured = Vec::new();
    for &call_use in uses {
        let mut variant = if call_use.n_on_device { Variant::up_to(0) } else { Variant::default() };
        variant.any_element = call_use.any_element;
        variant.total = call_use.total;
        variant.init_in_memory = call_use.init_in_memory;
        let mut needs = Promises::NONE;
        let mut recipes = Vec::new();
        for (_, label) in choices {
            let config: Config = label.parse().unwrap();
            let recipe = catalog::recipe(&config, variant, problem, device).ok()?;
            let arguments = match config.kernel.arguments {
                Arguments::Push => ArgumentKind::Pushed,
                Arguments::Block => ArgumentKind::Line,
                Arguments::Baked => ArgumentKind::Baked,
            };
            assert_eq!(arguments, call_use.arguments, "{label}");
            needs = needs.with(catalog::needs(&config, device));
            if hangs(&config, device) || !Promises::PROGRESS.has(needs) {
                return None;
            }
            recipes.push(((*label).to_owned(), recipe));
        }
        let places = builder.add_all(&compiler, recipes).unwrap();
        let breakpoints = choices.iter().zip(places).map(|((from, _), place)| Breakpoint {
            from: *from,
            ranked: vec![place],
            worst_loss_ppm: None,
        });
        measured.push(ChoiceTable { call_use, needs, breakpoints: breakpoints.collect() });
    }
    let (scan, splittable) = (scan_problem(problem), is_splittable(problem));
    let problems = vec![PackProblem { scan, splittable, measured, portable: Vec::new() }];
    let origin = PackOrigin {
        kernel_hash: String::new(),
        measured_utc: String::new(),
        device: pack_device(device, Vec::new()),
    };
    let pack = builder.pack(origin, problems, Vec::new()).unwrap();
    // As it would come from a file.
    Some(Pack::read(&pack.write()).unwrap())
}

/// A problem as a pack has it.
pub fn in_pack(problem: &Problem) -> ScanProblem {
    let scan = scan_problem(problem);
    assert_eq!(scan.mode == ScanMode::Reduce, problem.mode() == Mode::Reduce);
    scan
}
