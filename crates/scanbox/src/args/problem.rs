//! The flags that say what is computed.

use std::path::{Path, PathBuf};

use clap::Args;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::config::Parameter;
use scanbox_model::problem::{Direction, Element, InitSource, Mode, Operator, Placement, Problem, Total};

use crate::exit::UsageError;
use crate::inputs::operator_of;

/// Stands on each flag: a heading of all of them would be that of whatever flags come after them, too.
const HEADING: &str = "What is computed";

/// The value with this word, or a message that lists those that scanbox has itself; `others`: where others come from.
fn own<P: Parameter>(word: &str, is_of_file: impl Fn(P) -> bool, others: &str) -> Result<P, String> {
    P::from_word(word).map_err(|_| P::unknown(word, |value| !is_of_file(value), others))
}

/// A type of an element.
pub fn element_word(word: &str, others: &str) -> Result<Element, String> {
    own(word, Element::is_struct, others)
}

/// An operator.
pub fn operator_word(word: &str, others: &str) -> Result<Operator, String> {
    own(word, |operator| operator == Operator::User, others)
}

/// Where a flag has others from.
const OF_FILE: &str = ", or comes with --operator FILE";

fn element(word: &str) -> Result<Element, String> {
    element_word(word, OF_FILE)
}

fn operator(word: &str) -> Result<Operator, String> {
    operator_word(word, OF_FILE)
}

/// What is computed.
#[derive(Debug, Clone, Args)]
pub struct ProblemArgs {
    /// The operator: add, min, max, mul, and, or, xor
    #[arg(help_heading = HEADING, long, value_name = "OPERATOR", default_value = "add", value_parser = operator)]
    op: Operator,

    /// The type of an element: u32, i32, f32, u64, i64, f64
    #[arg(help_heading = HEADING, long = "type", value_name = "TYPE", default_value = "u32", value_parser = element)]
    element: Element,

    /// A GLSL file with an operator of your own and its type, in place of --op and --type (kernels/README.md)
    #[arg(help_heading = HEADING, long, value_name = "FILE", conflicts_with_all = ["op", "element"])]
    operator: Option<PathBuf>,

    /// Which prefixes are written: inclusive, exclusive, or reduce: only the total
    #[arg(help_heading = HEADING, long, value_name = "MODE", default_value = "inclusive", value_parser = Mode::from_word)]
    mode: Mode,

    /// What the result begins with; of an operator of your own a number for each field, as 1,0.5 [default: the identity
    /// of the operator]
    #[arg(help_heading = HEADING, long, value_name = "VALUE", allow_hyphen_values = true)]
    init: Option<String>,

    /// The output takes the place of the input
    #[arg(help_heading = HEADING, long)]
    in_place: bool,

    /// Suffixes in place of prefixes: element i combines the elements from i to the last one, in this order, and then
    /// the initial value
    #[arg(help_heading = HEADING, long)]
    reverse: bool,

    /// The scan also stores the total of all elements: what would come next
    #[arg(help_heading = HEADING, long)]
    total: bool,

    /// The initial value is read from memory when a call runs
    #[arg(help_heading = HEADING, long)]
    init_in_memory: bool,
}

impl ProblemArgs {
    /// The file of the operator, where it is of one.
    pub fn input(&self) -> Option<&Path> {
        self.operator.as_deref()
    }

    /// The flags that ask for the problem again.
    pub fn flags(&self, problem: &Problem) -> Vec<String> {
        let mut flags = problem.flags();
        let place = flags.iter().position(|flag| flag == "--operator");
        if let (Some(place), Some(path)) = (place, &self.operator) {
            flags[place + 1] = path.display().to_string();
        }
        flags
    }

    /// The problem, if its parts go together, and the operator that it has from a file.
    pub fn problem(&self) -> anyhow::Result<(Problem, Option<OperatorFile>)> {
        let placement = if self.in_place { Placement::InPlace } else { Placement::OutOfPlace };
        let direction = if self.reverse { Direction::Reverse } else { Direction::Forward };
        if let Some(path) = &self.operator {
            let file = operator_of("", path)?;
            let problem = Problem::of_user(self.mode, file.operator(), placement).map_err(UsageError)?;
            let problem = match &self.init {
                Some(text) => file.value(text).and_then(|value| problem.beginning_with(value)),
                None => Ok(problem),
            };
            let problem = problem.map_err(|reason| UsageError(format!("--init: {reason}")))?;
            return Ok((self.with_operands(problem.in_direction(direction))?, Some(file)));
        }
        let problem = Problem::new(self.mode, self.element, self.op, self.init.as_deref(), placement)
            .map_err(UsageError)?;
        Ok((self.with_operands(problem.in_direction(direction))?, None))
    }

    fn with_operands(&self, problem: Problem) -> Result<Problem, UsageError> {
        let total = if self.total { Total::Stored } else { Total::Absent };
        let source = if self.init_in_memory { InitSource::Memory } else { InitSource::Arguments };
        problem.with_operands(total, source).map_err(UsageError)
    }
}

/// The elements that are measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Elements {
    /// Random elements whose sums have one right value; as floats, small integers
    Random,
    /// Random reals for sums of floats: results are off by rounding, and rows have the error
    Real,
}

impl Elements {
    /// Whether sums are of reals, if that goes with the problem.
    pub fn real(self, problem: &Problem) -> Result<bool, UsageError> {
        let sum = problem.rounds() && problem.operator() == Operator::Add;
        if self == Self::Real && !sum {
            let message =
                format!("--input real with {problem}: it is for sums of floats, which alone are rounded");
            return Err(UsageError(message));
        }
        let random = Input { kind: InputKind::Random, seed: 0 };
        if self == Self::Random && sum && !random.is_exact(problem, 1) {
            let init = problem.init().map_or_else(String::new, |init| init.to_string());
            let message = format!(
                "--init {init} with --input random: sums of integers and {init} are rounded by type {}; --input real is for \
                 sums that are",
                problem.element()
            );
            return Err(UsageError(message));
        }
        Ok(self == Self::Real)
    }
}
