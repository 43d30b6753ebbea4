//! A driver that does nothing but remember its commands.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_void};

use ash::vk;

thread_local! {
    static COMMANDS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static MODULE_WORDS: Cell<u32> = const { Cell::new(0) };
    static REFUSED_WORDS: Cell<u32> = const { Cell::new(0) };
}

/// From now on, on this thread, no pipeline can be made of modules of so many words.
pub fn refuse(words: u32) {
    REFUSED_WORDS.set(words);
}

fn remember(command: String) {
    COMMANDS.with_borrow_mut(|commands| commands.push(command));
}

unsafe extern "system" fn push_constants(
    _: vk::CommandBuffer,
    _: vk::PipelineLayout,
    _: vk::ShaderStageFlags,
    offset: u32,
    size: u32,
    values: *const c_void,
) {
    // SAFETY: Vulkan wants as many bytes there.
    let bytes = unsafe { std::slice::from_raw_parts(values.cast::<u8>(), size as usize) };
    let words: Vec<u32> = bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    remember(format!("push {offset} {words:?}"));
}

unsafe extern "system" fn bind(_: vk::CommandBuffer, _: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
    remember(format!("bind {}", vk::Handle::as_raw(pipeline)));
}

unsafe extern "system" fn dispatch(_: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    remember(format!("dispatch {x} {y} {z}"));
}

unsafe extern "system" fn barrier(_: vk::CommandBuffer, dependency: *const vk::DependencyInfo<'_>) {
    // SAFETY: Vulkan wants one there, with as many barriers as it says.
    let barriers = unsafe {
        let info = &*dependency;
        assert_eq!((info.buffer_memory_barrier_count, info.image_memory_barrier_count), (0, 0));
        std::slice::from_raw_parts(info.p_memory_barriers, info.memory_barrier_count as usize)
    };
    for one in barriers {
        let from = format!("{:?} {:?}", one.src_stage_mask, one.src_access_mask);
        remember(format!("barrier {from} > {:?} {:?}", one.dst_stage_mask, one.dst_access_mask));
    }
}

/// A pipeline cache that no pipeline can be made with.
pub const BAD_CACHE: u64 = 13;

unsafe extern "system" fn create_layout(
    _: vk::Device,
    info: *const vk::PipelineLayoutCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::PipelineLayout,
) -> vk::Result {
    // SAFETY: Vulkan wants one there, with as many ranges as it says, and room for a handle.
    unsafe {
        assert_eq!(((*info).set_layout_count, (*info).push_constant_range_count), (0, 1));
        let range = *(*info).p_push_constant_ranges;
        remember(format!("layout {:?} {} {}", range.stage_flags, range.offset, range.size));
        *made = vk::PipelineLayout::null();
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn create_module(
    _: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::ShaderModule,
) -> vk::Result {
    // SAFETY: Vulkan wants one there, and room for a handle.
    unsafe {
        remember(format!("module of {}", (*info).code_size / 4));
        MODULE_WORDS.set((*info).code_size as u32 / 4);
        *made = vk::Handle::from_raw(3);
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy_module(
    _: vk::Device,
    module: vk::ShaderModule,
    _: *const vk::AllocationCallbacks<'_>,
) {
    assert_eq!(vk::Handle::as_raw(module), 3);
    remember("no module".to_owned());
}

unsafe extern "system" fn create_pipelines(
    _: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    made: *mut vk::Pipeline,
) -> vk::Result {
    assert_eq!(count, 1);
    // SAFETY: Vulkan wants one there, whose stage has a name, a chain, and constants within their data.
    unsafe {
        let (flags, stage) = ((*infos).flags, (*infos).stage);
        let pinned = stage.p_next.cast::<vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'_>>();
        let pinned = pinned.as_ref().map(|pinned| pinned.required_subgroup_size);
        let special = &*stage.p_specialization_info;
        let entries: &[vk::SpecializationMapEntry] = match special.map_entry_count {
            0 => &[],
            count => std::slice::from_raw_parts(special.p_map_entries, count as usize),
        };
        let value = |entry: &vk::SpecializationMapEntry| {
            let end = entry.offset as usize + entry.size;
            assert!(entry.size == 4 && end <= special.data_size);
            special.p_data.cast::<u8>().add(entry.offset as usize).cast::<u32>().read_unaligned()
        };
        let constants: Vec<u32> = entries.iter().map(value).collect();
        assert!(entries.iter().map(|entry| entry.constant_id).eq(0..special.map_entry_count));
        let name = CStr::from_ptr(stage.p_name).to_str().unwrap();
        remember(format!("pipeline {name} {flags:?} {:?} pinned {pinned:?} {constants:?}", stage.flags));
        *made = vk::Handle::from_raw(u64::from(MODULE_WORDS.get()) + 4);
    }
    match vk::Handle::as_raw(cache) {
        BAD_CACHE => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        _ if MODULE_WORDS.get() == REFUSED_WORDS.get() => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
        _ => vk::Result::SUCCESS,
    }
}

unsafe extern "system" fn destroy_pipeline(
    _: vk::Device,
    pipeline: vk::Pipeline,
    _: *const vk::AllocationCallbacks<'_>,
) {
    remember(format!("no pipeline {}", vk::Handle::as_raw(pipeline)));
}

unsafe extern "system" fn destroy_layout(
    _: vk::Device,
    _: vk::PipelineLayout,
    _: *const vk::AllocationCallbacks<'_>,
) {
    remember("no layout".to_owned());
}

unsafe extern "system" fn update(
    _: vk::CommandBuffer,
    buffer: vk::Buffer,
    offset: u64,
    bytes: u64,
    data: *const c_void,
) {
    // SAFETY: Vulkan wants as many bytes there.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes as usize) };
    let words: Vec<u32> = bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    remember(format!("update {} {offset} {words:?}", vk::Handle::as_raw(buffer)));
}

/// The function of this name; null: what a call has no use for.
#[expect(clippy::fn_to_numeric_cast_any, reason = "drivers hand out functions as addresses")]
pub fn function(name: &CStr) -> *const c_void {
    match name.to_bytes() {
        b"vkCmdPushConstants" => push_constants as vk::PFN_vkCmdPushConstants as *const c_void,
        b"vkCmdBindPipeline" => bind as vk::PFN_vkCmdBindPipeline as *const c_void,
        b"vkCmdDispatch" => dispatch as vk::PFN_vkCmdDispatch as *const c_void,
        b"vkCmdPipelineBarrier2" => barrier as vk::PFN_vkCmdPipelineBarrier2 as *const c_void,
        b"vkCmdUpdateBuffer" => update as vk::PFN_vkCmdUpdateBuffer as *const c_void,
        b"vkCreatePipelineLayout" => create_layout as vk::PFN_vkCreatePipelineLayout as *const c_void,
        b"vkCreateShaderModule" => create_module as vk::PFN_vkCreateShaderModule as *const c_void,
        b"vkDestroyShaderModule" => destroy_module as vk::PFN_vkDestroyShaderModule as *const c_void,
        b"vkCreateComputePipelines" => create_pipelines as vk::PFN_vkCreateComputePipelines as *const c_void,
        b"vkDestroyPipeline" => destroy_pipeline as vk::PFN_vkDestroyPipeline as *const c_void,
        b"vkDestroyPipelineLayout" => destroy_layout as vk::PFN_vkDestroyPipelineLayout as *const c_void,
        _ => std::ptr::null(),
    }
}

/// A device without a driver: what a call has no use for panics.
pub fn device() -> ash::Device {
    // SAFETY: each function has the type of its name.
    unsafe { ash::Device::load_with(function, vk::Device::null()) }
}

/// What was recorded on this thread since it was asked for last.
pub fn commands() -> Vec<String> {
    COMMANDS.take()
}
