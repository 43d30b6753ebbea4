//! What a device does for a session, as data: who drives it, in this process or elsewhere, is told the same. wgpu is
//! one who does (`gpu`), the page of a browser another (the crate `scanbox-browser`).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use scanbox_kernels::plan::Module;
use scanbox_model::record::Status;

use crate::backend::{Failure, TickInterval};

/// Bytes of a word.
pub const WORD_BYTES: u64 = 4;
/// What offsets of bindings are multiples of: what every device allows.
pub const BINDING_ALIGNMENT: u64 = 256;
/// What the range of a binding is a multiple of: shaders read whole vectors.
pub const VECTOR_BYTES: u64 = 16;

/// A buffer, as its driver knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferKey(pub u32);

/// Those that nobody holds any more.
pub type Graveyard = Rc<RefCell<Vec<BufferKey>>>;

/// A buffer of the session. When it is dropped, its driver frees it before it makes another.
#[derive(Debug)]
pub struct HeldBuffer {
    /// Which one.
    pub key: BufferKey,
    /// A multiple of [`BINDING_ALIGNMENT`].
    pub bytes: u64,
    graveyard: Graveyard,
}

impl HeldBuffer {
    /// The owner of a buffer that its driver has made.
    pub fn new(key: BufferKey, bytes: u64, graveyard: &Graveyard) -> Self {
        Self { key, bytes, graveyard: Rc::clone(graveyard) }
    }

    /// So many bytes from this one on.
    pub fn at(&self, offset: u64, bytes: u64) -> ByteRange {
        ByteRange { buffer: self.key, offset, bytes }
    }

    /// All of it.
    pub fn whole(&self) -> ByteRange {
        self.at(0, self.bytes)
    }
}

impl Drop for HeldBuffer {
    fn drop(&mut self) {
        self.graveyard.borrow_mut().push(self.key);
    }
}

/// Bytes of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// Which buffer.
    pub buffer: BufferKey,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A pipeline, as its driver knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PipelineKey(pub u32);

/// One dispatch.
#[derive(Debug, Clone)]
pub struct BoundDispatch {
    /// What runs.
    pub pipeline: PipelineKey,
    /// What is bound behind the words, in order.
    pub bindings: Arc<[ByteRange]>,
    /// What its slot of the uniform buffer holds: at most [`SLOT_WORDS`].
    pub words: Vec<u32>,
    /// Workgroups of a row, and rows.
    pub groups: [u32; 2],
}

/// Bytes of the part of the uniform buffer that a dispatch has: what offsets of such parts are multiples of.
pub const SLOT_BYTES: u64 = 256;
/// Words of it.
pub const SLOT_WORDS: usize = 64;

/// What happens in a submission, in order.
#[derive(Debug, Clone)]
pub enum WorkStep {
    /// Sets bytes to zero.
    Clear(ByteRange),
    /// Copies bytes to a place of another buffer.
    Copy {
        /// Which bytes.
        from: ByteRange,
        /// The other buffer, and the first byte there.
        to: (BufferKey, u64),
    },
    /// Dispatches of one compute pass, each after the one before.
    Pass {
        /// In order.
        dispatches: Vec<BoundDispatch>,
        /// Whether it is between two timestamps.
        is_timed: bool,
    },
    /// Brings bytes back.
    Fetch(ByteRange),
}

/// One submission.
#[derive(Debug, Clone, Default)]
pub struct DeviceWork {
    /// Words that are written before anything else happens: where.
    pub writes: Vec<(BufferKey, u64, Vec<u32>)>,
    /// What happens then.
    pub steps: Vec<WorkStep>,
}

impl DeviceWork {
    /// Writes words before the steps.
    pub fn write(&mut self, to: &HeldBuffer, offset: u64, words: Vec<u32>) {
        self.writes.push((to.key, offset, words));
    }

    /// Copies bytes.
    pub fn copy(&mut self, from: ByteRange, to: ByteRange) {
        self.steps.push(WorkStep::Copy { from, to: (to.buffer, to.offset) });
    }

    /// Goes on in the pass at the end, which has no timestamps, or begins one.
    pub fn dispatch(&mut self, more: impl IntoIterator<Item = BoundDispatch>) {
        if let Some(WorkStep::Pass { dispatches, is_timed: false }) = self.steps.last_mut() {
            dispatches.extend(more);
            return;
        }
        self.steps.push(WorkStep::Pass { dispatches: more.into_iter().collect(), is_timed: false });
    }

    /// A pass between timestamps.
    pub fn timed(&mut self, dispatches: Vec<BoundDispatch>) {
        self.steps.push(WorkStep::Pass { dispatches, is_timed: true });
    }

    /// Brings bytes back.
    pub fn fetch(&mut self, range: ByteRange) {
        self.steps.push(WorkStep::Fetch(range));
    }
}

impl DeviceWork {
    /// Passes between timestamps.
    #[must_use]
    pub fn timed_passes(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, WorkStep::Pass { is_timed: true, .. })).count()
    }

    /// Makes sense of what a driver has read when all was done: what was fetched, in order, and at the end, where the
    /// device has them, two timestamps of two words for each timed pass. Without timestamps the only timed pass took
    /// as long as the submission, in nanoseconds.
    ///
    /// # Errors
    /// `device_lost`, when it is less than that; `runtime_error`, when a timestamp was never written.
    pub fn read(&self, words: &[u32], has_timestamps: bool, took_ns: u64) -> Result<WorkDone, Failure> {
        let timed = self.timed_passes();
        let mut rest = words;
        let mut fetched = Vec::new();
        for step in &self.steps {
            let WorkStep::Fetch(range) = step else { continue };
            let length = (range.bytes / WORD_BYTES) as usize;
            let split = rest.split_at_checked(length);
            let (now, left) = split.ok_or_else(|| too_few(words.len()))?;
            fetched.push(now.to_vec());
            rest = left;
        }
        if !has_timestamps {
            let spans = vec![TickInterval { begin: 0, end: took_ns }; timed];
            return Ok(WorkDone { spans, fetched });
        }
        let stamps = rest.len().checked_sub(4 * timed).map(|begin| &rest[begin..]);
        let stamps = stamps.ok_or_else(|| too_few(words.len()))?;
        let stamp = |words: &[u32]| u64::from(words[0]) | u64::from(words[1]) << 32;
        let spans: Vec<TickInterval> = stamps
            .chunks_exact(4)
            .map(|words| TickInterval { begin: stamp(words), end: stamp(&words[2..]) })
            .collect();
        if spans.contains(&TickInterval::default()) {
            let reason = "a pass has no timestamps: both are 0, as where nothing ran";
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        Ok(WorkDone { spans, fetched })
    }
}

fn too_few(words: usize) -> Failure {
    Failure::new(Status::DeviceLost, format!("{words} words came back, which is less than was asked for"))
}

/// What came of a submission.
#[derive(Debug, Clone, Default)]
pub struct WorkDone {
    /// Of each timed pass, in order.
    pub spans: Vec<TickInterval>,
    /// What was fetched, in order.
    pub fetched: Vec<Vec<u32>>,
}

/// Who drives a device. Every call is synchronous. What the API finds wrong with a call is a failure in its words.
pub trait DeviceDriver {
    /// Makes a buffer of at least this many bytes, all zeros.
    ///
    /// # Errors
    /// When there is no room for it.
    fn buffer(&mut self, name: &'static str, bytes: u64) -> Result<HeldBuffer, Failure>;

    /// Makes pipelines; those of the right ones get keys.
    fn pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineKey, Failure>>;

    /// Drops all pipelines, whose keys are then those of others. Who cannot tell its device may keep them.
    fn drop_pipelines(&mut self) {}

    /// Writes words. They may be on their way until the next submission is done.
    ///
    /// # Errors
    /// When they cannot be.
    fn write(&mut self, to: &HeldBuffer, offset: u64, words: &[u32]) -> Result<(), Failure>;

    /// Submits work and waits for it.
    ///
    /// # Errors
    /// When it does not run to its end.
    fn run(&mut self, work: &DeviceWork) -> Result<WorkDone, Failure>;

    /// How long submissions have taken, in nanoseconds.
    fn busy_ns(&self) -> f64;

    /// The most that one binding shows of a buffer, in bytes.
    fn binding_bytes(&self) -> u64;

    /// Whether passes have timestamps; where not, times are those of whole submissions, which then time one pass each.
    fn has_timestamps(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_what_was_asked_for() {
        let mut work = DeviceWork::default();
        work.fetch(ByteRange { buffer: BufferKey(0), offset: 0, bytes: 8 });
        work.timed(Vec::new());
        work.fetch(ByteRange { buffer: BufferKey(1), offset: 256, bytes: 4 });
        let done = work.read(&[1, 2, 3, 5, 0, 7, 1], true, 9).unwrap();
        assert_eq!(done.fetched, [vec![1, 2], vec![3]]);
        assert_eq!(done.spans, [TickInterval { begin: 5, end: 7 | 1 << 32 }]);
        // wgpu aligns timestamps: something may stand before them.
        assert_eq!(work.read(&[1, 2, 3, 99, 5, 0, 7, 1], true, 9).unwrap().spans, done.spans);
        let wall = work.read(&[1, 2, 3], false, 9).unwrap();
        assert_eq!(wall.spans, [TickInterval { begin: 0, end: 9 }]);
        for (words, has_timestamps, status) in [
            (&[1, 2, 3, 0, 0, 0, 0][..], true, Status::RuntimeError),
            (&[1, 2, 3, 5, 0, 7], true, Status::DeviceLost),
            (&[1, 2], true, Status::DeviceLost),
            (&[1, 2], false, Status::DeviceLost),
        ] {
            assert_eq!(work.read(words, has_timestamps, 9).unwrap_err().status, status, "{words:?}");
        }
    }
}
