//! The commands of a call: dispatches, each with what it is told, and barriers between them.

use ash::vk;

/// One side of a barrier: which work, and what it does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Which work.
    pub stages: vk::PipelineStageFlags2,
    /// What it does with memory.
    pub memory: vk::AccessFlags2,
}

impl Access {
    /// Dispatches. Nothing else between dependent calls: a barrier on all commands costs two more microseconds on
    /// an NVIDIA H200.
    pub const COMPUTE: Self = Self {
        stages: vk::PipelineStageFlags2::COMPUTE_SHADER,
        memory: vk::AccessFlags2::from_raw(
            vk::AccessFlags2::SHADER_STORAGE_READ.as_raw() | vk::AccessFlags2::SHADER_STORAGE_WRITE.as_raw(),
        ),
    };
    /// Copies and fills.
    pub const TRANSFER: Self = Self {
        stages: vk::PipelineStageFlags2::ALL_TRANSFER,
        memory: vk::AccessFlags2::from_raw(
            vk::AccessFlags2::TRANSFER_READ.as_raw() | vk::AccessFlags2::TRANSFER_WRITE.as_raw(),
        ),
    };
    /// Reads of mapped memory after the submission.
    pub const HOST: Self =
        Self { stages: vk::PipelineStageFlags2::HOST, memory: vk::AccessFlags2::HOST_READ };
    /// All of it.
    pub const ANYTHING: Self = Self {
        stages: vk::PipelineStageFlags2::ALL_COMMANDS,
        memory: vk::AccessFlags2::from_raw(
            vk::AccessFlags2::MEMORY_READ.as_raw() | vk::AccessFlags2::MEMORY_WRITE.as_raw(),
        ),
    };
}

/// What follows and matches `to` waits for what came before and matches `from`, and sees its writes.
///
/// # Safety
///
/// The command buffer is of this device, is recording outside of a render pass, and no other thread uses it; the device
/// has synchronization2 enabled.
pub unsafe fn barrier(device: &ash::Device, commands: vk::CommandBuffer, from: Access, to: Access) {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(from.stages)
        .src_access_mask(from.memory)
        .dst_stage_mask(to.stages)
        .dst_access_mask(to.memory)];
    let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
    // SAFETY: the caller sees to the command buffer; the barrier lives as long as the command is being recorded.
    unsafe { device.cmd_pipeline_barrier2(commands, &dependency) };
}
