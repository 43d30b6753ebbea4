//! Lines: what kernels are told that read no push constants (`kernels/glsl/arguments.glsl`).

use scanbox_pack::layout::{ARGUMENT_WORDS, LINE_BYTES, N_WORD, NEXT_WORD, RECORD_WORDS};

/// Bytes of the two lines of a dispatch.
pub const PAIR_BYTES: u64 = 2 * LINE_BYTES;

/// The addresses of the two lines of a dispatch, which is the `place`th of its call.
#[must_use]
pub fn line_addresses(lines: u64, place: u64) -> [u64; 2] {
    [0, LINE_BYTES].map(|offset| lines + place * PAIR_BYTES + offset)
}

/// An address as two words.
#[must_use]
pub fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// What a dispatch is told in its line, or by constants of its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineWords([u32; ARGUMENT_WORDS]);

impl LineWords {
    /// `data`: the addresses of source and target. `others`: those behind them, in order. `shape`: workgroups in a row,
    /// and in all rows. `words`: those behind n. `None` where these are more than a line has room for.
    pub fn new(
        data: [u64; 2],
        others: impl IntoIterator<Item = u64>,
        shape: [u32; 2],
        n: u32,
        words: impl IntoIterator<Item = u32>,
    ) -> Option<Self> {
        let mut line = Self([0; ARGUMENT_WORDS]);
        (0..).zip(data).for_each(|(at, address)| line.set_data(at, address));
        line.0[N_WORD] = n;
        line.0[N_WORD + 1] = shape[1];
        let others = others.into_iter().flat_map(halves);
        let mut room = line.0[RECORD_WORDS..].iter_mut();
        for word in others.chain([shape[0]]).chain(words) {
            *room.next()? = word;
        }
        Some(line)
    }

    /// All of them.
    #[must_use]
    pub fn words(&self) -> &[u32; ARGUMENT_WORDS] {
        &self.0
    }

    /// Those that a record of a chain has.
    #[must_use]
    pub fn record(&self) -> &[u32] {
        &self.0[..RECORD_WORDS]
    }

    /// Changes the address of the source (0) or the target (1).
    ///
    /// # Panics
    ///
    /// Where `at` is neither.
    pub fn set_data(&mut self, at: usize, address: u64) {
        assert!(at < 2, "there are a source and a target");
        self.0[2 * at..2 * at + 2].copy_from_slice(&halves(address));
    }

    /// Changes the address of the record with the arguments of the next call; 0: they stay as they are.
    pub fn set_next(&mut self, address: u64) {
        self.0[NEXT_WORD..NEXT_WORD + 2].copy_from_slice(&halves(address));
    }

    /// Whether other arguments follow those of the next call.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.0[NEXT_WORD..RECORD_WORDS] != [0, 0]
    }
}
