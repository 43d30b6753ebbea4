//! What the elements of a case are, by word.

use std::fmt;
use std::str::FromStr;

use scanbox_model::problem::{Operator, Problem};

use crate::input::{Input, InputKind};

/// What the elements of a case are, before it is known what the tile state of its config can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// Random elements, of integer sums full-range ones; smaller ones for the packed tile state.
    Random,
    /// Random reals, whose sums are rounded.
    Real,
    /// All ones: a wrong element says which tiles are missing.
    Ones,
    /// Element i is i.
    Ramp,
    /// All bits set: every addition wraps but the first.
    Maximum,
    /// One word and zeros: what is added twice, or not passed on, shows in all elements behind. Of operators that
    /// forget (min, max, and, or) one element per octave: the last one is in any tile.
    Spike,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Self; 6] = [Self::Random, Self::Real, Self::Ones, Self::Ramp, Self::Maximum, Self::Spike];

    /// Those that a problem is tried on.
    #[must_use]
    pub fn of_problem(problem: &Problem) -> Vec<Self> {
        if problem.user().is_some() {
            return vec![Self::Random, Self::Spike];
        }
        let rounds = problem.rounds() && problem.operator() == Operator::Add;
        let goes = |pattern: &Self| (*pattern != Self::Real || rounds) && pattern.shows_something(problem);
        Self::ALL.into_iter().filter(goes).collect()
    }

    /// Whether the answer is more than one and the same element, whatever a kernel loses.
    pub(super) fn shows_something(self, problem: &Problem) -> bool {
        let (operator, is_float) = (problem.operator(), problem.element().is_float());
        let forgets = forgets(operator);
        match self {
            Self::Ones => !forgets && operator != Operator::Mul,
            // Of products of floats it is all ones.
            Self::Maximum => !(forgets || operator == Operator::Mul && is_float),
            Self::Random | Self::Real | Self::Ramp | Self::Spike => true,
        }
    }

    /// The word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Real => "real",
            Self::Ones => "ones",
            Self::Ramp => "ramp",
            Self::Maximum => "maximum",
            Self::Spike => "spike",
        }
    }

    /// What it is, in a sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Random => {
                "Random elements: full-range ones of sums of integers, smaller ones for the packed tile state."
            }
            Self::Real => "Random reals, whose sums are rounded.",
            Self::Ones => "All ones: a wrong element says how many tiles are missing.",
            Self::Ramp => "Element i is i.",
            Self::Maximum => "All bits set: every addition wraps but the first.",
            Self::Spike => {
                "One element that counts, or one per octave, among others that do not: what is added twice, or not passed \
                 on, shows in all elements behind it."
            }
        }
    }

    /// The input for `n` elements. For the packed tile state, the form whose total fits 30 bits, where there is one.
    #[must_use]
    pub fn input(self, problem: &Problem, packed: bool, n: u64, seed: u64) -> Input {
        let kind = match self {
            Self::Random if packed => InputKind::Bounded { n: n.next_power_of_two().max(BOUNDED_ELEMENTS) },
            Self::Random => InputKind::Random,
            Self::Real => InputKind::Real,
            Self::Ones => InputKind::Ones,
            Self::Ramp => InputKind::Ramp,
            Self::Maximum => InputKind::Maximum,
            Self::Spike if packed => InputKind::BoundedSpike { at: SPIKE_AT },
            Self::Spike if forgets(problem.operator()) => InputKind::Spikes,
            Self::Spike => InputKind::Spike { at: SPIKE_AT },
        };
        Input { kind, seed }
    }

    /// The pattern that an input is of.
    #[must_use]
    pub fn of(input: &Input) -> Self {
        match input.kind {
            InputKind::Random | InputKind::Bounded { .. } => Self::Random,
            InputKind::Real => Self::Real,
            InputKind::Ones => Self::Ones,
            InputKind::Ramp => Self::Ramp,
            InputKind::Maximum => Self::Maximum,
            InputKind::Spike { .. } | InputKind::Spikes | InputKind::BoundedSpike { .. } => Self::Spike,
        }
    }
}

/// Random words for the packed tile state are such that this many fit, or more where the case has more. One bound for
/// almost all cases: a case that is repeated on its own has the same elements.
const BOUNDED_ELEMENTS: u64 = 1 << 22;
/// In the first tile of almost every config, at the start of no vector.
const SPIKE_AT: u64 = 41;

impl FromStr for Pattern {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|pattern| pattern.word() == word).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|pattern| pattern.word()).collect();
            format!("`{word}` is not an input; it is one of {}", words.join(", "))
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether few of all elements decide about the answer.
fn forgets(operator: Operator) -> bool {
    matches!(operator, Operator::Min | Operator::Max | Operator::And | Operator::Or)
}
