//! What a comparison on a device reports, and what follows from it: the same for every backend.

use scanbox_kernels::catalog::{GUARD_WORD, REPORT_WORDS};
use scanbox_kernels::plan::{Expected, GUARD_WORDS, Plan};
use scanbox_model::problem::Element;
use scanbox_model::record::Status;

use crate::backend::{ElementComparison, Failure, Mismatch, RoundingError};
use crate::twin::Checked;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// The words of a report before a comparison (see [`REPORT_WORDS`]).
pub(crate) const NO_MISMATCH: [u32; REPORT_WORDS as usize] = [0, u32::MAX, 0];

/// The words of a report behind a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ComparisonReport {
    /// Counted as [`ElementComparison::mismatches`].
    pub mismatches: u32,
    /// The first wrong word of the output; what it says without a mismatch has no meaning.
    word: u32,
    max_error: f32,
}

impl ComparisonReport {
    /// The report that these words begin with, as it was fetched.
    pub fn of_words(words: &[u32]) -> Self {
        Self { mismatches: words[0], word: words[1], max_error: f32::from_bits(words[2]) }
    }

    /// What it says about a call of a twin.
    pub fn checked(&self, call: u64, plan: &Plan) -> Checked {
        let word = u64::from(self.word);
        let words_per_element = (plan.output_words() / plan.outputs()).max(1);
        let first = match word.checked_sub(plan.output_words()) {
            Some(behind) => plan.outputs() + behind,
            None => word / words_per_element,
        };
        Checked {
            call,
            mismatches: self.mismatches.into(),
            first: (self.mismatches > 0).then_some(first),
            of_total: false,
            max_error: self.max_error.into(),
        }
    }

    /// What it says about a call of a twin whose total has this report: what is wrong with the output comes first.
    pub fn checked_with(&self, total: Option<&Self>, call: u64, plan: &Plan) -> Checked {
        let output = self.checked(call, plan);
        let Some(total) = total else { return output };
        let max_error = output.max_error.max(total.max_error.into());
        match output.mismatches {
            0 => Checked {
                mismatches: total.mismatches.into(),
                of_total: total.mismatches > 0,
                max_error,
                ..output
            },
            _ => Checked { max_error, ..output },
        }
    }

    /// Whether the comparison can be believed, which was given an output of this plan that is wrong everywhere, and a
    /// word behind it.
    ///
    /// # Errors
    /// `runtime_error`, where it found less than that.
    pub fn trust(&self, plan: &Plan) -> Result<(), Failure> {
        // Of elements that are compared word by word, each word counts.
        if u64::from(self.mismatches) > plan.outputs() && self.word == 0 {
            return Ok(());
        }
        let (wrong, found) = (plan.outputs() + 1, self.mismatches);
        let reason =
            format!("comparisons cannot be trusted here: of {wrong} wrong elements this one finds {found}");
        Err(Failure::new(Status::RuntimeError, reason))
    }

    /// Where to look the first wrong element up; of sums it stands nowhere what belongs there.
    pub fn wrong_place(&self, plan: &Plan) -> Option<WrongPlace> {
        if self.mismatches == 0 || matches!(plan.result, Expected::Sums { .. }) {
            return None;
        }
        let word = u64::from(self.word);
        Some(match word.checked_sub(plan.output_words()) {
            Some(past_end) => WrongPlace {
                element: Element::U32,
                index: plan.outputs() + past_end,
                offset: word * WORD_BYTES,
                is_behind: true,
            },
            None => {
                let bytes = plan.problem.element_bytes();
                let index = word * WORD_BYTES / bytes;
                WrongPlace { element: plan.problem.element(), index, offset: index * bytes, is_behind: false }
            }
        })
    }

    /// The comparison as a whole, without times; `first` was looked up where [`ComparisonReport::wrong_place`] says.
    pub fn comparison(&self, plan: &Plan, first: Option<Mismatch>) -> ElementComparison {
        ElementComparison {
            compared: plan.outputs() + GUARD_WORDS,
            mismatches: self.mismatches.into(),
            first,
            ..ElementComparison::default()
        }
    }

    /// How far right elements are off, of plans that may be; `bound` is what counted as right.
    pub fn rounding(&self, plan: &Plan, bound: f64) -> Option<RoundingError> {
        plan.problem.rounds().then_some(RoundingError { max: self.max_error.into(), bound })
    }
}

/// Where the first wrong element is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrongPlace {
    element: Element,
    index: u64,
    /// Bytes in front of it in the output, and in front of what belongs there.
    pub offset: u64,
    /// Whether that is behind the output, where only the output has something to say.
    pub is_behind: bool,
}

impl WrongPlace {
    /// Bytes of an element there: behind the output, of a word.
    pub fn bytes(&self) -> u64 {
        self.element.bytes().into()
    }

    /// The mismatch, of the words that are there, and those that belong there unless that is behind the output.
    pub fn mismatch(&self, got: &[u32], expected: &[u32]) -> Mismatch {
        let bits = |words: &[u32]| {
            let word = |at: usize| u64::from(words.get(at).copied().unwrap_or(0));
            [word(0) | word(1) << 32, word(2) | word(3) << 32]
        };
        let [got, got_rest] = bits(got);
        let [expected, expected_rest] = if self.is_behind { [GUARD_WORD.into(), 0] } else { bits(expected) };
        let Self { index, element, .. } = *self;
        Mismatch { index, element, expected, got, expected_rest, got_rest }
    }
}
