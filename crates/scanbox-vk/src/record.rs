//! The commands of a call: dispatches, each with what it is told, and barriers between them.

use std::borrow::Borrow;

use ash::vk;

use crate::push::Push;

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

/// One dispatch of a call, with everything resolved.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    /// Of the first line of its pair, and of the second. Where it has no lines they are one.
    pub pipelines: [vk::Pipeline; 2],
    /// How it comes by its arguments.
    pub told: Told,
    /// Workgroups in a row, and rows.
    pub groups: [u32; 2],
}

/// How a dispatch comes by its arguments.
#[derive(Debug, Clone, Copy)]
pub enum Told {
    /// They are recorded.
    Pushed(Push),
    /// They stand in memory, at an address that is a constant of its pipelines.
    Line,
    /// They are constants of its pipeline.
    Baked,
}

/// Records one call: its dispatches, each after the one before. What stands in lines has been told.
///
/// `line` says which line of each pair they find their arguments in, 0 or 1; `layout` is that of pipelines with push
/// constants. `last_pipeline` is what is bound in the command buffer, null where that is not known, and is kept up to
/// date: what is bound already is not bound again.
///
/// # Safety
///
/// - As for [`barrier`].
/// - The layout's push constants are [`crate::push::PUSH_BYTES`] bytes of compute shaders, and the pipelines, compute
///   pipelines of it, live until the command buffer is not pending any more. `last_pipeline` is bound, or null.
/// - `groups` are within the limits of the device.
/// - The addresses that dispatches are told are those of live buffers, as large as the kernel accesses.
pub unsafe fn record(
    device: &ash::Device,
    commands: vk::CommandBuffer,
    layout: vk::PipelineLayout,
    dispatches: impl IntoIterator<Item: Borrow<Dispatch>>,
    line: usize,
    last_pipeline: &mut vk::Pipeline,
) {
    let mut first = true;
    for dispatch in dispatches {
        let Dispatch { pipelines, told, groups } = dispatch.borrow();
        if !std::mem::take(&mut first) {
            // SAFETY: the caller sees to it.
            unsafe { barrier(device, commands, Access::COMPUTE, Access::COMPUTE) };
        }
        if let Told::Pushed(push) = told {
            // SAFETY: the caller sees to the command buffer and the layout, whose range covers all that there may be.
            unsafe {
                let stage = vk::ShaderStageFlags::COMPUTE;
                device.cmd_push_constants(commands, layout, stage, 0, push.bytes());
            }
        }
        let pipeline = pipelines[line];
        // SAFETY: the caller sees to the pipeline, to what its shader is told, and to the number of workgroups.
        unsafe {
            if *last_pipeline != pipeline {
                device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
                *last_pipeline = pipeline;
            }
            device.cmd_dispatch(commands, groups[0], groups[1], 1);
        }
    }
}
