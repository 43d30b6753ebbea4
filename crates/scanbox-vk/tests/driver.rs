//! A driver that does nothing but remember its commands.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};

use ash::vk;

thread_local! {
    static COMMANDS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
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

/// A device without a driver: other commands than those that a call has panic.
#[expect(clippy::fn_to_numeric_cast_any, reason = "drivers hand out functions as addresses")]
pub fn device() -> ash::Device {
    let load = |name: &CStr| match name.to_bytes() {
        b"vkCmdPushConstants" => push_constants as vk::PFN_vkCmdPushConstants as *const c_void,
        b"vkCmdBindPipeline" => bind as vk::PFN_vkCmdBindPipeline as *const c_void,
        b"vkCmdDispatch" => dispatch as vk::PFN_vkCmdDispatch as *const c_void,
        b"vkCmdPipelineBarrier2" => barrier as vk::PFN_vkCmdPipelineBarrier2 as *const c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: each function has the type of its name.
    unsafe { ash::Device::load_with(load, vk::Device::null()) }
}

/// What was recorded on this thread since it was asked for last.
pub fn commands() -> Vec<String> {
    COMMANDS.take()
}
