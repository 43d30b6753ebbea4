//! Structures that C and Rust exchange. Each begins with its size; a range and an access, which stand within others, do
//! not.

use std::ffi::{c_char, c_void};

use crate::handles::{
    PFN_vkGetInstanceProcAddr, VkAccessFlags2, VkBool32, VkBuffer, VkDevice, VkDeviceAddress, VkDeviceSize,
    VkInstance, VkPhysicalDevice, VkPhysicalDeviceFeatures,
    VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR,
    VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR, VkPhysicalDeviceVulkan12Features,
    VkPhysicalDeviceVulkan13Features, VkPipelineCache, VkPipelineStageFlags2,
};

/// Element i of the output combines elements 0 to i of the input.
pub const SCANBOX_MODE_INCLUSIVE: u32 = 0;
/// Element i of the output combines an initial value and elements 0 to i - 1 of the input.
pub const SCANBOX_MODE_EXCLUSIVE: u32 = 1;
/// The output is one element: all of the input combined.
pub const SCANBOX_MODE_REDUCE: u32 = 2;
/// Combined with one of these: elements are combined from the last one on, element i of an inclusive scan from element
/// i to the last one, and an initial value stands behind that. Operands keep their order.
pub const SCANBOX_MODE_REVERSE: u32 = 16;

/// A promise: workgroups that have started make progress, whatever others wait for.
pub const SCANBOX_PROMISE_PROGRESS: u32 = 1;
/// A promise: workgroups start in the order of their numbers.
pub const SCANBOX_PROMISE_WORKGROUP_ORDER: u32 = 2;
/// A promise: subgroups of one workgroup make progress independently.
pub const SCANBOX_PROMISE_SUBGROUP_PROGRESS: u32 = 4;
/// A promise: as many workgroups as fit the device really run at the same time. Not so where anything else uses it.
pub const SCANBOX_PROMISE_CO_RESIDENCY: u32 = 8;

/// A use: only memory of the device says how many elements there are (scanbox_call.n_address).
pub const SCANBOX_USE_N_ON_DEVICE: u32 = 1;
/// A use: the total of all elements is stored beside the scan (scanbox_call.total_address).
pub const SCANBOX_USE_TOTAL: u32 = 2;
/// A use: memory says what an exclusive scan begins with (scanbox_call.init_address).
pub const SCANBOX_USE_INIT_IN_MEMORY: u32 = 4;
/// A use: others overwrite the scratch memory between calls, so that nobody has to prepare it.
pub const SCANBOX_USE_SCRATCH_OVERWRITTEN: u32 = 8;
/// A use: input and output may begin at any element, and not only where a vector may.
pub const SCANBOX_USE_ANY_ELEMENT: u32 = 16;
/// A use: arguments stand in memory that is bound once (scanbox_bound_create), and can be changed there.
pub const SCANBOX_USE_LINE: u32 = 32;
/// A use: arguments are constants of pipelines that are made for them (scanbox_bound_create).
pub const SCANBOX_USE_BAKED: u32 = 64;

/// Characters of a text within a structure, with the zero at its end. What is longer is cut.
pub const SCANBOX_TEXT_CHARACTERS: usize = 192;

/// Extensions of devices that may be wanted at most.
pub const SCANBOX_MOST_EXTENSIONS: usize = 4;

/// Features of a device: those that are wanted, then those that are enabled. Its structures can be chained into
/// VkDeviceCreateInfo as they are; their pNext is the program's.
#[repr(C)]
pub struct ScanboxFeatures {
    /// sizeof(scanbox_features).
    pub size: usize,
    /// Those of Vulkan 1.0.
    pub v10: VkPhysicalDeviceFeatures,
    /// Those of Vulkan 1.2.
    pub v12: VkPhysicalDeviceVulkan12Features,
    /// Those of Vulkan 1.3.
    pub v13: VkPhysicalDeviceVulkan13Features,
    /// That of VK_KHR_shader_subgroup_uniform_control_flow, to be chained where it is wanted.
    pub uniform_control_flow: VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR,
    /// That of VK_KHR_shader_maximal_reconvergence, to be chained where it is wanted.
    pub maximal_reconvergence: VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR,
    /// How many extensions are to be enabled.
    pub extension_count: u32,
    /// Their names, which live as long as the program.
    pub extensions: [*const c_char; SCANBOX_MOST_EXTENSIONS],
}

/// The device to scan on, and the pack to scan with.
#[repr(C)]
pub struct ScanboxScannerInfo {
    /// sizeof(scanbox_scanner_info).
    pub size: usize,
    /// The loader's, with which the instance was made.
    pub get_instance_proc_addr: PFN_vkGetInstanceProcAddr,
    /// Made with apiVersion 1.3 or newer. Has to outlive the scanner, and everything made with it.
    pub instance: VkInstance,
    /// Of the instance.
    pub physical_device: VkPhysicalDevice,
    /// Has to outlive the scanner, and everything made with it.
    pub device: VkDevice,
    /// Makes pipelines faster the next time; VK_NULL_HANDLE where there is none. Has to outlive the scanner, which uses
    /// it while it makes scans and binds them, from any thread: it has to be one that Vulkan synchronizes.
    pub pipeline_cache: VkPipelineCache,
    /// The features that were enabled as the device was made. Vulkan cannot be asked.
    pub enabled: *const ScanboxFeatures,
    /// The bytes of a pack, which are copied.
    pub pack: *const c_void,
    /// How many.
    pub pack_bytes: usize,
    /// What the program promises of the device beyond what Vulkan does: SCANBOX_PROMISE_...; 0 is right everywhere.
    pub promises: u32,
}

/// What to scan, how often it is called how.
#[repr(C)]
pub struct ScanboxScanInfo {
    /// sizeof(scanbox_scan_info).
    pub size: usize,
    /// SCANBOX_MODE_...; | SCANBOX_MODE_REVERSE from the last element on.
    pub mode: u32,
    /// SCANBOX_USE_..., combined.
    pub uses: u32,
    /// The type of an element: "u32", "i32", "f32", "u64", "i64", "f64", or that of a user's operator.
    pub element: *const c_char,
    /// The operator: "add", "min", "max", "mul", "and", "or", "xor", or the name of a user's.
    pub operator_name: *const c_char,
    /// The bits of what it begins with, the lowest word first; NULL for the identity.
    pub init: *const u32,
    /// How many words.
    pub init_words: usize,
    /// Whether the output stands where the input stood.
    pub in_place: VkBool32,
    /// The most elements of a call.
    pub max_n: u64,
}

/// The scratch memory that calls of a scan need. A buffer with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and
/// VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT.
#[repr(C)]
pub struct ScanboxScratch {
    /// sizeof(scanbox_scratch).
    pub size: usize,
    /// Bytes at least; 0 where none is needed.
    pub bytes: VkDeviceSize,
    /// What its address is a multiple of.
    pub alignment: VkDeviceSize,
}

/// What runs for a number of elements.
#[repr(C)]
pub struct ScanboxChosen {
    /// sizeof(scanbox_chosen).
    pub size: usize,
    /// What the addresses of input and output are multiples of, in bytes.
    pub alignment: VkDeviceSize,
    /// The median time of a call of measured_n elements on the device of the pack, in nanoseconds; 0 where this is no
    /// such device, or nothing was measured.
    pub nanoseconds: f64,
    /// The size that was measured, the nearest one.
    pub measured_n: u64,
    /// The label of its config.
    pub label: [c_char; SCANBOX_TEXT_CHARACTERS],
    /// On what ground it was chosen.
    pub reason: [c_char; SCANBOX_TEXT_CHARACTERS],
    /// The label of what runs at addresses that are multiples of an element alone; empty where that is the same, or
    /// the scan was not made for them (SCANBOX_USE_ANY_ELEMENT).
    pub unaligned_label: [c_char; SCANBOX_TEXT_CHARACTERS],
}

/// One side of a barrier.
#[repr(C)]
pub struct ScanboxAccess {
    /// Which work.
    pub stages: VkPipelineStageFlags2,
    /// What it does with memory.
    pub access: VkAccessFlags2,
}

/// For the barriers of a program, in front of a call and behind it.
#[repr(C)]
pub struct ScanboxSync {
    /// sizeof(scanbox_sync).
    pub size: usize,
    /// The destination of a barrier that is recorded before a call.
    pub before: ScanboxAccess,
    /// The source of a barrier that is recorded behind a call.
    pub behind: ScanboxAccess,
}

/// Memory of the device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ScanboxRange {
    /// Where it begins.
    pub address: VkDeviceAddress,
    /// Its bytes.
    pub bytes: VkDeviceSize,
}

/// One call of a scan.
#[repr(C)]
pub struct ScanboxCall {
    /// sizeof(scanbox_call).
    pub size: usize,
    /// What is scanned.
    pub input: ScanboxRange,
    /// Where the scan goes. In place, the input.
    pub output: ScanboxRange,
    /// Memory that is prepared, and that no other call uses at the same time.
    pub scratch: ScanboxRange,
    /// How many elements; with SCANBOX_USE_N_ON_DEVICE 0, but where arguments are bound: there as many as are told.
    pub n: u64,
    /// With SCANBOX_USE_N_ON_DEVICE: a 32-bit word that says how many. What is beyond max_n counts as max_n.
    pub n_address: VkDeviceAddress,
    /// With SCANBOX_USE_INIT_IN_MEMORY: the element that an exclusive scan begins with.
    pub init_address: VkDeviceAddress,
    /// With SCANBOX_USE_TOTAL: where the total goes.
    pub total_address: VkDeviceAddress,
}

/// The memory that arguments of a scan need which are bound.
#[repr(C)]
pub struct ScanboxLineNeeds {
    /// sizeof(scanbox_line_needs).
    pub size: usize,
    /// Bytes at least; 0 where none is needed.
    pub bytes: VkDeviceSize,
    /// What its address is a multiple of.
    pub alignment: VkDeviceSize,
}

/// Memory for arguments that are bound. Its buffer has VK_BUFFER_USAGE_TRANSFER_DST_BIT beside what scratch memory has.
#[repr(C)]
pub struct ScanboxLine {
    /// sizeof(scanbox_line).
    pub size: usize,
    /// The buffer.
    pub buffer: VkBuffer,
    /// Where its memory for arguments begins, in bytes.
    pub offset: VkDeviceSize,
    /// The same memory, by its address.
    pub memory: ScanboxRange,
}
