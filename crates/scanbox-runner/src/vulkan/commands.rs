//! Recording and submission: one primary command buffer that is recorded anew for each submission.
//!
//! A [`Recorder`] only knows commands; what a call consists of is in `timing`.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use scanbox_model::record::Status;
use scanbox_vk::{Access, Dispatch, record};

use super::buffer::Buffer;
use super::device::Gpu;
use super::failed;
use super::timestamps::Timestamps;
use crate::backend::Failure;
use crate::measure::duration_ns;

/// A command buffer with the pool it lives in and the fence that tells when it is done.
pub(super) struct Commands {
    gpu: Arc<Gpu>,
    pool: vk::CommandPool,
    buffer: vk::CommandBuffer,
    fence: vk::Fence,
    /// When the device began and ended the last submission.
    clock: Timestamps,
    busy_ns: f64,
}

impl Commands {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self, Failure> {
        let clock = Timestamps::new(gpu, 2)?;
        let pool_info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::TRANSIENT)
            .queue_family_index(gpu.queue_family);
        // SAFETY: the queue family is the one that the device was created with.
        let pool = unsafe { gpu.raw.create_command_pool(&pool_info, None) }
            .map_err(|result| failed("vkCreateCommandPool", result))?;
        // An owner from here on: null handles are ignored when they are destroyed.
        let mut commands = Self {
            gpu: Arc::clone(gpu),
            pool,
            buffer: vk::CommandBuffer::null(),
            fence: vk::Fence::null(),
            clock,
            busy_ns: 0.0,
        };
        let buffer_info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool is valid and used by nothing else.
        commands.buffer = unsafe { gpu.raw.allocate_command_buffers(&buffer_info) }
            .map_err(|result| failed("vkAllocateCommandBuffers", result))?[0];
        // SAFETY: the device is valid.
        commands.fence = unsafe { gpu.raw.create_fence(&vk::FenceCreateInfo::default(), None) }
            .map_err(|result| failed("vkCreateFence", result))?;
        Ok(commands)
    }

    /// Starts a new recording. What was submitted before has to be done.
    ///
    /// Everything recorded sees what earlier submissions and the host wrote.
    pub fn begin(&mut self) -> Result<Recorder<'_>, Failure> {
        self.begin_as(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)
    }

    /// The same for a recording that is submitted again ([`Commands::submit_again`]).
    #[cfg(feature = "testing")]
    pub fn begin_lasting(&mut self) -> Result<Recorder<'_>, Failure> {
        self.begin_as(vk::CommandBufferUsageFlags::empty())
    }

    fn begin_as(&mut self, flags: vk::CommandBufferUsageFlags) -> Result<Recorder<'_>, Failure> {
        let begin = vk::CommandBufferBeginInfo::default().flags(flags);
        // SAFETY: the buffer is not pending: every submission was waited for, or the session ended.
        unsafe {
            self.gpu
                .raw
                .reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty())
                .and_then(|()| self.gpu.raw.begin_command_buffer(self.buffer, &begin))
        }
        .map_err(|result| failed("vkBeginCommandBuffer", result))?;
        let mut recorder = Recorder { commands: self, bound: vk::Pipeline::null() };
        recorder.own_timestamp(0);
        recorder.barrier(Access::ANYTHING, Access::ANYTHING);
        Ok(recorder)
    }

    /// Hands what was recorded to the device once more. What was submitted before is done.
    #[cfg(feature = "testing")]
    pub fn submit_again(&mut self) -> Result<(), Failure> {
        self.submit()
    }

    fn submit(&self) -> Result<(), Failure> {
        let Self { gpu, buffer, fence, .. } = self;
        let buffers = [vk::CommandBufferSubmitInfo::default().command_buffer(*buffer)];
        let submits = [vk::SubmitInfo2::default().command_buffer_infos(&buffers)];
        // SAFETY: the recording has ended; the fence belongs to this buffer alone and is not pending; the queue is used
        // by one thread only, because everything that submits needs `&mut` of the session.
        unsafe {
            gpu.raw.reset_fences(&[*fence]).and_then(|()| gpu.raw.queue_submit2(gpu.queue, &submits, *fence))
        }
        .map_err(|result| failed("vkQueueSubmit2", result))
    }

    /// Waits until the submitted work is done. After a time-out the work still runs, and nothing that it uses may be
    /// destroyed.
    pub fn wait(&mut self, limit: Duration) -> Result<(), Failure> {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the fence is valid; it was submitted by `Recorder::submit`.
        match unsafe { self.gpu.raw.wait_for_fences(&[self.fence], true, limit_ns) } {
            Ok(()) => {
                let worked = duration_ns(self.clock.intervals(2)?[0], &self.gpu.profile);
                self.busy_ns += worked.unwrap_or(0.0);
                Ok(())
            }
            Err(vk::Result::TIMEOUT) => Err(Failure::new(
                Status::Timeout,
                format!(
                    "the device did not finish within {} s (--timeout sets the limit)",
                    limit.as_secs_f64()
                ),
            )),
            Err(result) => Err(failed("vkWaitForFences", result)),
        }
    }

    /// How long the device has worked on all submissions together.
    pub fn busy_ns(&self) -> f64 {
        self.busy_ns
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // SAFETY: nothing submitted is pending (see `begin`); the command buffer goes with its pool.
        unsafe {
            self.gpu.raw.destroy_fence(self.fence, None);
            self.gpu.raw.destroy_command_pool(self.pool, None);
        }
    }
}

/// A recording in progress.
pub(super) struct Recorder<'a> {
    commands: &'a mut Commands,
    bound: vk::Pipeline,
}

impl Recorder<'_> {
    fn gpu(&self) -> &Gpu {
        &self.commands.gpu
    }

    /// The command buffer, for who records into it beside this.
    pub fn raw(&self) -> vk::CommandBuffer {
        self.commands.buffer
    }

    /// Somebody else has bound another pipeline.
    pub fn forget_bound(&mut self) {
        self.bound = vk::Pipeline::null();
    }

    /// What follows and matches `to` waits for what came before and matches `from`, and sees its writes.
    pub fn barrier(&mut self, from: Access, to: Access) {
        // SAFETY: the buffer is recording; synchronization2 is enabled.
        unsafe { record::barrier(&self.gpu().raw, self.commands.buffer, from, to) };
    }

    /// Records one call: its dispatches, each after the one before, with what they find in this line of each pair.
    pub fn call(
        &mut self,
        layout: vk::PipelineLayout,
        dispatches: impl IntoIterator<Item: Borrow<Dispatch>>,
        line: usize,
    ) {
        let Commands { gpu, buffer, .. } = &*self.commands;
        // SAFETY: the buffer is recording; the layout lives as long as the session, and its only range covers all push
        // constants; the pipelines outlive the submission. The addresses in push constants, in constants of the
        // pipelines and in lines are those of live buffers that are as large as the plan says, and the numbers of
        // workgroups are within the limits of the device (by `Call::prepare`).
        unsafe { record::record(&gpu.raw, *buffer, layout, dispatches, line, &mut self.bound) };
    }

    /// Sets every word of `buffer` from byte `offset`.
    pub fn fill(&mut self, buffer: &Buffer, offset: u64, word: u32) {
        assert!(
            offset.is_multiple_of(4) && offset < buffer.bytes(),
            "the fill begins at a word of the buffer"
        );
        let bytes = buffer.bytes() - offset;
        // SAFETY: the command buffer is recording; the buffer is a transfer destination that outlives the submission,
        // and offset and size are multiples of four within it.
        unsafe {
            self.gpu().raw.cmd_fill_buffer(self.commands.buffer, buffer.raw(), offset, bytes, word);
        }
    }

    /// Writes a few words at byte `offset` of `buffer`.
    pub fn update(&mut self, buffer: &Buffer, offset: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(offset + bytes.len() as u64 <= buffer.bytes(), "the update ends inside the buffer");
        // SAFETY: the command buffer is recording; the range is inside the buffer, a multiple of four, and far
        // below the limit of 65,536 bytes.
        unsafe { self.gpu().raw.cmd_update_buffer(self.commands.buffer, buffer.raw(), offset, &bytes) };
    }

    /// Copies `bytes` bytes.
    pub fn copy(&mut self, (from, from_offset): (&Buffer, u64), (to, to_offset): (&Buffer, u64), bytes: u64) {
        assert!(
            from_offset + bytes <= from.bytes() && to_offset + bytes <= to.bytes(),
            "the copy ends inside both buffers"
        );
        let region = vk::BufferCopy::default().src_offset(from_offset).dst_offset(to_offset).size(bytes);
        // SAFETY: the command buffer is recording; both ranges are inside their buffers, which outlive the
        // submission.
        unsafe { self.gpu().raw.cmd_copy_buffer(self.commands.buffer, from.raw(), to.raw(), &[region]) };
    }

    /// Makes the first `count` queries available for new timestamps.
    pub fn reset_queries(&mut self, timestamps: &Timestamps, count: u32) {
        // SAFETY: the buffer is recording; there are `count` queries (`Timestamps::reserve`), none of them in use.
        unsafe { self.gpu().raw.cmd_reset_query_pool(self.commands.buffer, timestamps.pool(), 0, count) };
    }

    /// Takes a timestamp between the dispatches before and those after.
    ///
    /// At the compute stage, between barriers: at the top of the pipe it would be taken while earlier dispatches
    /// still run, and without the second barrier later ones could start before it.
    pub fn timestamp(&mut self, timestamps: &Timestamps, query: u32) {
        self.barrier(Access::COMPUTE, Access::COMPUTE);
        self.write_timestamp(vk::PipelineStageFlags2::COMPUTE_SHADER, timestamps.pool(), query);
        self.barrier(Access::COMPUTE, Access::COMPUTE);
    }

    /// Takes the first or the second timestamp of the submission.
    fn own_timestamp(&mut self, query: u32) {
        let pool = self.commands.clock.pool();
        if query == 0 {
            // SAFETY: the buffer is recording; the pool has two queries, none of them in use.
            unsafe { self.gpu().raw.cmd_reset_query_pool(self.commands.buffer, pool, 0, 2) };
        }
        self.write_timestamp(vk::PipelineStageFlags2::ALL_COMMANDS, pool, query);
    }

    fn write_timestamp(&mut self, stage: vk::PipelineStageFlags2, pool: vk::QueryPool, query: u32) {
        // SAFETY: the buffer is recording; the query was reset, and the queue family has timestamps.
        unsafe { self.gpu().raw.cmd_write_timestamp2(self.commands.buffer, stage, pool, query) };
    }

    /// Ends the recording and hands it to the device, which starts at once.
    pub fn submit(mut self) -> Result<(), Failure> {
        self.own_timestamp(1);
        let Commands { gpu, buffer, .. } = &*self.commands;
        // SAFETY: the buffer is recording.
        unsafe { gpu.raw.end_command_buffer(*buffer) }
            .map_err(|result| failed("vkEndCommandBuffer", result))?;
        self.commands.submit()
    }
}
