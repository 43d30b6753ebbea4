//! Which problems a baseline has, as it greets, and which one it is asked for.

use scanbox_kernels::input::{Input, InputKind};
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::{
    Direction, Element, ElementValue, InitSource, Mode, Operator, Placement, Problem, Total,
};
use scanbox_model::user_operator::{OperatorName, UserOperator};
use serde::{Deserialize, Serialize};

/// A kind of problems that a baseline has: every combination of these words. Words are text, because a program may know
/// others than this version of scanbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProblemKind {
    /// Which prefixes are written. A program that has exclusive scans has them from any initial value.
    pub modes: Vec<String>,
    /// Types of elements.
    pub elements: Vec<String>,
    /// Names of operators.
    pub ops: Vec<String>,
    /// The hash of the file that they are of, where they are a user's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operator_hash: String,
    /// Where the output may stand.
    #[serde(default = "out_of_place")]
    pub placements: Vec<String>,
    /// What the elements may be.
    #[serde(default = "random")]
    pub inputs: Vec<String>,
    /// From which end elements are combined.
    #[serde(default = "forward", skip_serializing_if = "is_forward")]
    pub directions: Vec<String>,
    /// Whether other problems than exclusive scans by operators of scanbox's own begin with a value, too.
    #[serde(default, skip_serializing_if = "is_no")]
    pub initial_values: bool,
    /// Whether scans may store the total of all elements beside them.
    #[serde(default, skip_serializing_if = "is_no")]
    pub totals: bool,
    /// Whether the initial value may stand in memory.
    #[serde(default, skip_serializing_if = "is_no")]
    pub init_in_memory: bool,
}

fn forward() -> Vec<String> {
    vec![Direction::Forward.word().to_owned()]
}

fn is_forward(directions: &[String]) -> bool {
    directions == forward()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_no(flag: &bool) -> bool {
    !*flag
}

/// Whether a problem begins with a value that no baseline knew of at first.
fn begins(problem: &Problem) -> bool {
    problem.user_init().is_some() || (problem.init().is_some() && problem.mode() != Mode::Exclusive)
}

fn out_of_place() -> Vec<String> {
    vec![Placement::OutOfPlace.word().to_owned()]
}

fn random() -> Vec<String> {
    vec![RANDOM.to_owned()]
}

/// Elements of which every order of combining gives the same.
const RANDOM: &str = "random";
/// Reals from 0 to 1, whose sums are rounded.
const REAL: &str = "real";

/// The elements of an input, in the words of the protocol. What is made for kernels that bear small elements alone is
/// an input like any other where a baseline is asked for it.
fn input_word(input: &Input) -> &'static str {
    if input.kind == InputKind::Real { REAL } else { RANDOM }
}

impl ProblemKind {
    /// Nothing but this problem, on random elements and, of sums that are rounded, on reals.
    #[must_use]
    pub fn only(problem: &Problem) -> Self {
        let is_sum = problem.rounds() && problem.operator() == Operator::Add;
        Self {
            modes: vec![problem.mode().word().to_owned()],
            elements: vec![problem.element().word().to_owned()],
            ops: vec![problem.operator_name().to_string()],
            operator_hash: problem.user().map_or_else(String::new, |user| user.hash_text()),
            placements: vec![problem.placement().word().to_owned()],
            inputs: [RANDOM, REAL].into_iter().take(1 + usize::from(is_sum)).map(str::to_owned).collect(),
            directions: vec![problem.direction().word().to_owned()],
            initial_values: begins(problem),
            totals: problem.has_total(),
            init_in_memory: problem.reads_init(),
        }
    }

    /// Whether a problem on an input is one of them.
    #[must_use]
    pub fn has(&self, problem: &Problem, input: &Input) -> bool {
        let has = |words: &[String], word: &str| words.iter().any(|other| other == word);
        has(&self.modes, problem.mode().word())
            && has(&self.elements, problem.element().word())
            && has(&self.ops, problem.operator_name().as_str())
            && has(&self.placements, problem.placement().word())
            && has(&self.inputs, input_word(input))
            && has(&self.directions, problem.direction().word())
            && (self.initial_values || !begins(problem))
            && (self.totals || !problem.has_total())
            && (self.init_in_memory || !problem.reads_init())
            && self.operator_hash == problem.user().map_or_else(String::new, |user| user.hash_text())
    }
}

/// The problem of a load, by the columns that rows have for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskedProblem {
    mode: Mode,
    element: Element,
    op: OperatorName,
    operator_hash: String,
    operator_facts: String,
    /// The bits of what an exclusive scan begins with; 0 where nothing says.
    init_bits: u64,
    placement: Placement,
    input: String,
    /// What it begins with, as rows say it, where it is no exclusive scan by an operator of scanbox's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    init: Option<String>,
    /// `reverse` where elements are combined from the last one on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    direction: Option<Direction>,
    /// `stored` where the total of all elements is stored beside the scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<Total>,
    /// `memory` where the initial value stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    init_source: Option<InitSource>,
}

impl AskedProblem {
    /// The words for a problem on an input.
    #[must_use]
    pub fn new(problem: &Problem, input: &Input) -> Self {
        Self {
            mode: problem.mode(),
            element: problem.element(),
            op: problem.operator_name(),
            operator_hash: problem.user().map_or_else(String::new, |user| user.hash_text()),
            operator_facts: problem.user().map_or_else(String::new, |user| user.facts()),
            init_bits: problem.init().filter(|_| !begins(problem)).map_or(0, |init| init.bits),
            placement: problem.placement(),
            input: input_word(input).to_owned(),
            init: begins(problem).then(|| problem.init_text()),
            direction: Some(problem.direction()).filter(|direction| *direction != Direction::Forward),
            total: Some(problem.total()).filter(|total| *total != Total::Absent),
            init_source: Some(problem.init_source()).filter(|source| *source != InitSource::Arguments),
        }
    }

    /// The problem.
    ///
    /// # Errors
    /// What does not go together.
    pub fn problem(&self) -> Result<Problem, String> {
        let &Self { mode, element, op, init_bits: bits, placement, .. } = self;
        let problem = match op.built_in() {
            None => {
                let user = UserOperator::read(op, element, &self.operator_hash, &self.operator_facts)?;
                let problem = Problem::of_user(mode, user, placement)?;
                match &self.init {
                    Some(init) => problem.beginning_with(init.parse()?)?,
                    None => problem,
                }
            }
            Some(operator) => {
                let init = (mode == Mode::Exclusive).then(|| ElementValue { element, bits }.to_string());
                Problem::new(mode, element, operator, self.init.as_deref().or(init.as_deref()), placement)?
            }
        };
        problem.in_direction(self.direction.unwrap_or(Direction::Forward)).with_operands(
            self.total.unwrap_or(Total::Absent),
            self.init_source.unwrap_or(InitSource::Arguments),
        )
    }

    /// What the elements are.
    ///
    /// # Errors
    /// When they are none of those that the protocol has words for.
    pub fn input_kind(&self) -> Result<InputKind, String> {
        match self.input.as_str() {
            RANDOM => Ok(InputKind::Random),
            REAL => Ok(InputKind::Real),
            other => Err(format!("input `{other}`: there are {RANDOM} and {REAL}")),
        }
    }
}
