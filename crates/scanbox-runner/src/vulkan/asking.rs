//! Calls of probes: shaders that ask the device something, on memory of their own.

use std::sync::Arc;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::plan::{GUARD_WORDS, Shader};
use scanbox_model::record::Status;
use scanbox_vk::{Access, Dispatch, Push, Told};

use super::buffer::{Buffer, WORD_BYTES};
use super::device::Gpu;
use super::timing::VulkanSession;
use crate::backend::{Failure, PROBE_WORDS, ProbeAnswer, ProbeCall};

/// The memory of probes: what they work on, with a guard behind it, what other work beside them does, and what the host
/// reads.
pub(super) struct ProbeMemory {
    words: Buffer,
    load: Buffer,
    read: Buffer,
}

impl ProbeMemory {
    fn new(gpu: &Arc<Gpu>, words: u64, load_words: u64) -> Result<Self, Failure> {
        let device =
            |name, words: u64| Buffer::new(gpu, name, words.max(64) * WORD_BYTES, MemoryLocation::GpuOnly);
        let read_bytes = (PROBE_WORDS as u64 + GUARD_WORDS) * WORD_BYTES;
        Ok(Self {
            words: device("probe", words + GUARD_WORDS)?,
            load: device("load", load_words)?,
            read: Buffer::new(gpu, "answer", read_bytes, MemoryLocation::GpuToCpu)?,
        })
    }

    fn holds(&self, words: u64, load_words: u64) -> bool {
        self.words.bytes() >= (words + GUARD_WORDS) * WORD_BYTES
            && self.load.bytes() >= load_words * WORD_BYTES
    }
}

impl VulkanSession {
    /// Runs a call of a probe.
    pub(super) fn ask(&mut self, call: &ProbeCall<'_>) -> Result<ProbeAnswer, Failure> {
        let [row, rows] = call.groups;
        let [most, most_rows, _] = self.gpu.profile.max_workgroup_count;
        if row > most || rows > most_rows {
            let reason =
                format!("{rows} rows of {row} workgroups, where the device has {most_rows} of {most}");
            return Err(Failure::new(Status::Unsupported, reason));
        }
        let load_words = call.load.map_or(0, |(_, words)| u64::from(words));
        if self.probe_memory.as_ref().is_none_or(|memory| !memory.holds(call.words, load_words)) {
            // What is there is not in use: every submission was waited for.
            self.probe_memory = None;
            self.probe_memory = Some(ProbeMemory::new(&self.gpu, call.words, load_words)?);
        }
        let layout = self.pipelines.layout();
        let pipeline = |shader: &Shader| self.pipelines.get(shader).map(|pipeline| [pipeline; 2]);
        let too_many = || Failure::new(Status::Unsupported, "a probe has more push constants than there are");
        let dispatch = |shader: &Shader, groups: [u32; 2], memory: &Buffer, words: &[u32]| {
            let mut push = Push::new([groups[0], groups[0] * groups[1]]);
            push.add_address(memory.address()).ok_or_else(too_many)?;
            words.iter().try_for_each(|word| push.add_word(*word).map(drop)).ok_or_else(too_many)?;
            let pipelines = pipeline(shader)?;
            Ok::<_, Failure>(Dispatch { pipelines, told: Told::Pushed(push), groups })
        };
        let Some(memory) = &self.probe_memory else { return Err(too_many()) };
        let asking = dispatch(call.shader, call.groups, &memory.words, &call.arguments)?;
        let load = call
            .load
            .map(|(shader, words)| {
                dispatch(shader, [load_workgroups(words), 1], &memory.load, &[0, 0, 0, words])
            })
            .transpose()?;
        let before_ns = self.commands.busy_ns();
        let Self { commands, probe_memory, limit, .. } = self;
        let Some(memory) = probe_memory else { return Err(too_many()) };
        let mut recorder = commands.begin()?;
        recorder.fill(&memory.words, 0, 0);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        // Calls of their own: no barrier stands between them, and none works on the memory of another.
        if let Some(load) = &load {
            recorder.call(layout, [load], 0);
        }
        recorder.call(layout, [&asking], 0);
        if let Some(load) = &load {
            recorder.call(layout, [load], 0);
        }
        recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        let answer_bytes = PROBE_WORDS as u64 * WORD_BYTES;
        recorder.copy((&memory.words, 0), (&memory.read, 0), answer_bytes);
        let behind = (&memory.words, call.words * WORD_BYTES);
        recorder.copy(behind, (&memory.read, answer_bytes), GUARD_WORDS * WORD_BYTES);
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(*limit)?;
        let (answer, guard) = memory.read.words().split_at(PROBE_WORDS);
        // A buffer is a little longer than was asked for, and what stands there nobody has written.
        if guard[..GUARD_WORDS as usize].iter().any(|word| *word != 0) {
            let reason = format!("a probe wrote behind its {} words", call.words);
            return Err(Failure::new(Status::WrongResult, reason));
        }
        let mut words = [0; PROBE_WORDS];
        words.copy_from_slice(answer);
        Ok(ProbeAnswer { words, busy_ns: self.commands.busy_ns() - before_ns })
    }
}

/// Workgroups of the work beside a probe: each has some turns, and there are no more than any limit allows.
fn load_workgroups(words: u32) -> u32 {
    words.div_ceil(1 << 12).clamp(1, 1 << 12)
}
