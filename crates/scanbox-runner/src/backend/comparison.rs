//! What comparing a result with its reference found.

use scanbox_model::problem::{Element, ElementValue};
use scanbox_model::record::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::Failure;

/// The outcome of the comparison of every element.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ElementComparison {
    /// Elements compared, the guard behind the last one included.
    pub compared: u64,
    /// Wrong elements; of elements of several words that are compared bit by bit, wrong words of 4 bytes.
    pub mismatches: u64,
    /// The wrong element with the smallest index.
    pub first: Option<Mismatch>,
    /// The wrong total beside an output that is right, at index 0; behind that, a word that was written past its end.
    /// Wrong elements are then those of the total.
    pub total: Option<Mismatch>,
    /// Of sums and products of floats: the largest error of a right element (see [`scanbox_kernels::rounding`]), and
    /// what it may be at most.
    pub error: Option<RoundingError>,
    /// The one call that was compared, between timestamps.
    pub call: TickInterval,
    /// What its lookbacks did, of a plan whose workgroups count it.
    pub counts: Option<LookbackCounts>,
}

impl ElementComparison {
    /// How many elements were compared, all of which are right.
    ///
    /// # Errors
    /// `wrong_result`, where one is not.
    pub fn all_right(&self) -> Result<u64, Failure> {
        match self.mismatches {
            0 => Ok(self.compared),
            wrong => Err(Failure::new(Status::WrongResult, format!("{wrong} words are wrong"))),
        }
    }
}

/// What the lookbacks of one call did, added up over its workgroups (stages/lookback/counts.glsl).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LookbackCounts {
    /// Workgroups that had a tile.
    pub workgroups: u64,
    /// Looks that found nothing where the lookback could not go on without.
    pub spins: u64,
    /// Tiles that lookbacks were made of.
    pub lookback_length: u64,
    /// Tiles that workgroups added up for others.
    pub fallbacks: u64,
    /// Those of them whose state was invalid until then.
    pub insertions: u64,
}

impl LookbackCounts {
    /// Adds up the words of workgroups, four each.
    ///
    /// # Errors
    /// When a workgroup has written nothing, where all words were `u32::MAX` before the call.
    pub fn of_words(words: &[u32]) -> Result<Self, Failure> {
        let mut counts = Self::default();
        for words in words.chunks_exact(4) {
            if words.iter().all(|&word| word == u32::MAX) {
                let reason = format!("the workgroup of tile {} has counted nothing", counts.workgroups);
                return Err(Failure::new(Status::RuntimeError, reason));
            }
            let [spins, lookback_length, fallbacks, insertions] =
                [words[0], words[1], words[2], words[3]].map(u64::from);
            counts.workgroups += 1;
            counts.spins += spins;
            counts.lookback_length += lookback_length;
            counts.fallbacks += fallbacks;
            counts.insertions += insertions;
        }
        Ok(counts)
    }
}

/// How far right elements are off, as shares of the sums of the magnitudes that make them up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundingError {
    /// The largest one.
    pub max: f64,
    /// What counts as right.
    pub bound: f64,
}

/// A wrong element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Its index; at or above the size of the output, a word that was written past its end.
    pub index: u64,
    /// The type of both values.
    #[serde(default)]
    pub element: Element,
    /// The bits of what belongs there; of a structure of more than 8 bytes, the first two words.
    pub expected: u64,
    /// The bits of what was there; of a structure of more than 8 bytes, the first two words.
    pub got: u64,
    /// The other words of what belongs there, of a structure of more than 8 bytes.
    #[serde(default)]
    pub expected_rest: u64,
    /// The other words of what was there.
    #[serde(default)]
    pub got_rest: u64,
}

impl Mismatch {
    /// What belongs there, as text: a number, or the words of a structure.
    #[must_use]
    pub fn expected(&self) -> String {
        self.text(self.expected, self.expected_rest)
    }

    /// What was there, as text.
    #[must_use]
    pub fn got(&self) -> String {
        self.text(self.got, self.got_rest)
    }

    fn text(&self, bits: u64, rest: u64) -> String {
        let words = [bits as u32, (bits >> 32) as u32, rest as u32, (rest >> 32) as u32];
        if !self.element.is_struct() {
            return ElementValue { element: self.element, bits }.to_string();
        }
        let words = &words[..self.element.bytes() as usize / 4];
        let words: Vec<String> = words.iter().map(|word| format!("{word:#010x}")).collect();
        format!("{{{}}}", words.join(", "))
    }
}

/// Two raw timestamps: ticks of `timestamp_period_ns`, of which `timestamp_valid_bits` count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TickInterval {
    /// Before.
    pub begin: u64,
    /// After.
    pub end: u64,
}
