//! Lines of arguments: what kernels are told that read no push constants (kernels/glsl/arguments.glsl).

use ash::vk;
use scanbox_kernels::plan::{ARGUMENT_WORDS, Binding, LINE_BYTES, Pass, Plan, PushWord, RECORD_WORDS};
use scanbox_model::record::Status;
use scanbox_vk::line::{LineWords, PAIR_BYTES};

use super::buffer::WORD_BYTES;
use super::commands::Recorder;
use super::memory::{LINES, Memory};
use crate::backend::Failure;

/// What a dispatch is told: the first words of its line.
#[derive(Clone)]
pub(super) struct Line {
    words: LineWords,
    /// Which pair of lines it has: the place of the pass in its call.
    place: u64,
    /// What stands at the places of source and target.
    data: [Binding; 2],
    /// What the first line of the pair was told last, by this recording.
    told: Option<LineWords>,
}

impl Line {
    /// `shape`: workgroups in a row, and in all rows.
    pub fn new(
        pass: &Pass,
        place: u64,
        shape: [u32; 2],
        plan: &Plan,
        memory: &Memory,
    ) -> Result<Self, Failure> {
        let unfit =
            |what: &str| Failure::new(Status::Unsupported, format!("{} {what} for a line", plan.label));
        let [source, target, others @ ..] = &pass.bindings[..] else {
            return Err(unfit("has no source and target"));
        };
        if place >= LINES {
            return Err(unfit("has too many passes"));
        }
        // The turn of a plan that needs none: that of calls on cleared memory, which count nothing.
        let mut values = pass.words.iter().map(|word| match word {
            PushWord::Value(value) => *value,
            PushWord::Epoch | PushWord::TicketBase | PushWord::Bank | PushWord::StaleGroups => 0,
        });
        let n = values.next().ok_or_else(|| unfit("says no number of elements"))?;
        let address = |binding: &Binding| memory.address(*binding, plan);
        let data = [address(source)?, address(target)?];
        let others = others.iter().map(address).collect::<Result<Vec<_>, _>>()?;
        let words = LineWords::new(data, others, shape, n, values);
        let words = words.ok_or_else(|| unfit("has too many arguments"))?;
        Ok(Self { words, place, data: [*source, *target], told: None })
    }

    pub fn words(&self) -> &[u32; ARGUMENT_WORDS] {
        self.words.words()
    }

    pub fn aim(&mut self, binding: Binding, address: vk::DeviceAddress) {
        for (at, _) in self.data.iter().enumerate().filter(|(_, other)| **other == binding) {
            self.words.set_data(at, address);
        }
    }

    /// Its beginning, as a record of a chain.
    pub fn record(&self) -> &[u32] {
        self.words.record()
    }

    /// Aims at the pair of this slot of a chain, and at what follows. `place` is that of the line among those of the
    /// call.
    pub fn enter(&mut self, chain: &Chain, place: u64, slot: u64) {
        let [input, output] = chain.pair(slot);
        self.aim(Binding::Input, input);
        self.aim(Binding::Output, output);
        self.words.set_next(chain.address(place, slot + 1));
        // The device changes the line from here on.
        self.forget();
    }

    /// Records the writing of the first line of the pair, unless it has these words. Copies only: barriers are the
    /// caller's.
    pub fn tell(&mut self, recorder: &mut Recorder<'_>, memory: &Memory) {
        if self.is_told() {
            return;
        }
        recorder.update(memory.lines(), self.place * PAIR_BYTES, self.words());
        if self.follows() {
            // What a record does not have is the same in both.
            recorder.update(memory.lines(), self.place * PAIR_BYTES + LINE_BYTES, self.words());
        }
        self.told = Some(self.words);
    }

    /// Whether other arguments follow those of the next call.
    pub fn follows(&self) -> bool {
        self.words.follows()
    }

    /// What the line in memory has is not known any more.
    pub fn forget(&mut self) {
        self.told = None;
    }

    /// Whether the line in memory has these words.
    pub fn is_told(&self) -> bool {
        self.told == Some(self.words)
    }
}

/// Records that follow each other in a ring, one for each of some pairs of input and output: of the first line of a
/// call, then of the second one, and so on.
pub(super) struct Chain {
    pairs: Vec<[vk::DeviceAddress; 2]>,
    address: vk::DeviceAddress,
}

impl Chain {
    /// Bytes of the records of so many pairs in so many lines.
    pub fn bytes(pairs: u64, lines: u64) -> u64 {
        pairs * lines * RECORD_WORDS as u64 * WORD_BYTES
    }

    /// A chain of these pairs, whose records will stand at this address.
    pub fn new(pairs: Vec<[vk::DeviceAddress; 2]>, address: vk::DeviceAddress) -> Self {
        Self { pairs, address }
    }

    /// How many pairs it has.
    pub fn slots(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Input and output of a slot, modulo the number of pairs.
    pub fn pair(&self, slot: u64) -> [vk::DeviceAddress; 2] {
        self.pairs[(slot % self.slots()) as usize]
    }

    /// Where the record of a slot stands for a line, modulo the number of pairs.
    pub fn address(&self, line: u64, slot: u64) -> vk::DeviceAddress {
        self.address + Self::bytes(line * self.slots() + slot % self.slots(), 1)
    }
}
