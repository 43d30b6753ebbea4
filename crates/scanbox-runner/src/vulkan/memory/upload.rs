//! An input and its answer on their way to the device, chunk by chunk.

use std::sync::Arc;
use std::time::Duration;

use gpu_allocator::MemoryLocation;
use scanbox_kernels::input::Input;
use scanbox_kernels::reference::Reference;
use scanbox_model::problem::Problem;

use crate::backend::Failure;
use crate::vulkan::buffer::Buffer;
use crate::vulkan::buffer::WORD_BYTES;
use crate::vulkan::commands::Commands;
use crate::vulkan::device::Gpu;

/// Words that are made and sent at a time: enough to hide what a submission costs, and far below any input that is
/// large.
const CHUNK: usize = 1 << 22;
/// What vectors of all elements begin at multiples of, in bytes.
pub(super) const MOST_VECTOR_BYTES: u64 = 64;
/// Chunks on their way: one is made while the other one is sent.
pub(super) const SLOTS: usize = 2;

/// An input and its answer, and what they are.
pub(super) struct Large {
    /// Bytes that each has room for.
    pub bytes: u64,
    pub input: Buffer,
    pub reference: Buffer,
    /// Sums of the input: as it was loaded, and behind them as it is now.
    pub sums: Option<Buffer>,
    pub loaded: Option<Loaded>,
}

/// What input and reference hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loaded {
    pub problem: Problem,
    pub input: Input,
    pub n: u64,
    /// The answer so far, where the CPU makes it.
    pub reference: Option<Reference>,
}

/// Room for one chunk of the input and of the reference.
pub(super) struct Slot {
    pub buffer: Buffer,
    pub commands: Commands,
    pub pending: bool,
}

/// Whether what is loaded is the input of so many elements and no others: from the last element on a shorter input
/// stands at the end of a longer one, where a transform knows its elements by other indices.
pub fn is_placed(problem: &Problem) -> bool {
    problem.is_reversed() && problem.user().is_some_and(|user| user.transforms.any())
}

impl Large {
    /// Buffers for inputs of at most this many bytes.
    pub fn new(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self, Failure> {
        let new = |name, bytes: u64| Buffer::new(gpu, name, bytes.max(WORD_BYTES), MemoryLocation::GpuOnly);
        Ok(Self {
            bytes,
            input: new("input", bytes)?,
            reference: new("reference", bytes)?,
            sums: None,
            loaded: None,
        })
    }

    /// Where the input of `n` elements of a problem begins, and its answer, in bytes: from the last element on, those
    /// that are combined first stand at the end.
    pub fn begin(&self, problem: &Problem, n: u64) -> u64 {
        match self.loaded {
            Some(loaded) if problem.is_reversed() => loaded.n.saturating_sub(n) * problem.element_bytes(),
            _ => 0,
        }
    }

    /// The same, for so many bytes of what is loaded.
    pub fn end_of(&self, bytes: u64) -> u64 {
        match self.loaded {
            Some(loaded) if loaded.problem.is_reversed() => {
                (loaded.n * loaded.problem.element_bytes()).saturating_sub(bytes)
            }
            _ => 0,
        }
    }

    /// Whether input and answer of `n` elements of a problem are among those that are loaded, and begin where vectors
    /// may.
    pub fn has_window(&self, problem: &Problem, n: u64) -> bool {
        let is_placed = is_placed(problem);
        self.loaded.is_some_and(|loaded| n <= loaded.n && (!is_placed || n == loaded.n))
            && (n == 0 || self.begin(problem, n).is_multiple_of(MOST_VECTOR_BYTES))
    }

    pub fn fill(
        &mut self,
        problem: &Problem,
        input: &Input,
        n: u64,
        staging: &mut [Slot],
        limit: Duration,
    ) -> Result<(), Failure> {
        let (start, mut reference) = match self.loaded.take() {
            Some(loaded) if (loaded.problem, loaded.input) == (*problem, *input) => {
                self.loaded = Some(loaded);
                if self.has_window(problem, n) {
                    return Ok(());
                }
                self.loaded = None;
                match loaded.reference.filter(|_| !problem.is_reversed()) {
                    Some(reference) => (loaded.n, reference),
                    None => (0, Reference::new(*problem)),
                }
            }
            _ => (0, Reference::new(*problem)),
        };
        let chunk = CHUNK as u64 * WORD_BYTES / problem.element_bytes();
        for (slot, first) in (0..staging.len()).cycle().zip((start..n).step_by(chunk as usize)) {
            let slot = &mut staging[slot];
            slot.wait(limit)?;
            let bytes = (n - first).min(chunk) * problem.element_bytes();
            slot.make(problem, input, first, (bytes / WORD_BYTES) as usize, &mut reference);
            // What is combined first stands last.
            let place =
                if problem.is_reversed() { n - first - bytes / problem.element_bytes() } else { first };
            slot.send(place * problem.element_bytes(), bytes, &self.input, &self.reference)?;
        }
        staging.iter_mut().try_for_each(|slot| slot.wait(limit))?;
        self.loaded = Some(Loaded { problem: *problem, input: *input, n, reference: Some(reference) });
        Ok(())
    }
}

/// Turns elements of so many words round: the last one first.
fn turn(words: &mut [u32], length: usize) {
    words.reverse();
    words.chunks_exact_mut(length).for_each(<[u32]>::reverse);
}

impl Slot {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self, Failure> {
        let bytes = 2 * CHUNK as u64 * WORD_BYTES;
        // Cached memory (what `GpuToCpu` asks for), because the scan reads what the fill wrote: reads of
        // write-combined memory are slower by orders of magnitude.
        let buffer = Buffer::new(gpu, "staging", bytes, MemoryLocation::GpuToCpu)?;
        Ok(Self { buffer, commands: Commands::new(gpu)?, pending: false })
    }

    pub fn wait(&mut self, limit: Duration) -> Result<(), Failure> {
        if std::mem::take(&mut self.pending) { self.commands.wait(limit) } else { Ok(()) }
    }

    /// Makes this many words of the input and of its answer, from element `first`, which the answer has come to.
    fn make(
        &mut self,
        problem: &Problem,
        input: &Input,
        first: u64,
        words: usize,
        reference: &mut Reference,
    ) {
        let (elements, scan) = self.buffer.words().split_at_mut(CHUNK);
        let (elements, scan) = (&mut elements[..words], &mut scan[..words]);
        input.fill(problem, first, elements);
        scan.copy_from_slice(elements);
        reference.scan(scan);
        if problem.is_reversed() {
            let length = (problem.element_bytes() / WORD_BYTES) as usize;
            turn(elements, length);
            turn(scan, length);
        }
    }

    /// Starts to copy this many bytes of each to their places.
    fn send(&mut self, first: u64, bytes: u64, input: &Buffer, reference: &Buffer) -> Result<(), Failure> {
        let mut recorder = self.commands.begin()?;
        for (half, target) in [(0, input), (1, reference)] {
            let from = half * CHUNK as u64 * WORD_BYTES;
            recorder.copy((&self.buffer, from), (target, first), bytes);
        }
        // What is submitted next begins with a barrier that covers these copies.
        recorder.submit()?;
        self.pending = true;
        Ok(())
    }
}
