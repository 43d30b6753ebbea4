//! What a device does for a session, as data: who drives it, in this process or elsewhere, is told the same.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use scanbox_kernels::plan::Module;

use crate::backend::{Failure, TickInterval};

/// Bytes of a word.
pub(super) const WORD_BYTES: u64 = 4;
/// What offsets of bindings are multiples of: what every device allows.
pub(super) const BINDING_ALIGNMENT: u64 = 256;
/// What the range of a binding is a multiple of: shaders read whole vectors.
pub(super) const VECTOR_BYTES: u64 = 16;

/// A buffer, as its driver knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BufferKey(pub u32);

/// Those that nobody holds any more.
pub(super) type Graveyard = Rc<RefCell<Vec<BufferKey>>>;

/// A buffer of the session. When it is dropped, its driver frees it before it makes another.
#[derive(Debug)]
pub(super) struct HeldBuffer {
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
pub(super) struct ByteRange {
    pub buffer: BufferKey,
    pub offset: u64,
    pub bytes: u64,
}

/// A pipeline, as its driver knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PipelineKey(pub u32);

/// One dispatch.
#[derive(Debug, Clone)]
pub(super) struct BoundDispatch {
    pub pipeline: PipelineKey,
    /// What is bound behind the words, in order.
    pub bindings: Arc<[ByteRange]>,
    /// What its slot of the uniform buffer holds: at most [`SLOT_WORDS`].
    pub words: Vec<u32>,
    /// Workgroups of a row, and rows.
    pub groups: [u32; 2],
}

/// Bytes of the part of the uniform buffer that a dispatch has: what offsets of such parts are multiples of.
pub(super) const SLOT_BYTES: u64 = 256;
/// Words of it.
pub(super) const SLOT_WORDS: usize = 64;

/// What happens in a submission, in order.
#[derive(Debug, Clone)]
pub(super) enum WorkStep {
    /// Sets bytes to zero.
    Clear(ByteRange),
    /// Copies bytes to a place of another buffer.
    Copy { from: ByteRange, to: (BufferKey, u64) },
    /// Dispatches of one compute pass, each after the one before.
    Pass {
        dispatches: Vec<BoundDispatch>,
        /// Whether it is between two timestamps.
        is_timed: bool,
    },
    /// Brings bytes back.
    Fetch(ByteRange),
}

/// One submission.
#[derive(Debug, Clone, Default)]
pub(super) struct DeviceWork {
    /// Words that are written before anything else happens: where.
    pub writes: Vec<(BufferKey, u64, Vec<u32>)>,
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

/// What came of a submission.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkDone {
    /// Of each timed pass, in order.
    pub spans: Vec<TickInterval>,
    /// What was fetched, in order.
    pub fetched: Vec<Vec<u32>>,
}

/// Who drives a device. Every call is synchronous. What the API finds wrong with a call is a failure in its words.
pub(super) trait DeviceDriver {
    /// Makes a buffer of at least this many bytes, all zeros.
    ///
    /// # Errors
    /// When there is no room for it.
    fn buffer(&mut self, name: &'static str, bytes: u64) -> Result<HeldBuffer, Failure>;

    /// Makes pipelines; those of the right ones get keys.
    fn pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineKey, Failure>>;

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
