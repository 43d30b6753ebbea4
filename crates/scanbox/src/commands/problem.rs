//! The flags that say what is computed.

use clap::Args;
use scanbox_model::config::Parameter;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};

use super::UsageError;

/// What is computed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What is computed")]
pub struct ProblemArgs {
    /// The operator: add, min, max, mul, and, or, xor
    #[arg(long, value_name = "OPERATOR", default_value = "add", value_parser = Operator::from_word)]
    op: Operator,

    /// The type of an element: u32, i32, f32, u64, i64, f64
    #[arg(long = "type", value_name = "TYPE", default_value = "u32", value_parser = Element::from_word)]
    element: Element,

    /// Which prefixes are written: inclusive, exclusive, or reduce: the total alone
    #[arg(long, value_name = "MODE", default_value = "inclusive", value_parser = Mode::from_word)]
    mode: Mode,

    /// What an exclusive scan begins with [default: the identity of the operator]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    init: Option<String>,

    /// The output takes the place of the input
    #[arg(long)]
    in_place: bool,
}

impl ProblemArgs {
    /// The problem, if its parts go together.
    pub fn problem(&self) -> Result<Problem, UsageError> {
        let placement = if self.in_place { Placement::InPlace } else { Placement::OutOfPlace };
        Problem::new(self.mode, self.element, self.op, self.init.as_deref(), placement).map_err(UsageError)
    }
}

/// The elements that are measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Elements {
    /// Random ones whose sums have one right value: of floats, small integers
    Random,
    /// Random reals, of sums of floats: results are off by rounding, and rows say how far
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
        Ok(self == Self::Real)
    }
}
