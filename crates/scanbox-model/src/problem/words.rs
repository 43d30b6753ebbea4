//! Problems as JSON: what crosses processes and stands in metadata.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Element, Mode, Placement, Problem};
use crate::user_operator::{OperatorName, UserOperator};

/// A problem as it crosses processes and stands in metadata.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    mode: Mode,
    element: Element,
    op: OperatorName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator_facts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    init: Option<String>,
    placement: Placement,
    #[serde(default = "forward", skip_serializing_if = "is_forward")]
    direction: Direction,
}

fn forward() -> Direction {
    Direction::Forward
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_forward(direction: &Direction) -> bool {
    *direction == Direction::Forward
}

impl From<Problem> for Words {
    fn from(problem: Problem) -> Self {
        let Problem { mode, element, user, placement, direction, .. } = problem;
        Self {
            mode,
            element,
            op: problem.operator_name(),
            operator_hash: user.map(|user| user.hash_text()),
            operator_facts: user.map(|user| user.facts()),
            init: Some(problem.init_text()).filter(|init| !init.is_empty()),
            placement,
            direction,
        }
    }
}

impl TryFrom<Words> for Problem {
    type Error = String;

    fn try_from(words: Words) -> Result<Self, String> {
        let Words { mode, element, op, placement, direction, .. } = words;
        if let Some(operator) = op.built_in() {
            let problem = Self::new(mode, element, operator, words.init.as_deref(), placement)?;
            return Ok(problem.in_direction(direction));
        }
        let (hash, facts) =
            (words.operator_hash.unwrap_or_default(), words.operator_facts.unwrap_or_default());
        let problem = Self::of_user(mode, UserOperator::read(op, element, &hash, &facts)?, placement)?;
        Ok(problem.beginning_as(words.init.as_deref())?.in_direction(direction))
    }
}
