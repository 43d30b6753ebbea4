//! A driver that does nothing and remembers nothing, so that all time and memory is the library's own.

use std::ffi::{CStr, c_void};

use ash::vk;

use crate::driver;

unsafe extern "system" fn push_constants(
    _: vk::CommandBuffer,
    _: vk::PipelineLayout,
    _: vk::ShaderStageFlags,
    _: u32,
    _: u32,
    values: *const c_void,
) {
    std::hint::black_box(values);
}

unsafe extern "system" fn bind(_: vk::CommandBuffer, _: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
    std::hint::black_box(pipeline);
}

unsafe extern "system" fn dispatch(_: vk::CommandBuffer, x: u32, _: u32, _: u32) {
    std::hint::black_box(x);
}

unsafe extern "system" fn barrier(_: vk::CommandBuffer, dependency: *const vk::DependencyInfo<'_>) {
    std::hint::black_box(dependency);
}

unsafe extern "system" fn update(_: vk::CommandBuffer, _: vk::Buffer, _: u64, _: u64, data: *const c_void) {
    std::hint::black_box(data);
}

/// A device that records in silence; what makes and destroys objects is that of the other driver.
#[expect(clippy::fn_to_numeric_cast_any, reason = "drivers hand out functions as addresses")]
pub fn device() -> ash::Device {
    let load = |name: &CStr| match name.to_bytes() {
        b"vkCmdPushConstants" => push_constants as vk::PFN_vkCmdPushConstants as *const c_void,
        b"vkCmdBindPipeline" => bind as vk::PFN_vkCmdBindPipeline as *const c_void,
        b"vkCmdDispatch" => dispatch as vk::PFN_vkCmdDispatch as *const c_void,
        b"vkCmdPipelineBarrier2" => barrier as vk::PFN_vkCmdPipelineBarrier2 as *const c_void,
        b"vkCmdUpdateBuffer" => update as vk::PFN_vkCmdUpdateBuffer as *const c_void,
        _ => driver::function(name),
    };
    // SAFETY: each function has the type of its name.
    unsafe { ash::Device::load_with(load, vk::Device::null()) }
}
